"""Rounding to whole numbers. Integers are returned as they are; the gradient is 0, except that of `frac`, which is
1.
"""

from __future__ import annotations

from typing import Any

from ...base.dtypes import INTEGER
from ...dispatch.forward import symmetric
from ...dispatch.op import alias, composite, function, gradient, primitive
from ...dispatch.promotion import floating_only, not_bool, not_complex
from ...dispatch.structure import pointwise
from ...errors import ArgumentTypeError, DTypeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .arithmetic import _div, _mul, _no_slope, _sub


def _roundable(op: str) -> Any:
    return not_bool(op, not_complex(op))


@primitive(dtype=_roundable("floor"), structure=pointwise, inplace=True)
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number that is not larger.

    Raises RuntimeError for bool and complex tensors.

    >>> import polyad
    >>> polyad.floor(polyad.tensor([-1.5, 1.5]))
    tensor([-2.,  1.])
    """


gradient(floor, input=_no_slope)


@primitive(dtype=_roundable("ceil"), structure=pointwise, inplace=True)
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest whole number that is not smaller.

    Raises RuntimeError for bool and complex tensors.

    >>> import polyad
    >>> polyad.ceil(polyad.tensor([-1.5, 1.5]))
    tensor([-1.,  2.])
    """


gradient(ceil, input=_no_slope)


@primitive(dtype=_roundable("trunc"), structure=pointwise, inplace=True)
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The whole number towards zero.

    Raises RuntimeError for bool and complex tensors.

    >>> import polyad
    >>> polyad.trunc(polyad.tensor([-1.5, 1.5]))
    tensor([-1.,  1.])
    """


gradient(trunc, input=_no_slope)

fix = alias("fix", trunc)


@primitive(dtype=_roundable("round"), structure=pointwise)
def _round(input: Tensor) -> Tensor:
    """The nearest whole number; of two, the even number."""


gradient(_round, input=_no_slope)


@function(inplace=True, fronts=_round)
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with *decimals* decimals (tens, hundreds, ... if negative); halfway cases go to the even.

    Raises RuntimeError for bool and complex tensors, and for *decimals* of integers.

    >>> import polyad
    >>> polyad.round(polyad.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    >>> polyad.round(polyad.tensor([1.234]), decimals=2)
    tensor([1.2300])
    """
    if not isinstance(decimals, int) or isinstance(decimals, bool):
        raise ArgumentTypeError(f"round: decimals is {safe_repr(decimals)}, not an int", fix="pass an int")
    if decimals == 0:
        return _round(input)
    if check_tensor(input, "round", "input")._type.dtype.category <= INTEGER:
        raise DTypeError(
            "round: integers have no decimals",
            operands={"input": input},
            fix="leave decimals out, or convert to a floating dtype",
        )
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    return _div(_round(_mul(input, scale)), scale) if decimals > 0 else _mul(_round(_div(input, scale)), scale)


alias("round", round, namespace="special")


@composite(dtype=not_complex("frac", floating_only("frac")), structure=pointwise, inplace=True)
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The part after the decimal point, with the sign of the element.

    Raises RuntimeError for integer and complex tensors.

    >>> import polyad
    >>> polyad.frac(polyad.tensor([-1.5, 1.25]))
    tensor([-0.5000,  0.2500])
    """
    return _sub(input, trunc(input))


gradient(frac, input=lambda g: g)
symmetric(floor, ceil, trunc, _round, frac)
