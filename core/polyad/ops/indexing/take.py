"""Elements by position in the flattened tensor (`take`, `put`), and along a dimension with broadcasting indices."""

from __future__ import annotations

from ...base.dtypes import int64
from ...base.shapes_and_strides import Shape, broadcast_shapes
from ...dispatch.op import composite, function
from ...dispatch.promotion import to_int64
from ...dispatch.structure import pointwise
from ...errors import IndexOutOfRange, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.checks import check_dtype
from ..pointwise.where import _where
from ..shaping.reshape import _expand, _reshape
from .gather_scatter import _gather
from .index_put import _index, _index_put, index_tensors
from .operands import check_index


@composite(dtype=to_int64, structure=pointwise, method=False)
def _from_front(index: Tensor, size: int) -> Tensor:
    """*index* with negative positions among *size* counted from the front; those out of range stay, to be refused."""
    return _where((index < 0) & (index >= -size), index + size, index)


def counted_from_front(index: Tensor, size: int) -> Tensor:
    """*index* as int64, negative positions among *size* counted from the front."""
    return _from_front(index.to(int64), size)


@function()
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the flattened *input* at *index*, in its shape; negative positions count from the end.

    Raises IndexError for an index out of range.

    >>> import polyad
    >>> polyad.take(polyad.tensor([[1, 2], [3, 4]]), polyad.tensor([0, -1]))
    tensor([1, 4])
    """
    check_tensor(input, "take", "input")
    check_index("take", input, 0, index)
    flat = _reshape(input, (input.numel(),))
    return _index(flat, index_tensors("take", flat, [index]))


@function(inplace=True)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """*input* with the elements of *source* written at the flat positions *index*, or added there with *accumulate*;
    negative positions count from the end.

    Raises IndexError for an index out of range or a source with another number of elements, RuntimeError for
    another dtype.

    >>> import polyad
    >>> polyad.put(polyad.tensor([[1, 2], [3, 4]]), polyad.tensor([0, -1]), polyad.tensor([7, 8]))
    tensor([[7, 2],
            [3, 8]])
    """
    check_tensor(input, "put", "input")
    check_index("put", input, 0, index)
    check_tensor(source, "put", "source")
    check_dtype("put", "source", source, "input", input)
    count = index.numel()
    if source.numel() != count:
        raise IndexOutOfRange(
            f"put: source has {source.numel()} elements, index {count}",
            operands={"index": index, "source": source},
            fix="give an element for each index",
        )
    flat = _reshape(input, (input.numel(),))
    places = index_tensors("put", flat, [_reshape(index, (count,))])
    return _reshape(_index_put(flat, places, _reshape(source, (count,)), bool(accumulate)), input._array.shape)


@function()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """`gather` whose operands broadcast in the other dimensions and whose negative indices count from the end; without
    *dim*, of the flattened tensors.

    Raises IndexError for an index out of range, RuntimeError for shapes that do not fit.

    >>> import polyad
    >>> x = polyad.tensor([[3, 1], [2, 4]])
    >>> polyad.take_along_dim(x, x.argsort(1), 1)
    tensor([[1, 3],
            [2, 4]])
    """
    at = check_index("take_along_dim", input, 0 if dim is None else dim, indices, "indices")
    if dim is None:
        return _gather(input.reshape(-1), indices.reshape(-1), 0)
    if input.ndim != indices.ndim:
        raise ShapeError(
            "take_along_dim: the numbers of dimensions differ",
            operands={"input": input, "indices": indices},
            fix="give indices as many dimensions as input",
        )

    def without(shape: Shape, size: int) -> Shape:
        return (*shape[:at], size, *shape[at + 1 :])

    indices = counted_from_front(indices, input._array.shape[at] if input.ndim else 1)
    have, named = input._array.shape, indices._array.shape
    shape = broadcast_shapes(without(have, 1), without(named, 1))
    return _gather(_expand(input, without(shape, have[at])), _expand(indices, without(shape, named[at])), at)
