"""Exponentials, logarithms and the logistic function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature

from ...fused import ONE, fused
from ...ufunc import elementwise, ufunc


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


def _squared(x: Any) -> tuple[Any, Any]:
    """x * x in two numbers, whose sum is exact (Dekker 1971)."""
    product = x * x
    upper = x * 134217729.0
    upper = upper - (upper - x)
    lower = x - upper
    return product, ((upper * upper - product) + 2 * upper * lower) + lower * lower


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b in two numbers, whose sum is exact (Knuth 1969)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _complex_log1p(z: Any, out: Any = None) -> Any:
    """By parts. NumPy's takes the logarithm of |1 + z|, which for small z is 1 and loses all of the real part."""
    wide = z.astype(np.complex128)
    re, im = wide.real, wide.imag
    size = np.maximum(np.absolute(re), np.absolute(im))
    # |1 + z|**2 - 1 = 2 re + re**2 + im**2, terms that may cancel: in twice the digits.
    (first, rest), (second, more) = _squared(np.where(size <= 2, re, 0.0)), _squared(np.where(size <= 2, im, 0.0))
    total, lost = _two_sum(2 * re, first)
    total, lost_too = _two_sum(total, second)
    excess = total + (lost + lost_too + rest + more)
    halves = np.hypot(0.5 * re + 0.5, 0.5 * im)  # which does not overflow
    near = np.logical_and(size <= 2, excess > -0.5)
    result = np.empty(wide.shape, np.complex128)
    result.real = np.where(near, 0.5 * np.log1p(np.where(near, excess, 0.0)), np.log(halves) + math.log(2))
    result.imag = np.arctan2(im, re + 1)
    if out is None:
        return result.astype(z.dtype)
    np.copyto(out, result, casting="same_kind")
    return out


def _log1p() -> Kernel:
    of_reals, of_complex = ufunc(np.log1p), elementwise(_complex_log1p, 1)

    def specialize(types: Signature) -> Any:
        kernel = of_complex if types[0].dtype.is_complex else of_reals
        assert kernel.specialize is not None
        return kernel.specialize(types)

    return Kernel(of_reals.function, out=True, specialize=specialize)


KERNELS = {
    "exp": ufunc(np.exp),
    "expm1": ufunc(np.expm1),
    "exp2": ufunc(np.exp2),
    "log": ufunc(np.log),
    "log1p": _log1p(),
    "log2": ufunc(np.log2),
    "log10": ufunc(np.log10),
    "logaddexp": _no_complex(ufunc(np.logaddexp)),
    "logaddexp2": ufunc(np.logaddexp2),
    "sigmoid": fused(sigmoid),
    "sigmoid_backward": fused(_sigmoid_backward),
}
