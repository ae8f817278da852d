"""Teams: instances on a GPU that share a row, so that neighbours read what lies side by side.

A group holds one team or several: those of a short row are few, and a group is what keeps a multiprocessor busy. All
instances of a group walk the same loop over rows, those that have no row left too, and meet where a team adds up what
its members have: neighbours exchange values where the language has a word for it, and all else goes through memory that
the group shares. The order in which values are added depends on the team's size alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .dialects import Dialect
from .hardware import CPU, DeviceDescription

_FULL = 128
"""Instances of a group of several teams."""

_LARGEST = 512
"""Instances of a team: more wait longer for each other than they bring."""

_SHORT, _NEAR = 1024, 32
"""Places of a row that is walked by at most so many instances, where rows are many."""


def team_for(device: DeviceDescription, places: int, rows: int) -> tuple[int, int]:
    """How many instances share a row of *places*, and how many make a group, if there are so many rows; both are powers
    of two, and 1 on CPUs.

    >>> from .hardware import GPU
    >>> gpu = DeviceDescription(GPU, compute_units=4, max_local_size=1024)
    >>> team_for(gpu, 10, 1000), team_for(gpu, 1000, 100000), team_for(gpu, 1000, 10), team_for(gpu, 1 << 20, 10)
    ((4, 128), (32, 128), (128, 128), (512, 512))
    """
    if device.kind == CPU or places <= 1:
        return 1, 1
    largest = min(_LARGEST, 1 << (device.max_local_size.bit_length() - 1))
    if places <= _SHORT and (places <= 4 * _NEAR or rows * _NEAR >= device.workers // 4):
        team = min(_NEAR, largest, _power(-(-places // 4)))
    else:
        team = min(largest, _power(-(-places // 8)))
    return team, max(team, min(_FULL, largest))


def _power(count: int) -> int:
    """The least power of two that is not below *count*, and not below 2."""
    return max(2, 1 << (count - 1).bit_length())


def numbered(dialect: Dialect, team: int, group: int) -> list[str]:
    """Statements that say which member of which team of its group an instance is."""
    if team == group:
        return [f"const int id = {dialect.member}, member = id, number = 0;"]
    return [f"const int id = {dialect.member}, member = id % {team}, number = id / {team};"]


def walk(dialect: Dialect, team: int, group: int) -> list[str]:
    """The loop over a team's units; ``here`` is whether it has one in this turn, else ``unit`` is another's."""
    wide, each = dialect.wide, group // team
    if each == 1:
        return [
            f"for ({wide} unit = {dialect.group}; unit < g.at[0]; unit += {dialect.groups}) {{",
            "    const int here = 1;",
        ]
    return [
        f"for ({wide} turn = {dialect.group}; turn * {each} < g.at[0]; turn += {dialect.groups}) {{",
        f"    const int here = turn * {each} + number < g.at[0];",
        f"    const {wide} unit = here ? turn * {each} + number : g.at[0] - 1;",
    ]


def added_up(
    dialect: Dialect,
    team: int,
    group: int,
    type_name: str,
    totals: Sequence[str],
    add: Callable[[Sequence[str], Sequence[str]], list[str]],
    shared: list[str],
    symmetric: bool,
) -> list[str]:
    """Statements after which each member's *totals*, variables of a type, are what all of the team had.

    *add* writes the statements that add the second variables to the first; the declarations of memory that the group
    shares are appended to *shared*. It is *symmetric* if a + b has the bits of b + a.
    """
    near = min(team, dialect.warp)
    lines = _exchanged(dialect, near, type_name, totals, add, symmetric)
    if team == near:
        return lines
    far = team // near
    memory = [f"shared_{type_name.replace(' ', '_')}_{part}" for part in range(len(totals))]
    for each in memory:
        declared = f"{dialect.shared}{type_name} {each}[{group // near}];"
        if declared not in shared:
            shared.append(declared)
    if near > 1:
        kept = [f"{each}[id / {near}] = {total};" for each, total in zip(memory, totals, strict=True)]
        lines += [f"if (member % {near} == 0) {{", *kept, "}", dialect.barrier]
        lines += [
            f"{total} = {each}[number * {far} + member % {far}];" for each, total in zip(memory, totals, strict=True)
        ]
        # Nobody writes to the memory before all have read it.
        return [*lines, *_exchanged(dialect, far, type_name, totals, add, symmetric), dialect.barrier]
    here, there = [f"{each}[id]" for each in memory], [f"{each}[id + apart]" for each in memory]
    return [
        *(f"{place} = {total};" for place, total in zip(here, totals, strict=True)),
        dialect.barrier,
        f"for (int apart = {team // 2}; apart > 0; apart /= 2) {{",
        "if (member < apart) {",
        *add(here, there),
        "}",
        dialect.barrier,
        "}",
        *(f"{total} = {each}[id - member];" for each, total in zip(memory, totals, strict=True)),
        dialect.barrier,
    ]


def _exchanged(
    dialect: Dialect,
    count: int,
    type_name: str,
    totals: Sequence[str],
    add: Callable[[Sequence[str], Sequence[str]], list[str]],
    symmetric: bool,
) -> list[str]:
    """The same for *count* neighbours, without memory."""
    if count == 1:
        return []
    others = [f"other{part}" for part in range(len(totals))]
    lines = [f"for (int apart = {count // 2}; apart > 0; apart /= 2) {{"]
    for other, total in zip(others, totals, strict=True):
        lines.append(f"const {type_name} {other} = {dialect.exchanged.format(value=total, apart='apart', team=count)};")
    lines += [*add(totals, others), "}"]
    if not symmetric:
        lines += [f"{total} = {dialect.first.format(value=total, team=count)};" for total in totals]
    return lines
