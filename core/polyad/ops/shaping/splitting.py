"""Pieces of a tensor as views: of one size, of the given sizes, cut before the given indices, or one row each.

All pieces are cut at once, as the several results of one node: a single op joins their gradients again. With a mode
on the stack they are single views instead, which a mode can see.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...base.shapes_and_strides import Layout, Shape, normalize_dim, normalize_shape
from ...base.state import state
from ...dispatch.op import alias, function
from ...dispatch.views import apply_views, layout_of
from ...errors import ArgumentTypeError, IndexOutOfRange, OutOfMemory, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full
from ..declaring.checks import check_ndim
from ..indexing.slicing import _select, _slice

if TYPE_CHECKING:
    from collections.abc import Sequence


_MOST_VIEWS = 1 << 27
"""Beyond, the Python objects alone would take tens of gigabytes."""


@function()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all positions of dimension *dim*, without that dimension. Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.unbind(polyad.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    ndim = check_tensor(input, "unbind", "input").ndim
    at = normalize_dim(dim, ndim, "unbind")
    if not ndim:
        raise IndexOutOfRange("unbind: a 0-d tensor has no dimension", operands={"input": input}, fix="use .item()")
    size = input._array.shape[at]
    if size > _MOST_VIEWS:
        raise OutOfMemory(
            f"unbind: there is no memory for {size:,} tensors",
            operands={"input": input},
            fix="index the tensor instead",
        )
    if state.modes:
        return tuple([_select(input, at, index) for index in range(size)])
    shape, strides, offset = layout_of(input)
    stride = strides[at]
    shape, strides = (*shape[:at], *shape[at + 1 :]), (*strides[:at], *strides[at + 1 :])
    layouts = [Layout(shape, strides, offset + index * stride) for index in range(size)]
    return apply_views("UnbindBackward0", input, layouts, _stacked, (shape, at))


def _stacked(gradients: Sequence[Tensor | None], shape: Shape, dim: int) -> Tensor:
    from .joining import _stack

    return _stack(_with_zeros(gradients, [shape] * len(gradients)), dim)


def _with_zeros(gradients: Sequence[Tensor | None], shapes: Sequence[Shape]) -> list[Tensor]:
    like = next(gradient for gradient in gradients if gradient is not None)._type
    return [
        _full(shape, 0, like.dtype, like.device) if gradient is None else gradient
        for gradient, shape in zip(gradients, shapes, strict=True)
    ]


def _pieces(input: Tensor, dim: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    if not sizes:
        return ()
    starts = [0]
    for size in sizes[:-1]:
        starts.append(starts[-1] + size)
    if state.modes:
        return tuple([_slice(input, dim, start, size, 1) for start, size in zip(starts, sizes, strict=True)])
    shape, strides, offset = layout_of(input)
    layouts = [
        Layout((*shape[:dim], size, *shape[dim + 1 :]), strides, offset + start * strides[dim])
        for start, size in zip(starts, sizes, strict=True)
    ]
    shapes = [layout.shape for layout in layouts]
    return apply_views("SplitBackward0", input, layouts, _joined, (shapes, dim))


def _joined(gradients: Sequence[Tensor | None], shapes: Sequence[Shape], dim: int) -> Tensor:
    from .joining import _cat

    return _cat(_with_zeros(gradients, shapes), dim)


@function(also={"tensor": "input", "split_size": "split_size_or_sections"})
def split(input: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of dimension *dim*: of one size (the last may be smaller), or of the listed sizes.

    Raises RuntimeError for a negative size or sizes that do not add up to the dimension's.

    >>> import polyad
    >>> polyad.split(polyad.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> polyad.split(polyad.arange(5), [1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
    """
    at, size = _split_dim(input, dim, "split")
    if isinstance(split_size_or_sections, (tuple, list)):
        sizes = list(normalize_shape((split_size_or_sections,), "split"))
        if sum(sizes) != size or any(part < 0 for part in sizes):
            raise ShapeError(
                f"split: sizes {sizes} do not add up to {size}, the size of dimension {at}",
                operands={"input": input},
                fix="give sizes of 0 or more whose sum is the dimension's size",
            )
        return _pieces(input, at, sizes)
    (step,) = normalize_shape((split_size_or_sections,), "split")
    if step < 0 or (step == 0 and size):
        raise ShapeError(
            f"split: split_size {step} cannot cut dimension {at}, whose size is {size}",
            operands={"input": input},
            fix="give a positive size",
        )
    count = max(1, -(-size // step)) if step else 1
    return _pieces(input, at, [step] * (count - 1) + [size - step * (count - 1)])


def _split_dim(input: Tensor, dim: int, op: str) -> tuple[int, int]:
    ndim = check_tensor(input, op, "input").ndim
    at = normalize_dim(dim, ndim, op)
    if not ndim:
        raise ShapeError(f"{op}: a 0-d tensor cannot be split", operands={"input": input}, fix="unsqueeze it first")
    return at, input._array.shape[at]


@function()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most *chunks* consecutive pieces of dimension *dim*, all of one size but for the last.

    Raises RuntimeError unless chunks is positive.

    >>> import polyad
    >>> polyad.chunk(polyad.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    at, size = _split_dim(input, dim, "chunk")
    (count,) = normalize_shape((chunks,), "chunk")
    if count < 1:
        raise ShapeError(f"chunk: chunks is {count}, not positive", operands={"input": input}, fix="ask for 1 or more")
    step = -(-size // count)
    return _pieces(input, at, [0] * count) if step == 0 else split(input, step, at)


@function(
    also={
        "sections": "indices_or_sections",
        "indices": "indices_or_sections",
        "tensor_indices_or_sections": "indices_or_sections",
    }
)
def tensor_split(input: Tensor, indices_or_sections: int | Sequence[int] | Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of dimension *dim*: as many as given, as equal as can be, or cut before each of the given
    indices.

    Raises RuntimeError unless the number of sections is positive.

    >>> import polyad
    >>> polyad.tensor_split(polyad.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> polyad.tensor_split(polyad.arange(5), (1, 3))
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    at, size = _split_dim(input, dim, "tensor_split")
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, (tuple, list)):
        cuts = [
            min(max(cut + size if cut < 0 else cut, 0), size)
            for cut in normalize_shape((indices_or_sections,), "tensor_split")
        ]
        edges = [0, *cuts, size]
        # An edge before its predecessor makes an empty piece.
        parts = [(start, max(end - start, 0)) for start, end in pairwise(edges)]
        return tuple([_slice(input, at, start, length, 1) for start, length in parts])
    (count,) = normalize_shape((indices_or_sections,), "tensor_split")
    if count < 1:
        raise ShapeError(
            f"tensor_split: the number of sections is {count}, not positive",
            operands={"input": input},
            fix="ask for 1 or more",
        )
    small, larger = divmod(size, count)
    return _pieces(input, at, [small + 1] * larger + [small] * (count - larger))


@function()
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive pieces of the listed sizes; see `split`. Raises TypeError for a single size.

    >>> import polyad
    >>> polyad.split_with_sizes(polyad.arange(5), [1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
    """
    if not isinstance(split_sizes, (tuple, list)):
        raise ArgumentTypeError(
            f"split_with_sizes: split_sizes is {safe_repr(split_sizes)}, not a list of ints",
            operands={"input": input},
            fix="use split for pieces of one size",
        )
    return split(check_tensor(input, "split_with_sizes", "input"), split_sizes, dim)


def _split_along(input: Tensor, indices_or_sections: Any, dim: int, least: int, op: str) -> tuple[Tensor, ...]:
    check_tensor(input, op, "input")
    check_ndim(op, "input", input, least, None, fix="use tensor_split along a dimension that is there")
    if not isinstance(indices_or_sections, (tuple, list)):
        if isinstance(indices_or_sections, Tensor):
            raise ArgumentTypeError(
                f"{op}: indices_or_sections is a tensor",
                operands={"input": input},
                fix="give ints, or use tensor_split",
            )
        (count,) = normalize_shape((indices_or_sections,), op)
        if count < 1 or input._array.shape[dim] % count:
            raise ShapeError(
                f"{op}: dimension {dim}, whose size is {input._array.shape[dim]}, has no {count} equal pieces",
                operands={"input": input},
                fix="use tensor_split for pieces that differ by one",
            )
    return tensor_split(input, indices_or_sections, dim)


@function(also={"sections": "indices_or_sections", "indices": "indices_or_sections"})
def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of equal pieces side by side, or cut before the given indices: along dimension 1, or 0 of a vector.

    Raises RuntimeError for a 0-d tensor or a size that the number of pieces does not divide.

    >>> import polyad
    >>> polyad.hsplit(polyad.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    dim = 0 if check_tensor(input, "hsplit", "input").ndim == 1 else 1
    return _split_along(input, indices_or_sections, dim, 1, "hsplit")


@function(also={"sections": "indices_or_sections", "indices": "indices_or_sections"})
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of equal pieces one below another, or cut before the given indices: along dimension 0.

    Raises RuntimeError for fewer than two dimensions or a size that the number of pieces does not divide.

    >>> import polyad
    >>> polyad.vsplit(polyad.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _split_along(input, indices_or_sections, 0, 2, "vsplit")


@function(also={"sections": "indices_or_sections", "indices": "indices_or_sections"})
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of equal pieces one behind another, or cut before the given indices: along dimension 2.

    Raises RuntimeError for fewer than three dimensions or a size that the number of pieces does not divide.

    >>> import polyad
    >>> [piece.shape for piece in polyad.dsplit(polyad.zeros(2, 2, 4), [1])]
    [polyad.Size([2, 2, 1]), polyad.Size([2, 2, 3])]
    """
    return _split_along(input, indices_or_sections, 2, 3, "dsplit")


# In PyTorch these differ from split and chunk in what may be written to; here all may be.
unsafe_chunk = alias("unsafe_chunk", chunk)
unsafe_split = alias("unsafe_split", split)
unsafe_split_with_sizes = alias("unsafe_split_with_sizes", split_with_sizes)
