"""Smooth activations, each in one go and with as few temporaries as NumPy allows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....fused import fused
from ...pointwise.clamp import below
from ...pointwise.exponential import sigmoid
from ...pointwise.where import choose
from ...special.error_functions import erfc_of_magnitude

ROOT_HALF = 0.5**0.5
ROOT_TWO_OVER_PI = (2 / math.pi) ** 0.5
TANH_CUBIC = 0.044715


def _zero(a: Any) -> Any:
    return np.zeros((), a.dtype)


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
    # a / 2 times erfc(-a / sqrt(2)), which is 2 - erfc(a / sqrt(2)): neither loses digits far from 0.
    size = np.absolute(a)
    result = erfc_of_magnitude(np.multiply(size, ROOT_HALF, size))
    result = choose(np.greater(a, 0), np.subtract(2, result), result).view(a.dtype)
    np.multiply(result, 0.5, result)
    return np.multiply(result, a, result)


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


def _log_sigmoid(a: Any) -> Any:
    size = np.absolute(a, order="C")
    np.negative(size, size)
    np.exp(size, size)
    np.log1p(size, size)
    return np.subtract(np.clip(a, None, 0), size, size)


def _softplus_tanh(a: Any) -> Any:
    """tanh(log1p(exp(a))) as e * (e + 2) / (e * (e + 2) + 2), of e = exp(min(a, 20)): beyond, it is 1."""
    powers = below(a, 20)
    np.exp(powers, powers)
    np.multiply(powers, np.add(powers, 2), powers)
    return np.true_divide(powers, np.add(powers, 2), powers)


def _mish(a: Any) -> Any:
    result = _softplus_tanh(a)
    return np.multiply(result, a, result)


def _mish_backward(grad: Any, a: Any) -> Any:
    inner = _softplus_tanh(a)
    slope = np.multiply(inner, inner)
    np.subtract(1, slope, slope)
    np.multiply(slope, sigmoid(a), slope)
    np.multiply(slope, a, slope)
    np.add(slope, inner, slope)
    return np.multiply(slope, grad, slope)


def _glu(a: Any, gate: Any) -> Any:
    result = sigmoid(gate)
    return np.multiply(result, a, result)


KERNELS = {
    "gelu": fused(_gelu),
    "gelu_backward": fused(_gelu_backward),
    "silu": fused(_silu),
    "silu_backward": fused(_silu_backward),
    "softplus": fused(_softplus),
    "softplus_backward": fused(_softplus_backward),
    "log_sigmoid": fused(_log_sigmoid),
    "mish": fused(_mish),
    "mish_backward": fused(_mish_backward),
    "glu": fused(_glu),
}
