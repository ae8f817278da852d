"""Writing at indices that arrays hold, the same result every time.

Two sources meet in a place only if they are in the same *line* along the indexed dimension, since an index moves an
element along that dimension alone. So one work-item goes through a line in order: sums are rounded as they are on the
CPU, and of several values the last stays. Devices that need more work-items than there are lines do it otherwise,
with the same results: a value is written only by the last that names its place, which an atomic maximum finds; and
summands are sorted by place, stably, so that each place's are added in order.

scatter moves elements and is written for their widths; sums of half types are computed in float32.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from polyad.backend import Kernel
from polyad.backend.bounds import out_of_range
from polyad.base.dtypes import bfloat16, bool_, float16, float32, int32
from polyad.base.shapes_and_strides import coordinates

from ...array import Array, new
from ...memo import memoize
from ...source import pairs
from ...source.elements import MOVED, text
from ...source.walking import CHECKED, Walk, closing, cut, letters, local_size, opening, parameters
from ..memory.conversion import copy, fill

_FEW_LINES, _LONG = 4096, 64
"""Fewer lines than this, longer than that, are split on devices that are no CPU."""

_BLOCK = 256
"""Indices that are looked at at once."""

_SERIAL = "oxs"


def _lines_source(name: str, definitions: str, store: str, load: str, rank: int) -> str:
    """A kernel whose work-items go through lines: *store* writes ``value`` to ``target``."""
    return f"""{CHECKED}{definitions}
