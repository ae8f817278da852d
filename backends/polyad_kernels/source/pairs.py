"""Stable sorts of lines of pairs (key, place): for sorting, and for adding at sorted places.

A key of up to 32 bits shares a ulong with its place, a longer key is the first half of a ulong2. Keys are sorted as
unsigned numbers, a byte at a time from the lowest (radix sort), which keeps equal keys in order. Short lines are sorted
by comparing keys, and places where keys are equal.

On CPU devices a work-item sorts whole lines, where there are enough of them. Else lines are cut into parts: each is
counted, the counts of all parts are added up, and then each part knows where to put what it has.
"""

from __future__ import annotations

from typing import Any

from polyad.base.dtypes import DType, complex128, int32, int64

from ..array import Array, new
from ..kept import kept
from .walking import cut, local_size

_SHORT = 256
"""Up to this length comparing is faster than counting bytes."""

_LANES = 8
"""Short lines that a CPU device sorts side by side."""

_TEXT = {
    4: """
#define PAIR ulong
#define MAKE(key, place) ((ulong)(key) << 32 | (uint)(place))
#define KEY(pair) ((uint)((pair) >> 32))
#define PLACE(pair) ((long)((pair) & 0xffffffffu))
""",
    8: """
#define PAIR ulong2
#define MAKE(key, place) (NEW(ulong2)((key), (ulong)(place)))
#define KEY(pair) ((pair).x)
#define PLACE(pair) ((long)(pair).y)
""",
}


def text(key: int) -> str:
    """PAIR, MAKE(key, place), KEY(pair), PLACE(pair) for keys of up to *key* bytes, 4 or 8."""
    return _TEXT[key]


def dtype_of(key: int) -> DType:
    """A dtype of the size of a pair."""
    return int64 if key == 4 else complex128


def _lanes(key: int, lanes: int) -> str:
    """LANES, pairs of so many lines; PUT, GET for a single line; EXCHANGE(a, b), which leaves the lesser ones in a."""
    # Not min and max: PoCL 3.0 gets functions of vectors of 64 bytes wrong where AVX-512 is lacking.
    unsigned, signed, part = (f"ulong{lanes}", f"long{lanes}", "[lane]") if lanes > 1 else ("ulong", "long", "")
    member = (lambda name: f"((ulong *)&({name})){part}") if lanes > 1 else (lambda name: f"({name})")
    if key == 4:
        return f"""
typedef {unsigned} LANES;
#define PUT(to, lane, pair) {member("to")} = (pair)
#define GET(from, lane) {member("from")}
#define EXCHANGE(a, b) const LANES x = a, y = b; a = x < y ? x : y; b = x < y ? y : x;
"""
    return f"""
typedef struct {{ {unsigned} keys, places; }} LANES;
#define PUT(to, lane, pair) {member("to.keys")} = (pair).x; {member("to.places")} = (pair).y
#define GET(from, lane) (NEW(ulong2)({member("from.keys")}, {member("from.places")}))
#define EXCHANGE(a, b) \\
    const LANES left = a, right = b; \\
    const {signed} after = {"" if lanes > 1 else "-(long)"}((left.keys > right.keys) \\
        | ((left.keys == right.keys) & (left.places > right.places))); \\
    a.keys = after ? right.keys : left.keys; a.places = after ? right.places : left.places; \\
    b.keys = after ? left.keys : right.keys; b.places = after ? left.places : right.places;
"""


