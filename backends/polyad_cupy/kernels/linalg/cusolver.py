"""What the kernels by `cupy.linalg`, which is cuSOLVER, share: for which matrices it is used, and what it is shown.

The shared kernels treat a matrix a thread, which suits batches of small ones. What cuSOLVER does with nan and inf is
not said: so elements are looked at before, and results after, and what is not finite is noted as those kernels note it.
"""

from __future__ import annotations

from typing import Any

from polyad_kernels.array import Array
from polyad_kernels.kernels.linalg import eigenvalues as shared
from polyad_kernels.kernels.linalg.matrices import count_of, prologue
from polyad_kernels.memo import memoize

LARGE, FEW = 64, 16
"""Matrices of more rows and columns than the first, at most as many as the second, go to cuSOLVER."""

_CHECK = """
__kernel void check(__global const T *a, long size, long matrices, int told, __global long *cell, int number_of)
{
    for (long i = get_global_id(0); i < size * matrices; i += get_global_size(0))
        if (!isfinite(size_of(a[i]))) tell(cell, number_of, i / size, told);
}
"""


@memoize
def _check(device: Any, dtype: Any) -> Any:
    what = f"linalg, finite {dtype.name}"
    return device.kernel(prologue(dtype) + _CHECK, "check", "pqqipi", what=what, local=(128,))


def note_nonfinite(op: str, a: Array, batch: tuple[int, ...], told: int) -> None:
    """Note the matrices of the dense *a* that hold something that is not finite."""
    device, count = a.device, count_of(batch)
    blocks = min(-(-a.size // 128), 32 * device.compute_units)
    judge = shared.failure(op, batch)
    _check(device, a.dtype)(
        (blocks * 128,), a.buffer, a.size // count, count, told, device.trouble_cell, device.expect(judge)
    )
    device.verify()


def is_taken(a: Array) -> bool:
    """Whether *a* is few large matrices."""
    return bool(a.size) and min(a.shape[-2:]) > LARGE and count_of(a.shape[:-2]) <= FEW


def matrices(x: Array, core: int = 2) -> list[Array]:
    """The matrices of the dense *x*, or its vectors."""
    shape = x.shape[x.ndim - core :]
    steps = x.steps[x.ndim - core :]
    size = count_of(shape)
    return [Array(x.block, x.dtype, shape, steps, x.offset + at) for at in range(0, x.size, size)]
