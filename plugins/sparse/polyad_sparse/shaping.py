"""The same elements in another shape: transposed, selected, joined."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, NoReturn

import polyad
from polyad import Tensor
from polyad.errors import ArgumentTypeError, IndexOutOfRange, NotSupported, ShapeError

from .conversion import coalesce, merged, to_dense, to_sparse
from .patterns import BLOCKS, Compressed, Coordinates
from .tensor import SparseTensor, answers, coordinates, pack, rebind, unpack
from .validation import LayoutError


def _dim(op: str, dim: int, ndim: int) -> int:
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise IndexOutOfRange(
            f"{op}: dimension {dim} of a tensor of {ndim} dimensions", fix="count from 0, or from -1 back"
        )
    return dim % max(ndim, 1)


def _coo(op: str, tensor: SparseTensor) -> tuple[Coordinates, Tensor]:
    if tensor.layout is not polyad.sparse_coo:
        raise LayoutError(
            f"{op}: it is for COO tensors, not {str(tensor.layout).removeprefix('polyad.')}",
            operands={"input": tensor},
            fix="convert it: tensor.to_sparse()",
        )
    return coordinates(tensor)


TURNED = {
    polyad.sparse_csr: polyad.sparse_csc, polyad.sparse_csc: polyad.sparse_csr, polyad.sparse_bsr: polyad.sparse_bsc,
    polyad.sparse_bsc: polyad.sparse_bsr,
}  # fmt: skip
"""The layout of a transposed compressed matrix, which has the same parts."""


@answers("transpose", "swapaxes", "swapdims")
def transpose(input: Any, dim0: int, dim1: int) -> SparseTensor:
    """Two dimensions exchanged, both sparse or both dense."""
    one, other = _dim("transpose", dim0, input.dim()), _dim("transpose", dim1, input.dim())
    if one == other:
        return input
    order = list(range(input.dim()))
    order[one], order[other] = other, one
    return permute(input, order)


@answers("permute")
def permute(input: SparseTensor, *order_of: Any, dims: Any = None) -> SparseTensor:
    """The dimensions in another order, sparse ones before dense ones."""
    dims = order_of if dims is None else (dims,)
    given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [_dim("permute", dim, input.dim()) for dim in given]
    if sorted(order) != list(range(input.dim())):
        raise ShapeError(f"permute: {tuple(given)} is no order of {input.dim()} dimensions", fix="name each once")
    pattern = input._pattern
    sparse = pattern.sparse_dim
    if sorted(order[:sparse]) != list(range(sparse)):
        raise ShapeError(
            "permute: a sparse dimension cannot change places with a dense one",
            operands={"input": input},
            fix="make all dimensions sparse: tensor.to_dense().to_sparse()",
        )
    shape = tuple(input.shape[dim] for dim in order)
    behind = [dim - sparse for dim in order[sparse:]]
    values = unpack(input)
    if isinstance(pattern, Compressed):
        turned = order[:2] == [1, 0]
        blocks = 2 if pattern.layout in BLOCKS else 0
        inside = ([2, 1] if turned else [1, 2]) if blocks else []
        values = values.permute(0, *inside, *[dim + 1 + blocks for dim in behind])
        if not turned:
            return pack(values, Compressed(pattern.layout, pattern.starts, pattern.others, shape, pattern.block))
        block = pattern.block[::-1]
        return pack(values, Compressed(TURNED[pattern.layout], pattern.starts, pattern.others, shape, block))
    values = values.permute(0, *[dim + 1 for dim in behind])
    in_order = order[:sparse] == list(range(sparse))
    indices = pattern.indices if in_order else pattern.indices[order[:sparse]]
    return pack(values, Coordinates(indices, shape, pattern.coalesced and (in_order or pattern.nnz < 2)))


@answers("t")
def t(input: SparseTensor) -> SparseTensor:
    """A matrix transposed."""
    if input.dim() > 2:
        raise ShapeError("t: it is for matrices", operands={"self": input}, fix="use transpose(dim0, dim1)")
    return transpose(input, 0, 1) if input.dim() == 2 else input


@answers("transpose_", "swapaxes_", "swapdims_")
def transpose_(self: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """Exchange two dimensions in place."""
    return rebind(self, transpose(self, dim0, dim1), "transpose_")


@answers("t_")
def t_(self: SparseTensor) -> SparseTensor:
    """Transpose a matrix in place."""
    return rebind(self, t(self), "t_")


@answers("broadcast_to", "_sparse_broadcast_to")
def broadcast_to(input: SparseTensor, size: Sequence[int]) -> SparseTensor:
    """The elements repeated along dimensions of size 1, and along new ones in front, which are sparse."""
    pattern, values = _coo("broadcast_to", input)
    shape = tuple(int(one) for one in size)
    ahead = len(shape) - input.dim()
    old = (1,) * max(ahead, 0) + tuple(input.shape)
    if ahead < 0 or not builtins.all(one in (1, wanted) for one, wanted in zip(old, shape)):
        raise ShapeError(
            f"broadcast_to: {tuple(input.shape)} does not broadcast to {shape}",
            operands={"input": input},
            fix="sizes of 1 may grow, and dimensions may be added in front",
        )
    sparse = ahead + pattern.sparse_dim
    values = values.expand(pattern.nnz, *shape[sparse:])
    rows = [pattern.indices.new_zeros(pattern.nnz)] * ahead + list(pattern.indices)
    count, grown = pattern.nnz, False
    for dim in reversed(range(sparse)):
        if old[dim] == shape[dim]:
            continue
        # Each element as often as the dimension is long, the dimension's own index first.
        places = polyad.arange(shape[dim], device=values.device).repeat_interleave(count)
        rows = [row.repeat(shape[dim]) for row in rows]
        rows[dim] = places
        values = values.repeat(shape[dim], *[1] * (values.dim() - 1))
        count, grown = count * shape[dim], True
    indices = polyad.stack(rows) if rows else pattern.indices
    found = Coordinates(indices, shape, pattern.coalesced and not grown)
    return merged(values, found) if pattern.coalesced and grown else pack(values, found)


@answers("__setitem__")
def setitem(self: SparseTensor, key: Any, value: Any) -> NoReturn:
    """Refused, as in PyTorch. Raises TypeError."""
    raise ArgumentTypeError(
        "assignment: elements of a sparse tensor are not assigned",
        operands={"self": self},
        fix="make another of its indices and values: polyad.sparse_coo_tensor",
    )


SparseTensor.T = SparseTensor.mT = property(t)  # type: ignore[assignment]


@answers("select")
def select(input: SparseTensor, dim: int, index: int) -> Tensor:
    """The part at *index* of a dimension; dense if no sparse dimension is left."""
    dim = _dim("select", dim, input.dim())
    size = input.shape[dim]
    if not -size <= index < size:
        raise IndexOutOfRange(
            f"select: index {index} is out of range for dimension {dim} of size {size}",
            operands={"input": input},
            fix=f"use an index in [{-size}, {size})",
        )
    index %= size
    pattern, values = coordinates(input)
    shape = (*input.shape[:dim], *input.shape[dim + 1 :])
    if dim >= pattern.sparse_dim:
        return pack(
            values.select(dim - pattern.sparse_dim + 1, index), Coordinates(pattern.indices, shape, pattern.coalesced)
        )
    chosen = (pattern.indices[dim] == index).nonzero().reshape(-1)
    if pattern.sparse_dim == 1:
        return values.index_select(0, chosen).sum(0).to(values.dtype)
    rows = [row for row in range(pattern.sparse_dim) if row != dim]
    return pack(values.index_select(0, chosen), Coordinates(pattern.indices[rows][:, chosen], shape, pattern.coalesced))


@answers("narrow", "narrow_copy")
def narrow(input: SparseTensor, dim: int, start: Any, length: int) -> SparseTensor:
    """The part from *start* on, *length* long."""
    dim = _dim("narrow", dim, input.dim())
    size = input.shape[dim]
    start = int(start) + size if int(start) < 0 else int(start)
    if not 0 <= start <= start + length <= size:
        raise IndexOutOfRange(
            f"narrow: from {start}, {length} long, in dimension {dim} of size {size}",
            operands={"input": input},
            fix="stay inside of the dimension",
        )
    pattern, values = _coo("narrow", input)
    shape = (*input.shape[:dim], length, *input.shape[dim + 1 :])
    if dim >= pattern.sparse_dim:
        part = values.narrow(dim - pattern.sparse_dim + 1, start, length)
        return pack(part, Coordinates(pattern.indices, shape, pattern.coalesced))
    along = pattern.indices[dim]
    chosen = ((along >= start) & (along < start + length)).nonzero().reshape(-1)
    shift = polyad.zeros(pattern.sparse_dim, 1, dtype=polyad.int64, device=along.device)
    shift[dim] = start
    return pack(
        values.index_select(0, chosen), Coordinates(pattern.indices[:, chosen] - shift, shape, pattern.coalesced)
    )


@answers("index_select")
def index_select(input: SparseTensor, dim: int, index: Tensor) -> SparseTensor:
    """The parts that *index* names, in its order."""
    dim = _dim("index_select", dim, input.dim())
    size = input.shape[dim]
    index = index.reshape(-1).long()
    wrong = ((index < -size) | (index >= size)).nonzero()
    if wrong.shape[0]:
        raise IndexOutOfRange(
            f"index_select: index {int(index[wrong[0, 0]].item())} is out of range for dimension {dim} of size {size}",
            operands={"input": input, "index": index},
            fix=f"use indices in [{-size}, {size})",
        )
    index = polyad.where(index < 0, index + size, index)
    pattern, values = _coo("index_select", input)
    shape = (*input.shape[:dim], index.shape[0], *input.shape[dim + 1 :])
    if dim >= pattern.sparse_dim:
        part = values.index_select(dim - pattern.sparse_dim + 1, index)
        return pack(part, Coordinates(pattern.indices, shape, pattern.coalesced))
    # For each place in index the elements that lie there, which are together once they are in order.
    order = pattern.indices[dim].argsort(stable=True)
    along = pattern.indices[dim][order]
    first, behind = polyad.searchsorted(along, index), polyad.searchsorted(along, index, right=True)
    counts = behind - first
    which = polyad.repeat_interleave(polyad.arange(index.shape[0], device=index.device), counts)
    places = polyad.arange(which.shape[0], device=which.device) - (counts.cumsum(0) - counts)[which] + first[which]
    chosen = order[places]
    rows = [which if row == dim else pattern.indices[row][chosen] for row in range(pattern.sparse_dim)]
    return pack(values.index_select(0, chosen), Coordinates(polyad.stack(rows), shape, False))


@answers("__getitem__")
def getitem(self: SparseTensor, key: Any) -> Any:
    """Integers, slices without steps, None and ``...``; tensors of integers as in `index_select`."""
    keys = key if isinstance(key, tuple) else (key,)
    taken = sum(one is not None and one is not Ellipsis for one in keys)
    if Ellipsis in [one for one in keys if not isinstance(one, Tensor)]:
        at = next(place for place, one in enumerate(keys) if one is Ellipsis)
        keys = (*keys[:at], *[slice(None)] * (self.dim() - taken), *keys[at + 1 :])
    result: Any = self
    dim = 0
    for one in keys:
        if one is None:
            result = result.unsqueeze(dim)
            dim += 1
        elif isinstance(one, slice):
            start, stop, step = one.indices(result.shape[dim])
            if step != 1:
                raise NotSupported("indexing: slices of sparse tensors have no steps", fix="use index_select")
            whole = (start, stop) == (0, result.shape[dim])
            result = result if whole else result.narrow(dim, start, max(stop - start, 0))
            dim += 1
        elif isinstance(one, Tensor) and one.dim() == 1 and one.dtype is not polyad.bool:
            result = result.index_select(dim, one)
            dim += 1
        elif hasattr(one, "__index__") and not isinstance(one, bool):
            result = result.select(dim, one.__index__())
        else:
            raise NotSupported(
                f"indexing: {type(one).__name__} is no index of a sparse tensor",
                operands={"self": self},
                fix="use integers, slices, vectors of integers, or tensor.to_dense()",
            )
    return result


@answers("unsqueeze")
def unsqueeze(input: SparseTensor, dim: int) -> SparseTensor:
    """A dimension of size 1 more."""
    dim = _dim("unsqueeze", dim, input.dim() + 1)
    pattern, values = _coo("unsqueeze", input)
    shape = (*input.shape[:dim], 1, *input.shape[dim:])
    if dim > pattern.sparse_dim:
        part = values.unsqueeze(dim - pattern.sparse_dim + 1)
        return pack(part, Coordinates(pattern.indices, shape, pattern.coalesced))
    zeros = pattern.indices.new_zeros((1, pattern.nnz))
    return pack(
        values, Coordinates(polyad.cat([pattern.indices[:dim], zeros, pattern.indices[dim:]]), shape, pattern.coalesced)
    )


@answers("squeeze")
def squeeze(input: SparseTensor, dim: Any = None) -> SparseTensor:
    """Without dimensions of size 1, or without some of them."""
    pattern, values = _coo("squeeze", input)
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {_dim("squeeze", one, input.dim()) for one in dims}
    gone = {one for one in gone if input.shape[one] == 1}
    rows = [row for row in range(pattern.sparse_dim) if row not in gone]
    shape = tuple(size for place, size in enumerate(input.shape) if place not in gone)
    values = values.reshape(pattern.nnz, *shape[len(rows) :])
    return pack(values, Coordinates(pattern.indices[rows], shape, pattern.coalesced))


@answers("cat", "concat", "concatenate", method=False)
def cat(tensors: Sequence[Any], dim: int = 0) -> SparseTensor:
    """COO tensors one behind another along *dim*."""
    if not all(isinstance(one, SparseTensor) for one in tensors):
        raise LayoutError(
            "cat: some tensors are sparse and some are not",
            operands={f"tensors[{place}]": one for place, one in enumerate(tensors)},
            fix="convert all of them: tensor.to_sparse(), or tensor.to_dense()",
        )
    first = tensors[0]
    dim = _dim("cat", dim, first.dim())
    parts = [_coo("cat", one) for one in tensors]
    sparse = parts[0][0].sparse_dim
    for place, (one, (pattern, _)) in enumerate(zip(tensors, parts, strict=True)):
        rest = [size for where, size in enumerate(one.shape) if where != dim]
        if one.dim() != first.dim() or pattern.sparse_dim != sparse or rest != [
            size for where, size in enumerate(first.shape) if where != dim
        ]:  # fmt: skip
            raise ShapeError(
                f"cat: tensors[{place}] is {tuple(one.shape)} with {pattern.sparse_dim} sparse dimensions, tensors[0] "
                f"{tuple(first.shape)} with {sparse}",
                fix=f"they may differ in dimension {dim} alone",
            )
    shape = (*first.shape[:dim], sum(one.shape[dim] for one in tensors), *first.shape[dim + 1 :])
    dtype = first.dtype
    for one in tensors[1:]:
        dtype = polyad.promote_types(dtype, one.dtype)
    indices, values, ahead = [], [], 0
    for one, (pattern, held) in zip(tensors, parts, strict=True):
        found, length = pattern.indices, one.shape[dim]
        if dim < sparse:
            found = polyad.cat([found[:dim], found[dim : dim + 1] + ahead, found[dim + 1 :]])
            held = held.to(dtype)
        else:
            around = [held.new_zeros((*held.shape[: dim - sparse + 1], size, *held.shape[dim - sparse + 2 :]))
                      for size in (ahead, shape[dim] - ahead - length)]  # fmt: skip
            held = polyad.cat([around[0], held, around[1]], dim - sparse + 1).to(dtype)
        indices.append(found)
        values.append(held)
        ahead += length
    in_order = dim == 0 and sparse > 0 and all(pattern.coalesced for pattern, _ in parts)
    return pack(polyad.cat(values), Coordinates(polyad.cat(indices, 1), shape, in_order))


@answers("stack", method=False)
def stack(tensors: Sequence[Any], dim: int = 0) -> SparseTensor:
    """COO tensors side by side in a new dimension."""
    if not all(isinstance(one, SparseTensor) for one in tensors):
        return cat(tensors, dim)
    return cat([unsqueeze(one, dim) for one in tensors], dim)


@answers("reshape", "view", "view_as", "reshape_as", "flatten")
def reshape(self: SparseTensor, *shape: Any) -> Any:
    """Refused, as in PyTorch."""
    raise NotSupported(
        "reshape: sparse tensors are not reshaped", operands={"self": self}, fix="to_dense().reshape(...).to_sparse()"
    )


@answers("unbind")
def unbind(input: SparseTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts along a dimension."""
    return tuple(select(input, dim, place) for place in range(input.shape[_dim("unbind", dim, input.dim())]))


