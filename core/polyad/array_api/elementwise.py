"""Elementwise functions: polyad's own, whose meaning is the standard's, under the standard's names.

Functions of two operands are wrapped: to the standard a 0-d tensor is a tensor like others, while PyTorch has its dtype
give way to that of a tensor with dimensions; and either operand may be a number, also where PyTorch wants tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from .. import functions
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
from .data_types import promoted, result_type

Operand = Tensor | bool | int | float | complex


def promoting(function: Callable[..., Tensor], *, numbers: bool = True) -> Callable[[Operand, Operand], Tensor]:
    """*function* of two operands of which a 0-d tensor counts for as much as any.

    Without *numbers* the function wants tensors, and gets numbers as tensors.
    """

    @functools.wraps(function)
    def call(x1: Operand, x2: Operand, /) -> Tensor:
        if numbers:
            return function(*promoted(x1, x2))
        dtype = result_type(x1, x2)
        device = x1.device if isinstance(x1, Tensor) else x2.device if isinstance(x2, Tensor) else None
        return function(*(functions.asarray(x, dtype=dtype, device=device) for x in (x1, x2)))

    return call


add = promoting(functions.add)
atan2 = promoting(functions.atan2, numbers=False)
bitwise_and = promoting(functions.bitwise_and)
bitwise_left_shift = promoting(functions.bitwise_left_shift)
bitwise_or = promoting(functions.bitwise_or)
bitwise_right_shift = promoting(functions.bitwise_right_shift)
bitwise_xor = promoting(functions.bitwise_xor)
copysign = promoting(functions.copysign, numbers=False)
divide = promoting(functions.divide)
equal = promoting(functions.eq)
greater = promoting(functions.greater)
greater_equal = promoting(functions.greater_equal)
hypot = promoting(functions.hypot, numbers=False)
less = promoting(functions.less)
less_equal = promoting(functions.less_equal)
logaddexp = promoting(functions.logaddexp, numbers=False)
logical_and = promoting(functions.logical_and, numbers=False)
logical_or = promoting(functions.logical_or, numbers=False)
logical_xor = promoting(functions.logical_xor, numbers=False)
maximum = promoting(functions.maximum)
minimum = promoting(functions.minimum)
multiply = promoting(functions.multiply)
nextafter = promoting(functions.nextafter, numbers=False)
not_equal = promoting(functions.ne)
pow = promoting(functions.pow)
subtract = promoting(functions.subtract)


@promoting
def floor_divide(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The quotient rounded down. A quotient of or by infinity is rounded too, where PyTorch's is NaN or -1."""
    quotient = functions.floor_divide(x1, x2)
    if not quotient.dtype.is_floating_point:
        return quotient
    exact = functions.divide(x1, x2)
    infinite = functions.isinf(functions.asarray(x1)) | functions.isinf(functions.asarray(x2))
    result: Tensor = functions.where(infinite, functions.floor(exact), quotient)
    return result


@promoting
def remainder(x1: Tensor, x2: Tensor, /) -> Tensor:
    """What the quotient rounded down leaves, with the sign of *x2*: a zero too, where PyTorch's has that of *x1*."""
    left = functions.remainder(x1, x2)
    if not left.dtype.is_floating_point:
        return left
    zero: Tensor = functions.copysign(functions.zeros_like(left), functions.asarray(x2, dtype=left.dtype))
    return functions.where(left == 0, zero, left)  # type: ignore[no-any-return]


def expm1(x: Tensor, /) -> Tensor:
    """exp(x) - 1, accurate near 0; of complex numbers whose real part is not finite, what exp gives less 1."""
    if not x.dtype.is_complex:
        return functions.expm1(x)
    chosen: Tensor = functions.where(functions.isfinite(functions.real(x)), functions.expm1(x), functions.exp(x) - 1)
    return chosen


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; complex numbers divided by their absolute value. NaN stays NaN, where PyTorch's is 0."""
    result: Tensor = functions.where(x == 0, 0, functions.sgn(x))
    if x.dtype.is_floating_point or x.dtype.is_complex:
        result = functions.where(functions.isnan(x), x, result)
    return result


def round(x: Tensor, /) -> Tensor:
    """To the nearest whole number, halves to even; complex numbers part by part."""
    if x.dtype.is_complex:
        return functions.complex(functions.round(functions.real(x)), functions.round(functions.imag(x)))
    return functions.round(x)


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Limited to [min, max]; the dtype is x's."""
    if min is None and max is None:
        return x.clone()
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
