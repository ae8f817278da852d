"""Eigenvalues of Hermitian matrices: of large ones by cuSOLVER, else by the shared kernels."""

from __future__ import annotations

import cupy

from polyad.backend import Kernel
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.linalg import eigenvalues as shared
from polyad_kernels.kernels.linalg.matrices import COMPUTED, dense
from polyad_kernels.kernels.memory import conversion as copying

from ...runtime.cupy_arrays import shown, taken
from .cusolver import is_taken, matrices, note_nonfinite


def eigh(input: Array, upper: bool) -> tuple[Array, Array]:
    if not is_taken(input):
        return shared.eigh(input, upper)
    device, batch, a = input.device, input.shape[:-2], dense(input)
    values, vectors = new(device, input.shape[:-1], input.dtype.to_real()), new(device, input.shape, input.dtype)
    note_nonfinite("linalg.eigh", a, batch, shared.NOT_FINITE)
    for matrix, w, v in zip(matrices(a), matrices(values, 1), matrices(vectors)):
        device.check_library("linalg.eigh", "cuSOLVER", "factorize outside of the capture")
        with device.driver("linalg.eigh"), device.stream, device.pool.temporaries():
            found = cupy.linalg.eigh(shown(matrix), UPLO="U" if upper else "L")
        for to, of in zip((w, v), found):
            copying.copy(to, taken(device, of))
    note_nonfinite("linalg.eigh", values, batch, shared.UNFINISHED)
    return values, vectors


KERNELS = {"linalg_eigh": Kernel(eigh, dtypes=COMPUTED)}
