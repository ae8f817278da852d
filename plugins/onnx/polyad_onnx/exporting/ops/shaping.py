"""The same elements in another arrangement."""

from __future__ import annotations

from typing import Any

import polyad as torch
from polyad.graph.expressions import Expression

from ..registry import translates
from .views import END


@translates("cat")
def cat(to: Any, tensors: list[Any], dim: int) -> Any:
    """One after another."""
    return to.op("Concat", *tensors, axis=dim) if len(tensors) > 1 else to.op("Identity", *tensors)


@translates("stack")
def stack(to: Any, tensors: list[Any], dim: int) -> Any:
    """One after another along a new dimension."""
    parts = [to.op("Unsqueeze", tensor, to.ints(dim)) for tensor in tensors]
    return to.op("Concat", *parts, axis=dim) if len(parts) > 1 else parts[0]


@translates("flip")
def flip(to: Any, input: Any, dims: tuple[int, ...]) -> Any:
    """Dimensions the other way round."""
    if not dims:
        return to.op("Identity", input)
    count = len(dims)
    return to.op(
        "Slice", input, to.ints(*[-1] * count), to.ints(*[-END] * count), to.ints(*dims), to.ints(*[-1] * count)
    )


@translates("repeat")
def repeat(to: Any, input: Any, times: tuple[Any, ...]) -> Any:
    """The whole several times."""
    new = len(times) - len(input.shape)
    if new:
        input = to.op("Unsqueeze", input, to.ints(*range(new)))
    return to.op("Tile", input, to.sizes(times))


@translates("tril", "triu")
def triangle(to: Any, input: Any, diagonal: int) -> Any:
    """The part below a diagonal, or above it."""
    dtype, upper = to.result.dtype, int(to.node.name == "triu")
    moved = input if dtype in (torch.float32, torch.float64, torch.int64) else to.cast(input, _held_in(dtype))
    return to.cast(to.op("Trilu", moved, to.constant(diagonal, torch.int64), upper=upper), dtype)


def _held_in(dtype: Any) -> Any:
    return torch.float32 if dtype.is_floating_point else torch.int64


@translates("pad_constant", when=lambda input, pads, value: bool(input.shape))
def pad_constant(to: Any, input: Any, pads: tuple[int, ...], value: float) -> Any:
    """A number around it; negative paddings cut."""
    dtype = to.result.dtype
    wide = input if dtype is not torch.bool else to.cast(input, torch.int32)
    held = torch.int32 if dtype is torch.bool else dtype
    padded = to.op("Pad", wide, to.sizes([*pads[::2], *pads[1::2]]), to.number(value, held))
    return to.cast(padded, dtype)


@translates("pad_repeated", when=lambda input, dim, before, after, mode: mode != "circular" and min(before, after) >= 0)
def pad_repeated(to: Any, input: Any, dim: int, before: int, after: int, mode: str) -> Any:
    """Its own elements around a dimension."""
    pads = [0] * (2 * len(input.shape))
    pads[dim], pads[dim + len(input.shape)] = before, after
    return to.op("Pad", input, to.sizes(pads), mode="reflect" if mode == "reflect" else "edge")


@translates("eye")
def eye(to: Any, rows: Any, columns: Any, dtype: Any, device: Any) -> Any:
    """Where a row's number is a column's."""
    if isinstance(rows, int) and isinstance(columns, int):
        return to.constant(torch.eye(rows, columns, dtype=dtype), None)
    numbers = [to.op("Range", to.size(0), to.size(size), to.size(1)) for size in (rows, columns)]
    return to.cast(to.op("Equal", *[to.op("Unsqueeze", one, to.ints(1 - at)) for at, one in enumerate(numbers)]), dtype)


@translates("linspace", when=lambda start, end, steps, dtype, device: not dtype.is_complex)
def linspace(to: Any, start: Any, end: Any, steps: Any, dtype: Any, device: Any) -> Any:
    """Numbers in equal steps, counted from both ends, so that both are exact."""
    if not any(isinstance(one, Expression) for one in (start, end, steps)):
        return to.constant(torch.linspace(start, end, steps, dtype=dtype), None)
    wide = dtype if dtype.is_floating_point and dtype.itemsize > 2 else torch.float32
    places, last = to.op("Range", to.size(0), to.size(steps), to.size(1)), to.size(steps - 1)
    low, high, one = to.number(start, wide), to.number(end, wide), to.size(1)
    step = to.op("Div", to.op("Sub", high, low), to.cast(to.op("Max", last, one), wide))
    early = to.op("Less", places, to.op("Max", to.size(steps // 2), one))
    behind = to.cast(to.op("Sub", last, places), wide)
    rising = to.op("Add", to.op("Mul", to.cast(places, wide), step), low)
    falling = to.op("Sub", high, to.op("Mul", behind, step))
    return to.cast(to.op("Where", early, rising, falling, dtype=wide), dtype)


@translates("arange")
def arange(to: Any, start: Any, step: Any, count: Any, dtype: Any, device: Any) -> Any:
    """Numbers in equal steps."""
    if not isinstance(count, int) or not isinstance(start, (int, float)):
        numbers = to.op("Range", to.constant(0, torch.int64), to.size(count), to.constant(1, torch.int64))
        scaled = to.op("Mul", to.cast(numbers, dtype), to.number(step, dtype))
        return to.op("Add", scaled, to.number(start, dtype))
    return to.constant(torch.arange(count, dtype=torch.float64 if dtype.is_floating_point else torch.int64)
                       .mul(step).add(start).to(dtype), None)  # fmt: skip
