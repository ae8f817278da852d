"""The ops with a batching rule of their own, and the rules that only they have.

To add a rule, see rules.py. Most ops need none: their structure or their decomposition says how they are carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ...base.dtypes import bool_, int64
from ...dispatch.op import OPS, Op
from ...ops.creation.factories import _arange
from ...ops.indexing.gather_scatter import _gather, _scatter_add
from ...ops.indexing.index_put import _index, _index_put
from ...ops.indexing.index_select import _index_add, _index_select
from ...ops.products.matmul import _gemm
from ...ops.shaping.reshape import _expand, _permute, _reshape
from ...tensor import Tensor
from .batched import Batched
from .images import IMAGES
from .memory import MEMORY
from .rules import RULES, aligned, decomposed, shifted

if TYPE_CHECKING:
    from .vmap_level import VmapLevel

# ------------------------------------------------------------------------------------------------------- products


def _vector_product(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    """Vectors of a batch are the rows of a matrix, if what they are multiplied with is the same for all."""
    input, other = values
    if input.ndim == 1 and other.ndim == 2 and not other._batched:
        return _gemm(input._inner, other._inner, False, False)
    if input.ndim == 2 and other.ndim == 1 and not input._batched:
        return _gemm(other._inner, input._inner, False, True)
    return decomposed(level, op, values)


def _linear(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    input, weight, bias = values
    if weight._batched or (bias is not None and bias._batched):
        return decomposed(level, op, values)
    return op.call(input._inner, weight._inner, None if bias is None else bias._inner)


# ------------------------------------------------------------------------------------------------------- positions


def _after(inner: Tensor, dim: int, index: Tensor) -> Tensor:
    """*index* (B, n) as (B, ..., n, ...): along *dim* of *inner*, the same in the other dimensions."""
    shape = inner._array.shape
    count = index._array.shape[1]
    index = _reshape(index, (shape[0], *[1] * (dim - 1), count, *[1] * (len(shape) - dim - 1)))
    return _expand(index, (*shape[:dim], count, *shape[dim + 1 :]))


def _select_rows(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, index, dim = values
    if not index._batched:
        return _index_select(input._inner, index._inner, dim + 1)
    if input._batched:
        return _gather(input._inner, _after(input._inner, dim + 1, index._inner), dim + 1)
    rows = _index_select(input._inner, _reshape(index._inner, (index._inner.numel(),)), dim)
    shape = rows._array.shape
    return _reshape(rows, (*shape[:dim], *index._inner._array.shape, *shape[dim + 1 :])).movedim(dim, 0)


def _add_rows(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, index, source, dim = values
    base, added = level.spread(input), level.spread(source)
    if not index._batched:
        return _index_add(base, index._inner, added, dim + 1)
    return _scatter_add(base, _after(added, dim + 1, index._inner), added, dim + 1)


def _search(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    """A sequence of its own for each sample needs values of as many dimensions."""
    sequence, sought, right = values
    if sequence.ndim == 1:
        if not sequence._batched:
            return op.call(sequence._inner, sought._inner, right)  # type: ignore[no-any-return]
        inner = level.spread(sought)
        flat = _reshape(inner, (level.size, sought.numel()))
        return _reshape(op.call(sequence._inner, flat, right), inner._array.shape)
    return op.call(level.spread(sequence), level.spread(sought), right)  # type: ignore[no-any-return]


def _position_of_extreme(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, dim, keepdim = values
    if dim is not None:
        return shifted("dim")(level, op, values)  # type: ignore[no-any-return]
    found = op.call(_reshape(input._inner, (level.size, input.numel())), 1, False)
    return _reshape(found, (level.size, *[1] * input.ndim)) if keepdim else found


def _join(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    tensors, dim = values
    return op.call([level.spread(tensor) for tensor in tensors], dim + 1)


def _roll(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    input, shifts, dims = values
    if dims:
        return shifted("dims")(level, op, values)
    flat = _reshape(input._inner, (level.size, input.numel()))
    return _reshape(op.call(flat, shifts, (1,)), input._inner._array.shape)


def _nonzero(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> NoReturn:
    error = level.unbatchable(
        f"vmap: {level.function} asks where elements are not zero (nonzero, x[mask], masked_select, unique), and their "
        "number differs between samples",
        "choose with polyad.where(mask, x, 0), or loop over the samples",
        values[0],
    )
    error.is_final = True
    raise error


# ------------------------------------------------------------------------------------------------- advanced indexing


def _batch_numbers(level: VmapLevel, like: Tensor, ndim: int) -> Tensor:
    """The samples' numbers, to index the batch with: (B, 1, ...) of *ndim* dimensions."""
    numbers = _arange(0, 1, level.size, int64, like._type.device)
    return _reshape(numbers, (level.size, *[1] * (ndim - 1)))


