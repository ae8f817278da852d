"""Arithmetic of elements: sums, products, quotients and remainders, magnitude and sign.

Invariant: an operand may be a tensor or a number. Integers wrap around at the ends of their dtype, as PyTorch's do;
integers divided by zero raise `polyad.errors.DivisionByZero`, floating point numbers give inf or nan.

To add an elementwise op: declare it in the family it belongs to with its dtype rule and gradient, add its kernel to
each backend's table, and its samples to ``polyad_conformance/samples``.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from ...backend.interface import Signature, TensorType
from ...base.dtypes import BOOL, COMPLEX, FLOATING, INTEGER, DType, dtype_of_number
from ...base.state import state
from ...dispatch.forward import linear_in, multilinear, symmetric
from ...dispatch.op import alias, composite, function, gradient, primitive
from ...dispatch.promotion import (
    Typing,
    common_dtype,
    exact_numbers,
    floating_only,
    no_bool_operand,
    not_bool,
    not_complex,
    promoted,
    promoted_float,
)
from ...dispatch.structure import pointwise
from ...errors import DTypeError, OptionError, safe_repr, wrong_type
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import zeros_like
from ..declaring.half_types import in_float32
from ..declaring.whole_numbers import whole
from ..memory.copying import element
from .where import _where

if TYPE_CHECKING:
    Number = bool | int | float | complex


@primitive(dtype=promoted, structure=pointwise)
def _add(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input + other; of bools, their disjunction."""


gradient(_add, input=lambda g: g, other=lambda g: g)
linear_in(_add, "input", "other")


@function(inplace=True, fronts=_add, factors=("alpha",))
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other``, element by element.

    Shapes broadcast; dtypes promote. Raises RuntimeError when shapes do not broadcast, devices differ or *alpha* is a
    float and the operands are integers, TypeError for operands that are neither tensors nor numbers.

    >>> import polyad
    >>> polyad.add(polyad.tensor([1, 2]), polyad.tensor([10, 20]), alpha=2)
    tensor([21, 42])
    """
    return _add(input, other if alpha.__class__ is int and alpha == 1 else _times_alpha("add", input, other, alpha))


@primitive(dtype=no_bool_operand("sub"), structure=pointwise)
def _sub(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input - other."""


gradient(_sub, input=lambda g: g, other=lambda g: _neg(g))
linear_in(_sub, "input", "other")


@function(inplace=True, fronts=_sub, factors=("alpha",))
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, element by element.

    Shapes broadcast; dtypes promote. Raises RuntimeError for bool operands, shapes that do not broadcast, mixed
    devices and a float *alpha* of integer operands.

    >>> import polyad
    >>> polyad.sub(polyad.tensor([5, 7]), 2)
    tensor([3, 5])
    """
    return _sub(input, other if alpha.__class__ is int and alpha == 1 else _times_alpha("sub", input, other, alpha))


subtract = alias("subtract", sub)


@function()
def rsub(input: Tensor, other: Tensor | Number, alpha: Number = 1) -> Tensor:
    """``other - alpha * input``: `sub` with its operands exchanged.

    >>> import polyad
    >>> polyad.rsub(polyad.tensor([5, 7]), 2)
    tensor([-3, -5])
    """
    return _sub(other, input if alpha.__class__ is int and alpha == 1 else _times_alpha("rsub", other, input, alpha))


def _times_alpha(op: str, input: Tensor | Number, other: Tensor | Number, alpha: Number) -> Tensor | Number:
    """``alpha * other`` in the dtype that input and other have in common."""
    if type(alpha) not in (bool, int, float, complex):
        raise wrong_type(op, "alpha", alpha, "a number")
    for name, value in (("input", input), ("other", other)):
        if not isinstance(value, (Tensor, bool, int, float, complex)):
            raise wrong_type(op, name, value, "a tensor or a number")
    types = tuple(value._type if isinstance(value, Tensor) else type(value) for value in (input, other))
    if op != "add":
        no_bool_operand(op)(types, {})  # before the conversion below hides a bool
    dtype = common_dtype(types)
    check_factor(op, "alpha", alpha, dtype, input=input, other=other)
    if dtype.category == BOOL:
        alpha = bool(alpha)
    elif dtype.category == INTEGER:
        alpha = element(op, alpha, dtype)
    if isinstance(other, Tensor):
        return _mul(other.to(dtype), alpha)
    return bool(other * alpha) if dtype.category == BOOL else other * alpha


def check_factor(op: str, name: str, factor: Number, dtype: DType, **operands: Any) -> None:
    """Raise DTypeError for a factor that operands of *dtype* are not multiplied by: a fraction for integers, a complex
    number for real ones, a bool for numbers.
    """
    category = dtype_of_number(type(factor)).category
    if category == BOOL != dtype.category or dtype.category < max(category, FLOATING) == category:
        raise DTypeError(
            f"{op}: {name} is {safe_repr(factor)}, but the operands are {dtype.name}",
            operands=operands,
            fix="pass an integer, or convert the operands first",
        )


@primitive(dtype=exact_numbers(promoted, 0, 1), structure=pointwise)
def _mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input * other; of bools, their conjunction."""


