"""Elements kept within bounds: `clamp` and its one-sided forms. nan stays, and a nan bound wins, as in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature
from ...base.dtypes import INTEGER
from ...dispatch.forward import symmetric
from ...dispatch.op import alias, composite, function, gradient
from ...dispatch.promotion import Typing, not_bool, not_complex, promoted
from ...dispatch.structure import pointwise
from ...errors import OptionError
from ...tensor import Tensor
from ..memory.copying import check_fits
from .maximum import maximum, minimum
from .where import _where

if TYPE_CHECKING:
    Number = bool | int | float | complex


def _check_bounds(op: str, input: Tensor, *bounds: Tensor | Number | None) -> None:
    """Raise DTypeError for a number that an integer input cannot hold."""
    if input._type.dtype.category == INTEGER:
        for bound in bounds:
            if bound is not None and not isinstance(bound, Tensor):
                check_fits(op, bound, input._type.dtype)


def _bounded(types: Signature, params: Mapping[str, Any]) -> Typing:
    if types[1] is types[2] is type(None):
        raise OptionError("clamp: neither min nor max is given", fix="give min, max or both")
    return promoted(types, params)


@composite(dtype=not_bool("clamp", not_complex("clamp", _bounded)), structure=pointwise)
def _clamp(input: Tensor, min: Tensor | Number | None, max: Tensor | Number | None) -> Tensor:
    """input raised to min, then lowered to max; an absent bound does nothing."""
    _check_bounds("clamp", input, min, max)
    raised = input if min is None else maximum(input, min)
    return raised if max is None else minimum(raised, max)


@composite(dtype=not_complex("clamp_backward"), structure=pointwise, method=False)
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


symmetric(_clamp, _clamp_backward)
