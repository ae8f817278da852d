"""Exponentials, logarithms and the logistic function."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature

from ...fused import ONE, fused
from ...ufunc import ufunc


def sigmoid(a: Any) -> Any:
    """1 / (1 + exp(-a)); exp may overflow, of which the reciprocal is 0, as it should be."""
    result = np.negative(a)
    np.exp(result, result)
    np.add(result, 1, result)
    return np.reciprocal(result, result)


def _sigmoid_backward(grad: Any, output: Any) -> Any:
    result = np.subtract(ONE[output.dtype], output)
    np.multiply(result, output, result)
    return np.multiply(grad, result, result)


def _no_complex(kernel: Kernel) -> Kernel:
    """*kernel*, leaving complex numbers, which NumPy's ufunc does not take, to the decomposition."""

    def specialize(types: Signature) -> Any:
        assert kernel.specialize is not None
        is_complex = any(isinstance(entry, TensorType) and entry.dtype.is_complex for entry in types)
        return None if is_complex else kernel.specialize(types)

    return Kernel(kernel.function, out=kernel.out, specialize=specialize)


KERNELS = {
    "exp": ufunc(np.exp),
    "expm1": ufunc(np.expm1),
    "exp2": ufunc(np.exp2),
    "log": ufunc(np.log),
    "log1p": ufunc(np.log1p),
    "log2": ufunc(np.log2),
    "log10": ufunc(np.log10),
    "logaddexp": _no_complex(ufunc(np.logaddexp)),
    "logaddexp2": ufunc(np.logaddexp2),
    "sigmoid": fused(sigmoid),
    "sigmoid_backward": fused(_sigmoid_backward),
}
