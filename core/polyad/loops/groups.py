"""How work items of a GPU share rows: the loop over rows, and the sum of what each of them has.

All of a group take part in the same loop over rows, those that have no row left too: they are not ``here``. Neighbours
exchange values where the language has a word for it, and all else goes through memory that the group shares.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..codegen.accumulators import symmetric
from ..codegen.expression import Apply, Local, where
from ..codegen.writer import computed_in
from . import nodes
from .nodes import (
    ONE,
    ZERO,
    Accumulate,
    Accumulator,
    Barrier,
    Body,
    Exchange,
    If,
    Index,
    Let,
    Loop,
    Move,
    geometry,
    var,
)  # fmt: skip


def walk_rows(body: Iterable[nodes.Node], items: int, group: int) -> Loop:
    """The loop over units, of which *items* share each; where ``here`` is false, ``unit`` is another's."""
    each, units = group // items, geometry(0)
    if each == 1:
        return Loop(nodes.GROUPS, "unit", 0, units, (Let("here", ONE, small=True), *body), items=items)
    unit = var("turn") * nodes.number(each) + var("number")
    found = Let("here", unit < units, small=True), Let("unit", where(var("here"), unit, units - ONE))
    return Loop(nodes.GROUPS, "turn", 0, units, (*found, *body), each, items=items)


def first_of_row() -> Index:
    """Whether a work item is the first of those that share a row, and there is one."""
    return Apply("logical_and", (nodes.same(var("member"), ZERO), var("here")), ONE.dtype)


def add_up_row(accumulator: Accumulator, items: int, group: int, warp: int) -> tuple[tuple[nodes.Shared, ...], Body]:
    """Statements after which the *accumulator* of each work item has what all *items* of its row had, and the memory
    that they need; *warp* neighbours exchange values without.
    """
    near = min(items, warp)
    lines = _exchange(accumulator, near)
    if items == near:
        return (), lines
    total, far, member = accumulator.local, items // near, var("member")
    held = computed_in(accumulator.dtype)
    memory = [f"shared_{held.name}_{part}" for part in range(len(total.names))]
    shared = tuple([nodes.Shared(each, held, group // near) for each in memory])

    def cell(place: str) -> Local:
        return Local(tuple([f"{each}[{place}]" for each in memory]), accumulator.dtype)

    if near > 1:
        writes = nodes.same(Apply("remainder", (member, nodes.number(near)), member.dtype), ZERO)
        back = Move(total, cell(f"number * {far} + member % {far}"))
        lines += (If(writes, (Move(cell(f"id / {near}"), total),)), Barrier(), back)
        # Nobody writes to the memory before all have read it.
        return shared, (*lines, *_exchange(accumulator, far), Barrier())
    adds = Accumulate(accumulator, cell("id + apart"), cell("id"))
    halves = Loop(nodes.HALVES, "apart", items // 2, 0, (If(member < var("apart"), (adds,)), Barrier()))
    return shared, (Move(cell("id"), total), Barrier(), halves, Move(total, cell("id - member")), Barrier())


def _exchange(accumulator: Accumulator, count: int) -> Body:
    """The same for *count* neighbours in a warp, without memory."""
    if count == 1:
        return ()
    total = accumulator.local
    others = Local(tuple([f"other{part}" for part in range(len(total.names))]), total.dtype)
    body = Exchange(others, total, count, "apart", new=True), Accumulate(accumulator, others)
    halves = Loop(nodes.HALVES, "apart", count // 2, 0, body)
    if symmetric(accumulator.reducer, accumulator.dtype):
        return (halves,)
    return halves, Exchange(total, total, count)
