"""Views of a part: a position of a dimension, a range of it, or windows that slide along it."""

from __future__ import annotations

from typing import Any

from ...base.shapes_and_strides import Layout, Shape, contiguous_strides, int_of, normalize_dim
from ...dispatch.op import function, gradient, method, view
from ...errors import ArgumentTypeError, IndexOutOfRange, ShapeError, safe_repr, wrong_type
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..shaping.strided import _overlap_add, _window_put


@view()
def _select(input: Layout, dim: int, index: int) -> Layout:
    """Position *index* of dimension *dim*, which goes."""
    shape, strides = input.shape, input.strides
    return Layout(
        (*shape[:dim], *shape[dim + 1 :]), (*strides[:dim], *strides[dim + 1 :]), input.offset + index * strides[dim]
    )


@view()
def _slice(input: Layout, dim: int, start: int, size: int, step: int) -> Layout:
    """*size* positions of dimension *dim* from *start*, every *step*-th."""
    shape, strides = input.shape, input.strides
    return Layout(
        (*shape[:dim], size, *shape[dim + 1 :]),
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :]),
        input.offset + start * strides[dim],
    )


def position(value: Any, size: int, op: str, dim: int, operand: Any) -> int:
    """*value* as a position in a dimension of *size*, counted from the front; raises IndexError and TypeError."""
    try:
        if isinstance(value, bool):
            raise TypeError
        at = value.__index__()
    except (AttributeError, TypeError):
        raise ArgumentTypeError(f"{op}: the index {safe_repr(value)} is not an int", fix="pass an int") from None
    if not -size <= at < size:
        raise IndexOutOfRange(
            f"{op}: index {at} is not in [{-size}, {size}) of dimension {dim}",
            operands={"input": operand},
            fix="use an index within the dimension" if size else "the dimension is empty",
        )
    return int(at + size if at < 0 else at)


@function()
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """A view of position *index* of dimension *dim*, without that dimension. Raises IndexError when out of range.

    >>> import polyad
    >>> polyad.select(polyad.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    ndim = check_tensor(input, "select", "input").ndim
    at = normalize_dim(dim, ndim, "select")
    if not ndim:
        raise IndexOutOfRange("select: a 0-d tensor has no dimension", operands={"input": input}, fix="use .item()")
    return _select(input, at, position(index, input._array.shape[at], "select", at, input))


@function()
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """A view of *length* positions of dimension *dim* from *start*.

    Raises IndexError for a start out of range and RuntimeError for a length that does not fit.

    >>> import polyad
    >>> polyad.narrow(polyad.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    ndim = check_tensor(input, "narrow", "input").ndim
    at = normalize_dim(dim, ndim, "narrow")
    if not ndim:
        raise ShapeError("narrow: a 0-d tensor has no dimension", operands={"input": input}, fix="use .item()")
    size = input._array.shape[at]
    first = size if start == size else position(start, size, "narrow", at, input)
    length = int(length)
    if length < 0 or first + length > size:
        raise ShapeError(
            f"narrow: start {first} and length {length} leave dimension {at}, whose size is {size}",
            operands={"input": input},
            fix=f"choose a length in [0, {size - first}]",
        )
    return _slice(input, at, first, length, 1)


@view(grad_name="UnfoldBackward0")
def _sliding_windows(input: Layout, dim: int, size: int, step: int) -> Layout:
    """Windows of *size*, every *step*, along *dim*; the window is the last dimension."""
    shape, strides = input.shape, input.strides
    count = (shape[dim] - size) // step + 1
    return Layout(
        (*shape[:dim], count, *shape[dim + 1 :], size),
        (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]),
        input.offset,
    )


def _sliding_windows_grad(g: Tensor, input_shape: Shape, dim: int, size: int, step: int) -> Tensor:
    if dim != len(input_shape) - 1:
        dense = contiguous_strides(input_shape)
        strides = (*dense[:dim], dense[dim] * step, *dense[dim + 1 :], dense[dim])
        return _window_put(g, input_shape, dense, strides, 0)
    return _overlap_add(g, step, input_shape[-1])


gradient(_sliding_windows, input=_sliding_windows_grad)


@method()
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of windows of *size* elements, every *step* elements, along *dimension*; the window is the last dimension.

    Raises RuntimeError for a size larger than the dimension or a step that is not positive.

    >>> import polyad
    >>> polyad.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    ndim = check_tensor(self, "unfold", "self").ndim
    for name, number in (("size", size), ("step", step)):
        if int_of(number) is None:
            raise wrong_type("unfold", name, number, "an int")
    at = normalize_dim(dimension, ndim, "unfold")
    if not ndim:
        self = self.unsqueeze(0)
    have = self._array.shape[at]
    if not 0 <= size <= have or step < 1:
        raise ShapeError(
            f"unfold: size {size} and step {step} do not fit dimension {at}, whose size is {have}",
            operands={"self": self},
            fix=f"choose a size in [0, {have}] and a positive step",
        )
    if not ndim:
        return self if size else self[:0]
    return _sliding_windows(self, at, size, step)
