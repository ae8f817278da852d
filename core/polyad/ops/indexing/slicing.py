"""Views of a part: one row, a range, a diagonal, sliding windows, pieces of a split, and any layout at all."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...dispatch.forward import forward
from ...dispatch.op import function, gradient, method, view
from ...dispatch.views import apply_views, layout_of
from ...errors import ArgumentTypeError, IndexOutOfRange, ShapeError
from ...layout import Layout, Shape, Strides, contiguous_strides, normalize_dim, normalize_shape
from ...state import state
from ...tensor import Tensor, check_tensor
from ..shaping.reshape import relaid
from ..shaping.strided import _overlap_add, _window_put, _window_take, reach

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        at = value.__index__()
    except (AttributeError, TypeError):
        raise ArgumentTypeError(f"{op}: the index {value!r} is not an int", fix="pass an int") from None
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


# ---------------------------------------------------------------------------------------------------- several views


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
    if state.modes:
        return tuple([_select(input, at, index) for index in range(size)])
    shape, strides, offset = layout_of(input)
    stride = strides[at]
    shape, strides = (*shape[:at], *shape[at + 1 :]), (*strides[:at], *strides[at + 1 :])
    layouts = [Layout(shape, strides, offset + index * stride) for index in range(size)]
    return apply_views("UnbindBackward0", input, layouts, _stacked, (shape, at))


def _stacked(gradients: Sequence[Tensor | None], shape: Shape, dim: int) -> Tensor:
    from ..shaping.joining import _stack

    return _stack(_with_zeros(gradients, [shape] * len(gradients)), dim)


def _with_zeros(gradients: Sequence[Tensor | None], shapes: Sequence[Shape]) -> list[Tensor]:
    from ..creation.factories import _full

    like = next(gradient for gradient in gradients if gradient is not None)._type
    return [
        _full(shape, 0, like.dtype, like.device) if gradient is None else gradient
        for gradient, shape in zip(gradients, shapes, strict=True)
    ]


def _pieces(input: Tensor, dim: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
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
    from ..shaping.joining import _cat

    return _cat(_with_zeros(gradients, shapes), dim)


@function()
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
        if sum(sizes) != size or any(one < 0 for one in sizes):
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


@function()
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
            f"split_with_sizes: split_sizes is {split_sizes!r}, not a list of ints",
            operands={"input": input},
            fix="use split for pieces of one size",
        )
    return split(check_tensor(input, "split_with_sizes", "input"), split_sizes, dim)


def _split_along(input: Tensor, indices_or_sections: Any, dim: int, least: int, op: str) -> tuple[Tensor, ...]:
    if check_tensor(input, op, "input").ndim < least:
        raise ShapeError(
            f"{op}: input has {input.ndim} dimensions, fewer than {least}",
            operands={"input": input},
            fix="use tensor_split along a dimension that is there",
        )
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


@function()
def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of equal pieces side by side, or cut before the given indices: along dimension 1, or 0 of a vector.

    Raises RuntimeError for a 0-d tensor or a size that the number of pieces does not divide.

    >>> import polyad
    >>> polyad.hsplit(polyad.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """
    dim = 0 if check_tensor(input, "hsplit", "input").ndim == 1 else 1
    return _split_along(input, indices_or_sections, dim, 1, "hsplit")


