"""Reading and writing where a mask holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..backend.interface import Signature
from ..dispatch.op import composite, function, gradient
from ..dispatch.promotion import Typing
from ..dtypes import BOOL, bool_, dtype_of_number, uint8
from ..errors import DTypeError, ShapeError
from ..layout import broadcast_shapes
from ..tensor import Tensor, check_tensor
from .conversion import check_fits
from .indexing import _index
from .selection import _where
from .shape import _expand
from .shape_rules import broadcast

if TYPE_CHECKING:
    Number = bool | int | float | complex


def _filled(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype, value = types[0].dtype, types[2]
    if isinstance(value, type):
        given = dtype_of_number(value)
        if given.category > dtype.category and dtype.category != BOOL:
            raise DTypeError(
                f"masked_fill: a {value.__name__} does not fit into {dtype.name}",
                fix="convert input, or the value, first",
            )
        return Typing((None, bool_, None), (dtype,))
    if value.dtype.category > dtype.category:
        raise DTypeError(f"masked_fill: the value is {value.dtype.name}, input {dtype.name}", fix="convert one of them")
    return Typing((None, bool_, dtype), (dtype,))


@composite(dtype=_filled, shape=broadcast, method=False)
def _masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """*value* where mask, else input."""
    return _where(mask, value, input).to(input._type.dtype)


gradient(
    _masked_fill,
    input=lambda g, mask: _masked_fill(g, mask, 0),
    value=lambda g, mask: g * mask,
)


def _check_mask(op: str, input: Tensor, mask: Any) -> None:
    check_tensor(input, op, "input")
    if check_tensor(mask, op, "mask")._type.dtype not in (bool_, uint8):
        raise DTypeError(
            f"{op}: mask is {mask.dtype.name}, not bool", operands={"mask": mask}, fix="compare first: mask != 0"
        )


@function(inplace=True)
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """*input* with *value* (a number or a 0-d tensor) where *mask* holds; shapes broadcast, the dtype stays input's.

    Raises RuntimeError for a mask that is not bool, a value of a higher kind than input's or out of its range, or
    shapes that do not broadcast.

    >>> import polyad
    >>> polyad.masked_fill(polyad.tensor([1.0, 2.0]), polyad.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    _check_mask("masked_fill", input, mask)
    if isinstance(value, Tensor) and value.ndim:
        raise ShapeError(
            f"masked_fill: value has {value.ndim} dimensions",
            operands={"value": value},
            fix="give a number, or use where",
        )
    if not isinstance(value, Tensor):
        check_fits("masked_fill", value, input._type.dtype)
    return _masked_fill(input, mask, value)


@function()
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where *mask* holds, in one dimension; shapes broadcast.

    Raises RuntimeError for a mask that is not bool or shapes that do not broadcast.

    >>> import polyad
    >>> polyad.masked_select(polyad.tensor([1, 2, 3]), polyad.tensor([True, False, True]))
    tensor([1, 3])
    """
    _check_mask("masked_select", input, mask)
    shape = broadcast_shapes(input._array.shape, mask._array.shape)
    if mask._type.dtype is uint8:
        mask = mask != 0
    if not shape:
        input, mask, shape = input.reshape(1), mask.reshape(1), (1,)
    return _index(_expand(input, shape), [_expand(mask, shape)])
