"""Choosing between elements: extremes of two operands, bounds, and `where`.

NaN wins in `maximum`, `minimum` and `clamp`, as in PyTorch; `fmax` and `fmin` prefer the other operand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature, TensorType
from ...dispatch.forward import elementwise, linear_in
from ...dispatch.op import alias, composite, function, gradient, method, primitive
from ...dispatch.promotion import Typing, common_dtype, not_bool, not_complex, promoted
from ...dtypes import INTEGER, bool_, finfo, uint8
from ...errors import ArgumentTypeError, DTypeError, OptionError
from ...tensor import Tensor, check_tensor
from ..declaring.no_derivative import no_derivative
from ..declaring.shape_rules import broadcast, same

if TYPE_CHECKING:
    Number = bool | int | float | complex


def _chosen(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = common_dtype(types[1:])
    only_numbers = not any(isinstance(entry, TensorType) for entry in types[1:])
    return Typing((bool_, dtype, dtype), (dtype,), number=1 if only_numbers else None)


@primitive(dtype=_chosen, shape=broadcast)
def _where(condition: Tensor, input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input where condition, else other."""


gradient(_where, input=lambda g, condition: _where(condition, g, 0), other=lambda g, condition: _where(condition, 0, g))
linear_in(_where, "input", "other")


