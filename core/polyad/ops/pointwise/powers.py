"""Powers and roots.

Integers stay integers under `pow` and `square`; roots and reciprocals of integers are taken in the default floating
dtype.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature
from ...base.dtypes import BOOL, INTEGER, complex128, float64, iinfo, int64
from ...dispatch.forward import symmetric
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import Typing, floating_only, not_bool, not_complex, promoted_float
from ...dispatch.structure import pointwise
from ...errors import ArgumentTypeError, DTypeError
from ...tensor import Tensor
from ..creation.factories import zeros_like
from ..declaring.half_types import in_float32
from .arithmetic import _add, _div, _mul, _neg, conjugate
from .exponential import log
from .maximum import maximum, minimum
from .where import _where

if TYPE_CHECKING:
    Number = bool | int | float | complex


@primitive(dtype=not_bool("pow"), structure=pointwise)
def _pow(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """input ** exponent; an integer to a negative integer power is rounded towards zero."""


def _pow_grad_input(g: Tensor, input: Tensor, exponent: Tensor | Number) -> Tensor:
    if isinstance(exponent, Tensor):
        slope = _mul(exponent, _pow(input, exponent - 1))
        return _where(exponent == 0, 0.0, _mul(g, conjugate(slope)))
    if exponent == 0:
        return zeros_like(g)
    if exponent == 1:
        return g
    power = input if exponent == 2 else _pow(input, exponent - 1)
    return _mul(g, conjugate(_mul(power, exponent)))


def _pow_grad_exponent(g: Tensor, input: Tensor | Number, exponent: Tensor, out: Tensor) -> Tensor:
    if isinstance(input, Tensor):
        slope = _mul(out, log(input))
        return _where((input == 0) & _not_negative(exponent), 0.0, _mul(g, conjugate(slope)))
    if input == 0:
        return _where(_not_negative(exponent), 0.0, _mul(g, -math.inf))
    logarithm: complex
    if isinstance(input, complex) or (exponent._type.dtype.is_complex and input < 0):
        logarithm = cmath.log(input)
    else:
        logarithm = math.log(input) if input > 0 else math.nan
    return _mul(g, conjugate(_mul(out, logarithm)))


def _not_negative(exponent: Tensor) -> Tensor:
    return exponent == exponent if exponent._type.dtype.is_complex else exponent >= 0


gradient(_pow, input=_pow_grad_input, exponent=_pow_grad_exponent)


@function(inplace=True, fronts=_pow, also={"self": "input"})
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input ** exponent``, element by element; either may be a number.

    Shapes broadcast; dtypes promote. An integer tensor to the power of a tensor with negative integers is rounded
    towards zero; a negative integer number as exponent raises RuntimeError, as do bool tensors and shapes that do not
    broadcast.

    >>> import polyad
    >>> polyad.pow(polyad.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    >>> polyad.pow(2, polyad.tensor([1, 2, 3]))
    tensor([2, 4, 8])
    """
    given = exponent.__class__
    if given is int:
        if not 0 <= exponent < 128:  # type: ignore[operator]
            _check_exponent(input, exponent)
    elif given is not float and not isinstance(exponent, Tensor):
        _check_exponent(input, exponent)
    return _pow(input, exponent)


def _check_exponent(input: Any, exponent: Any) -> None:
    """Raise DTypeError for an integer number that is no exponent of an integer tensor."""
    whole = input._type.dtype.category <= INTEGER if isinstance(input, Tensor) else isinstance(input, Integral)
    if not whole or not isinstance(exponent, Integral):
        return
    operands = {"input": input, "exponent": exponent}
    if exponent < 0:
        raise DTypeError(
            "pow: integers have no negative integer powers",
            operands=operands,
            fix="convert input to a floating dtype, or write a float exponent",
        )
    if isinstance(input, Tensor) and input._type.dtype.category == INTEGER and exponent > iinfo(input._type.dtype).max:
        raise DTypeError(
            f"pow: the exponent {exponent} is out of the range of {input._type.dtype.name}",
            operands=operands,
            fix="convert input to a wider dtype",
        )


