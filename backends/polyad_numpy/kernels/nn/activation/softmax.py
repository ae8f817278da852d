"""Softmax and its logarithm."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....fused import fused

ONE_THREAD = 9216
"""Up to this many elements OpenBLAS multiplies a matrix with a vector in one thread."""


@functools.lru_cache(maxsize=64)
def _ones(count: int, dtype: Any) -> Any:
    return np.ones(count, dtype)


def _sums(a: Any, dim: int) -> Any:
    """The sums along *dim*, which stays as 1.

    Those of a matrix's rows are a product with ones, which is the fastest, unless BLAS would start threads for it:
    einsum adds as fast as a single thread of BLAS, and does not wait for others.
    """
    if dim == 1 and a.ndim == 2:
        if a.size < ONE_THREAD:
            return a.dot(_ones(a.shape[1], a.dtype.char))[:, None]
        return np.einsum("ij->i", a)[:, None]
    return np.add.reduce(a, dim, None, None, True)


def _softmax(a: Any, dim: int) -> Any:
    if not a.size:
        return a.copy()
    result = np.subtract(a, np.maximum.reduce(a, dim, None, None, True))
    np.exp(result, result)
    return np.true_divide(result, _sums(result, dim), result)


def _softmax_backward(grad: Any, output: Any, dim: int) -> Any:
    result = np.multiply(grad, output)
    return np.subtract(result, np.multiply(output, _sums(result, dim)), result)


def _log_softmax(a: Any, dim: int) -> Any:
    if not a.size:
        return a.copy()
    result = np.subtract(a, np.maximum.reduce(a, dim, None, None, True))
    total = _sums(np.exp(result), dim)
    return np.subtract(result, np.log(total, total), result)


def _log_softmax_backward(grad: Any, output: Any, dim: int) -> Any:
    result = np.exp(output)
    np.multiply(result, np.add.reduce(grad, dim, None, None, True), result)
    return np.subtract(grad, result, result)


KERNELS = {
    "softmax": fused(_softmax, elementwise=False),
    "softmax_backward": fused(_softmax_backward, elementwise=False),
    "log_softmax": fused(_log_softmax, elementwise=False),
    "log_softmax_backward": fused(_log_softmax_backward, elementwise=False),
}