__kernel void {name}(__global TARGET *restrict out, __global const long *restrict index,
                     __global const SOURCE *restrict source, long length, long step, long index_step, long source_step,
                     ulong size, __global long *cell, int number, {parameters(rank, _SERIAL)})
{{
    {opening(rank, _SERIAL)}
    if (X == 0) for (long k = 0; k < length; ++k) {{
        const long chosen = index[x + k * index_step];
        if ((ulong)chosen >= size) {{ tell(cell, number, at * length + k, chosen); continue; }}
        __global TARGET *to = out + o + chosen * step;
        const long from = s + k * source_step;
        if (O == 1 && S == 1) for (long i = 0; i < run; ++i) {{
            __global TARGET *target = to + i;
            VALUE value = {load.format("from + i")};
            {store}
        }} else for (long i = 0; i < run; ++i) {{
            __global TARGET *target = to + i * O;
            VALUE value = {load.format("from + i * S")};
            {store}
        }}
    }} else {{
        // Lines next to each other are gone through side by side, others singly.
        const bool beside = run > 1 && X < index_step;
        const long outer = beside ? length : run, inner = beside ? run : length;
        const long x_outer = beside ? index_step : X, x_inner = beside ? X : index_step;
        const long s_outer = beside ? source_step : S, s_inner = beside ? S : source_step;
        const long o_outer = beside ? 0 : O, o_inner = beside ? O : 0;
        for (long first = 0; first < outer; ++first) {{
            __global const long *chosen_of = index + x + first * x_outer;
            __global TARGET *to = out + o + first * o_outer;
            const long from = s + first * s_outer;
            for (long begin = 0; begin < inner; begin += {_BLOCK}) {{
                const long stop = min(begin + {_BLOCK}, inner);
                bool good = true;
                if (x_inner == 1) for (long i = begin; i < stop; ++i) good &= (ulong)chosen_of[i] < size;
                else for (long i = begin; i < stop; ++i) good &= (ulong)chosen_of[i * x_inner] < size;
                for (long i = begin; i < stop; ++i) {{
                    const long chosen = chosen_of[i * x_inner];
                    if (!good && (ulong)chosen >= size) {{
                        const long line = at + (beside ? i : first), k = beside ? first : i;
                        tell(cell, number, line * length + k, chosen);
                        continue;
                    }}
                    __global TARGET *target = to + i * o_inner + chosen * step;
                    VALUE value = {load.format("from + i * s_inner")};
                    {store}
                }}
            }}
        }}
    }}
    {closing(rank, _SERIAL)}
}}
"""


_LINES_LETTERS = "pppqqqqQpi"


@memoize
def _write_lines(device: Any, width: int, rank: int) -> Any:
    definitions = "".join([f"\n#define {name} {MOVED[width]}" for name in ("TARGET", "SOURCE", "VALUE")])
    source = _lines_source("write_lines", definitions, "*target = value;", "source[{}]", rank)
    signature = _LINES_LETTERS + letters(rank, _SERIAL)
    return device.kernel(source, "write_lines", signature, what="scatter", local=local_size(device))


def _adding(array: Array) -> str:
    return "*target = *target || value;" if array.dtype is bool_ else "*target += value;"


@memoize
def _add_lines(device: Any, dtype: Any, rank: int, store: str) -> Any:
    definitions = f"\n{text(dtype)}\n#define TARGET C\n#define SOURCE T\n#define VALUE C"
    source = _lines_source("add_lines", definitions, store, "LOAD(source, {})", rank)
    signature = _LINES_LETTERS + letters(rank, _SERIAL)
    what = f"scatter_add, index_add {dtype.name}"
    return device.kernel(source, "add_lines", signature, what=what, local=local_size(device))


class _Wrong(NamedTuple):
    """What is said of wrong indices. It holds no array, whose memory would be kept until the device is asked."""

    op: str
    is_vector: bool
    shape: tuple[int, ...]
    dim: int
    size: int

    def in_line(self, position: int, value: int) -> Exception:
        """Of a position that counts line by line."""
        line, k = divmod(position, self.shape[self.dim])
        others = (*self.shape[: self.dim], *self.shape[self.dim + 1 :])
        place = coordinates(line, others)
        return self.at((*place[: self.dim], k, *place[self.dim :]), value)

    def in_whole(self, position: int, value: int) -> Exception:
        """Of a position that counts row by row."""
        return self.at(coordinates(position, self.shape), value)

    def at(self, place: tuple[int, ...], value: int) -> Exception:
        """The error; a vector of indices has one coordinate."""
        return out_of_range(self.op, "index", (place[self.dim],) if self.is_vector else place, value, self.size)


class _Lines:
    """The lines of a call: what `_lines_source` and its alternatives go through."""

    def __init__(
        self, op: str, out: Array, index: Array, index_steps: tuple[int, ...], source: Array, steps: tuple[int, ...],
        shape: tuple[int, ...], dim: int,
    ) -> None:  # fmt: skip
        self.op, self.out, self.index, self.source, self.dim, self.shape = op, out, index, source, dim, shape
        self.index_steps, self.steps = index_steps, steps
        self.device = out.device
        self.size, self.length = out.shape[dim], shape[dim]
        self.others = tuple([at for at in range(len(shape)) if at != dim])
        self.other_shape = tuple([shape[at] for at in self.others])
        self.wrong = _Wrong(op, index.ndim == 1, shape, dim, self.size)

    def without(self, steps: tuple[int, ...]) -> tuple[int, ...]:
        """*steps* of the dimensions that are not indexed."""
        return tuple([steps[at] for at in self.others])

    @property
    def is_split(self) -> bool:
        """Whether lines are too few and too long to give a work-item each."""
        few = math.prod(self.other_shape) < _FEW_LINES and self.length > _LONG
        return few and not self.device.is_cpu and self.out.size < 1 << 31 > math.prod(self.shape)

    def run(self, kernel_of: Any) -> None:
        """Serially, with the kernel that ``kernel_of(rank)`` gives."""
        device, dim = self.device, self.dim
        walk = Walk(
            self.other_shape,
            (self.out.offset, self.without(self.out.steps)),
            (self.index.offset, self.without(self.index_steps)),
            (self.source.offset, self.without(self.steps)),
        )
        # Neighbouring columns share cache lines: not less than a few of those a work-item.
        items, chunk = cut(device, walk.count, max(16, 4096 // self.length) if walk.count >= 32 else 1)
        kernel_of(walk.rank)(
            items, self.out.buffer, self.index.buffer, self.source.buffer, self.length, self.out.steps[dim],
            self.index_steps[dim], self.steps[dim], self.size, device.trouble_cell, device.expect(self.wrong.in_line),
            *walk.arguments(chunk),
        )  # fmt: skip
        device.verify()

    def whole(self) -> Walk:
        """A walk through all of the index, in row-major order; operands o, x, s."""
        return Walk(
            self.shape,
            (self.out.offset, [0 if at == self.dim else step for at, step in enumerate(self.out.steps)]),
            (self.index.offset, self.index_steps),
            (self.source.offset, self.steps),
        )


# ------------------------------------------------------------------------------------------------ scatter


@memoize
def _write_last(device: Any, width: int, rank: int) -> tuple[Any, Any]:
    """Kernels that note for each place who writes there last, and that let only those write."""
    element = MOVED[width]
    walk = parameters(rank, _SERIAL)
    source = f"""{CHECKED}
