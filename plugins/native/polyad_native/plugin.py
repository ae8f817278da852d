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


@hookimpl
def polyad_notes() -> Iterable[str]:
    """Which compiler was found; or why nothing is compiled, what that costs, and how to mend it."""
    from polyad.backend.c_compiler import command

    from .compiler import why_not

    reason = why_not()
    if reason:
        return [
            f"NumPy's kernels compute everything: {reason}. Training steps take up to four times as long. "
            "Fix: install a C compiler (Debian, Ubuntu: apt install gcc), or pip install 'polyad[native]'"
        ]
    return [f"kernels are compiled by {' '.join(command() or ())}"]
