"""Elementwise functions: polyad's own, whose meaning is the standard's, under the standard's names.

Functions of two tensors are wrapped: to the standard a 0-d tensor is a tensor like others, while PyTorch has its dtype
give way to that of a tensor with dimensions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import functions
from ..dtypes import promote_types
from ..functions import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atanh as atanh,
    bitwise_not as bitwise_invert,
    ceil as ceil,
    conj as conj,
    cos as cos,
    cosh as cosh,
    exp as exp,
    expm1 as expm1,
    floor as floor,
    imag as imag,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    logical_not as logical_not,
    negative as negative,
    positive as positive,
    real as real,
    reciprocal as reciprocal,
    sgn as sign,
    signbit as signbit,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    tan as tan,
    tanh as tanh,
    trunc as trunc,
)
from ..tensor import Tensor

Operand = Tensor | bool | int | float | complex


def equal_rank_promotion(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """*function* of two operands of which a 0-d tensor counts for as much as any."""

    @functools.wraps(function)
    def call(x1: Operand, x2: Operand, /, **options: Any) -> Tensor:
        if isinstance(x1, Tensor) and isinstance(x2, Tensor) and x1.dtype is not x2.dtype:
            dtype = promote_types(x1.dtype, x2.dtype)
            x1, x2 = x1.to(dtype), x2.to(dtype)
        return function(x1, x2, **options)

    return call


add = equal_rank_promotion(functions.add)
atan2 = equal_rank_promotion(functions.atan2)
bitwise_and = equal_rank_promotion(functions.bitwise_and)
bitwise_left_shift = equal_rank_promotion(functions.bitwise_left_shift)
bitwise_or = equal_rank_promotion(functions.bitwise_or)
bitwise_right_shift = equal_rank_promotion(functions.bitwise_right_shift)
bitwise_xor = equal_rank_promotion(functions.bitwise_xor)
copysign = equal_rank_promotion(functions.copysign)
divide = equal_rank_promotion(functions.divide)
equal = equal_rank_promotion(functions.eq)
floor_divide = equal_rank_promotion(functions.floor_divide)
greater = equal_rank_promotion(functions.greater)
greater_equal = equal_rank_promotion(functions.greater_equal)
hypot = equal_rank_promotion(functions.hypot)
less = equal_rank_promotion(functions.less)
less_equal = equal_rank_promotion(functions.less_equal)
logaddexp = equal_rank_promotion(functions.logaddexp)
logical_and = equal_rank_promotion(functions.logical_and)
logical_or = equal_rank_promotion(functions.logical_or)
logical_xor = equal_rank_promotion(functions.logical_xor)
maximum = equal_rank_promotion(functions.maximum)
minimum = equal_rank_promotion(functions.minimum)
multiply = equal_rank_promotion(functions.multiply)
nextafter = equal_rank_promotion(functions.nextafter)
not_equal = equal_rank_promotion(functions.ne)
pow = equal_rank_promotion(functions.pow)
remainder = equal_rank_promotion(functions.remainder)
subtract = equal_rank_promotion(functions.subtract)


def round(x: Tensor, /) -> Tensor:
    """To the nearest whole number, halves to even; complex numbers part by part."""
    if x.dtype.is_complex:
        return functions.complex(functions.round(functions.real(x)), functions.round(functions.imag(x)))
    return functions.round(x)


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Limited to [min, max]; the dtype is x's."""
    return functions.clip(x, *(limit.to(x.dtype) if isinstance(limit, Tensor) else limit for limit in (min, max)))


__all__ = [
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert",
    "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "clip", "conj", "copysign",
    "cos", "cosh", "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot",
    "imag", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "nextafter", "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign", "signbit",
    "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
]  # fmt: skip