@function(inplace=True, also={"self": "input"})
def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`pow` computed in float64 (complex128 if an operand is complex).

    >>> import polyad
    >>> polyad.float_power(polyad.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=polyad.float64)
    """
    operands: list[Any] = [input, exponent]
    for value in operands:
        if not isinstance(value, (Tensor, bool, int, float, complex)):
            raise ArgumentTypeError(
                f"float_power: {type(value).__name__} is neither a tensor nor a number",
                operands={"value": value},
                fix="wrap it in polyad.tensor(...)",
            )
    is_complex = any(
        value._type.dtype.is_complex if isinstance(value, Tensor) else isinstance(value, complex) for value in operands
    )
    dtype = complex128 if is_complex else float64
    base, power = [
        value.to(dtype) if isinstance(value, Tensor) else complex(value) if is_complex else float(value)
        for value in operands
    ]
    return _pow(base, power)


def _at_least_int(types: Signature, params: Mapping[str, Any]) -> Typing:
    """bool becomes int64; everything else keeps its dtype."""
    dtype = types[0].dtype
    dtype = int64 if dtype.category == BOOL else dtype
    return Typing((dtype,), (dtype,))


@composite(dtype=not_complex("hypot", floating_only("hypot")), structure=pointwise, inplace=True)
@in_float32
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sqrt(input ** 2 + other ** 2)`` without overflow: the length of a triangle's long side.

    Shapes broadcast; dtypes promote. Raises NotImplementedError for integer and complex operands, RuntimeError when
    shapes do not broadcast.

    >>> import polyad
    >>> polyad.hypot(polyad.tensor([3.0, 5.0]), polyad.tensor([4.0, 12.0]))
    tensor([ 5., 13.])
    """
    a, b = abs(input), abs(other)
    larger = maximum(a, b)
    ratio = _div(minimum(a, b), _where(larger == 0, 1.0, larger))
    result = _mul(larger, sqrt(_add(_mul(ratio, ratio), 1)))
    return _where((a == math.inf) | (b == math.inf), math.inf, result)


gradient(
    hypot,
    input=lambda g, input, out: _mul(g, _div(input, out)),
    other=lambda g, other, out: _mul(g, _div(other, out)),
)


@composite(dtype=_at_least_int, structure=pointwise, inplace=True)
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * input``.

    >>> import polyad
    >>> polyad.square(polyad.tensor([-2.0, 3.0]))
    tensor([4., 9.])
    """
    return _mul(input, input)


gradient(square, input=lambda g, input: _mul(g, conjugate(_mul(input, 2))))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The square root; nan for negative real elements. Integers become the default floating dtype.

    >>> import polyad
    >>> polyad.sqrt(polyad.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """


gradient(sqrt, input=lambda g, out: g / conjugate(_mul(out, 2)))


@composite(dtype=promoted_float, structure=pointwise, inplace=True)
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / sqrt(input)``; inf for 0.

    >>> import polyad
    >>> polyad.rsqrt(polyad.tensor([4.0, 16.0]))
    tensor([0.5000, 0.2500])
    """
    return 1 / sqrt(input)


gradient(rsqrt, input=lambda g, out: _mul(g, conjugate(_mul(_mul(out, _mul(out, out)), -0.5))))


@composite(dtype=promoted_float, structure=pointwise, inplace=True)
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 / input``; integers become the default floating dtype.

    >>> import polyad
    >>> polyad.reciprocal(polyad.tensor([2.0, 4.0]))
    tensor([0.5000, 0.2500])
    """
    return 1 / input


gradient(reciprocal, input=lambda g, out: _neg(_mul(g, conjugate(_mul(out, out)))))
symmetric(_pow, hypot, square, sqrt, rsqrt, reciprocal)
