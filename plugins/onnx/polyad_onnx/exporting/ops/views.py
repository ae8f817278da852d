"""Views: what they show, and what is left in the tensor behind them by a write.

Where the arithmetic of a view has no operator of its own, the places that it shows are computed here, by the view of a
tensor of places, and the elements are gathered.
"""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import puts, shows
from ..translating import unsizable

END = (1 << 63) - 1
"""What a slice to the end of a dimension ends at."""


@shows("detach", "detach_", "alias", "requires_grad_")
def same(to: Any, source: Any, *params: Any) -> Any:
    """The same elements."""
    return source


@puts("detach", "detach_", "alias", "requires_grad_")
def instead(to: Any, source: Any, content: Any, *params: Any) -> Any:
    """The content alone."""
    return to.op("Identity", content)


@shows("permute")
def permute(to: Any, source: Any, dims: tuple[int, ...]) -> Any:
    """Dimensions in another order."""
    return to.op("Transpose", source, perm=list(dims)) if list(dims) != sorted(dims) else source


@puts("permute")
def permute_back(to: Any, source: Any, content: Any, dims: tuple[int, ...]) -> Any:
    """Dimensions in the order that they had."""
    return to.op("Transpose", content, perm=[dims.index(dim) for dim in range(len(dims))])


@shows("reshape_view")
def reshape(to: Any, source: Any, shape: tuple[Any, ...]) -> Any:
    """The same elements in another shape."""
    return to.op("Reshape", source, to.sizes(shape), allowzero=_allowzero(shape))


def _allowzero(shape: tuple[Any, ...]) -> int | None:
    """Whether a 0 in a shape is to mean no elements, rather than the size of the input."""
    return 1 if 0 in shape else None


@puts("reshape_view", "squeeze", "unsqueeze")
def reshape_back(to: Any, source: Any, content: Any, *params: Any) -> Any:
    """The content in the shape of the source."""
    shape = to.sizes_of(to.node.args[0])
    return to.op("Reshape", content, to.sizes(shape), allowzero=_allowzero(shape))


@shows("squeeze")
def squeeze(to: Any, source: Any, dims: tuple[int, ...]) -> Any:
    """Without dimensions of size 1."""
    return to.op("Squeeze", source, to.ints(*dims)) if dims else source


@shows("unsqueeze")
def unsqueeze(to: Any, source: Any, dim: int) -> Any:
    """With a dimension of size 1."""
    return to.op("Unsqueeze", source, to.ints(dim))


@shows("expand")
def expand(to: Any, source: Any, shape: tuple[Any, ...]) -> Any:
    """Dimensions of size 1 repeated."""
    return to.op("Expand", source, to.sizes(shape))


@shows("select")
def select(to: Any, source: Any, dim: int, index: Any) -> Any:
    """One position of a dimension, which goes."""
    return to.op("Gather", source, to.size(index), axis=dim)


@puts("select")
def select_back(to: Any, source: Any, content: Any, dim: int, index: Any) -> Any:
    """The content at one position."""
    return put_range(to, source, unsqueeze(to, content, dim), dim, index, 1, 1)


@shows("slice")
def take_slice(to: Any, source: Any, dim: int, start: Any, size: Any, step: Any) -> Any:
    """A range of a dimension."""
    return take_ranges(to, source, {dim: (start, size, step)})


@puts("slice")
def slice_back(to: Any, source: Any, content: Any, dim: int, start: Any, size: Any, step: Any) -> Any:
    """The content in a range of a dimension."""
    return put_range(to, source, content, dim, start, size, step)


def take_ranges(to: Any, source: Any, ranges: dict[int, tuple[Any, Any, Any]]) -> Any:
    """Ranges (start, size, step) of dimensions of the present call's operand."""
    shape = to.sizes_of(to.node.args[0])
    cut = {
        dim: one for dim, one in ranges.items() if one[0] != 0 or one[2] != 1 or not to.lengths.same(one[1], shape[dim])
    }
    if not cut:
        return source
    starts, ends, steps = [], [], []
    for dim, (start, size, step) in cut.items():
        starts.append(start)
        ends.append(END if step == 1 and to.lengths.same(start + size, shape[dim]) else start + size * step)
        steps.append(step)
    return to.op("Slice", source, to.sizes(starts), to.sizes(ends), to.ints(*cut), to.sizes(steps))


def put_range(to: Any, source: Any, content: Any, dim: int, start: Any, size: Any, step: Any) -> Any:
    """*source* with *content* in a range of a dimension."""
    total = to.sizes_of(to.node.args[0])[dim]
    if step == 1:
        parts = [content]
        if start != 0:
            parts.insert(0, to.op("Slice", source, to.ints(0), to.sizes([start]), to.ints(dim)))
        if not to.lengths.same(start + size, total):
            parts.append(to.op("Slice", source, to.sizes([start + size]), to.ints(END), to.ints(dim)))
        return to.op("Concat", *parts, axis=dim) if len(parts) > 1 else to.op("Identity", content)
    if not isinstance(total, int) or not isinstance(start, int) or not isinstance(size, int):
        raise unsizable("a write to every so many positions", to.node)
    places = list(range(total))
    for number in range(size):
        places[start + number * step] = total + number
    return to.op("Gather", to.op("Concat", source, content, axis=dim), to.ints(*places), axis=dim)


