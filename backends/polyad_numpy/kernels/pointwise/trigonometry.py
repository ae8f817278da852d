"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...fused import ONE, fused
from ...ufunc import ufunc


def _tanh_backward(grad: Any, output: Any) -> Any:
    result = np.multiply(output, output)
    np.subtract(ONE[result.dtype], result, result)
    return np.multiply(grad, result, result)


KERNELS = {
    "sin": ufunc(np.sin),
    "cos": ufunc(np.cos),
    "tan": ufunc(np.tan),
    "asin": ufunc(np.arcsin),
    "acos": ufunc(np.arccos),
    "atan": ufunc(np.arctan),
    "atan2": ufunc(np.arctan2),
    "sinh": ufunc(np.sinh),
    "cosh": ufunc(np.cosh),
    "tanh": ufunc(np.tanh),
    "asinh": ufunc(np.arcsinh),
    "acosh": ufunc(np.arccosh),
    "atanh": ufunc(np.arctanh),
    "tanh_backward": fused(_tanh_backward),
}
