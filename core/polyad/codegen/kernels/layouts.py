"""What kernels cache for each combination of layouts that they met."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TypeVar

V = TypeVar("V")

LAYOUTS = 1024
"""How many combinations of layouts a kernel caches: a program with ever new shapes must not fill the memory."""


class LayoutCache(OrderedDict[Hashable, V]):
    """A cache of the `LAYOUTS` entries that came last, by what tells their layouts apart."""

    def add(self, key: Hashable, value: V) -> V:
        """*value*, which is cached; what was cached first makes room."""
        self[key] = value
        if len(self) > LAYOUTS:
            self.popitem(last=False)
        return value
