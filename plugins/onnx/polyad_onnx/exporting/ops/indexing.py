"""Elements at places that a tensor names, and what is written to such places."""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import translates


@translates("index_select", "pick")
def index_select(to: Any, input: Any, index: Any, dim: int) -> Any:
    """Positions of a dimension."""
    return to.op("Gather", input, index, axis=dim)


@translates("embedding")
def embedding(to: Any, weight: Any, input: Any, padding_idx: int, by_frequency: bool) -> Any:
    """Rows of a table."""
    return to.op("Gather", weight, input)


def _is_one_index(input: Any, indices: Any) -> bool:
    given = [index for index in indices if index is not None]
    return len(given) == 1 and given[0].dtype not in (torch.bool, torch.uint8)


@translates("index", when=_is_one_index)
def index(to: Any, input: Any, indices: list[Any]) -> Any:
    """Positions of one dimension; negative ones count from the end."""
    ((dim, places),) = [(dim, one) for dim, one in enumerate(indices) if one is not None]
    return to.op("Gather", input, places, axis=dim)


def _is_one_mask(input: Any, indices: Any) -> bool:
    given = [index for index in indices if index is not None]
    return len(given) == 1 and given[0].dtype is torch.bool and len(given[0].shape) > 0


@translates("index", when=_is_one_mask)
def index_by_mask(to: Any, input: Any, indices: list[Any]) -> Any:
    """The positions, of one dimension or of neighbours, where a mask holds."""
    ((dim, mask),) = [(dim, one) for dim, one in enumerate(indices) if one is not None]
    rank, covered = len(input.shape), len(mask.shape)
    named = list(range(dim, dim + covered))
    if dim:
        input = to.op("Transpose", input, perm=named + [at for at in range(rank) if at not in named])
    to.follows_data()
    found = to.op("GatherND", input, to.op("Transpose", to.op("NonZero", mask), perm=[1, 0], dtype=torch.int64))
    return (
        to.op("Transpose", found, perm=[*range(1, dim + 1), 0, *range(dim + 1, rank - covered + 1)]) if dim else found
    )


@translates("counted_index")
def counted_index(to: Any, index: Any, size: Any, outside: Any, number: int, dim: int) -> Any:
    """Positions, negative ones counted from the front."""
    wrapped = to.op("Add", index, to.number(size, torch.int64))
    below = to.op("Less", index, to.constant(0, torch.int64))
    return to.op("Where", below, wrapped, index, dtype=torch.int64)


@translates("from_front")
def from_front(to: Any, index: Any, size: Any) -> Any:
    """The same of indices in any tensor."""
    wrapped = to.op("Add", index, to.number(size, torch.int64))
    below = to.op("Less", index, to.constant(0, torch.int64))
    return to.op("Where", below, wrapped, index, dtype=torch.int64)


@translates("gather")
def gather(to: Any, input: Any, index: Any, dim: int) -> Any:
    """One element for each index."""
    if not input.shape:
        return to.op("Expand", input, to.sizes(to.result.sizes)) if to.result.sizes else input
    return to.op("GatherElements", input, index, axis=dim)


def add_by_comparison(to: Any, input: Any, index: Any, src: Any, shape: tuple[Any, ...], dim: int) -> Any:
    """Elements added up at places before there was an operator for it: each place takes the sum of what names it."""
    size, dtype = to.result.sizes[dim], to.result.dtype
    behind = [1] * (len(shape) - dim - 1)
    if isinstance(size, int):
        places = to.constant(torch.arange(size).reshape(-1, *behind), None)
    else:
        numbers = to.op("Range", to.size(0), to.size(size), to.size(1))
        places = to.op("Reshape", numbers, to.ints(-1, *behind))
    named = to.op("Equal", to.op("Unsqueeze", index, to.ints(dim + 1)), places)
    parts = to.op("Unsqueeze", src, to.ints(dim + 1))
    chosen = to.op("Where", named, parts, to.constant(0, dtype), dtype=dtype)
    return to.op("Add", input, to.op("ReduceSum", chosen, to.ints(dim), keepdims=0))


def _scattered(to: Any, input: Any, index: Any, src: Any, dim: int, reduction: str | None) -> Any:
    """Elements of *src*, of which index names as many as it has, written to places."""
    index_ref, src_given = to.node.args[1:3]
    shape = to.sizes_of(index_ref)
    if not input.shape:
        input, index, src = (to.op("Reshape", one, to.ints(1)) for one in (input, index, src))
        found = to.op("ScatterElements", input, index, src, axis=0, reduction=reduction)
        return to.op("Reshape", found, to.ints())
    if not hasattr(src_given, "number"):
        src = to.op("Expand", src, to.sizes(shape))
    elif to.sizes_of(src_given) != shape:
        rank = len(shape)
        src = to.op("Slice", src, to.ints(*[0] * rank), to.sizes(shape), to.ints(*range(rank)))
    return to.op("ScatterElements", input, index, src, axis=dim, reduction=reduction)


@translates("scatter")
def scatter(to: Any, input: Any, index: Any, src: Any, dim: int) -> Any:
    """Elements written to places."""
    return _scattered(to, input, index, src, dim, None)


@translates(
    "scatter_add",
    when=lambda input, index, src, dim: len(index.shape) > 0 and _shape_but(input, dim) == _shape_but(index, dim)
    and index.shape == src.shape,
)  # fmt: skip
def scatter_add_by_comparison(to: Any, input: Any, index: Any, src: Any, dim: int) -> Any:
    """Elements added up at places."""
    return add_by_comparison(to, input, index, src, to.sizes_of(to.node.args[1]), dim)


def _shape_but(tensor: Any, dim: int) -> tuple[Any, ...]:
    return (*tensor.shape[:dim], *tensor.shape[dim + 1 :])


@translates("scatter_add", since=16)
def scatter_add(to: Any, input: Any, index: Any, src: Any, dim: int) -> Any:
    """Elements added up at places."""
    return _scattered(to, input, index, src, dim, "add")


def _reduces_simply(input: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool) -> bool:
    return include_self and reduce in ("sum", "prod", "amax", "amin")


@translates("scatter_reduce", since=18, when=_reduces_simply)
def scatter_reduce(to: Any, input: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool) -> Any:
    """Elements combined at places."""
    reduction = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}[reduce]
    return _scattered(to, input, index, src, dim, reduction)


@translates("index_add")
def index_add(to: Any, input: Any, index: Any, source: Any, dim: int) -> Any:
    """Slices added at positions of a dimension."""
    shape = to.sizes_of(to.node.args[2])
    others = [at for at in range(len(shape)) if at != dim]
    places = to.op("Unsqueeze", index, to.ints(*others)) if others else index
    if to.opset < 16:
        return add_by_comparison(to, input, places, source, shape, dim)
    places = to.op("Expand", places, to.sizes(shape))
    return to.op("ScatterElements", input, places, source, axis=dim, reduction="add")


@translates("nonzero")
def nonzero(to: Any, input: Any) -> Any:
    """The places of what is not 0, of which there are as many as the data have."""
    to.follows_data()
    return to.op("Transpose", to.op("NonZero", input), perm=[1, 0], dtype=torch.int64)


@translates("masked_fill")
def masked_fill(to: Any, input: Any, mask: Any, value: Any) -> Any:
    """A value where a mask holds."""
    return to.op("Where", mask, to.cast(value, to.result.dtype), input, dtype=to.result.dtype)
