"""Reading and writing where a mask holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature
from ...base.dtypes import INTEGER, bool_, int64
from ...base.shapes_and_strides import Shape, broadcast_shapes
from ...dispatch.forward import linear_in
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing
from ...dispatch.structure import Indexing, pointwise_stored, row_major
from ...errors import DTypeError, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.checks import check_dtype
from ..memory.copying import _copy, check_element_fits, element
from ..pointwise.where import _where
from ..reductions.any_all import _count_nonzero, check_all
from ..reductions.cumulative import _cumsum
from ..shaping.reshape import _expand, _reshape
from .index_put import _index
from .index_select import _index_add, _index_select
from .operands import check_countable

if TYPE_CHECKING:
    Number = bool | int | float | complex


def _masked_fill_dtype(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype, value = types[0].dtype, types[2]
    if isinstance(value, type):
        return Typing((None, bool_, None), (dtype,))
    if value.dtype.is_complex and not dtype.is_complex:
        raise DTypeError(f"masked_fill: the value is {value.dtype.name}, input {dtype.name}", fix="convert one of them")
    return Typing((None, bool_, dtype), (dtype,))


@composite(dtype=_masked_fill_dtype, structure=pointwise_stored, strides=row_major, method=False)
def _masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """*value* where mask, else input."""
    return _where(mask, value, input).to(input._type.dtype)


gradient(
    _masked_fill,
    input=lambda g, mask: _masked_fill(g, mask, 0),
    value=lambda g, mask: g * mask,
)
linear_in(_masked_fill, "input", "value")


def _check_mask(op: str, input: Tensor, mask: Any) -> None:
    check_tensor(input, op, "input")
    if check_tensor(mask, op, "mask")._type.dtype is not bool_:
        raise DTypeError(
            f"{op}: mask is {mask.dtype.name}, not bool", operands={"mask": mask}, fix="compare first: mask != 0"
        )


@function(inplace=True)
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """*input* with *value* (a number or a 0-d tensor) where *mask* holds; shapes broadcast, the dtype stays input's, to
    which the value is converted.

    Raises RuntimeError for a mask that is not bool, a value that is complex or out of range where input's dtype is
    not, or shapes that do not broadcast.

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
    dtype = input._type.dtype
    if isinstance(value, Tensor):
        check_element_fits("masked_fill", value, dtype)
    else:
        value = element("masked_fill", value, dtype)
        if isinstance(value, float) and dtype.category == INTEGER:
            value = int(value)
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
    if not shape:
        input, mask, shape = input.reshape(1), mask.reshape(1), (1,)
    check_countable("masked_select", _expand(mask, shape))
    return _index(_expand(input, shape), [_expand(mask, shape)])


def _put(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None, bool_, types[0].dtype), (types[0].dtype,))


@composite(dtype=_put, structure=Indexing(writes=True), shape=lambda input, mask, source: input, method=False)
def _masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The vector *input* with the first elements of *source*, in order, where *mask* holds. Nothing waits for mask."""
    places = _source_places(mask, source._array.shape)
    return _where(mask, _index_select(source, places, 0), input) if source.numel() else _copy(input)


def _source_places(mask: Tensor, source_shape: Shape) -> Tensor:
    """For each element of *mask* the place in the source from which it takes, if it holds: how many hold before it."""
    return (_cumsum(mask.to(int64), 0) - 1).clamp(0, max(source_shape[0] - 1, 0))


def _source_gradient(g: Tensor, mask: Tensor, source_shape: Shape) -> Tensor:
    gradient = g.new_zeros(source_shape)
    if not source_shape[0]:
        return gradient
    return _index_add(gradient, _source_places(mask, source_shape), _where(mask, g, 0), 0)


gradient(_masked_scatter, input=lambda g, mask: _masked_fill(g, mask, 0), source=_source_gradient)
linear_in(_masked_scatter, "input", "source")


@function(inplace=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """*input* with the first elements of *source*, in order, where *mask* holds; input and mask broadcast.

    Raises RuntimeError for a mask that is not bool, a source of another dtype or with fewer elements than mask names,
    and shapes that do not broadcast.

    >>> import polyad
    >>> mask = polyad.tensor([True, False, True])
    >>> polyad.masked_scatter(polyad.zeros(3), mask, polyad.tensor([1.0, 2.0, 3.0]))
    tensor([1., 0., 2.])
    """
    _check_mask("masked_scatter", input, mask)
    check_tensor(source, "masked_scatter", "source")
    check_dtype("masked_scatter", "source", source, "input", input)
    shape = broadcast_shapes(input._array.shape, mask._array.shape)
    size, given = math.prod(shape), source.numel()
    flat = _reshape(_expand(mask, shape), (size,))
    named = _count_nonzero(flat, (0,))
    check_all(
        named <= given,
        lambda position, count: ShapeError(
            f"masked_scatter: mask names {count} elements, source has {given}", fix="give an element for each"
        ),
        named,
        mask=mask,
        source=source,
    )
    values = _reshape(source, (given,))
    return _reshape(_masked_scatter(_reshape(_expand(input, shape), (size,)), flat, values), shape)
