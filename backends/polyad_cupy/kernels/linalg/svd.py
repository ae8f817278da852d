"""Singular values: of large matrices by cuSOLVER, else by the shared kernels."""

from __future__ import annotations

import cupy

from polyad.backend import Kernel
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.linalg import eigenvalues as shared
from polyad_kernels.kernels.linalg.matrices import COMPUTED, dense
from polyad_kernels.kernels.memory import conversion as copying

from ...runtime.cupy_arrays import shown, taken
from .cusolver import is_taken, matrices, note_nonfinite


def svd(input: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    if not is_taken(input):
        return shared.svd(input, full_matrices)
    device, dtype, batch, (rows, columns) = input.device, input.dtype, input.shape[:-2], input.shape[-2:]
    n, a = min(rows, columns), dense(input)
    u = new(device, (*batch, rows, rows if full_matrices else n), dtype)
    values = new(device, (*batch, n), dtype.to_real())
    vh = new(device, (*batch, columns if full_matrices else n, columns), dtype)
    note_nonfinite("linalg.svd", a, batch, shared.NOT_FINITE)
    for matrix, *results in zip(matrices(a), matrices(u), matrices(values, 1), matrices(vh)):
        device.check_library("linalg.svd", "cuSOLVER", "factorize outside of the capture")
        with device.driver("linalg.svd"), device.stream, device.pool.temporaries():
            found = cupy.linalg.svd(shown(matrix), full_matrices)
        for to, of in zip(results, found):
            copying.copy(to, taken(device, of))
    note_nonfinite("linalg.svd", values, batch, shared.UNFINISHED)
    return u, values, vh


KERNELS = {"linalg_svd": Kernel(svd, dtypes=COMPUTED)}