__kernel void note(__global volatile int *last, __global const long *restrict index, long step, ulong size,
                   __global long *cell, int number, {walk})
{{
    {opening(rank, _SERIAL)}
    for (long i = 0; i < run; ++i) {{
        const long chosen = index[x + i * X];
        if ((ulong)chosen < size) atomic_max(last + o + i * O + chosen * step, (int)(at + i));
        else tell(cell, number, at + i, chosen);
    }}
    {closing(rank, _SERIAL)}
}}

__kernel void write_last(__global {element} *restrict out, __global const int *restrict last,
                         __global const long *restrict index, __global const {element} *restrict source, long step,
                         ulong size, {walk})
{{
    {opening(rank, _SERIAL)}
    for (long i = 0; i < run; ++i) {{
        const long chosen = index[x + i * X];
        if ((ulong)chosen >= size) continue;
        const long place = o + i * O + chosen * step;
        if (last[place] == at + i) out[place] = source[s + i * S];
    }}
    {closing(rank, _SERIAL)}
}}
"""
    local, signature = local_size(device), letters(rank, _SERIAL)
    return (
        device.kernel(source, "note", "ppqQpi" + signature, what="scatter", local=local),
        device.kernel(source, "write_last", "ppppqQ" + signature, what="scatter", local=local),
    )


def scatter(array: Array, index: Array, source: Any, dim: int) -> Array:
    device, dtype = array.device, array.dtype
    out = new(device, array.shape, dtype)
    copy(out, array)
    if not math.prod(index.shape):
        return out
    if not isinstance(source, Array):
        value, source = source, new(device, (1,) * index.ndim, dtype)
        fill(source, value)
        steps = (0,) * index.ndim
    else:
        steps = source.steps
    lines = _Lines("scatter", out, index, index.steps, source, steps, index.shape, dim)
    if not lines.is_split:
        lines.run(lambda rank: _write_lines(device, dtype.itemsize, rank))
        return out
    walk = lines.whole()
    items, chunk = cut(device, walk.count)
    note, write = _write_last(device, dtype.itemsize, walk.rank)
    last = new(device, out.shape, int32)
    fill(last, -1)
    where = (out.steps[dim], lines.size)
    cell = (device.trouble_cell, device.expect(lines.wrong.in_whole))
    note(items, last.buffer, index.buffer, *where, *cell, *walk.arguments(chunk))
    write(items, out.buffer, last.buffer, index.buffer, source.buffer, *where, *walk.arguments(chunk))
    device.verify()
    return out


# ------------------------------------------------------------------------------------------------ sums


@memoize
def _pair_up(device: Any, rank: int) -> Any:
    """A kernel that pairs places with positions in the line, for `pairs.sort`; wrong ones get the last place."""
    source = f"""{CHECKED}{pairs.text(4)}
__kernel void pair_up(__global PAIR *restrict out, __global const long *restrict index, ulong size,
                      __global long *cell, int number, {parameters(rank, "x")})
{{
    {opening(rank, "x")}
    for (long i = 0; i < run; ++i) {{
        const long chosen = index[x + i * X];
        const bool good = (ulong)chosen < size;
        if (!good) tell(cell, number, at + i, chosen);
        out[at + i] = MAKE(good ? (uint)chosen : 0xffffffffu, c{rank - 1} + i);
    }}
    {closing(rank, "x")}
}}
"""
    return device.kernel(source, "pair_up", "ppQpi" + letters(rank, "x"), what="scatter_add", local=local_size(device))


@memoize
def _add_runs(device: Any, dtype: Any, rank: int, store: str) -> Any:
    """A kernel that adds, for the first of equal places, the summands of all of them."""
    source = f"""{pairs.text(4)}{text(dtype)}
