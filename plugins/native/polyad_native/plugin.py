"""What pluggy reads of the plug-in; cheap to import."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from polyad.backend.hookspecs import hookimpl

if TYPE_CHECKING:
    from polyad.backend.interface import KernelSupply
    from polyad.backend.runtime import Runtime
    from polyad.base.device import Device


@hookimpl
def polyad_kernels() -> Iterable[KernelSupply]:
    """The kernels, if there is a compiler: nothing is compiled yet."""
    from .compiler import usable

    if not usable():
        return []
    from .supplies import supplies

    return supplies()


@hookimpl
def polyad_runtime(device: Device) -> Runtime | None:
    """What compiles generated C and runs it on device "cpu", if there is a compiler."""
    from .compiler import usable

    if device.type != "cpu" or not usable():
        return None
    from .runtime import runtime

    return runtime()


@hookimpl
def polyad_notes() -> Iterable[str]:
    """How many kernels came compiled, and which compiler was found; or why there are none, and how to mend that."""
    from polyad.backend.c_compiler import NONE, command

    from . import ahead
    from .compiler import why_not

    reason = why_not()
    if reason:
        return [
            f"NumPy's kernels compute everything: {reason}. Training steps take up to four times as long. "
            "Fix: install a C compiler (Debian, Ubuntu: apt install gcc), or pip install 'polyad[native]'"
        ]
    compiler = command()
    came = [f"{ahead.count()} kernels came compiled, for {ahead.level()}"] if ahead.level() else []
    if compiler is None:
        return [*came, f"NumPy's kernels compute the rest: {NONE}"]
    return [*came, f"kernels are compiled by {' '.join(compiler)}"]
