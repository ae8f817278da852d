"""Workgroups of a GPU, of which several work items share a row, so that neighbours read what lies side by side.

A workgroup has one row at a time, or several: few work items share a short row, and a full workgroup is what keeps a
multiprocessor busy. All of a workgroup take part in the same loop over rows, those that have no row left too, and meet
where what they found of a row is added up: neighbours exchange values where the language has a word for it, and all
else goes through memory that the workgroup shares. The order in which values are added depends on how many share a row,
and on nothing else.

In generated code, ``member`` is the number of a work item among those of its row, ``number`` that of its row in the
workgroup, and ``here`` whether there is such a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .dialects import Dialect
from .hardware import CPU, DeviceDescription

_FULL = 128
"""Work items of a workgroup that has several rows."""

_LARGEST = 512
"""Work items that share a row at most: more wait longer for each other than they bring."""

_SHORT, _WARP = 1024, 32
"""Up to this length a row is shared by at most a warp, where rows are many."""


def choose_workgroup(device: DeviceDescription, length: int, rows: int) -> tuple[int, int]:
    """How many work items share a row of *length*, and how many make a workgroup, if there are so many rows; both are
    powers of two, and 1 on CPUs.

    >>> from .hardware import GPU
    >>> gpu = DeviceDescription(GPU, compute_units=4, max_local_size=1024)
    >>> [choose_workgroup(gpu, *row) for row in ((10, 1000), (1000, 100000), (1000, 10), (1 << 20, 10))]
    [(4, 128), (32, 128), (128, 128), (512, 512)]
    """
    if device.kind == CPU or length <= 1:
        return 1, 1
    largest = min(_LARGEST, 1 << (device.max_local_size.bit_length() - 1))
    if length <= _SHORT and (length <= 4 * _WARP or rows * _WARP >= device.workers // 4):
        items = min(_WARP, largest, _power(-(-length // 4)))
    else:
        items = min(largest, _power(-(-length // 8)))
    return items, max(items, min(_FULL, largest))


def _power(count: int) -> int:
    """The least power of two that is not below *count*, and not below 2."""
    return max(2, 1 << (count - 1).bit_length())


def declare_members(dialect: Dialect, items: int, group: int) -> list[str]:
    """Statements that say which of the *items* of which row of its workgroup a work item is."""
    if items == group:
        return [f"const int id = {dialect.member}, member = id, number = 0;"]
    return [f"const int id = {dialect.member}, member = id % {items}, number = id / {items};"]


def walk_rows(dialect: Dialect, items: int, group: int) -> list[str]:
    """The loop over units; where ``here`` is false, ``unit`` is another's."""
    index, each = dialect.wide, group // items
    if each == 1:
        return [
            f"for ({index} unit = {dialect.group}; unit < g.at[0]; unit += {dialect.groups}) {{",
            "    const int here = 1;",
        ]
    return [
        f"for ({index} turn = {dialect.group}; turn * {each} < g.at[0]; turn += {dialect.groups}) {{",
        f"    const int here = turn * {each} + number < g.at[0];",
        f"    const {index} unit = here ? turn * {each} + number : g.at[0] - 1;",
    ]


def add_up_row(
    dialect: Dialect,
    items: int,
    group: int,
    type_name: str,
    totals: Sequence[str],
    add: Callable[[Sequence[str], Sequence[str]], list[str]],
    shared: list[str],
    symmetric: bool,
) -> list[str]:
    """Statements after which the *totals* of each work item, variables of a type, are what all *items* of its row had.

    *add* writes the statements that add the second variables to the first; the declarations of memory that the
    workgroup shares are appended to *shared*. It is *symmetric* if a + b has the bits of b + a.
    """
    near = min(items, dialect.warp)
    lines = _exchange(dialect, near, type_name, totals, add, symmetric)
    if items == near:
        return lines
    far = items // near
    memory = [f"shared_{type_name.replace(' ', '_')}_{part}" for part in range(len(totals))]
    for each in memory:
        declared = f"{dialect.shared}{type_name} {each}[{group // near}];"
        if declared not in shared:
            shared.append(declared)
    if near > 1:
        written = [f"{each}[id / {near}] = {total};" for each, total in zip(memory, totals, strict=True)]
        lines += [f"if (member % {near} == 0) {{", *written, "}", dialect.barrier]
        lines += [
            f"{total} = {each}[number * {far} + member % {far}];" for each, total in zip(memory, totals, strict=True)
        ]
        # Nobody writes to the memory before all have read it.
        return [*lines, *_exchange(dialect, far, type_name, totals, add, symmetric), dialect.barrier]
    here, there = [f"{each}[id]" for each in memory], [f"{each}[id + apart]" for each in memory]
    return [
        *(f"{place} = {total};" for place, total in zip(here, totals, strict=True)),
        dialect.barrier,
        f"for (int apart = {items // 2}; apart > 0; apart /= 2) {{",
        "if (member < apart) {",
        *add(here, there),
        "}",
        dialect.barrier,
        "}",
        *(f"{total} = {each}[id - member];" for each, total in zip(memory, totals, strict=True)),
        dialect.barrier,
    ]


def _exchange(
    dialect: Dialect,
    count: int,
    type_name: str,
    totals: Sequence[str],
    add: Callable[[Sequence[str], Sequence[str]], list[str]],
    symmetric: bool,
) -> list[str]:
    """The same for *count* neighbours in a warp, without memory."""
    if count == 1:
        return []
    others = [f"other{part}" for part in range(len(totals))]
    lines = [f"for (int apart = {count // 2}; apart > 0; apart /= 2) {{"]
    for other, total in zip(others, totals, strict=True):
        lines.append(
            f"const {type_name} {other} = {dialect.exchanged.format(value=total, apart='apart', items=count)};"
        )
    lines += [*add(totals, others), "}"]
    if not symmetric:
        lines += [f"{total} = {dialect.first.format(value=total, items=count)};" for total in totals]
    return lines
