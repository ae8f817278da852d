"""Diagonals as views (`diagonal`, `diag`), and matrices with a given diagonal (`diag_embed`, `diagflat`)."""

from __future__ import annotations

from ...base.shapes_and_strides import Layout, contiguous_strides, normalize_dim, normalize_shape
from ...dispatch.op import function, op_of, view
from ...errors import ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .strided import _window_put


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
    """A view of the diagonal of two dimensions, which becomes the last dimension; *offset* counts to the right.

    Raises RuntimeError if the two dimensions are the same, IndexError if a dim is out of range.

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
    (diagonal,) = normalize_shape((diagonal,), "diag")
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
    (offset,) = normalize_shape((offset,), "diag_embed")
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
    result: Tensor = _window_put(input, dense, strides, window.strides, window.offset)
    return result


def _diagonal_of(layout: Layout, offset: int, dim1: int, dim2: int) -> Layout:
    body = op_of(_diagonal).body
    assert body is not None
    return body(layout, offset, dim1, dim2)  # type: ignore[no-any-return]
