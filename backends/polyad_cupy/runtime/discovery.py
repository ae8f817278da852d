"""Which devices there are, or why there are none. Nothing here creates a context on a GPU."""

from __future__ import annotations

from functools import cache

from cupy.cuda import runtime


@cache
def _looked() -> tuple[int, str]:
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        return 0, _explained(error)
    return count, "" if count else "the driver sees no GPU: CUDA_VISIBLE_DEVICES may hide them"


def _explained(error: Exception) -> str:
    said = str(error)
    if "InsufficientDriver" in said:
        return (
            f"there is no NVIDIA driver, or it is too old for CUDA {version(runtime.runtimeGetVersion())}: install a "
            f"newer driver, or the CuPy of an older CUDA ({said})"
        )
    return f"the driver has no device: {said}"


def version(number: int) -> str:
    """CUDA's version as it is written.

    >>> version(12090)
    '12.9'
    """
    return f"{number // 1000}.{number % 1000 // 10}"


def count() -> int:
    """How many devices there are."""
    return _looked()[0]


def why_none() -> str:
    """Why there is no device; empty if there is one."""
    return _looked()[1]


def looked() -> bool:
    """Whether devices were counted in this process."""
    return _looked.cache_info().currsize > 0
