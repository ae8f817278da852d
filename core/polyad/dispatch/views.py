"""Carrying out view ops: a new layout over the same storage, and its place in the autograd graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..autograd.node import record
from ..errors import ArgumentTypeError
from ..layout import Shape, Strides
from ..state import state
from ..tensor import Tensor, ViewOf

if TYPE_CHECKING:
    from .op import Op


class Layout(NamedTuple):
    """Shape, strides and offset of a tensor in its storage, counted in elements."""

    shape: Shape
    strides: Strides
    offset: int


def layout_of(tensor: Tensor) -> Layout:
    """The tensor's layout."""
    array, size = tensor._array, tensor._type.dtype.itemsize
    place = tensor._view
    return Layout(array.shape, tuple([stride // size for stride in array.strides]), 0 if place is None else place.offset)


def apply_view(op: Op, input: Tensor, params: tuple[Any, ...]) -> Tensor:
    """The result of view op *op*: shares storage with *input*, and history if one is recorded."""
    if not isinstance(input, Tensor):
        raise ArgumentTypeError(f"{op.name}: input is {type(input).__name__}, not a tensor", operands={"input": input}, fix="wrap it in polyad.tensor(...)")
    shape, strides, offset = op.body(layout_of(input), *params)  # type: ignore[misc]
    out = alias(input, shape, strides, offset)
    if input._node is not None and state.grad_enabled and op.formulas:
        record(op, (input, *params), out)
        out._storage.track(out)  # type: ignore[union-attr]
    return out


def alias(input: Tensor, shape: Shape, strides: Strides, offset: int) -> Tensor:
    """A tensor over *input*'s storage with another layout and no history."""
    kind = input._type
    storage = input._storage
    if storage is None:
        storage = input._make_storage()
    array = kind.backend.as_strided(storage.root, kind.dtype, shape, strides, offset)
    out: Tensor = object.__new__(Tensor)
    out._array = array
    out._type = kind.nd if shape else kind.zd
    out._node = out._grad = None
    out._storage = storage
    place = input._view
    out._view = ViewOf(input if place is None or place.base is None else place.base, offset)
    return out
