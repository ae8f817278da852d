"""Manipulation functions: shapes, and tensors joined, taken apart and repeated."""

from __future__ import annotations

from collections.abc import Sequence

from .. import functions
from ..errors import ArgumentError
from ..functions import moveaxis as moveaxis
from ..tensor import Tensor
from .data_types import promoted

Axes = int | tuple[int, ...] | None


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The tensors one after another along *axis*; flattened first if it is None."""
    if axis is None:
        arrays, axis = [array.flatten() for array in arrays], 0
    return functions.cat(promoted(*arrays), axis)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """The tensors, of one shape, along a new *axis*."""
    return functions.stack(promoted(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The tensors that *x* is a stack of."""
    return tuple(functions.unbind(x, axis))


def expand_dims(x: Tensor, /, axis: int | Sequence[int] = 0) -> Tensor:
    """With a new dimension of size 1 at *axis*, or at several places of the result. Raises IndexError out of range."""
    if isinstance(axis, int):
        return functions.unsqueeze(x, axis)
    rank = x.ndim + len(axis)
    for place in sorted(place + rank if place < 0 else place for place in axis):
        x = functions.unsqueeze(x, place)
    return x


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Without the dimensions *axis*, which have size 1. Raises ValueError for a dimension of another size."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for place in axes:
        if x.size(place) != 1:
            raise ArgumentError(
                f"squeeze: dimension {place} has size {x.size(place)}, not 1",
                operands={"x": x},
                fix="name dimensions of size 1",
            )
    return functions.squeeze(x, axes)


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """The dimensions in the order *axes*."""
    return functions.permute(x, tuple(axes))


def reshape(x: Tensor, /, shape: Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape; *copy* True copies, False raises ValueError where only a copy can."""
    if copy is False:
        try:
            return x.view(tuple(shape))
        except RuntimeError as error:
            raise ArgumentError(
                f"reshape: {tuple(shape)} needs a copy of this memory, but copy=False",
                operands={"x": x},
                fix="allow the copy: copy=None",
            ) from error
    return functions.reshape(x.clone() if copy else x, tuple(shape))


def flip(x: Tensor, /, *, axis: Axes = None) -> Tensor:
    """The elements in reverse order along *axis*, several, or all dimensions."""
    dims = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    return functions.flip(x, dims)


def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: Axes = None) -> Tensor:
    """The elements moved on by *shift* along *axis*, those past the end coming in at the front."""
    return functions.roll(x, shift, axis)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element *repeats* times in a row along *axis*, or of the flattened tensor."""
    return functions.repeat_interleave(x, repeats, axis)


def tile(x: Tensor, repetitions: Sequence[int], /) -> Tensor:
    """The whole tensor *repetitions* times along each dimension."""
    return functions.tile(x, tuple(repetitions))
