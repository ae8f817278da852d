"""Loops over strided operands, of any rank and cut into any number of work-items.

A walk goes through the elements of a shape in row-major order and keeps an offset for each operand, which is named
by a lower-case letter. Its text surrounds a body that treats one *run*, elements in a row along the last dimension:

    at          the row-major number of the run's first element: where it is in a dense result
    run         how many elements there are
    a, A        operand a's offset of the first, and its step to the next
    c0, c1, ..  the first element's coordinates

Division is slow: a work-item divides once for each of its stretches, and carries from there. On CPU devices a stretch
is all that a work-item does; on others it is a single element, so that neighbours touch neighbouring memory.

Ranks are rounded up to 3, 8, 16, ...: what few kernels there are need compiling once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from polyad.codegen.collapse import collapse

from ..memo import memoize

GRAIN = 4096
"""Elements of cheap work that are worth a work-item on a CPU device."""

_SMALL_RANK = 3


def local_size(device: Any) -> tuple[int]:
    """The local size of all kernels here: groups bring nothing on CPU devices."""
    return (1,) if device.is_cpu else (64,)


def cut(device: Any, count: int, grain: int = GRAIN) -> tuple[tuple[int], int]:
    """(global size, elements a stretch) for *count* elements; on CPU devices a stretch has at least *grain*."""
    if device.is_cpu:
        items = max(1, min(4 * device.compute_units, count // grain))
        return (items,), -(-count // items)
    (local,) = local_size(device)
    return (min(-(-count // local), 32 * device.compute_units) * local,), 1


class Walk:
    """A walk through *shape* for *operands*, each an (offset, steps).

    Attributes:
        rank: of the loops, padded.
        count: how many elements there are.
    """

    __slots__ = ("_numbers", "count", "rank")

    def __init__(self, shape: Sequence[int], *operands: tuple[int, Sequence[int]], apart: int | None = None) -> None:
        """Neighbouring dimensions are merged where that changes nothing, the first *apart* of them and the rest, or
        none if *apart* is 0.
        """
        sizes: tuple[int, ...] = tuple(shape)
        steps = [tuple(step) for _, step in operands]
        self.count = math.prod(sizes)
        if apart is None:
            sizes, steps = _merged(sizes, steps)
        elif apart:
            first, first_steps = _merged(sizes[:apart], [step[:apart] for step in steps])
            steps = [(*before, *step[apart:]) for before, step in zip(first_steps, steps, strict=True)]
            sizes = (*first, *sizes[apart:])
        self.rank = _SMALL_RANK if len(sizes) <= _SMALL_RANK else max(8, 1 << (len(sizes) - 1).bit_length())
        lacking = self.rank - len(sizes)
        numbers = [1] * lacking + [*sizes]
        for (offset, _), step in zip(operands, steps, strict=True):
            numbers += [offset] + [0] * lacking + [*step]
        self._numbers = numbers

    def arguments(self, chunk: int) -> tuple[int, ...]:
        """What to pass for `parameters`."""
        return (self.count, chunk, *self._numbers)


def _merged(sizes: tuple[int, ...], steps: Sequence[tuple[int, ...]]) -> Any:
    if not sizes or 0 in sizes:
        return (), [()] * len(steps)
    if not steps:
        return (math.prod(sizes),), []
    return collapse(sizes, steps)


@memoize
def parameters(rank: int, operands: str) -> str:
    """The kernel's parameters that describe a walk."""
    names = ["count", "chunk", *[f"n{dim}" for dim in range(rank)]]
    for letter in operands:
        names += [f"{letter}_begin", *[f"{letter}{dim}" for dim in range(rank)]]
    return ", ".join([f"long {name}" for name in names])


def letters(rank: int, operands: str) -> str:
    """The same for `Device.kernel`."""
    return "q" * (2 + rank + len(operands) * (1 + rank))


@memoize
def opening(rank: int, operands: str) -> str:
    """The text before the body."""
    last = rank - 1
    lines = [
        "const bool small = count >> 31 == 0;  // a division of 64 bits costs several times as much as with 32",
        "for (long start = (long)get_global_id(0) * chunk; start < count; start += (long)get_global_size(0) * chunk) {",
        "const long end = min(start + chunk, count);",
        "long at = start, rest = start;",
        *[
            f"long c{dim} = rest; rest = small ? (long)((uint)rest / (uint)n{dim}) : rest / n{dim}; "
            f"c{dim} -= rest * n{dim};"
            for dim in range(last, 0, -1)
        ],
        "long c0 = rest;",
    ]
    for letter in operands:
        sum_of = " + ".join([f"{letter}_begin", *[f"c{dim} * {letter}{dim}" for dim in range(rank)]])
        lines += [f"const long {letter.upper()} = {letter}{last};", f"long {letter} = {sum_of};"]
    lines += ["while (at < end) {", f"const long run = min(n{last} - c{last}, end - at);", "{"]
    return "\n".join(lines)


@memoize
def closing(rank: int, operands: str) -> str:
    """The text after the body."""
    last = rank - 1
    lines = ["}", "at += run;", "if (at == end) break;"]
    lines += [f"{letter} -= c{last} * {letter.upper()};" for letter in operands]
    lines += [f"c{last} = 0;"]
    for dim in range(last - 1, -1, -1):
        lines += [f"c{dim} += 1;", *[f"{letter} += {letter}{dim};" for letter in operands]]
        if dim:
            lines += [f"if (c{dim} == n{dim}) {{", f"c{dim} = 0;"]
            lines += [f"{letter} -= n{dim} * {letter}{dim};" for letter in operands]
    lines += ["}"] * max(last - 1, 0)
    return "\n".join([*lines, "}", "}"])


CHECKED = """
inline void tell(__global long *cell, int number, long position, long value)
{
    // The first int is the kernel's number, the second a lock: of several wrong indices, the first in order is kept.
    volatile __global int *lock = (volatile __global int *)cell + 1;
    for (int told = 0; !told;) {
        if (atomic_cmpxchg(lock, 0, 1)) continue;
        volatile __global long *note = cell + 1;
        volatile __global int *known = (volatile __global int *)cell;
        if (*known == 0 || (*known == number && position < note[0])) {
            note[0] = position;
            note[1] = value;
            *known = number;
        }
        mem_fence(CLK_GLOBAL_MEM_FENCE);
        atomic_xchg(lock, 0);
        told = 1;
    }
}
"""
"""``tell(cell, number, position, value)`` notes a wrong index in the device's trouble cell."""