def _positions(level: VmapLevel, op: Op, indices: Sequence[Any]) -> tuple[list[int], list[Tensor], int]:
    """The dimensions indexed, inner index tensors with the batch in front (or of no batch), and the rank of their
    place in a sample's result. Masks become positions.
    """
    from ...ops.indexing.nonzero import _nonzero as places

    dims: list[int] = []
    found: list[tuple[Tensor, bool]] = []
    dim = 0
    for index in indices:
        if index is None:
            dim += 1
        elif index._type.dtype is bool_:
            if index._batched:
                _nonzero(level, op, (index,))
            for part in places(index._inner).unbind(1):
                dims.append(dim)
                found.append((part, False))
                dim += 1
        else:
            dims.append(dim)
            found.append((index._inner, index._batched))
            dim += 1
    rank = max(inner.ndim - batched for inner, batched in found)
    lined = []
    for inner, batched in found:
        if batched:
            inner = _reshape(inner, (level.size, *[1] * (rank - inner.ndim + 1), *inner._array.shape[1:]))
        lined.append(inner)
    return dims, lined, rank


def _gaps(dims: Sequence[int]) -> bool:
    """Whether the indexed dimensions are no neighbours, so that their place is in front of all others."""
    return dims[-1] - dims[0] != len(dims) - 1


