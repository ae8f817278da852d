"""What kernels keep for each combination of layouts that they met."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeVar

V = TypeVar("V")

LAYOUTS = 1024
"""How many combinations of layouts a kernel keeps: a program with ever new shapes must not fill the memory."""


class PerLayout(OrderedDict[Hashable, V]):
    """The `LAYOUTS` entries that came last, by what tells their layouts apart."""

    def keep(self, key: Hashable, value: V) -> V:
        """*value*, which is kept; what was kept first makes room."""
        self[key] = value
        if len(self) > LAYOUTS:
            self.popitem(last=False)
        return value
