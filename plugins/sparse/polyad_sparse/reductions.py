"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import IndexOutOfRange, NotSupported, ShapeError

from .conversion import coalesce, merged, to_dense, to_sparse
from .patterns import Coordinates, keys_of
from .tensor import SparseTensor, answers, coordinates, pack, unpack


def _dims(op: str, dim: Any, ndim: int) -> list[int]:
    given = [dim] if isinstance(dim, int) else list(dim)
    for one in given:
        if not -ndim <= one < ndim:
            raise IndexOutOfRange(
                f"{op}: dimension {one} of a tensor of {ndim} dimensions", fix="count from 0, or from -1"
            )
    found = [one % ndim for one in given]
    if len(set(found)) < len(found):
        raise ShapeError(f"{op}: a dimension is named twice in {given}", fix="name each once")
    return found


@answers("sum")
def sum(input: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of all elements, or over some dimensions: sparse as long as sparse dimensions are left."""
    pattern, values = coordinates(input)
    values = values if dtype is None else values.to(dtype)
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return values.sum()
    dims = _dims("sum", dim, input.dim())
    sparse = pattern.sparse_dim
    behind = [one - sparse + 1 for one in dims if one >= sparse]
    values = values.sum(behind, keepdim=keepdim) if behind else values
    rows = [row for row in range(sparse) if row not in dims]
    if not rows and not keepdim:
        return values.sum(0)
    shape = [size for place, size in enumerate(input.shape) if place not in dims]
    if keepdim:
        shape = [1 if place in dims else size for place, size in enumerate(input.shape)]
        indices = polyad.stack([row * 0 if place in dims else row for place, row in enumerate(pattern.indices)])
    else:
        indices = pattern.indices[rows]
    if len(rows) == sparse:
        return pack(values, Coordinates(indices, tuple(shape), pattern.coalesced))
    return merged(values, Coordinates(indices, tuple(shape), False))


@answers("norm", "native_norm")
def norm(
    input: SparseTensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None, **_: Any
) -> Tensor:
    """The norm of all elements."""
    if dim is not None:
        raise NotSupported("norm: of a sparse tensor it is that of all elements", fix="leave dim out")
    source = coalesce(input) if input.is_sparse else input
    order = 2 if p in ("fro", None) else p
    return polyad.linalg.vector_norm(unpack(source), order, dtype=dtype)


@answers("any")
def any(input: SparseTensor) -> Tensor:
    """Whether any element is not zero."""
    return (unpack(coalesce(input) if input.is_sparse else input) != 0).any()


@answers("all")
def all(input: SparseTensor) -> Tensor:
    """Whether no element is zero."""
    return to_dense(input).all()


@answers("trace")
def trace(input: SparseTensor) -> Tensor:
    """The sum of the diagonal."""
    pattern, values = coordinates(input)
    return values[(pattern.indices[0] == pattern.indices[1]).nonzero().reshape(-1)].sum()


@answers("mean")
def mean(input: SparseTensor, *, dtype: Any = None) -> Tensor:
    """The mean of all elements, zeros included."""
    total: Tensor = sum(input, dtype=dtype)
    return total / input.numel()


@answers("softmax", "_sparse_softmax")
def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Softmax along *dim* of the specified elements: the others count as minus infinity, and stay zero."""
    return _softmax("softmax", input, dim, dtype)


@answers("log_softmax", "_sparse_log_softmax")
def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """The logarithm of `softmax` at the specified elements."""
    return _softmax("log_softmax", input, dim, dtype)


def _softmax(op: str, input: SparseTensor, dim: int, dtype: Any) -> SparseTensor:
    (dim,) = _dims(op, dim, input.dim())
    source = coalesce(to_sparse(input))
    pattern, values = coordinates(source)
    values = values if dtype is None else values.to(dtype)
    if not values.is_floating_point():
        raise NotSupported(
            f"{op}: values are not floating point", operands={"input": input}, fix="pass dtype=polyad.float32"
        )
    sparse = pattern.sparse_dim
    if dim >= sparse:
        return pack(getattr(values, op)(dim - sparse + 1), pattern)
    if not pattern.nnz:
        return pack(values, pattern)
    rows = [row for row in range(sparse) if row != dim]
    keys = keys_of(pattern.indices[rows], tuple(pattern.shape[row] for row in rows))
    places, where = polyad.unique(keys, return_inverse=True)
    count = places.shape[0]
    spread = where.reshape(-1, *[1] * (values.dim() - 1)).expand_as(values)
    zeros = values.detach().new_zeros((count, *values.shape[1:]))
    largest = zeros.scatter_reduce(0, spread, values.detach(), "amax", include_self=False)[where]
    shifted = values - polyad.where(largest.isinf(), 0, largest)
    totals = zeros.index_add(0, where, shifted.exp())[where]
    found = shifted.exp() / totals if op == "softmax" else shifted - totals.log()
    result = pack(found, pattern)
    return result if input.is_sparse else to_sparse(result, layout=input.layout)
