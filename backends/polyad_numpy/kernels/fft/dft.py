"""Discrete Fourier transforms, through SciPy's pocketfft: twice as fast as NumPy's, and it spreads large batches over
threads, which does not change results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...workers import WORTH_THREADS, num_threads


def _workers(array: Any) -> int | None:
    return num_threads() if array.size >= WORTH_THREADS else None


def _fft() -> Any:
    import scipy.fft  # imported by the first transform, since it takes longer than most programs' other imports

    return scipy.fft


def c2c(array: Any, dims: tuple[int, ...], norm: str, forward: bool) -> Any:
    if not dims or not array.size:
        return array.astype(np.result_type(array, np.complex64), order="C")
    transform = _fft().fftn if forward else _fft().ifftn
    result = np.ascontiguousarray(transform(array, axes=dims, norm=norm, workers=_workers(array)))
    if array.dtype.kind != "c":
        result += 0  # what SciPy fills in by symmetry has imaginary parts of -0
    return result


def r2c(array: Any, dims: tuple[int, ...], norm: str) -> Any:
    if not array.size:
        last = dims[-1]
        shape = (*array.shape[:last], array.shape[last] // 2 + 1, *array.shape[last + 1 :])
        return np.zeros(shape, np.result_type(array, np.complex64))
    return np.ascontiguousarray(_fft().rfftn(array, axes=dims, norm=norm, workers=_workers(array)))


def c2r(array: Any, dims: tuple[int, ...], norm: str, size: int) -> Any:
    if not array.size:
        return np.zeros((*array.shape[: dims[-1]], size, *array.shape[dims[-1] + 1 :]), array.real.dtype)
    shape = [*[array.shape[dim] for dim in dims[:-1]], size]
    return np.ascontiguousarray(_fft().irfftn(array, s=shape, axes=dims, norm=norm, workers=_workers(array)))


KERNELS = {"fft_c2c": Kernel(c2c), "fft_r2c": Kernel(r2c), "fft_c2r": Kernel(c2r)}
