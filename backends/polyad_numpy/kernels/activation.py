"""Activation functions and softmax, each in one go and with as few temporaries as NumPy allows."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.dtypes import bfloat16
from polyad.interop.numpy import numpy_dtype

from .exponential import sigmoid
from .fused import fused
from .quiet import quiet
from .selection import MASKED, choose, keep
from .special import erfc_of_magnitude
from .ufunc import with_out

ROOT_HALF = 0.5**0.5
ROOT_TWO_OVER_PI = (2 / math.pi) ** 0.5
TANH_CUBIC = 0.044715


def _relu(types: Signature) -> Any:
    zero = np.zeros((), numpy_dtype(types[0].dtype))
    call: Any = functools.partial(np.maximum, zero)
    if types[0].dtype is bfloat16:
        call = with_out(call)
    return (lambda a, out=None: np.asarray(call(a, out=out))) if types[0].zero_dim else call


def _relu_backward(types: Signature) -> Any:
    grad_type, output_type = types
    if not isinstance(output_type, TensorType) or output_type.dtype.is_complex:
        return None
    dtype = numpy_dtype(grad_type.dtype)
    zero = np.zeros((), dtype)
    equal, putmask = np.equal, np.putmask

    def kernel(grad: Any, output: Any) -> Any:
        if grad.size < MASKED and grad.shape == output.shape:
            # On few elements this has the least overhead; on many, `keep` is several times faster.
            result = grad.copy()
            putmask(result, equal(output, zero), zero)
            return result
        return np.asarray(keep(grad, np.asarray(np.not_equal(output, zero)), zero))

    return kernel


def _zero(a: Any) -> Any:
    return np.zeros((), a.dtype)


def _hardtanh(types: Signature) -> Any:
    dtype = numpy_dtype(types[0].dtype)

    def kernel(a: Any, low: float, high: float) -> Any:
        result = np.asarray(np.maximum(a, np.asarray(low, dtype)))
        return np.minimum(result, np.asarray(high, dtype), out=result)

    return quiet(kernel) if types[0].dtype is bfloat16 else kernel


def _hardtanh_backward(grad: Any, a: Any, low: float, high: float) -> Any:
    inside = np.greater(a, low)
    return keep(grad, np.logical_and(inside, np.less(a, high), inside), _zero(grad))


def _leaky_relu(a: Any, slope: float) -> Any:
    scaled = np.multiply(a, slope)
    # 0 * inf is nan, which must not win over inf.
    return np.maximum(a, scaled, out=scaled) if 0 < slope <= 1 else choose(np.greater(a, 0), a, scaled)


def _leaky_relu_backward(grad: Any, a: Any, slope: float) -> Any:
    return choose(np.greater(a, 0), grad, np.multiply(grad, slope))


def _elu(a: Any, alpha: float, scale: float) -> Any:
    low = np.expm1(a)
    np.multiply(low, alpha * scale, low)
    return choose(np.greater(a, 0), a if scale == 1 else np.multiply(a, scale), low)


def _elu_backward(grad: Any, a: Any, alpha: float, scale: float) -> Any:
    low = np.exp(a)
    np.multiply(low, alpha * scale, low)
    np.multiply(low, grad, low)
    return choose(np.greater(a, 0), grad if scale == 1 else np.multiply(grad, scale), low)


def _tanh_inner(a: Any, square: Any) -> Any:
    """tanh(sqrt(2 / pi) * (a + 0.044715 * a**3))."""
    inner = np.multiply(square, TANH_CUBIC * ROOT_TWO_OVER_PI)
    np.add(inner, ROOT_TWO_OVER_PI, inner)
    np.multiply(inner, a, inner)
    return np.tanh(inner, inner)


def _gelu(a: Any, approximate: str) -> Any:
    if approximate == "tanh":
        result = _tanh_inner(a, np.multiply(a, a))
        np.add(result, 1, result)
        np.multiply(result, 0.5, result)
        return np.multiply(result, a, result)
    # max(a, 0) - |a| * erfc(|a| / sqrt(2)) / 2, which loses nothing where a is far below 0.
    size = np.absolute(a)
    lost = erfc_of_magnitude(np.multiply(size, ROOT_HALF))
    np.multiply(lost, size, lost)
    np.multiply(lost, 0.5, lost)
    return np.subtract(np.maximum(a, _zero(a)), lost, lost)


def _gelu_backward(grad: Any, a: Any, approximate: str) -> Any:
    square = np.multiply(a, a)
    if approximate == "tanh":
        inner = _tanh_inner(a, square)
        np.multiply(square, 3 * TANH_CUBIC * ROOT_TWO_OVER_PI, square)
        np.add(square, ROOT_TWO_OVER_PI, square)
        np.multiply(square, a, square)
        np.multiply(square, np.subtract(1, np.multiply(inner, inner)), square)
        np.add(inner, 1, inner)
        np.add(inner, square, inner)
        np.multiply(inner, 0.5, inner)
        return np.multiply(inner, grad, inner)
    # The distribution function is 1/2 plus or minus (1 - erfc(|a| / sqrt(2))) / 2; to it comes a times the density.
    result = np.absolute(a)
    result = erfc_of_magnitude(np.multiply(result, ROOT_HALF, result))
    np.subtract(1, result, result)
    np.copysign(result, a, result)
    np.add(result, 1, result)
    np.multiply(square, -0.5, square)
    np.exp(square, square)
    np.multiply(square, ROOT_TWO_OVER_PI, square)
    np.multiply(square, a, square)
    np.add(result, square, result)
    np.multiply(result, 0.5, result)
    return np.multiply(result, grad, result)


def _silu(a: Any) -> Any:
    gate = sigmoid(a)
    return np.multiply(gate, a, gate)


def _silu_backward(grad: Any, a: Any) -> Any:
    gate = sigmoid(a)
    result = np.subtract(1, gate)
    np.multiply(result, a, result)
    np.add(result, 1, result)
    np.multiply(result, gate, result)
    return np.multiply(result, grad, result)


def _softplus(a: Any, beta: float, threshold: float) -> Any:
    scaled = np.multiply(a, beta)
    linear = np.greater(scaled, threshold)
    np.exp(scaled, scaled)
    np.log1p(scaled, scaled)
    if beta != 1:
        np.true_divide(scaled, beta, scaled)
    return choose(linear, a, scaled)


def _softplus_backward(grad: Any, a: Any, beta: float, threshold: float) -> Any:
    scaled = np.multiply(a, beta)
    linear = np.greater(scaled, threshold)
    slope = sigmoid(scaled)
    return choose(linear, grad, np.multiply(slope, grad, slope))


@functools.lru_cache(maxsize=64)
def _ones(count: int, dtype: Any) -> Any:
    return np.ones(count, dtype)


def _sums(a: Any, dim: int) -> Any:
    """The sums along *dim*, which stays as 1; those of a matrix's rows as a product with ones, which is the fastest."""
    if dim == 1 and a.ndim == 2:
        return a.dot(_ones(a.shape[1], a.dtype.char))[:, None]
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
    "relu": Kernel(np.maximum, out=True, specialize=_relu),
    "relu_backward": Kernel(keep, specialize=_relu_backward),
    "hardtanh": Kernel(np.clip, specialize=_hardtanh),
    "hardtanh_backward": fused(_hardtanh_backward, integers=True, halves=True),
    "leaky_relu": fused(_leaky_relu),
    "leaky_relu_backward": fused(_leaky_relu_backward),
    "elu": fused(_elu),
    "elu_backward": fused(_elu_backward),
    "gelu": fused(_gelu),
    "gelu_backward": fused(_gelu_backward),
    "silu": fused(_silu),
    "silu_backward": fused(_silu_backward),
    "softplus": fused(_softplus),
    "softplus_backward": fused(_softplus_backward),
    "softmax": fused(_softmax),
    "softmax_backward": fused(_softmax_backward),
    "log_softmax": fused(_log_softmax),
    "log_softmax_backward": fused(_log_softmax_backward),
}