@function(method=False)
def where(
    condition: Tensor,
    input: Tensor | Number | None = None,
    other: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Any:
    """The element of *input* where *condition* holds, else that of *other*; with *condition* alone, the indices where
    it holds.

    Shapes broadcast; the dtypes of input and other promote. Raises RuntimeError unless *condition* is bool (or
    uint8), or when shapes do not broadcast. The method is ``input.where(condition, other)``.

    >>> import polyad
    >>> x = polyad.tensor([-1.0, 2.0])
    >>> polyad.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    dtype = check_tensor(condition, "where", "condition")._type.dtype
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise ArgumentTypeError(
            "where: input and other go together",
            operands={"condition": condition, "input": input, "other": other},
            fix="give both, or neither for the indices",
        )
    if dtype is not bool_ and dtype is not uint8:
        raise DTypeError(
            f"where: condition is {dtype.name}, not bool",
            operands={"condition": condition},
            fix="compare first, such as condition != 0",
        )
    return _where(condition, input, other)


@method("where")
def where_method(self: Tensor, condition: Tensor, other: Tensor | Number) -> Tensor:
    """The elements of this tensor where *condition* holds, else those of *other*: `polyad.where` with its operands
    rearranged.
    """
    result: Tensor = where(condition, self, other)
    return result


@composite(shape=broadcast, method=False)
def _share(grad: Tensor, loses: Tensor, ties: Tensor) -> Tensor:
    """The gradient of the extreme for one operand: nothing where it loses, half where both are equal."""
    return _where(loses, 0, _where(ties, grad * 0.5, grad))


gradient(_share, grad=lambda g, loses, ties: _share(g, loses, ties))


@primitive(dtype=not_complex("maximum"), shape=broadcast)
def maximum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The larger of each pair of elements, nan if one is nan. Equal elements share the gradient.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.maximum(polyad.tensor([1, 5]), polyad.tensor([3, 2]))
    tensor([3, 5])
    """


gradient(
    maximum,
    input=lambda g, input, other: _share(g, input < other, input == other),
    other=lambda g, input, other: _share(g, other < input, input == other),
)


@primitive(dtype=not_complex("minimum"), shape=broadcast)
def minimum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller of each pair of elements, nan if one is nan. Equal elements share the gradient.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.minimum(polyad.tensor([1, 5]), polyad.tensor([3, 2]))
    tensor([1, 2])
    """


gradient(
    minimum,
    input=lambda g, input, other: _share(g, input > other, input == other),
    other=lambda g, input, other: _share(g, other > input, input == other),
)


@composite(dtype=not_complex("fmax"), shape=broadcast)
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`maximum`, but of a number and nan the number.

    >>> import polyad
    >>> polyad.fmax(polyad.tensor([1.0, float("nan")]), polyad.tensor([float("nan"), 2.0]))
    tensor([1., 2.])
    """
    return _where((input >= other) | (other != other), input, other)


gradient(
    fmax,
    input=lambda g, input, other: _where((input >= other) | (other != other), g, 0),
    other=lambda g, input, other: _where((input >= other) | (other != other), 0, g),
)


@composite(dtype=not_complex("fmin"), shape=broadcast)
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`minimum`, but of a number and nan the number.

    >>> import polyad
    >>> polyad.fmin(polyad.tensor([1.0, float("nan")]), polyad.tensor([float("nan"), 2.0]))
    tensor([1., 2.])
    """
    return _where((input <= other) | (other != other), input, other)


gradient(
    fmin,
    input=lambda g, input, other: _where((input <= other) | (other != other), g, 0),
    other=lambda g, input, other: _where((input <= other) | (other != other), 0, g),
)


def _check_bounds(op: str, input: Tensor, *bounds: Tensor | Number | None) -> None:
    """Raise DTypeError for a number that an integer input cannot hold."""
    from ..memory.conversion import check_fits

    if input._type.dtype.category == INTEGER:
        for bound in bounds:
            if bound is not None and not isinstance(bound, Tensor):
                check_fits(op, bound, input._type.dtype)


def _bounded(types: Signature, params: Mapping[str, Any]) -> Typing:
    if types[1] is types[2] is type(None):
        raise OptionError("clamp: neither min nor max is given", fix="give at least one bound")
    return promoted(types, params)


@composite(dtype=not_bool("clamp", not_complex("clamp", _bounded)), shape=broadcast)
def _clamp(input: Tensor, min: Tensor | Number | None, max: Tensor | Number | None) -> Tensor:
    """input raised to min, then lowered to max; an absent bound does nothing."""
    _check_bounds("clamp", input, min, max)
    raised = input if min is None else maximum(input, min)
    return raised if max is None else minimum(raised, max)


@composite(dtype=not_complex("clamp_backward"), shape=broadcast, method=False)
def _clamp_backward(grad: Tensor, input: Tensor, min: Tensor | Number | None, max: Tensor | Number | None) -> Tensor:
    """grad where input lies within the bounds, 0 elsewhere."""
    inside = (
        (input >= min) & (input <= max)
        if min is not None and max is not None
        else input >= min
        if min is not None
        else input <= max
    )
    return _where(inside, grad, 0)


gradient(_clamp_backward, grad=lambda g, input, min, max: _clamp_backward(g, input, min, max))


def _clamp_grad_min(g: Tensor, input: Tensor, min: Tensor, max: Tensor | Number | None) -> Tensor:
    binds = input < min
    return _where(binds if max is None else binds & (min < max), g, 0)


def _clamp_grad_max(g: Tensor, input: Tensor, min: Tensor | Number | None, max: Tensor) -> Tensor:
    binds = input > max
    return _where(binds if min is None else binds | (max < min), g, 0)


gradient(
    _clamp,
    input=lambda g, input, min, max: _clamp_backward(g, input, min, max),
    min=_clamp_grad_min,
    max=_clamp_grad_max,
)


@function(inplace=True, fronts=_clamp)
def clamp(
    input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The elements limited to ``[min, max]``; where min > max, the result is max. NaN stays.

    Bounds are numbers or tensors that broadcast; dtypes promote. Raises RuntimeError without a bound, for bool and
    complex tensors and for a bound that the dtype cannot hold.

    >>> import polyad
    >>> polyad.clamp(polyad.tensor([-2.0, 0.5, 3.0]), min=-1, max=1)
    tensor([-1.0000,  0.5000,  1.0000])
    """
    return _clamp(input, min, max)


clip = alias("clip", clamp)


@function(inplace=True)
def clamp_min(input: Tensor, min: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The elements, but at least *min*.

    >>> import polyad
    >>> polyad.clamp_min(polyad.tensor([-2, 3]), 0)
    tensor([0, 3])
    """
    return _clamp(input, min, None)


@function(inplace=True)
def clamp_max(input: Tensor, max: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The elements, but at most *max*.

    >>> import polyad
    >>> polyad.clamp_max(polyad.tensor([-2, 3]), 0)
    tensor([-2,  0])
    """
    return _clamp(input, None, max)


def _one_dtype(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Both operands have one dtype, which is the result's."""
    dtype = types[0].dtype
    if types[1].dtype is not dtype:
        raise DTypeError(
            f"heaviside: input is {dtype.name}, values {types[1].dtype.name}: they must have one dtype",
            fix="convert one of them with .to(dtype)",
        )
    return Typing((None, None), (dtype,))


@composite(dtype=not_complex("heaviside", _one_dtype), shape=broadcast, inplace=True)
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 where *input* is negative or nan, 1 where it is positive, and the element of *values* where it is 0.

    Shapes broadcast. It has no derivative: asking for one raises NotImplementedError. Raises RuntimeError unless the
    operands have one dtype, for complex ones and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.heaviside(polyad.tensor([-2.0, 0.0, 3.0]), polyad.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _where(input == 0, values, (input > 0).to(input._type.dtype))


gradient(heaviside, **no_derivative("heaviside", "input", "values"))


@composite(shape=same, method=False)
def _nan_to_num(input: Tensor, nan: float, posinf: float, neginf: float) -> Tensor:
    """input with other numbers for nan and the infinities; floating."""
    result = _where(input != input, nan, input)
    result = _where(input == math.inf, posinf, result)
    return _where(input == -math.inf, neginf, result)


gradient(_nan_to_num, input=lambda g, input: _where(abs(input) < math.inf, g, 0))
elementwise(_share, maximum, minimum, fmax, fmin, _clamp, _clamp_backward, heaviside, _nan_to_num)


@function(inplace=True)
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """nan replaced by *nan* (0), inf by *posinf* (the dtype's largest number) and -inf by *neginf* (its smallest).

    Of complex tensors real and imaginary parts apart.

    >>> import polyad
    >>> polyad.nan_to_num(polyad.tensor([float("nan"), 1.0, float("inf")]), posinf=9.0)
    tensor([0., 1., 9.])
    """
    dtype = check_tensor(input, "nan_to_num", "input")._type.dtype
    for name, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if value is not None and not isinstance(value, (int, float)):
            raise ArgumentTypeError(f"nan_to_num: {name} is {type(value).__name__}, not a number", fix="give a number")
    if dtype.is_complex:
        from .complex_numbers import _complex

        real, imag = [nan_to_num(part, nan, posinf, neginf) for part in (input.real, input.imag)]
        return _complex(real, imag)
    if not dtype.is_floating_point:
        return input.clone()
    largest = finfo(dtype).max
    return _nan_to_num(
        input,
        0.0 if nan is None else nan,
        largest if posinf is None else posinf,
        -largest if neginf is None else neginf,
    )