@shows("subscript")
def subscript(to: Any, source: Any, entries: tuple[Any, ...]) -> Any:
    """Positions, ranges and new dimensions."""
    ranges, gone = _ranges(entries)
    new = [
        place - sum(not isinstance(one, tuple) and one is not None for one in entries[:place])
        for place, entry in enumerate(entries)
        if entry is None
    ]
    value = take_ranges(to, source, ranges)
    if gone:
        value = to.op("Squeeze", value, to.ints(*gone))
    return to.op("Unsqueeze", value, to.ints(*new)) if new else value


def _ranges(entries: tuple[Any, ...]) -> tuple[dict[int, Any], list[int]]:
    """The ranges (start, size, step) of dimensions, and the dimensions that go."""
    given = [entry for entry in entries if entry is not None]
    ranges = {dim: one if isinstance(one, tuple) else (one, 1, 1) for dim, one in enumerate(given)}
    return ranges, [dim for dim, one in enumerate(given) if not isinstance(one, tuple)]


@puts("subscript")
def subscript_back(to: Any, source: Any, content: Any, entries: tuple[Any, ...]) -> Any:
    """The content in the ranges of several dimensions: range within range."""
    shape = to.sizes_of(to.node.args[0])
    if all(isinstance(size, int) for size in (*shape, *to.result.sizes)):
        return scatter_places(to, source, content)
    ranges, _ = _ranges(entries)
    cut = [(dim, *one) for dim, one in ranges.items() if (one[0], one[2]) != (0, 1) or one[1] != shape[dim]]
    parts = [source]
    for dim, start, size, step in cut[:-1]:
        ends = to.sizes([start + size * step])
        parts.append(to.op("Slice", parts[-1], to.sizes([start]), ends, to.ints(dim), to.sizes([step])))
    whole = [ranges[dim][1] if dim in ranges else size for dim, size in enumerate(shape)]
    content = to.op("Reshape", content, to.sizes(whole))
    for (dim, start, size, step), part in zip(reversed(cut), reversed(parts), strict=True):
        content = put_range(to, part, content, dim, start, size, step)
    return content if cut else to.op("Identity", content)


@shows("sliding_windows")
def sliding_windows(to: Any, source: Any, dim: int, size: int, step: int) -> Any:
    """Windows along a dimension, as a new last dimension."""
    total, rank = to.sizes_of(to.node.args[0])[dim], len(to.result.sizes)
    count = (total - size) // step + 1
    windows = to.op("Gather", source, window_places(to, count, step, torch.arange(size)), axis=dim)
    order = [*range(dim + 1), *range(dim + 2, rank), dim + 1]
    return to.op("Transpose", windows, perm=order) if order != sorted(order) else windows


def window_places(to: Any, count: Any, stride: int, steps: Any) -> Any:
    """The places (count, steps) of windows, each a *stride* behind the one before it."""
    if isinstance(count, int):
        return to.constant(torch.arange(count).mul(stride).unsqueeze(1) + steps, None)
    numbers = to.op("Range", to.size(0), to.size(count), to.size(1))
    starts = to.op("Unsqueeze", to.op("Mul", numbers, to.size(stride)), to.ints(1))
    return to.op("Add", starts, to.constant(steps, None))


@shows("diagonal", "as_strided")
def gather_places(to: Any, source: Any, *params: Any) -> Any:
    """The elements at the places that the view shows."""
    places = places_of(to)
    return to.op("Gather", to.op("Reshape", source, to.ints(-1)), to.constant(places, None), axis=0)


@puts("diagonal", "sliding_windows", "as_strided", "expand")
def scatter_places(to: Any, source: Any, content: Any, *params: Any) -> Any:
    """The content at the places that the view shows."""
    places = places_of(to).flatten()
    flat, content = to.op("Reshape", source, to.ints(-1)), to.op("Reshape", content, to.ints(-1))
    shape = _shape_behind(to)
    return to.op("Reshape", to.op("ScatterElements", flat, to.constant(places, None), content, axis=0), to.sizes(shape))


def _shape_behind(to: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = to.graph.values[to.source(to.node)].sizes
    return shape


def places_of(to: Any) -> Any:
    """Which elements of the tensor behind it, counted in row-major order, the view of the present call shows."""
    shape = _shape_behind(to)
    if any(not isinstance(size, int) for size in (*shape, *to.result.sizes)):
        raise unsizable(to.node.name, to.node)
    places = torch.arange(torch.Size(shape).numel()).reshape(shape)
    call = to.node
    return call.op.call(places, *call.args[1:]).contiguous()
