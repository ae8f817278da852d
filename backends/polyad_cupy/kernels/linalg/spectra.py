"""Eigenvalues of Hermitian matrices and singular values of large matrices, by `cupy.linalg`, which is cuSOLVER.

The shared kernels treat a matrix a thread, which suits batches of small ones. What cuSOLVER does with nan and inf is
not said: so elements are looked at before, and results after, and what is not finite is noted as those kernels note it.
"""

from __future__ import annotations

from typing import Any

import cupy

from polyad.backend import Kernel
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.linalg import eigenvalues as shared
from polyad_kernels.kernels.linalg.matrices import COMPUTED, count_of, dense, prologue
from polyad_kernels.kernels.memory import conversion as copying
from polyad_kernels.memo import memoize

from ..views import shown, taken

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


def _watched(op: str, a: Array, batch: tuple[int, ...], told: int) -> None:
    """Note the matrices of the dense *a* that hold something that is not finite."""
    device, count = a.device, count_of(batch)
    blocks = min(-(-a.size // 128), 32 * device.compute_units)
    judge = shared.failure(op, batch)
    _check(device, a.dtype)(
        (blocks * 128,), a.buffer, a.size // count, count, told, device.trouble_cell, device.expect(judge)
    )
    device.verify()


def _takes(a: Array) -> bool:
    return bool(a.size) and min(a.shape[-2:]) > LARGE and count_of(a.shape[:-2]) <= FEW


def _matrices(x: Array, core: int = 2) -> list[Array]:
    """The matrices of the dense *x*, or its vectors."""
    shape = x.shape[x.ndim - core :]
    steps = x.steps[x.ndim - core :]
    size = count_of(shape)
    return [Array(x.block, x.dtype, shape, steps, x.offset + at) for at in range(0, x.size, size)]


def eigh(input: Array, upper: bool) -> tuple[Array, Array]:
    if not _takes(input):
        return shared.eigh(input, upper)
    device, batch, a = input.device, input.shape[:-2], dense(input)
    values, vectors = new(device, input.shape[:-1], input.dtype.to_real()), new(device, input.shape, input.dtype)
    _watched("linalg.eigh", a, batch, shared.NOT_FINITE)
    for matrix, w, v in zip(_matrices(a), _matrices(values, 1), _matrices(vectors)):
        device.check_library("linalg.eigh", "cuSOLVER", "factorize outside of the capture")
        with device.driver("linalg.eigh"), device.stream, device.pool.temporaries():
            found = cupy.linalg.eigh(shown(matrix), UPLO="U" if upper else "L")
        for to, of in zip((w, v), found):
            copying.copy(to, taken(device, of))
    _watched("linalg.eigh", values, batch, shared.UNFINISHED)
    return values, vectors


def svd(input: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    if not _takes(input):
        return shared.svd(input, full_matrices)
    device, dtype, batch, (rows, columns) = input.device, input.dtype, input.shape[:-2], input.shape[-2:]
    n, a = min(rows, columns), dense(input)
    u = new(device, (*batch, rows, rows if full_matrices else n), dtype)
    values = new(device, (*batch, n), dtype.to_real())
    vh = new(device, (*batch, columns if full_matrices else n, columns), dtype)
    _watched("linalg.svd", a, batch, shared.NOT_FINITE)
    for matrix, *results in zip(_matrices(a), _matrices(u), _matrices(values, 1), _matrices(vh)):
        device.check_library("linalg.svd", "cuSOLVER", "factorize outside of the capture")
        with device.driver("linalg.svd"), device.stream, device.pool.temporaries():
            found = cupy.linalg.svd(shown(matrix), full_matrices)
        for to, of in zip(results, found):
            copying.copy(to, taken(device, of))
    _watched("linalg.svd", values, batch, shared.UNFINISHED)
    return u, values, vh


KERNELS = {"linalg_eigh": Kernel(eigh, dtypes=COMPUTED), "linalg_svd": Kernel(svd, dtypes=COMPUTED)}