__kernel void add_runs(__global C *restrict out, __global const PAIR *restrict order, __global const T *restrict source,
                       long length, long pair_step, long step, long source_step, ulong size, {parameters(rank, "ops")})
{{
    {opening(rank, "ops")}
    for (long i = 0; i < run; ++i) {{
        const long k = (at + i) / (count / length);
        __global const PAIR *line = order + p + i * P;
        const uint place = KEY(line[k * pair_step]);
        if (place >= size || (k && KEY(line[(k - 1) * pair_step]) == place)) continue;
        __global C *target = out + o + i * O + place * step;
        for (long next = k; next < length && KEY(line[next * pair_step]) == place; ++next) {{
            const C value = LOAD(source, s + i * S + PLACE(line[next * pair_step]) * source_step);
            {store}
        }}
    }}
    {closing(rank, "ops")}
}}
"""
    what = f"scatter_add, index_add {dtype.name}"
    return device.kernel(source, "add_runs", "pppqqqqQ" + letters(rank, "ops"), what=what, local=local_size(device))


def _add_sorted(lines: _Lines, store: str) -> None:
    device, dim, length = lines.device, lines.dim, lines.length
    # Lines that share an index (index_add's) are sorted once.
    varies = [at for at in lines.others if lines.index_steps[at]]
    shape = (*[lines.shape[at] for at in varies], length)
    steps = (*[lines.index_steps[at] for at in varies], lines.index_steps[dim])
    order = new(device, shape, pairs.dtype_of(4))
    spare = new(device, shape, pairs.dtype_of(4))
    walk = Walk(shape, (lines.index.offset, steps), apart=len(varies))
    items, chunk = cut(device, walk.count)

    wrong, sorted_dims = lines.wrong, (*varies, dim)

    def judge(position: int, value: int) -> Exception:
        found = dict(zip(sorted_dims, coordinates(position, shape), strict=True))
        return wrong.at(tuple([found.get(at, 0) for at in range(len(wrong.shape))]), value)

    _pair_up(device, walk.rank)(
        items, order.buffer, lines.index.buffer, lines.size, device.trouble_cell, device.expect(judge),
        *walk.arguments(chunk),
    )  # fmt: skip
    order = pairs.sort(order, spare, 4, math.prod(shape[:-1]), length, max(1, (lines.size.bit_length() + 7) // 8))
    pair_steps = [0] * len(lines.shape)
    for at, step in zip(varies, order.steps):
        pair_steps[at] = step
    walk = Walk(
        (length, *lines.other_shape),
        (lines.out.offset, (0, *lines.without(lines.out.steps))),
        (order.offset, (0, *lines.without(tuple(pair_steps)))),
        (lines.source.offset, (0, *lines.without(lines.steps))),
    )
    items, chunk = cut(device, walk.count)
    _add_runs(device, lines.source.dtype, walk.rank, store)(
        items, lines.out.buffer, order.buffer, lines.source.buffer, length, 1, lines.out.steps[dim], lines.steps[dim],
        lines.size, *walk.arguments(chunk),
    )  # fmt: skip
    device.verify()


def _added(
    op: str, array: Array, index: Array, index_steps: tuple[int, ...], source: Array, shape: tuple[int, ...], dim: int
) -> Array:
    device, dtype = array.device, array.dtype
    wide = float32 if dtype in (float16, bfloat16) else dtype
    out = new(device, array.shape, wide)
    copy(out, array)
    if math.prod(shape):
        lines = _Lines(op, out, index, index_steps, source, source.steps, shape, dim)
        store = _adding(array)
        if lines.is_split:
            _add_sorted(lines, store)
        else:
            lines.run(lambda rank: _add_lines(device, dtype, rank, store))
    if wide is dtype:
        return out
    rounded = new(device, array.shape, dtype)
    copy(rounded, out)
    return rounded


def scatter_add(array: Array, index: Array, source: Array, dim: int) -> Array:
    return _added("scatter_add", array, index, index.steps, source, index.shape, dim)


def index_add(array: Array, index: Array, source: Array, dim: int) -> Array:
    steps = tuple([index.steps[0] if at == dim else 0 for at in range(array.ndim)])
    return _added("index_add", array, index, steps, source, source.shape, dim)


KERNELS = {"scatter": Kernel(scatter), "scatter_add": Kernel(scatter_add), "index_add": Kernel(index_add)}
