"""Running reductions along a dimension. Results are row-major, as PyTorch's are."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import FLOATING, bfloat16
from polyad.interop.numpy import numpy_dtype

from ...quiet import quiet
from .sums import accumulator


def _running(accumulate: Any) -> Kernel:
    def specialize(types: Signature) -> Any:
        type_ = types[0]
        assert isinstance(type_, TensorType)
        own = numpy_dtype(type_.dtype)
        wide = accumulator(type_.dtype) or own
        if wide is np.float32:
            return quiet(lambda array, dim: accumulate(array.astype(np.float32, order="C"), dim).astype(own))
        return quiet(lambda array, dim: accumulate(array, dim, wide, np.empty(array.shape, wide)))

    return Kernel(accumulate, specialize=specialize)


def _running_extreme(accumulate: Any, at_least: Any) -> Kernel:
    def kernel(array: Any, dim: int) -> Any:
        values = accumulate(array, dim, None, np.empty(array.shape, array.dtype))
        holds = at_least(array, values)
        # Once there is nan, it is the extreme until the end.
        if array.dtype.kind == "f" and np.isnan(np.take(values, [-1] if array.shape[dim] else [], dim)).any():
            np.logical_or(holds, array != array, holds)
        shape = [1] * array.ndim
        shape[dim] = -1
        # The positions where the extreme was met again; the largest so far is where it was met last.
        indices = np.multiply(holds, np.arange(array.shape[dim]).reshape(shape))
        return values, np.maximum.accumulate(indices, dim, None, indices)

    def in_float32(array: Any, dim: int) -> Any:
        values, indices = kernel(array.astype(np.float32), dim)
        return values.astype(array.dtype), indices

    def specialize(types: Signature) -> Any:
        type_ = types[0]
        assert isinstance(type_, TensorType)
        return quiet(in_float32 if type_.dtype is bfloat16 else kernel)

    return Kernel(kernel, specialize=specialize)


def _log_sum_exp(types: Signature) -> Any:
    type_ = types[0]
    assert isinstance(type_, TensorType)
    if type_.dtype.is_complex:
        return None  # NumPy adds real logarithms only
    own = numpy_dtype(type_.dtype)
    if type_.dtype.itemsize == 2:
        return quiet(lambda array, dim: np.logaddexp.accumulate(array.astype(np.float32, order="C"), dim).astype(own))
    return quiet(lambda array, dim: np.logaddexp.accumulate(array, dim, None, np.empty(array.shape, own)))


def _divisible(products: Any) -> bool:
    """Whether factors can be taken out of products again: none is 0, infinite or nan."""
    return bool(products.all()) and bool(np.isfinite(products).all())


def product_of_others(array: Any) -> Any:
    total = np.multiply.reduce(array, -1, None, None, True)
    if _divisible(total):
        return np.true_divide(total, array)
    before, after = np.ones((2, *array.shape), array.dtype)
    np.multiply.accumulate(array[..., :-1], -1, None, before[..., 1:])
    np.multiply.accumulate(array[..., :0:-1], -1, None, after[..., -2::-1])
    return np.multiply(before, after, before)


def cumprod_backward(grad: Any, array: Any, dim: int) -> Any:
    grad, array = np.moveaxis(grad, dim, -1), np.moveaxis(array, dim, -1)
    products = np.multiply.accumulate(array, -1, None, np.empty(array.shape, array.dtype))
    if _divisible(products):
        np.multiply(products, grad, products)
        result = np.add.accumulate(products[..., ::-1], -1)[..., ::-1]
        result = np.true_divide(result, array, products)
    else:
        result = np.empty(array.shape, array.dtype)
        # r[i] = g[i] + input[i + 1] * r[i + 1], times the product before.
        rest = grad[..., -1]
        result[..., -1] = rest
        for place in range(array.shape[-1] - 2, -1, -1):
            rest = grad[..., place] + array[..., place + 1] * rest
            result[..., place] = rest
        result[..., 1:] *= products[..., :-1]
    return np.ascontiguousarray(np.moveaxis(result, -1, dim))


def _wide_enough(function: Any) -> Kernel:
    """The kernel of a function whose rounding half types are too short for: they are left to the decomposition."""

    def specialize(types: Signature) -> Any:
        type_ = types[0]
        assert isinstance(type_, TensorType)
        return None if type_.dtype.itemsize == 2 or type_.dtype.category < FLOATING else quiet(function)

    return Kernel(function, specialize=specialize)


KERNELS = {
    "cumprod_backward": _wide_enough(cumprod_backward),
    "product_of_others": _wide_enough(product_of_others),
    "cumsum": _running(np.add.accumulate),
    "cumprod": _running(np.multiply.accumulate),
    "cummax": _running_extreme(np.maximum.accumulate, np.greater_equal),
    "cummin": _running_extreme(np.minimum.accumulate, np.less_equal),
    "logcumsumexp": Kernel(np.logaddexp.accumulate, specialize=_log_sum_exp),
}
