"""Rectifiers: relu and its kin."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import bfloat16
from polyad.interop.numpy import numpy_dtype

from ....fused import fused
from ....ufunc import with_out
from ...pointwise.clamp import CLIPPED
from ...pointwise.where import MASKED, choose, keep


def _relu(types: Signature) -> Any:
    dtype = numpy_dtype(types[0].dtype)
    zero = np.zeros((), dtype)
    call: Any = functools.partial(np.maximum, zero)
    if types[0].dtype is bfloat16:
        call = with_out(call)
    if types[0].zero_dim:
        return lambda a, out=None: np.asarray(call(a, out=out))
    if dtype.kind != "f" or types[0].dtype is bfloat16:
        return call
    most = np.asarray(np.inf, dtype)

    def kernel(a: Any, out: Any = None) -> Any:
        # NumPy's clip is several times faster than its maximum with a number, and slower to call.
        return call(a, out=out) if a.size < CLIPPED else a.clip(zero, most, out)

    return kernel


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


def _threshold(a: Any, limit: float, value: float) -> Any:
    return choose(np.less_equal(a, limit), np.asarray(value, a.dtype), a)


def _threshold_backward(grad: Any, a: Any, limit: float) -> Any:
    # Not greater, but not at most: nan lets the gradient through.
    above = np.less_equal(a, limit)
    return keep(grad, np.logical_not(above, above), np.zeros((), grad.dtype))


def _leaky_relu(a: Any, slope: float) -> Any:
    scaled = np.multiply(a, slope)
    # 0 * inf is nan, which must not win over inf.
    return np.maximum(a, scaled, out=scaled) if 0 < slope <= 1 else choose(np.greater(a, 0), a, scaled)


def _leaky_relu_backward(grad: Any, a: Any, slope: float) -> Any:
    return choose(np.greater(a, 0), grad, np.multiply(grad, slope))


def _elu(a: Any, alpha: float, scale: float, input_scale: float) -> Any:
    low = np.expm1(a if input_scale == 1 else np.multiply(a, input_scale))
    np.multiply(low, alpha * scale, low)
    return choose(np.less(a, 0), low, a if scale == 1 else np.multiply(a, scale))


def _elu_backward(grad: Any, a: Any, alpha: float, scale: float, input_scale: float) -> Any:
    low = np.exp(a if input_scale == 1 else np.multiply(a, input_scale))
    np.multiply(low, alpha * scale * input_scale, low)
    np.multiply(low, grad, low)
    return choose(np.less_equal(a, 0), low, grad if scale == 1 else np.multiply(grad, scale))


KERNELS = {
    "relu": Kernel(np.maximum, out=True, specialize=_relu),
    "relu_backward": Kernel(keep, specialize=_relu_backward),
    "threshold": fused(_threshold, integers=True),
    "threshold_backward": fused(_threshold_backward, integers=True),
    "leaky_relu": fused(_leaky_relu),
    "leaky_relu_backward": fused(_leaky_relu_backward),
    "elu": fused(_elu),
    "elu_backward": fused(_elu_backward),
}