@answers("nonzero")
def nonzero(input: SparseTensor, *, as_tuple: bool = False) -> Any:
    """Where elements are not zero."""
    return polyad.nonzero(to_dense(input), as_tuple=as_tuple)


def _part_of(name: str) -> None:
    def triangle(input: SparseTensor, diagonal: int = 0) -> SparseTensor:
        pattern, values = coordinates(input)
        if pattern.sparse_dim != 2:
            raise ShapeError(f"{name}: it is for matrices", operands={"input": input}, fix="give two sparse dimensions")
        distance = pattern.indices[1] - pattern.indices[0]
        inside = distance <= diagonal if name == "tril" else distance >= diagonal
        chosen = inside.nonzero().reshape(-1)
        found = pack(
            values.index_select(0, chosen), Coordinates(pattern.indices[:, chosen], pattern.shape, pattern.coalesced)
        )
        return found if input.is_sparse else to_sparse(found, layout=input.layout)

    triangle.__name__ = name
    answers(name)(triangle)


_part_of("tril")
_part_of("triu")


@answers("diagonal", "diag")
def diagonal(input: SparseTensor, offset: int = 0) -> Tensor:
    """The diagonal of a sparse matrix, dense."""
    pattern, values = coordinates(coalesce(to_sparse(input)))
    rows, columns = pattern.indices
    length = max(min(input.shape[0] + min(offset, 0), input.shape[1] - max(offset, 0)), 0)
    chosen = (columns - rows == offset).nonzero().reshape(-1)
    places = polyad.minimum(rows, columns)[chosen]
    return values.new_zeros(length).index_add(0, places, values.index_select(0, chosen))
