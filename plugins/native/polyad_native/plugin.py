"""What pluggy reads of the plug-in; cheap to import."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from polyad.backend.hookspecs import hookimpl

if TYPE_CHECKING:
    from polyad.backend.interface import KernelSupply


@hookimpl
def polyad_kernels() -> Iterable[KernelSupply]:
    """The kernels, if there is a compiler: nothing is compiled yet."""
    from .compiler import usable

    if not usable():
        return []
    from .supplies import supplies

    return supplies()
