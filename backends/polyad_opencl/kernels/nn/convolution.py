"""Convolution over one to three dimensions, without matrices of patches.

The input is copied once into zero-padded planes in which the element that a kernel position (a tap) multiplies lies at
a constant distance from the result's element: results are numbered along the planes, rows end to end, and those at row
ends that stand for nothing are not stored. With strides there are several planes a channel, plane r with every
stride-th element from r on. A work-item keeps 6 channels by two vectors of results in registers and walks channels and
taps: each vector of the plane is multiplied by 6 numbers of the weight, which were laid side by side before.

The gradient with respect to the input is the same kernel on the gradient's planes, once for each phase of the stride.
That with respect to the weight is a sum of products along two planes, over parts of the batch that are added up in
order. Complex convolutions are four real ones on real and imaginary parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.dtypes import ALL, DType, bool_, float32, float64, int32
from polyad.base.shapes_and_strides import contiguous_strides
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.memory import conversion as copying
from polyad_kernels.memo import memoize

from ...source.tiles import ELEMENTS, lanes, prologue

Sizes = tuple[int, ...]

DIMS = 3
CHANNELS, VECTORS = 6, 2
SUM_CHANNELS, SUM_TAPS = 4, 3
"""Tiles of 12 accumulators: with what is multiplied they fill 16 registers, and none goes to memory between."""

PARTS = 8
"""In how many parts of the batch the gradient of the weight is added up."""

WRITE, ADD, SUBTRACT = range(3)
"""What a kernel does with the results that are there."""


@dataclass(frozen=True, slots=True)
class Axis:
    """How a spatial dimension lies in the planes.

    Attributes:
        count: results along it.
        pitch: plane elements along it.
        phases: (first element, step) of the source for each plane; plane element t holds source[first + t * step].
        taps: for each kernel position, (phase, distance); None for a position that meets no element.
    """

    count: int
    pitch: int
    phases: tuple[tuple[int, int], ...]
    taps: tuple[tuple[int, int] | None, ...]


def _forward(size: int, kernel: int, stride: int, padding: int, dilation: int) -> Axis:
    """Result y reads element y * stride + i * dilation - padding."""
    count = (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
    starts = [position * dilation - padding for position in range(kernel)]
    low = min(start // stride for start in starts)
    reach = max(start // stride for start in starts) - low
    used = sorted({start % stride for start in starts})
    phases = tuple([(phase + low * stride, stride) for phase in used])
    taps = tuple([(used.index(start % stride), start // stride - low) for start in starts])
    return Axis(count, count + reach, phases, taps)


def _backward(kernel: int, stride: int, padding: int, dilation: int, size: int) -> list[Axis]:
    """For each phase a of the stride: element a + q * stride gets from gradient q + (a + padding - i * dilation) /
    stride where that is whole.
    """
    distances = [
        [
            (a + padding - position * dilation) // stride if (a + padding - position * dilation) % stride == 0 else None
            for position in range(kernel)
        ]
        for a in range(min(stride, size))
    ]
    every = [distance for each in distances for distance in each if distance is not None]
    low, high = (min(every), max(every)) if every else (0, 0)
    pitch = -(-size // stride) + high - low
    return [
        Axis(
            (size - a + stride - 1) // stride,
            pitch,
            ((low, 1),),
            tuple([None if distance is None else (0, distance - low) for distance in each]),
        )
        for a, each in enumerate(distances)
    ]


def _padded(values: Sequence[int], fill: int) -> Sizes:
    """*values* for `DIMS` dimensions."""
    return (*(fill,) * (DIMS - len(values)), *values)


def _in_three(x: Array) -> Array:
    """(a, b, *spatial) with three spatial dimensions."""
    lacking = DIMS + 2 - x.ndim
    shape = (*x.shape[:2], *(1,) * lacking, *x.shape[2:])
    return Array(x.block, x.dtype, shape, (*x.steps[:2], *(0,) * lacking, *x.steps[2:]), x.offset)


def _planes(x: Array, axes: Sequence[Axis], area: int | None = None) -> tuple[Array, int]:
    """The planes of (n, c, *spatial): (n, c, phases, area) and the phases' number. Elements from outside are 0."""
    phases = list(itertools.product(*[axis.phases for axis in axes]))
    area = area or math.prod(axis.pitch for axis in axes)
    images, channels = x.shape[:2]
    planes = new(x.device, (images, channels, len(phases), area), x.dtype)
    copying.fill(planes, 0)
    pitches = contiguous_strides(tuple([axis.pitch for axis in axes]))
    for number, each in enumerate(phases):
        spans = []
        for (first, step), size, axis in zip(each, x.shape[2:], axes):
            low = max(-(first // step), 0)
            spans.append((low, max(min(-((first - size) // step), axis.pitch), low)))
        shape = (images, channels, *[high - low for low, high in spans])
        if 0 in shape:
            continue
        at = sum([low * pitch for (low, _), pitch in zip(spans, pitches)])
        target = Array(planes.block, x.dtype, shape, (*planes.steps[:2], *pitches), number * area + at)
        begin = sum(
            [(first + low * step) * own for (first, step), (low, _), own in zip(each, spans, x.steps[2:])]
        )  # fmt: skip
        steps = (*x.steps[:2], *[step * own for (_, step), own in zip(each, x.steps[2:])])
        copying.copy(target, Array(x.block, x.dtype, shape, steps, x.offset + begin))
    return planes, len(phases)


def _tap_list(axes: Sequence[Axis], area: int, steps: Sizes) -> list[tuple[int, int]]:
    """(distance in a channel's planes, distance in the weight) of each tap that meets elements."""
    pitches = contiguous_strides(tuple([axis.pitch for axis in axes]))
    found = []
    for positions in itertools.product(*[range(len(axis.taps)) for axis in axes]):
        taps = [axis.taps[position] for axis, position in zip(axes, positions)]
        if None in taps:
            continue
        plane = at = 0
        for (phase, distance), axis, pitch in zip(taps, axes, pitches):  # type: ignore[misc]
            plane = plane * len(axis.phases) + phase
            at += distance * pitch
        found.append((plane * area + at, sum([p * step for p, step in zip(positions, steps)])))
    return found


@memoize
def _table(device: Any, numbers: tuple[int, ...]) -> Array:
    """int32 *numbers* on the device. A model repeats few geometries many times."""
    table = new(device, (max(len(numbers), 1),), int32)
    if numbers:
        device.write(table.buffer, np.array(numbers, np.int32).view(np.uint8))
    return table


def _run(
    out: Array, x: Array, weight: Array, bias: Array | None, axes: Sequence[Axis], planes: tuple[Array, int] | None,
    groups: int, mode: int,
) -> None:  # fmt: skip
    """Write, add or subtract the convolution of *x* (n, groups * c, ...) with *weight* (groups, o, c, ...) into *out*
    (n, groups * o, counts of the axes), all of any steps.
    """
    device, dtype = out.device, x.dtype
    source, phases = planes or _planes(x, axes)
    area = source.shape[-1]
    taps = _tap_list(axes, area, weight.steps[3:])
    places, own_places = _table(device, tuple([at for at, _ in taps])), _table(device, tuple([w for _, w in taps]))
    _, each_out, each_in = weight.shape[:3]
    tiles = -(-each_out // CHANNELS)
    program = _program(device, dtype)
    packed = new(device, (groups * tiles * each_in * max(len(taps), 1) * CHANNELS,), _used(dtype))
    if taps and packed.size:
        program.pack(
            (min(packed.size, 256),), packed.buffer, weight.buffer, weight.offset, packed.size,
            each_out, each_in, len(taps), tiles, *weight.steps[:3], own_places.buffer,
        )  # fmt: skip
    counts = [axis.count for axis in axes]
    pitches = [axis.pitch for axis in axes]
    span = sum([(count - 1) * pitch for count, pitch in zip(counts, contiguous_strides(tuple(pitches)))]) + 1
    width = VECTORS * lanes(dtype)
    steps = -(-span // width)
    local = program.local
    program.convolve(
        (-(-steps // local) * local, groups * tiles, x.shape[0]),
        out.buffer, out.offset, *out.steps, source.buffer, packed.buffer,
        out.buffer if bias is None else bias.buffer, 0 if bias is None else bias.offset,
        0 if bias is None else bias.steps[0], 0 if bias is None else 1,
        places.buffer, len(taps), each_in, each_out, tiles, groups,
        area * phases, span, *counts, *pitches[1:], mode,
    )  # fmt: skip


def _used(dtype: DType) -> DType:
    """A dtype as wide as what *dtype* is computed in."""
    return float64 if ELEMENTS[dtype.name].size == 8 else float32


_REAL = {True: ((0, 0, 0, WRITE), (0, 1, 1, SUBTRACT), (1, 0, 1, WRITE), (1, 1, 0, ADD)), False: ((0, 0, 0, WRITE),)}
"""Which part of the result gets the product of which parts of the operands, and how."""


def _part(x: Array, which: int) -> Array:
    """The real or imaginary parts of a complex array; a real array itself."""
    if not x.dtype.is_complex:
        return x
    return Array(x.block, x.dtype.to_real(), x.shape, tuple([2 * step for step in x.steps]), 2 * x.offset + which)


def convolution(
    input: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    settings = (input.shape[2:], weight.shape[2:], stride, padding, dilation)
    own = [_forward(*axis_settings) for axis_settings in zip(*settings, strict=True)]
    out = new(input.device, (input.shape[0], weight.shape[0], *[axis.count for axis in own]), input.dtype)
    if not out.size:
        return out
    axes = [_forward(1, 1, 1, 0, 1)] * (DIMS - len(own)) + own
    x, w, result = _in_three(input), _in_three(weight), _in_three(out)
    each = weight.shape[0] // groups
    grouped = (groups, each, *w.shape[1:])
    steps = (each * w.steps[0], *w.steps)
    for to, left, right, mode in _REAL[input.dtype.is_complex]:
        kernel = _part(Array(w.block, w.dtype, grouped, steps, w.offset), right)
        added = _part(bias, to) if bias is not None and mode == WRITE else None
        _run(_part(result, to), _part(x, left), kernel, added, axes, None, groups, mode)
    return out


def convolution_transposed(
    input: Array, weight: Array, bias: Array | None, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    groups: int,
) -> Array:  # fmt: skip
    each = weight.shape[1]
    out = new(input.device, (input.shape[0], each * groups, *size), input.dtype)
    if not out.size:
        return out
    settings = (weight.shape[2:], stride, padding, dilation, size)
    own = [_backward(*axis_settings) for axis_settings in zip(*settings, strict=True)]
    phases = [[_backward(1, 1, 0, 1, 1)[0]]] * (DIMS - len(own)) + own
    x, w, result = _in_three(input), _in_three(weight), _in_three(out)
    rows = weight.shape[0] // groups
    grouped = (groups, each, rows, *w.shape[2:])
    steps = (rows * w.steps[0], w.steps[1], w.steps[0], *w.steps[2:])
    strides = _padded(stride, 1)
    for to, left, right, mode in _REAL[input.dtype.is_complex]:
        source, target = _part(x, left), _part(result, to)
        kernel = _part(Array(w.block, w.dtype, grouped, steps, w.offset), right)
        added = _part(bias, to) if bias is not None and mode == WRITE else None
        planes = _planes(source, [each_axis[0] for each_axis in phases])
        for chosen in itertools.product(*[range(len(axis)) for axis in phases]):
            axes = [axis[a] for axis, a in zip(phases, chosen)]
            at = sum([a * step for a, step in zip(chosen, target.steps[2:])])
            shape = (*target.shape[:2], *[axis.count for axis in axes])
            own_steps = (*target.steps[:2], *[apart * step for apart, step in zip(strides, target.steps[2:])])
            part = Array(target.block, target.dtype, shape, own_steps, target.offset + at)
            _run(part, source, kernel, added, axes, planes, groups, mode)
    return out


def convolution_weight_grad(
    grad: Array, input: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    settings = (input.shape[2:], kernel, stride, padding, dilation)
    own = [_forward(*axis_settings) for axis_settings in zip(*settings, strict=True)]
    each_in, each_out = input.shape[1] // groups, grad.shape[1] // groups
    out = new(input.device, (grad.shape[1], each_in, *kernel), input.dtype)
    if not out.size:
        return out
    if not grad.size or not input.size:
        copying.fill(out, 0)
        return out
    axes = [_forward(1, 1, 1, 0, 1)] * (DIMS - len(own)) + own
    x, g, result = _in_three(input), _in_three(grad), _in_three(out)
    pitches = contiguous_strides(tuple([axis.pitch for axis in axes]))
    span = sum([(axis.count - 1) * pitch for axis, pitch in zip(axes, pitches)]) + 1
    whole = [Axis(axis.count, axis.pitch, ((0, 1),), ((0, 0),)) for axis in axes]
    for to, left, right, mode in _REAL[input.dtype.is_complex]:
        planes, phases = _planes(_part(x, right), axes)
        source = _part(g, left)
        slopes, _ = _planes(source, whole)
        target = _part(result, to)
        taps = _tap_list(axes, planes.shape[-1], target.steps[2:])
        device, dtype = out.device, source.dtype
        program = _program(device, dtype)
        places, own_places = _table(device, tuple([at for at, _ in taps])), _table(device, tuple([w for _, w in taps]))
        parts = min(PARTS, grad.shape[0])
        sums = new(device, (parts * grad.shape[1] * each_in * len(taps),), _used(dtype))
        program.correlate(
            (each_in * -(-len(taps) // SUM_TAPS), groups * -(-each_out // SUM_CHANNELS), parts),
            sums.buffer, planes.buffer, slopes.buffer, places.buffer, len(taps), each_in, each_out,
            groups, planes.shape[-1] * phases, slopes.shape[-1], span, grad.shape[0],
            parts,
        )  # fmt: skip
        count = grad.shape[1] * each_in * len(taps)
        program.gather(
            (min(count, 256),), target.buffer, target.offset, *target.steps[:2], sums.buffer,
            own_places.buffer, len(taps), each_in, count, parts, mode,
        )  # fmt: skip
    return out


@dataclass(frozen=True, slots=True)
class Program:
    """The kernels of a device and dtype; *local* is the local size of `convolve` along positions."""

    pack: Any
    convolve: Any
    correlate: Any
    gather: Any
    local: int


@memoize
def _program(device: Any, dtype: DType) -> Program:
    source = f"{prologue(dtype)}{_PACK}{_convolve()}{_correlate()}{_GATHER}"
    local = 1 if device.is_cpu else 32

    def kernel(name: str, parameters: str, size: tuple[int, ...]) -> Any:
        return device.kernel(source, name, parameters, what=f"convolution {dtype.name} ({name})", local=size)

    return Program(
        kernel("pack", "ppq" + "q" * 8 + "p", (1,)),
        kernel("convolve", "pqqqqqqpppqqqp" + "q" * 13, (local, 1, 1)),
        kernel("correlate", "pppp" + "q" * 9, (1, 1, 1)),
        kernel("gather", "pqqqpp" + "q" * 5, (1,)),
        local,
    )


_PACK = f"""
#define R {CHANNELS}
// packed[group][tile][c][tap][r] = weight[group][tile * R + r][c][tap], 0 beyond the last channel.
__kernel void pack(__global S *packed, __global const T *weight, long wo, long count, long outs, long ins, long taps,
                   long tiles, long wg, long wr, long wc, __global const int *places)
{{
    for (long i = get_global_id(0); i < count; i += get_global_size(0)) {{
        long r = i % R, rest = i / R;
        long tap = rest % taps; rest /= taps;
        long c = rest % ins; rest /= ins;
        long row = rest % tiles * R + r, group = rest / tiles;
        packed[i] = row < outs ? load(weight, wo + group * wg + row * wr + c * wc + places[tap]) : (S)0;
    }}
}}
"""


def _convolve() -> str:
    rows, vectors = range(CHANNELS), range(VECTORS)
    accumulators = "".join(f"    V c{r}_{v} = (V)(0);\n" for r in rows for v in vectors)
    loads = "".join(f"            V y{v} = loadv(plane, at[t] + {v} * W);\n" for v in vectors)
    products = "".join(
        f"            {{ V x = (V)(w[{r}]); " + " ".join(f"c{r}_{v} += x * y{v};" for v in vectors) + " }\n"
        for r in rows
    )
    spilled = "".join(f"    VSTORE(c{r}_{v}, {r * VECTORS + v}, tile);\n" for r in rows for v in vectors)
    return f"""
#define N ({VECTORS} * W)
__kernel void convolve(__global T *out, long oo, long on, long oc, long o0, long o1, long o2,
                       __global const T *planes, __global const S *packed,
                       __global const T *bias, long bo, long bs, long has_bias,
                       __global const int *at, long taps, long ins, long outs, long tiles, long groups,
                       long channel, long span, long n0, long n1, long n2, long p1, long p2, long mode)
{{
    long first = get_global_id(0) * N, group = get_global_id(1) / tiles, tile_of = get_global_id(1) % tiles;
    long image = get_global_id(2);
    if (first >= span) return;
    __global const T *plane = planes + (image * groups + group) * ins * channel + first;
    __global const S *w = packed + get_global_id(1) * ins * taps * R;
{accumulators}
    for (long c = 0; c < ins; ++c) {{
        for (long t = 0; t < taps; ++t) {{
{loads}{products}            w += R;
        }}
        plane += channel;
    }}
    S tile[R * N];
{spilled}
    // Where each position's result goes; the places at row ends are nobody's.
    long to[N];
    for (int l = 0; l < N; ++l) {{
        long i = first + l, x = i % p2, y = i / p2 % p1, z = i / p2 / p1;
        to[l] = i < span && x < n2 && y < n1 && z < n0 ? z * o0 + y * o1 + x * o2 : -1;
    }}
    for (int r = 0; r < R; ++r) {{
        long row = tile_of * R + r;
        if (row >= outs) break;
        row += group * outs;
        S add = has_bias ? load(bias, bo + row * bs) : (S)0;
        long base = oo + image * on + row * oc;
        for (int l = 0; l < N; ++l) {{
            if (to[l] < 0) continue;
            S x = tile[r * N + l] + add;
            if (mode == {ADD}) x = load(out, base + to[l]) + x;
            if (mode == {SUBTRACT}) x = load(out, base + to[l]) - x;
            store(out, base + to[l], x);
        }}
    }}
}}
"""


def _correlate() -> str:
    rows, columns = range(SUM_CHANNELS), range(SUM_TAPS)
    accumulators = "".join(f"    V c{r}_{t} = (V)(0); S d{r}_{t} = (S)0;\n" for r in rows for t in columns)
    # Beyond the last row or tap, the last is computed again, and not stored.
    starts = "".join(f"    long g{r}_ = min(row + {r}, outs - 1) * area;\n" for r in rows)
    starts += "".join(f"    long x{t}_ = at[min(tap + {t}, taps - 1)];\n" for t in columns)
    loads = "".join(f"            V g{r} = loadv(g, g{r}_ + i);\n" for r in rows)
    loads += "".join(f"            V x{t} = loadv(x, x{t}_ + i);\n" for t in columns)
    tail = "".join(f"            S g{r} = load(g, g{r}_ + i);\n" for r in rows)
    tail += "".join(f"            S x{t} = load(x, x{t}_ + i);\n" for t in columns)
    products = "".join(f"            c{r}_{t} += g{r} * x{t};\n" for r in rows for t in columns)
    scalar = "".join(f"            d{r}_{t} += g{r} * x{t};\n" for r in rows for t in columns)
    stores = "".join(
        f"    VSTORE(c{r}_{t}, 0, each); for (int l = 1; l < W; ++l) each[0] += each[l];\n"
        f"    if (row + {r} < outs && tap + {t} < taps)\n"
        f"        sums[((part * groups * outs + group * outs + row + {r}) * ins + c) * taps + tap + {t}]"
        f" = each[0] + d{r}_{t};\n"
        for r in rows
        for t in columns
    )
    return f"""
__kernel void correlate(__global S *sums, __global const T *planes, __global const T *slopes, __global const int *at,
                        long taps, long ins, long outs, long groups, long channel, long area, long span, long images,
                        long parts)
{{
    long tiles = (taps + {SUM_TAPS - 1}) / {SUM_TAPS}, blocks = (outs + {SUM_CHANNELS - 1}) / {SUM_CHANNELS};
    long c = get_global_id(0) / tiles, tap = get_global_id(0) % tiles * {SUM_TAPS};
    long group = get_global_id(1) / blocks, row = get_global_id(1) % blocks * {SUM_CHANNELS};
    long part = get_global_id(2);
{starts}{accumulators}
    for (long image = part * images / parts; image < (part + 1) * images / parts; ++image) {{
        __global const T *x = planes + ((image * groups + group) * ins + c) * channel;
        __global const T *g = slopes + (image * groups + group) * outs * area;
        long i = 0;
        for (; i + W <= span; i += W) {{
{loads}{products}        }}
        for (; i < span; ++i) {{
{tail}{scalar}        }}
    }}
    S each[W];
{stores}
}}
"""


_GATHER = f"""
__kernel void gather(__global T *out, long oo, long or, long oc, __global const S *sums, __global const int *places,
                     long taps, long ins, long count, long parts, long mode)
{{
    for (long i = get_global_id(0); i < count; i += get_global_size(0)) {{
        S x = (S)0;
        for (long part = 0; part < parts; ++part) x += sums[part * count + i];
        long to = oo + i / taps / ins * or + i / taps % ins * oc + places[i % taps];
        if (mode == {ADD}) x = load(out, to) + x;
        if (mode == {SUBTRACT}) x = load(out, to) - x;
        store(out, to, x);
    }}
}}
"""

_COMPUTED = frozenset(ALL) - {bool_}

KERNELS = {
    "convolution": Kernel(convolution, dtypes=_COMPUTED),
    "convolution_transposed": Kernel(convolution_transposed, dtypes=_COMPUTED),
    "convolution_weight_grad": Kernel(convolution_weight_grad, dtypes=_COMPUTED),
}