@kept
def _kernels(device: Any, key: int) -> dict[str, Any]:
    lanes = _LANES if device.is_cpu else 1
    source = f"""{text(key)}{_lanes(key, lanes)}
// Lines next to each other, sorted side by side by merge exchange (Knuth, The Art of Computer Programming, 5.2.2, M).
__kernel void sort_short(__global PAIR *restrict pairs, long lines, long length, long chunk)
{{
    const long end = min(((long)get_global_id(0) + 1) * chunk, lines);
    for (long line = (long)get_global_id(0) * chunk; line < end; line += {lanes}) {{
        LANES all[{_SHORT}];
        const int have = (int)min({lanes}L, end - line), size = (int)length;
        __global PAIR *from = pairs + line * length;
        for (int lane = 0; lane < {lanes}; ++lane) for (int i = 0; i < size; ++i) {{
            PUT(all[i], lane, from[(lane < have ? lane : 0) * length + i]);
        }}
        int top = 1;
        while (2 * top < size) top *= 2;
        for (int p = top; p > 0; p /= 2) {{
            int r = 0, d = p;
            for (int q = top;; q /= 2) {{
                for (int begin = r; begin < size - d; begin += 2 * p) {{
                    const int end_of = min(begin + p, size - d);
                    for (int i = begin; i < end_of; ++i) {{ EXCHANGE(all[i], all[i + d]) }}
                }}
                if (q == p) break;
                d = q - p;
                r = p;
            }}
        }}
        for (int lane = 0; lane < have; ++lane) for (int i = 0; i < size; ++i) {{
            from[lane * length + i] = GET(all[i], lane);
        }}
    }}
}}

__kernel void sort_lines(__global PAIR *restrict pairs, __global PAIR *restrict spare, long lines, long length,
                         int digits, long chunk)
{{
    const long first = (long)get_global_id(0) * chunk, end = min(first + chunk, lines);
    for (long line = first; line < end; ++line) {{
        uint counts[{key * 256}];
        for (int i = 0; i < digits * 256; ++i) counts[i] = 0;
        __global PAIR *from = pairs + line * length, *to = spare + line * length;
        for (long i = 0; i < length; ++i) {{
            const ulong number = KEY(from[i]);
            for (int digit = 0; digit < digits; ++digit) ++counts[digit * 256 + (number >> digit * 8 & 255)];
        }}
        for (int digit = 0; digit < digits; ++digit) {{
            uint *starts = counts + digit * 256;
            const int shift = digit * 8;
            if (starts[KEY(from[0]) >> shift & 255] == length) continue;  // all have the same
            uint sum = 0;
            for (int i = 0; i < 256; ++i) {{ const uint have = starts[i]; starts[i] = sum; sum += have; }}
            for (long i = 0; i < length; ++i) {{
                const PAIR pair = from[i];
                to[starts[KEY(pair) >> shift & 255]++] = pair;
            }}
            __global PAIR *other = from; from = to; to = other;
        }}
        if (to != spare + line * length) for (long i = 0; i < length; ++i) to[i] = from[i];
    }}
}}

__kernel void count_parts(__global const PAIR *restrict pairs, __global uint *restrict counts, long lines, long length,
                          long parts, long part, int shift)
{{
    const long number = get_global_id(0);
    if (number >= lines * parts) return;
    const long line = number / parts, mine = number % parts;
    uint found[256];
    for (int i = 0; i < 256; ++i) found[i] = 0;
    const long end = line * length + min((mine + 1) * part, length);
    for (long i = line * length + mine * part; i < end; ++i) ++found[KEY(pairs[i]) >> shift & 255];
    for (int i = 0; i < 256; ++i) counts[(line * 256 + i) * parts + mine] = found[i];
}}

__kernel void add_up(__global uint *restrict counts, __global uint *restrict totals, long rows, long parts)
{{
    for (long row = get_global_id(0); row < rows; row += get_global_size(0)) {{
        uint sum = 0;
        for (long i = 0; i < parts; ++i) {{
            const uint have = counts[row * parts + i];
            counts[row * parts + i] = sum;
            sum += have;
        }}
        totals[row] = sum;
    }}
}}

__kernel void place_parts(__global const PAIR *restrict pairs, __global PAIR *restrict out,
                          __global const uint *restrict counts, __global const uint *restrict totals, long lines,
                          long length, long parts, long part, int shift)
{{
    const long number = get_global_id(0);
    if (number >= lines * parts) return;
    const long line = number / parts, mine = number % parts;
    uint starts[256], sum = 0;
    for (int i = 0; i < 256; ++i) {{
        starts[i] = sum + counts[(line * 256 + i) * parts + mine];
        sum += totals[line * 256 + i];
    }}
    const long begin = line * length, end = begin + min((mine + 1) * part, length);
    for (long i = begin + mine * part; i < end; ++i) {{
        const PAIR pair = pairs[i];
        out[begin + starts[KEY(pair) >> shift & 255]++] = pair;
    }}
}}
"""
    signatures = {
        "sort_short": "pqqq",
        "sort_lines": "ppqqiq",
        "count_parts": "ppqqqqi",
        "add_up": "ppqq",
        "place_parts": "ppppqqqqi",
    }
    local = local_size(device)
    return {
        name: device.kernel(source, name, signature, what="sort", local=local) for name, signature in signatures.items()
    }


def _full(device: Any, items: int) -> tuple[int]:
    (local,) = local_size(device)
    return (-(-items // local) * local,)


def sort(pairs: Array, spare: Array, key: int, lines: int, length: int, digits: int) -> Array:
    """*pairs*, dense lines of pairs, sorted by the lowest *digits* bytes of the keys; the result is one of the arrays.

    The contents of both are lost.
    """
    device = pairs.device
    kernels = _kernels(device, key)
    if length <= _SHORT:
        (items,), chunk = cut(device, lines, max(_LANES, 2048 // length))
        items = _full(device, items if device.is_cpu else lines)
        kernels["sort_short"](items, pairs.buffer, lines, length, chunk)
        return pairs
    workers = 4 * device.compute_units if device.is_cpu else 512 * device.compute_units
    if device.is_cpu and (lines >= workers // 2 or length < 1 << 14):
        (items,), chunk = cut(device, lines, max(1, 4096 // length))
        kernels["sort_lines"]((items,), pairs.buffer, spare.buffer, lines, length, digits, chunk)
        return pairs
    parts = max(1, min(-(-workers // lines), length // 256))
    part = -(-length // parts)
    counts, totals = new(device, (lines * 256 * parts,), int32), new(device, (lines * 256,), int32)
    for shift in range(0, 8 * digits, 8):
        items = _full(device, lines * parts)
        kernels["count_parts"](items, pairs.buffer, counts.buffer, lines, length, parts, part, shift)
        rows = lines * 256
        kernels["add_up"](_full(device, min(rows, workers)), counts.buffer, totals.buffer, rows, parts)
        kernels["place_parts"](
            items, pairs.buffer, spare.buffer, counts.buffer, totals.buffer, lines, length, parts, part, shift
        )
        pairs, spare = spare, pairs
    return pairs