gradient(_mul, input=lambda g, other: _mul(g, conjugate(other)), other=lambda g, input: _mul(g, conjugate(input)))
multilinear(_mul, "input", "other")


@function(inplace=True, fronts=_mul)
def mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * other``, element by element.

    Shapes broadcast; dtypes promote. Raises RuntimeError when shapes do not broadcast or devices differ.

    >>> import polyad
    >>> polyad.mul(polyad.tensor([1.5, 2.0]), 2)
    tensor([3., 4.])
    """
    return _mul(input, other)


multiply = alias("multiply", mul)


@primitive(dtype=exact_numbers(promoted_float, 0, 1), structure=pointwise)
def _div(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input / other; integers divide in the default floating dtype."""


gradient(
    _div,
    input=lambda g, other: _div(g, conjugate(other)),
    other=lambda g, input, other: _neg(_mul(g, conjugate(_div(_div(input, other), other)))),
)


@function(inplace=True, fronts=_div)
def div(
    input: Tensor | Number, other: Tensor | Number, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """``input / other``, element by element; the quotient rounded towards zero ("trunc") or down ("floor") if
    *rounding_mode* says so.

    Shapes broadcast; dtypes promote. Without rounding, integers divide in the default floating dtype; rounded, they
    stay integers. Raises RuntimeError when shapes do not broadcast, devices differ, or integers are divided by zero
    with rounding, and ValueError for another *rounding_mode*. A rounded quotient has gradient zero.

    >>> import polyad
    >>> polyad.div(polyad.tensor([7, -7]), 2)
    tensor([ 3.5000, -3.5000])
    >>> polyad.div(polyad.tensor([7, -7]), 2, rounding_mode="trunc")
    tensor([ 3, -3])
    """
    if rounding_mode is None:
        return _div(input, other)
    if rounding_mode == "floor":
        return _floor_divide(input, other)
    if rounding_mode == "trunc":
        return _trunc_divide(input, other)
    raise OptionError(
        f"div: rounding_mode is {safe_repr(rounding_mode)}",
        operands={"input": input, "other": other},
        fix='use None, "trunc" or "floor"',
    )


divide = alias("divide", div)


@function(inplace=True, fronts=_div)
def true_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`div` without rounding.

    >>> import polyad
    >>> polyad.true_divide(polyad.tensor([1, 2]), 2)
    tensor([0.5000, 1.0000])
    """
    return _div(input, other)


def _divisible(op: str) -> Any:
    return not_bool(op, not_complex(op))


def _no_slope(g: Tensor) -> Tensor:
    return zeros_like(g)


@primitive(dtype=exact_numbers(_divisible("floor_divide"), 1), structure=pointwise)
def _floor_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """floor(input / other)."""


gradient(_floor_divide, input=_no_slope, other=_no_slope)


@function(inplace=True, fronts=_floor_divide)
def floor_divide(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The quotient rounded down, as Python's ``//``.

    Shapes broadcast; dtypes promote, integers stay integers. Raises RuntimeError for bool and complex operands, and
    when integers are divided by zero.

    >>> import polyad
    >>> polyad.floor_divide(polyad.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """
    return _floor_divide(input, other)


@composite(dtype=exact_numbers(_divisible("trunc_divide"), 1), structure=pointwise)
@in_float32
def _trunc_divide(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input / other rounded towards zero."""
    dtype = common_dtype(tuple(value._type if isinstance(value, Tensor) else type(value) for value in (input, other)))
    if dtype.category == FLOATING:
        from .rounding import trunc

        return trunc(_div(input, other))
    # What C's remainder leaves is a multiple of the divisor, so that rounding down does not round.
    return _floor_divide(_sub(input, _fmod(input, other)), other)


gradient(_trunc_divide, input=_no_slope, other=_no_slope)


@primitive(dtype=_divisible("remainder"), structure=pointwise)
def _remainder(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input - floor(input / other) * other: the remainder that has the divisor's sign."""


gradient(_remainder, input=lambda g: g, other=lambda g, input, other: _neg(_mul(g, _floor_divide(input, other))))


@function(inplace=True, fronts=_remainder, also={"self": "input"})
def remainder(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The remainder of the division rounded down, as Python's ``%``: it has the sign of *other*.

    Shapes broadcast; dtypes promote. Raises RuntimeError for bool and complex operands, and when integers are divided
    by zero.

    >>> import polyad
    >>> polyad.remainder(polyad.tensor([7, -7]), 3)
    tensor([1, 2])
    """
    return _remainder(input, other)


@primitive(dtype=_divisible("fmod"), structure=pointwise)
def _fmod(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input - trunc(input / other) * other: the remainder that has the dividend's sign."""


gradient(_fmod, input=lambda g: g, other=lambda g, input, other: _neg(_mul(g, _trunc_divide(input, other))))


@function(inplace=True, fronts=_fmod)
def fmod(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The remainder of the division rounded towards zero, as C's ``fmod``: it has the sign of *input*.

    Shapes broadcast; dtypes promote. Raises RuntimeError for bool and complex operands, and when integers are divided
    by zero.

    >>> import polyad
    >>> polyad.fmod(polyad.tensor([7, -7]), 3)
    tensor([ 1, -1])
    """
    return _fmod(input, other)


@primitive(dtype=not_bool("neg"), structure=pointwise)
def _neg(input: Tensor) -> Tensor:
    """-input."""


gradient(_neg, input=lambda g: _neg(g))


@function(inplace=True, fronts=_neg)
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input``; unsigned integers wrap around. Raises RuntimeError for a bool tensor.

    >>> import polyad
    >>> polyad.neg(polyad.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """
    return _neg(input)


negative = alias("negative", neg)


@function()
def positive(input: Tensor) -> Tensor:
    """``+input``, the tensor itself. Raises RuntimeError for a bool tensor.

    >>> import polyad
    >>> polyad.positive(polyad.tensor([1, -2]))
    tensor([ 1, -2])
    """
    if check_tensor(input, "positive", "input")._type.dtype.category == BOOL:
        raise DTypeError(
            "positive: bool tensors have no sign", operands={"input": input}, fix="convert to an integer dtype"
        )
    return input


def _real_dtype(types: Signature, params: Mapping[str, Any]) -> Typing:
    """The absolute value of a complex number is real."""
    return Typing((None,), (types[0].dtype.to_real(),))


@primitive(dtype=not_bool("abs", _real_dtype), structure=pointwise, inplace=True)
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The absolute value of each element, real for complex elements. Its gradient at 0 is 0.

    Raises RuntimeError for a bool tensor.

    >>> import polyad
    >>> polyad.abs(polyad.tensor([-1.5, 2.0]))
    tensor([1.5000, 2.0000])
    """


gradient(abs, input=lambda g, input: _mul(g, sgn(input)))

absolute = alias("absolute", abs)


@primitive(dtype=not_complex("sign"), structure=pointwise, inplace=True)
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1 with the sign of each element; 0 for nan. Its gradient is 0. Raises RuntimeError for complex
    tensors: see `sgn`.

    >>> import polyad
    >>> polyad.sign(polyad.tensor([-1.5, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """


gradient(sign, input=_no_slope)


@composite(structure=pointwise, inplace=True)
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sign`, extended to complex numbers: ``input / abs(input)``, and 0 for 0.

    >>> import polyad
    >>> polyad.sgn(polyad.tensor([3 + 4j, 0j]))
    tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    if not input._type.dtype.is_complex:
        return sign(input)
    magnitude = abs(input)
    return _where(magnitude == 0, 0, _div(input, magnitude))


def _sgn_grad(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    if not input._type.dtype.is_complex:
        return zeros_like(g)
    # What of g is across the direction of input, over its magnitude.
    magnitude = abs(input)
    across = _sub(g, _mul(out, _mul(g, conjugate(out)).real))
    return _where(magnitude == 0, 0.0, _div(across, _where(magnitude == 0, 1.0, magnitude)))


gradient(sgn, input=_sgn_grad)


@primitive(structure=pointwise)
def _conj(input: Tensor) -> Tensor:
    """The complex conjugate."""


gradient(_conj, input=lambda g: _conj(g))


@overload
def conjugate(value: Tensor) -> Tensor: ...
@overload
def conjugate(value: Number) -> Number: ...
def conjugate(value: Tensor | Number) -> Tensor | Number:
    """The complex conjugate; a real tensor or number itself."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, complex):
        return value.conjugate()
    return _conj(value) if value._type.dtype.is_complex else value


@function()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element: a copy where PyTorch defers the work; a real tensor itself.

    The copy cannot be written to while *input* lives, whose elements the write would change in PyTorch: `conj_physical`
    and `resolve_conj` give one that can.

    >>> import polyad
    >>> polyad.conj(polyad.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return conjugate_view(input) if check_tensor(input, "conj", "input")._type.dtype.is_complex else input


def conjugate_view(input: Tensor) -> Tensor:
    """The conjugates of complex numbers as a tensor that is not written to while somebody else has *input*'s memory:
    PyTorch's would show that memory.
    """
    result = _conj(input)
    if not state.modes:
        shown = input._storage or input._make_storage()
        (result._storage or result._make_storage()).conjugate_of = weakref.ref(shown.origin or shown)
    return result


def _interpolated(types: Signature, params: Mapping[str, Any]) -> Typing:
    """input and end are floating; weight, whatever it is, becomes their dtype."""
    dtype = floating_only("lerp")(types[:2], params).outputs[0]
    if isinstance(types[2], type) and dtype_of_number(types[2]).category > dtype.category:
        raise DTypeError("lerp: weight is complex, but input and end are real", fix="convert input to a complex dtype")
    return Typing((dtype, dtype, dtype if isinstance(types[2], TensorType) else None), (dtype,))


@composite(dtype=_interpolated, structure=pointwise, inplace=True)
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Linear interpolation ``input + weight * (end - input)``, exact at weights 0 and 1.

    Shapes broadcast; dtypes promote. Raises RuntimeError for integer operands.

    >>> import polyad
    >>> polyad.lerp(polyad.tensor([0.0, 10.0]), polyad.tensor([1.0, 20.0]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    step = _sub(end, input)
    below = _add(input, _mul(step, weight))
    above = _sub(end, _mul(step, _sub(1, weight) if isinstance(weight, Tensor) else 1 - weight))
    if isinstance(weight, Tensor):
        return _where(abs(weight) < 0.5, below, above)
    return below if (weight.real if isinstance(weight, complex) else weight) < 0.5 else above


gradient(
    lerp,
    input=lambda g, weight: _mul(g, conjugate(_sub(1, weight) if isinstance(weight, Tensor) else 1 - weight)),
    end=lambda g, weight: _mul(g, conjugate(weight)),
    weight=lambda g, input, end: _mul(g, conjugate(_sub(end, input))),
)


@composite(dtype=promoted, structure=pointwise)
def _addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Number) -> Tensor:
    """input + value * tensor1 * tensor2."""
    product = _mul(tensor1, tensor2)
    return _add(input, product if value == 1 else _mul(product, value))


gradient(
    _addcmul,
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: _mul(g, conjugate(_mul(tensor2, value))),
    tensor2=lambda g, tensor1, value: _mul(g, conjugate(_mul(tensor1, value))),
)


@function(inplace=True, factors=("value",))
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 * tensor2``, element by element.

    Shapes broadcast; dtypes promote; of integer tensors, the fraction of *value* is dropped. Raises RuntimeError when
    shapes do not broadcast.

    >>> import polyad
    >>> polyad.addcmul(polyad.tensor([1.0, 1.0]), polyad.tensor([2.0, 3.0]), polyad.tensor([4.0, 5.0]), value=0.5)
    tensor([5.0000, 8.5000])
    """
    types = [
        check_tensor(tensor, "addcmul", name)._type.dtype.category
        for name, tensor in (("input", input), ("tensor1", tensor1), ("tensor2", tensor2))
    ]
    if isinstance(value, float) and max(types) < FLOATING:
        value = whole("addcmul", "value", value)
    _check_factor("addcmul", value, max(types))
    if max(types) == INTEGER:
        dtype = common_dtype((input._type, tensor1._type, tensor2._type))
        value = element("addcmul", value, dtype)
    return _addcmul(input, tensor1, tensor2, value)


def _check_factor(op: str, value: Number, category: int) -> None:
    if isinstance(value, complex) and category < COMPLEX:
        raise DTypeError(
            f"{op}: value is {value}, the tensors are real",
            fix="give a real value, or convert a tensor to a complex dtype",
        )


@composite(dtype=floating_only("addcdiv"), structure=pointwise)
def _addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Number) -> Tensor:
    """input + value * tensor1 / tensor2."""
    quotient = _div(tensor1, tensor2)
    return _add(input, quotient if value == 1 else _mul(quotient, value))


gradient(
    _addcdiv,
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: _mul(g, conjugate(_div(value, tensor2))),
    tensor2=lambda g, tensor1, tensor2, value: _neg(
        _mul(g, conjugate(_div(_mul(_div(tensor1, tensor2), value), tensor2)))
    ),
)
symmetric(_div, _floor_divide, _trunc_divide, _remainder, _fmod, _neg, abs, sign, _conj, lerp, _addcmul, _addcdiv)
symmetric(sgn, holomorphic=False)


@function(inplace=True, factors=("value",))
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + value * tensor1 / tensor2``, element by element.

    Shapes broadcast; dtypes promote. Raises RuntimeError for integer operands and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.addcdiv(polyad.tensor([1.0]), polyad.tensor([3.0]), polyad.tensor([2.0]), value=2)
    tensor([4.])
    """
    for name, tensor in (("input", input), ("tensor1", tensor1), ("tensor2", tensor2)):
        check_tensor(tensor, "addcdiv", name)
    _check_factor("addcdiv", value, max(tensor._type.dtype.category for tensor in (input, tensor1, tensor2)))
    return _addcdiv(input, tensor1, tensor2, value)