def _index_rule(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, indices = values
    dims, parts, rank = _positions(level, op, indices)
    first = 0 if _gaps(dims) else dims[0]  # where the place of the indices is in a sample's result
    if not input._batched:
        entries: list[Tensor | None] = [None] * input.ndim
        for dim, part in zip(dims, parts, strict=True):
            entries[dim] = part
        # The batch is the first dimension of the place.
        return _index(input._inner, entries).movedim(first, 0)
    entries = [None] * (input.ndim + 1)
    for dim, part in zip(dims, parts, strict=True):
        entries[dim + 1] = part
    if not any(index._batched for index in indices if index is not None and index._type.dtype is not bool_):
        result = _index(input._inner, entries)
        return result.movedim(rank, 0) if _gaps(dims) else result
    entries[0] = _batch_numbers(level, input._inner, rank + 1)
    result = _index(input._inner, entries)  # the place, batch first, in front of all others
    order = (0, *range(rank + 1, rank + 1 + first), *range(1, rank + 1), *range(rank + 1 + first, result.ndim))
    return _permute(result, order)


def _index_put_rule(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, indices, source, accumulate = values
    given = [index for index in indices if index is not None]
    by_mask = len(given) == 1 and given[0]._type.dtype is bool_ and given[0]._batched
    if by_mask and not accumulate and (not isinstance(source, Tensor) or source.numel() == 1):
        return _masked(level, input, indices, source)
    dims, parts, rank = _positions(level, op, indices)
    rest = [dim for dim in range(input.ndim) if dim not in dims]
    base = level.spread(input)
    # Indexed dimensions behind the batch, so that nothing depends on whether they are neighbours.
    order = (0, *[dim + 1 for dim in dims], *[dim + 1 for dim in rest])
    moved = _permute(base, order)
    if isinstance(source, Batched):
        place = _expanded_shape(parts, level, rank)
        sizes = [base._array.shape[dim + 1] for dim in rest]
        first = 0 if _gaps(dims) else dims[0]
        seen = (level.size, *sizes[:first], *place, *sizes[first:])
        inner = source._inner
        if source._batched:
            inner = _reshape(inner, (level.size, *[1] * (len(seen) - inner.ndim), *inner._array.shape[1:]))
        inner = _expand(inner, seen)
        source = _permute(
            inner, (0, *range(1 + first, 1 + first + rank), *range(1, 1 + first), *range(1 + first + rank, inner.ndim))
        )
    numbers = _batch_numbers(level, base, rank + 1)
    put = _index_put(moved, [numbers, *parts], source, accumulate)
    return _permute(put, tuple([order.index(dim) for dim in range(len(order))]))


def _expanded_shape(parts: Sequence[Tensor], level: VmapLevel, rank: int) -> tuple[int, ...]:
    from ...base.shapes_and_strides import broadcast_shapes

    full = broadcast_shapes((level.size, *[1] * rank), *[part._array.shape for part in parts])
    return full[1:]


def _masked(level: VmapLevel, input: Batched, indices: Sequence[Any], source: Any) -> Tensor:
    """One value written where a mask holds: chosen, so that no number of places matters."""
    from ...ops.pointwise.where import _where

    ahead = 0
    while indices[ahead] is None:
        ahead += 1
    mask, base = indices[ahead], level.spread(input)
    behind = input.ndim - ahead - mask.ndim
    chosen = _reshape(level.spread(mask), (level.size, *[1] * ahead, *mask._array.shape, *[1] * behind))
    if isinstance(source, Batched):
        source = _reshape(level.spread(source), (level.size, *[1] * input.ndim))
    return _where(chosen, source, base)


def _spread_first(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    return decomposed(level, op, (level.wrap(level.spread(values[0])), *values[1:]))


def _qr(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    input, mode = values
    q, r = op.call(input._inner, mode)
    if mode == "r":  # the empty vector in the place of q is not of the batch's shape
        q = level.spread(level.lift(q))
    return q, r


def _affine_of_rows(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    """Normalisation of rows is the same with more rows, if weight and bias are the same for all samples."""
    if any(value._batched for value in values[1 : len(op.operands)] if isinstance(value, Batched)):
        return decomposed(level, op, values)
    return op.call(*[value._inner if isinstance(value, Batched) else value for value in values])


RULES.update(
    {
        # products
        "gemm": aligned(2, 2),
        "vector_product": _vector_product,
        "linear": _linear,
        # positions
        "index_select": _select_rows,
        "index_add": _add_rows,
        "index": _index_rule,
        "index_put": _index_put_rule,
        "searchsorted": _search,
        "nonzero": _nonzero,
        # along a dimension, if one is named
        "cat": _join,
        "argmax": _position_of_extreme,
        "argmin": _position_of_extreme,
        "roll": _roll,
        # matrices, of which the ops take any number
        "linalg_qr": _qr,
        "linalg_solve_triangular": aligned(2, 2, spread=True),
        "linalg_lu_solve": aligned(2, 1, 2, spread=True),
        "linalg_ldl_solve": aligned(2, 1, 2, spread=True),
        "linalg_solve_factored": aligned(2, 2, 2, 1, spread=True),
        "linalg_householder_product": aligned(2, 1, spread=True),
        "linalg_pinv": aligned(2, 0, 0),
        "linalg_matrix_rank": aligned(2, 0, 0),
        "linalg_lstsq": aligned(2, 2, spread=True),
        # rows
        "layer_norm": _affine_of_rows,
        "rms_norm": _affine_of_rows,
        "attention": aligned(2, 2, 2, 2, spread=True),
        "attention_backward": aligned(2, 2, 2, 2, 2, 2, 1, spread=True),
        # of lines one after the other
        "overlap_add": aligned(2),
        # written in place into what is computed from the first operand
        "weighted_rows": _spread_first,
        # which counts its steps in a tensor without dimensions: of a batch that is one number a sample
        "adam_step": decomposed,
        "amsgrad_step": decomposed,
        **IMAGES,
        **MEMORY,
    }
)  # fmt: skip

_unknown = RULES.keys() - OPS.names()
assert not _unknown, _unknown