@function()
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of equal pieces one below another, or cut before the given indices: along dimension 0.

    Raises RuntimeError for fewer than two dimensions or a size that the number of pieces does not divide.

    >>> import polyad
    >>> polyad.vsplit(polyad.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _split_along(input, indices_or_sections, 0, 2, "vsplit")


@function()
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Views of equal pieces one behind another, or cut before the given indices: along dimension 2.

    Raises RuntimeError for fewer than three dimensions or a size that the number of pieces does not divide.

    >>> import polyad
    >>> [piece.shape for piece in polyad.dsplit(polyad.zeros(2, 2, 4), [1])]
    [polyad.Size([2, 2, 1]), polyad.Size([2, 2, 3])]
    """
    return _split_along(input, indices_or_sections, 2, 3, "dsplit")


# ---------------------------------------------------------------------------------------------------- other layouts


@view()
def _diagonal(input: Layout, offset: int, dim1: int, dim2: int) -> Layout:
    """The diagonal of dimensions *dim1* and *dim2*, as the last dimension."""
    shape, strides = input.shape, input.strides
    rows, columns = shape[dim1] + min(offset, 0), shape[dim2] - max(offset, 0)
    size = max(min(rows, columns), 0)
    start = (-offset * strides[dim1] if offset < 0 else offset * strides[dim2]) if size else 0
    kept = [dim for dim in range(len(shape)) if dim not in (dim1, dim2)]
    return Layout(
        (*[shape[dim] for dim in kept], size),
        (*[strides[dim] for dim in kept], strides[dim1] + strides[dim2]),
        input.offset + start,
    )


@function()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A view of the diagonal of two dimensions, which becomes the last one; *offset* counts to the right.

    Raises RuntimeError if the two dimensions are the same, IndexError if one is out of range.

    >>> import polyad
    >>> polyad.diagonal(polyad.arange(9).view(3, 3), 1)
    tensor([1, 5])
    """
    ndim = check_tensor(input, "diagonal", "input").ndim
    first, second = normalize_dim(dim1, ndim, "diagonal"), normalize_dim(dim2, ndim, "diagonal")
    if first == second:
        raise ShapeError(
            f"diagonal: dim1 and dim2 are both {first}",
            operands={"input": input},
            fix="name two dimensions",
        )
    return _diagonal(input, normalize_shape((offset,), "diagonal")[0], first, second)


@function()
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Of a matrix, a copy of its diagonal; of a vector, the square matrix with it on the diagonal.

    Raises RuntimeError for other numbers of dimensions.

    >>> import polyad
    >>> polyad.diag(polyad.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = check_tensor(input, "diag", "input").ndim
    if ndim == 2:
        return _diagonal(input, diagonal, 0, 1).clone()
    if ndim != 1:
        raise ShapeError(
            f"diag: input has {ndim} dimensions, not 1 or 2", operands={"input": input}, fix="use diagonal"
        )
    return diag_embed(input, diagonal)


@function()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The square matrix with all elements of *input* on a diagonal; *offset* counts to the right.

    >>> import polyad
    >>> polyad.diagflat(polyad.tensor([[1, 2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(check_tensor(input, "diagflat", "input").reshape(-1), normalize_shape((offset,), "diagflat")[0])


@function()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dimension of *input* on the diagonal and zeros elsewhere; they lie in *dim1* and *dim2*.

    Raises RuntimeError if the two dimensions are the same.

    >>> import polyad
    >>> polyad.diag_embed(polyad.tensor([[1, 2]])).shape
    polyad.Size([1, 2, 2])
    """
    ndim = check_tensor(input, "diag_embed", "input").ndim
    if not ndim:
        raise ShapeError("diag_embed: input needs a dimension", operands={"input": input}, fix="unsqueeze it")
    first, second = normalize_dim(dim1, ndim + 1, "diag_embed"), normalize_dim(dim2, ndim + 1, "diag_embed")
    if first == second:
        raise ShapeError(f"diag_embed: dim1 and dim2 are both {first}", operands={"input": input}, fix="name two")
    size = input._array.shape[-1] + abs(offset)
    rest = iter(input._array.shape)
    dense = tuple([size if dim in (first, second) else next(rest) for dim in range(ndim + 1)])
    strides = contiguous_strides(dense)
    window = _diagonal_of(Layout(dense, strides, 0), offset, first, second)
    made: Tensor = _window_put(input, dense, strides, window.strides, window.offset)
    return made


def _diagonal_of(layout: Layout, offset: int, dim1: int, dim2: int) -> Layout:
    from ...dispatch.op import op_of

    body = op_of(_diagonal).body
    assert body is not None
    return body(layout, offset, dim1, dim2)  # type: ignore[no-any-return]


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


@view(grad_name="AsStridedBackward0")
def _as_strided(
    input: Layout, shape: Shape, strides: Strides, offset: int, source: tuple[Shape, Strides, int]
) -> Layout:
    """Any layout over the storage; *source* is the input's own, which the gradient needs."""
    return Layout(shape, strides, offset)


gradient(
    _as_strided,
    input=lambda g, strides, offset, source: _window_put(g, source[0], source[1], strides, offset - source[2]),
)
forward(
    _as_strided,
    lambda input_t, shape, strides, offset, source: _window_take(
        input_t, source[1], shape, strides, offset - source[2]
    ),
)


@function()
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """The storage of *input* under any layout, counted in elements; the offset is input's own unless given.

    Raises RuntimeError for a layout that leaves the storage, for negative strides or sizes.

    >>> import polyad
    >>> polyad.as_strided(polyad.arange(4), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    source = layout_of(check_tensor(input, "as_strided", "input"))
    shape, strides = normalize_shape((size,), "as_strided"), normalize_shape((stride,), "as_strided")
    offset = source.offset if storage_offset is None else normalize_shape((storage_offset,), "as_strided")[0]
    if len(shape) != len(strides) or any(one < 0 for one in (*shape, *strides, offset)):
        raise ShapeError(
            f"as_strided: size {shape}, stride {strides} and storage_offset {offset} "
            "must be of one length and not negative",
            operands={"input": input},
            fix="give one stride a size",
        )
    room = (input._storage or input._make_storage()).nbytes // input.itemsize
    if 0 not in shape and offset + reach(shape, strides) > room:
        raise ShapeError(
            f"as_strided: size {shape}, stride {strides} and storage_offset {offset} reach element "
            f"{offset + reach(shape, strides) - 1} of a storage of {room}",
            operands={"input": input},
            fix="use smaller sizes, strides or offset",
        )
    return _as_strided(input, shape, strides, offset, source)


relaid(as_strided)
