"""Schedules of expressions with a result at each place: of arrays of one shape, and of many arrays in one launch."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.dtypes import DType
from ..base.shapes_and_strides import Strides
from ..codegen.expression import Expression, Iota, Local, Operand, invariant_parts, where
from . import nodes
from .nodes import ONE, ZERO, Body, Compute, If, Index, Let, Load, Loop, Node, Store, at, geometry, least, number, var

Leaves = Sequence[Operand | Iota]


def elements(
    expressions: Sequence[Expression],
    operands: Leaves,
    lanes: int,
    rank: int,
    inner: Strides | None,
    stream: bool,
    pack: int,
    on_cpu: bool,
) -> Body:
    """The loops of `polyad.codegen.elementwise`, whose geometry has results and operands numbered together."""
    count, results = len(expressions) + len(operands), len(expressions)
    apart = [var(f"s{n}") if inner is None else number(inner[n]) for n in range(count)]
    bases = [3 + rank + n * (rank + 1) for n in range(count)]
    first, last, row, unit = var("first"), var("last"), var("row"), var("unit")
    body: list[Node] = [
        Let("row", unit / geometry(1) if rank > 1 else ZERO, changes=True),
        Let("first", (unit - row * geometry(1)) * geometry(2)),
        Let("last", least(first + geometry(2), geometry(3))),
    ]
    for n, base in enumerate(bases):
        body.append(Let(f"at{n}", geometry(base), changes=True))
        if inner is None:
            body.append(Let(f"s{n}", geometry(base + 1)))
    strides = {f"at{n}": [geometry(base + 2 + dim) for dim in range(rank - 1)] for n, base in enumerate(bases)}
    body += nodes.recover("row", [geometry(4 + dim) for dim in range(rank - 1)], strides)

    def load(n: int, j: Index, many: Index, packed: bool = False) -> Load:
        place = at(var(f"at{n}"), j, apart[n])
        return Load(operands[n - results], f"in{n - results}", place, apart[n], many, packed and apart[n] == ONE)

    # Compilers do not know that what is written does not change what is read: they would compute it again and again.
    steady = [n for n in range(results, count) if apart[n] == ZERO] if on_cpu and lanes == 1 and inner else []

    def take(j: Index, many: Index, packed: bool) -> Body:
        """A vector, or an element of a pack."""
        found: list[Node] = [load(n, j, many, packed) for n in range(results, count) if n not in steady]
        found.append(Compute(tuple(expressions)))
        for n, expression in enumerate(expressions):
            place = at(var(f"at{n}"), j, apart[n])
            found.append(Store(f"out{n}", expression, place, apart[n], many, packed, stream=stream and not packed))
        return tuple(found)

    if pack > 1:
        body.append(_whole_pack(pack, take(first, ONE, True)))
    step = take(var("j"), var("m") if lanes > 1 else ONE, False)
    if lanes > 1:
        step = (rest_of_vector(lanes), *step)
    if steady:
        changing = {operands[n - results] for n in range(results, count) if n not in steady}
        body += [load(n, first, ONE) for n in steady]
        body.append(Compute(tuple(invariant_parts(expressions, changing.__contains__))))
    # On a GPU, a loop is only over what a pack leaves.
    kind = nodes.ROLLED if not on_cpu else nodes.VECTOR if inner is not None else nodes.SERIAL
    body.append(Loop(kind, "j", first, last, step, lanes))
    return (Loop(nodes.ROWS if on_cpu else nodes.ITEMS, "unit", 0, geometry(0), tuple(body)),)


def over_rows_of_table(
    expressions: Sequence[Expression], operands: Leaves, single: Sequence[bool], pack: int, rows: int
) -> Body:
    """The loops of `polyad.codegen.tables`, for tables of so many *rows*."""
    begins, counts, places = 2, 3 + rows, 3 + 2 * rows
    first, last, row, results = var("first"), var("last"), var("row"), len(expressions)
    body: list[Node] = [
        nodes.Search("row", geometry(1), begins, var("unit")),
        Let("first", (var("unit") - entry(begins, row)) * number(pack)),
        Let("count", entry(counts, row)),
        Let("last", least(first + number(pack), var("count"))),
    ]
    dtypes: list[DType] = [each.dtype for each in (*expressions, *operands)]
    names = [f"out{n}" for n in range(results)] + [f"in{n}" for n in range(len(operands))]
    for n, (name, dtype) in enumerate(zip(names, dtypes, strict=True)):
        body.append(nodes.Point(name, dtype, entry(places + n * rows, row)))

    def take(place: Index, packed: bool) -> Body:
        loads = [
            Load(operand, f"in{n}", ZERO if single[n] else place, ONE, ONE, packed and not single[n])
            for n, operand in enumerate(operands)
        ]
        stores = [Store(f"out{n}", each, place, ONE, ONE, packed) for n, each in enumerate(expressions)]
        return *loads, Compute(tuple(expressions)), *stores

    if pack > 1:
        body.append(_whole_pack(pack, take(first, True)))
    body.append(Loop(nodes.SERIAL, "j", first, last, take(var("j"), False)))
    return (Loop(nodes.ITEMS, "unit", 0, geometry(0), tuple(body)),)


def entry(begin: int, row: Index) -> Index:
    """The number in the geometry that is *row* places behind place *begin*."""
    return Local((f"g.at[{begin} + {row.names[0]}]",), row.dtype)  # type: ignore[attr-defined]


def rest_of_vector(lanes: int, last: Index | None = None, first: Index | None = None) -> Let:
    """How many of a vector's lanes hold elements."""
    left = (last or var("last")) - (first or var("j"))
    return Let("m", where(left < number(lanes), left, number(lanes)), small=True)


def _whole_pack(pack: int, body: Body) -> If:
    """What is done where a chunk is a whole pack."""
    whole = nodes.same(var("last") - var("first"), number(pack))
    return If(whole, (Loop(nodes.PACK, "c", 0, pack, body),), ends=True)
