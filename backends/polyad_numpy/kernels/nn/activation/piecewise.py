"""Bounds, shrinkage, and cheap stand-ins for smooth activations."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ....fused import fused
from ...pointwise.clamp import above, clamp
from ...pointwise.where import keep


def _zero(a: Any) -> Any:
    return np.zeros((), a.dtype)


def _hardtanh_backward(grad: Any, a: Any, low: float, high: float) -> Any:
    outside = np.less_equal(a, low)
    np.logical_or(outside, np.greater_equal(a, high), outside)
    return keep(grad, np.logical_not(outside, outside), _zero(grad))


def _hardsigmoid(a: Any) -> Any:
    result = np.add(a, 3)
    # One pass, and several times as fast as a maximum and a minimum.
    result.clip(np.asarray(0, a.dtype), np.asarray(6, a.dtype), out=result)
    return np.true_divide(result, 6, result)


def _between(a: Any) -> Any:
    inside = np.greater(a, -3)
    return np.logical_and(inside, np.less(a, 3), inside)


def _hardsigmoid_backward(grad: Any, a: Any) -> Any:
    return keep(np.true_divide(grad, 6), _between(a), _zero(grad))


def _hardswish(a: Any) -> Any:
    result = _hardsigmoid(a)
    return np.multiply(result, a, result)


def _hardswish_backward(grad: Any, a: Any) -> Any:
    slope = np.true_divide(a, 3)
    np.add(slope, 0.5, slope)
    # nan and what is 3 or more let the gradient through, what is -3 or less stops it.
    slope[np.logical_not(np.less(a, 3))] = 1
    slope = np.multiply(slope, grad, slope)
    return keep(slope, np.logical_not(np.less_equal(a, -3)), _zero(grad))


def _outside(a: Any, lambd: float) -> Any:
    limit = np.asarray(lambd, a.dtype)
    inside = np.greater_equal(a, -limit)
    np.logical_and(inside, np.less_equal(a, limit), inside)
    return np.logical_not(inside, inside)


def _hardshrink(a: Any, lambd: float) -> Any:
    return keep(a, _outside(a, lambd), _zero(a))


def _hardshrink_backward(grad: Any, a: Any, lambd: float) -> Any:
    return keep(grad, _outside(a, lambd), _zero(grad))


def _softshrink(a: Any, lambd: float) -> Any:
    # What is left of a when its part within [-lambd, lambd] is taken away: 0 within, with a's sign.
    size = np.absolute(a)
    np.subtract(size, np.asarray(lambd, a.dtype), size)
    above(size, 0, size)
    return np.copysign(size, a, size)


KERNELS = {
    "hardtanh": Kernel(np.clip, out=True, specialize=clamp),
    "hardtanh_backward": fused(_hardtanh_backward, integers=True, halves=True),
    "hardsigmoid": fused(_hardsigmoid),
    "hardsigmoid_backward": fused(_hardsigmoid_backward),
    "hardswish": fused(_hardswish),
    "hardswish_backward": fused(_hardswish_backward),
    "hardshrink": fused(_hardshrink, halves=True),
    "hardshrink_backward": fused(_hardshrink_backward, halves=True),
    "softshrink": fused(_softshrink),
}
