"""Views with other contents: a copy of a tensor in which a view's elements are replaced.

Each function makes the view's layout and calls the op `polyad.ops.shaping.strided._window_write`. The copy lies in
memory as its input does, if that is dense.

To add a function, take the layout arithmetic of a view op.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.memory_formats import copy_strides, preserve_format
from ...base.shapes_and_strides import (
    Layout,
    Shape,
    Strides,
    has_internal_overlap,
    int_of,
    normalize_dim,
    normalize_shape,
)
from ...dispatch.op import function, method, op_of
from ...dispatch.views import layout_of
from ...errors import ArgumentError, IndexOutOfRange, ShapeError, wrong_type
from ...tensor import Tensor
from ...tensor.tensor import check_same_device, check_tensor
from ..shaping.diagonals import _diagonal
from ..shaping.strided import _window_write
from .slicing import _select, _slice, position

if TYPE_CHECKING:
    from collections.abc import Sequence


def _with_view_written(op: str, input: Tensor, src: Tensor, view: Any, params: tuple[Any, ...]) -> Tensor:
    """A copy of *input* with *src* at the place of the view op *view*."""
    check_tensor(src, op, "src")
    shape, strides, _ = layout_of(input)
    strides = copy_strides(shape, strides, preserve_format, op)
    body = op_of(view).body
    assert body is not None
    return _write(op, input, src, strides, body(Layout(shape, strides, 0), *params))


def _write(op: str, input: Tensor, src: Tensor, base_strides: Strides, window: Layout) -> Tensor:
    check_same_device(op, input=input, src=src)
    if src._array.shape != window.shape:
        raise ShapeError(
            f"{op}: src {tuple(src.shape)} is not of the view's shape {window.shape}",
            operands={"input": input, "src": src},
            fix=f"expand or reshape src to {window.shape}",
        )
    return _window_write(input, src, base_strides, window.strides, window.offset)


@function()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of *input* with *src* at position *index* of dimension *dim*: where ``input.select(dim, index)`` looks.

    Raises RuntimeError if src has another shape than that view, IndexError for a position out of range.

    >>> import polyad
    >>> polyad.select_scatter(polyad.zeros(2, 2), polyad.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    ndim = check_tensor(input, "select_scatter", "input").ndim
    at = normalize_dim(dim, ndim, "select_scatter")
    if not ndim:
        raise IndexOutOfRange("select_scatter: a 0-d tensor has no dimension", operands={"input": input}, fix="use src")
    place = position(index, input._array.shape[at], "select_scatter", at, input)
    return _with_view_written("select_scatter", input, src, _select, (at, place))


@function()
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of *input* with *src* at the positions ``start:end:step`` of dimension *dim*.

    Raises RuntimeError if src has another shape than that slice or step is not positive.

    >>> import polyad
    >>> polyad.slice_scatter(polyad.zeros(4), polyad.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    ndim = check_tensor(input, "slice_scatter", "input").ndim
    at = normalize_dim(dim, ndim, "slice_scatter")
    if not ndim or step < 1:
        raise ShapeError(
            f"slice_scatter: step {step} of dimension {dim} of a tensor of {ndim} dimensions",
            operands={"input": input},
            fix="give a positive step and a dimension that is there",
        )
    for name, bound in (("start", start), ("end", end)):
        if bound is not None and int_of(bound) is None:
            raise wrong_type("slice_scatter", name, bound, "an int")
    first, last, step = slice(start, end, step).indices(input._array.shape[at])
    count = max(0, -((first - last) // step))
    return _with_view_written("slice_scatter", input, src, _slice, (at, first, count, step))


@function()
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of *input* with *src* on a diagonal of two dimensions: where ``input.diagonal(offset, dim1, dim2)`` looks.

    Raises RuntimeError if src has another shape than that view or both dimensions are the same.

    >>> import polyad
    >>> polyad.diagonal_scatter(polyad.zeros(2, 2), polyad.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    ndim = check_tensor(input, "diagonal_scatter", "input").ndim
    first, second = normalize_dim(dim1, ndim, "diagonal_scatter"), normalize_dim(dim2, ndim, "diagonal_scatter")
    if first == second:
        raise ShapeError(
            f"diagonal_scatter: dim1 and dim2 are both {first}", operands={"input": input}, fix="name two dimensions"
        )
    params = (normalize_shape((offset,), "diagonal_scatter")[0], first, second)
    return _with_view_written("diagonal_scatter", input, src, _diagonal, params)


@function()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of *input* with *src* where ``input.as_strided(size, stride, storage_offset)`` looks.

    Raises RuntimeError if src has another shape than *size* or the layout is none of input's storage.

    >>> import polyad
    >>> polyad.as_strided_scatter(polyad.zeros(4), polyad.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    source = layout_of(check_tensor(input, "as_strided_scatter", "input"))
    if has_internal_overlap(source.shape, source.strides):  # a copy gives each element a place of its own
        input = input.contiguous()
        source = layout_of(input)
    check_tensor(src, "as_strided_scatter", "src")
    shape, strides = normalize_shape((size,), "as_strided_scatter"), normalize_shape((stride,), "as_strided_scatter")
    seen = input.detach().as_strided(shape, strides, storage_offset)
    if has_internal_overlap(shape, strides):
        raise ShapeError(
            f"as_strided_scatter: in a layout of size {shape} and stride {strides} several elements are one place",
            operands={"input": input, "src": src},
            fix="give a layout in which each element of src has a place of its own",
        )
    window = Layout(shape, strides, seen.storage_offset() - source.offset)
    return _write("as_strided_scatter", input, src, source.strides, window)


@method()
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal; with *wrap* it begins anew below a tall matrix's last column and one row.

    Raises RuntimeError for fewer than two dimensions, or more of unequal sizes.

    >>> import polyad
    >>> polyad.zeros(2, 3).fill_diagonal_(5)
    tensor([[5., 0., 0.],
            [0., 5., 0.]])
    """
    shape, strides, offset = layout_of(check_tensor(self, "fill_diagonal_", "self"))
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ShapeError(
            f"fill_diagonal_: shape {shape} has no main diagonal",
            operands={"self": self},
            fix="two dimensions, or more of one size, are needed",
        )
    if isinstance(fill_value, Tensor):
        if fill_value.ndim:
            raise ArgumentError(
                "fill_diagonal_: fill_value is no number",
                operands={"self": self, "fill_value": fill_value},
                fix="pass a number or a 0-d tensor",
            )
        fill_value = fill_value.item()
    parts: list[tuple[Shape, int]] = [((min(shape),), offset)]
    if wrap and len(shape) == 2:
        rows, columns = shape
        parts += [
            ((min(columns, rows - start),), offset + start * strides[0])
            for start in range(columns + 1, rows, columns + 1)
        ]
    for size, begin in parts:
        self.as_strided(size, (sum(strides),), begin).fill_(fill_value)
    return self
