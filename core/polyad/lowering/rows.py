"""Loops that go over the same rows, as one kernel of several stages.

A softmax's maximum, its sum and its quotient are three loops over memory; as one kernel each row is read from memory
once. Loops join a group of the same shape and the same reduced dimensions if they read nothing that comes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ..base.dtypes import DType
from ..base.shapes_and_strides import Layout, Shape, broadcast_strides, contiguous_strides, reduced_shape
from ..codegen import Expression, Iota, Operand, RowValue, Stage
from ..codegen.expression import CACHED, inside, invariant_parts, leaves_of, substituted
from .loops import Load, Loop


@dataclass
class Rows:
    """Loops over rows: all *dims* of *shape*.

    Attributes:
        loops: as they were, for a device or layouts that had better take them one by one.
        stages: one for each reduction and for each expression that has a value a row.
        elements: expressions with a value at each place, with slot, dtype and layout of their results.
        stage_of: the stage that computes a slot.
        results: for each stage's slot, slot, dtype and layout of the array, if it is wanted outside of the group.
        reads: what the expressions' operands are, laid out along *shape*.
    """

    shape: Shape
    dims: tuple[int, ...]
    loops: list[Loop] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    elements: list[tuple[Expression, tuple[int, DType, Layout]]] = field(default_factory=list)
    stage_of: dict[int, int] = field(default_factory=dict)
    results: dict[int, tuple[int, DType, Layout]] = field(default_factory=dict)
    loads: list[Load] = field(default_factory=list)

    @property
    def written(self) -> set[int]:
        """The slots of elements."""
        return {result[0] for _, result in self.elements}

    def row_layout(self) -> Layout:
        """How a value a row lies along *shape* in the array that a loop would make of it."""
        strides = list(contiguous_strides(reduced_shape(self.shape, self.dims, False)))
        for dim in self.dims:
            strides.insert(dim, 0)
        return Layout(
            self.shape, tuple([0 if size == 1 else s for s, size in zip(strides, self.shape, strict=True)]), 0
        )

    def align(self, layout: Layout, of: Shape) -> Layout | None:
        """*layout*, an operand of a loop of shape *of*, along *shape*; None if it does not lie along its rows."""
        strides = broadcast_strides(layout.shape, layout.strides, of)
        if of == self.shape:
            pass
        elif of == reduced_shape(self.shape, self.dims, True):
            strides = tuple([0 if dim in self.dims else stride for dim, stride in enumerate(strides)])
        elif of == reduced_shape(self.shape, self.dims, False):
            align = list(strides)
            for dim in self.dims:
                align.insert(dim, 0)
            strides = tuple(align)
        else:
            return None
        return Layout(
            self.shape,
            tuple([0 if size == 1 else s for s, size in zip(strides, self.shape, strict=True)]),
            layout.offset,
        )

    def translate(self, expression: Expression, of: Shape, loads: Sequence[Load]) -> Expression | None:
        """*expression*, of a loop of shape *of*, as one of this group; None if it does not lie along its rows."""
        moved: dict[Expression, Expression] = {}
        row = self.row_layout()
        added: list[Load] = []
        for leaf in leaves_of(expression):
            if not isinstance(leaf, Operand):
                continue
            load = loads[leaf.position]
            layout = self.align(load.layout, of)
            if layout is None or load.slot in self.written:
                return None
            if load.slot in self.stage_of:
                if layout != row:
                    return None
                moved[leaf] = RowValue(self.stage_of[load.slot], leaf.dtype)
                continue
            along = Load(load.slot, layout)
            known = [*self.loads, *added]
            if along not in known:
                added.append(along)
                known.append(along)
            moved[leaf] = Operand(known.index(along), leaf.dtype)
        self.loads += added
        return substituted([expression], moved)[0]

    def try_add(self, loop: Loop, loads: Sequence[Load]) -> bool:
        """Add *loop*; False if it goes over other rows."""
        before = len(self.loads)
        found = [self.translate(expression, loop.shape, loads) for expression in loop.expressions]
        if any(expression is None for expression in found):
            del self.loads[before:]
            return False
        self.loops.append(loop)
        for expression, result in zip(found, loop.results, strict=True):
            assert expression is not None
            slot, dtype, _ = result
            if loop.reducer is None and loop.shape == self.shape:
                self.elements.append((expression, result))
            else:
                self.stage_of[slot] = len(self.stages)
                self.results[slot] = result
                self.stages.append(Stage(expression, loop.reducer, dtype))
        return True

    def lift(self) -> None:
        """Have what is computed of a row's values, and of operands that do not change along it, computed once a row."""
        along = [dim for dim in self.dims if self.shape[dim] > 1]
        still = frozenset([
            position
            for position, load in enumerate(self.loads)
            if not any(load.layout.strides[dim] for dim in along)
        ])  # fmt: skip
        stages: list[Stage] = []
        renumbered: dict[Expression, Expression] = {}
        known: dict[Expression, Expression] = {}

        def lifted(expression: Expression) -> Expression:
            for node in _invariant_parts(expression, still):
                if node not in known:
                    known[node] = RowValue(len(stages), node.dtype)
                    stages.append(Stage(node, None, node.dtype))
            return substituted([expression], known)[0]

        for position, stage in enumerate(self.stages):
            (expression,) = substituted([stage.expression], renumbered)
            if stage.reducer is not None:
                expression = lifted(expression)
            renumbered[RowValue(position, stage.dtype)] = RowValue(len(stages), stage.dtype)
            stages.append(Stage(expression, stage.reducer, stage.dtype))
        self.elements = [
            (lifted(substituted([expression], renumbered)[0]), result) for expression, result in self.elements
        ]
        for slot, at in self.stage_of.items():
            now = renumbered[RowValue(at, self.stages[at].dtype)]
            assert isinstance(now, RowValue)
            self.stage_of[slot] = now.position
        self.stages = stages


@lru_cache(CACHED)
def _invariant_parts(expression: Expression, still: frozenset[int]) -> tuple[Expression, ...]:
    """The largest parts of *expression* that have one value a row, but for those that are only read or a number."""

    def varies(node: Expression) -> bool:
        return isinstance(node, Iota) or (isinstance(node, Operand) and node.position not in still)

    return tuple([
        node
        for node in invariant_parts([expression], varies)
        if inside(node) and any(isinstance(leaf, (Operand, RowValue)) for leaf in leaves_of(node))
    ])  # fmt: skip


def group_loops(loops: Sequence[Loop], loads: Sequence[Load]) -> list[Loop | Rows]:
    """*loops* with those that go over the same rows together, in an order in which each finds what it reads."""
    groups: list[Loop | Rows] = []
    made_by: dict[int, int] = {}  # from a slot to the place of its group
    for loop in loops:
        needed = [
            made_by[loads[leaf.position].slot]
            for leaf in leaves_of(*loop.expressions)
            if isinstance(leaf, Operand) and loads[leaf.position].slot in made_by
        ]
        first = max(needed, default=0)
        place = None
        for at in range(len(groups) - 1, first - 1, -1):
            group = groups[at]
            if not isinstance(group, Rows):
                continue
            if loop.reducer is not None and (group.shape, group.dims) != (loop.shape, loop.dims):
                continue
            if loop.reducer is None and at not in needed:
                continue
            if group.try_add(loop, loads):
                place = at
                break
        if place is None and loop.reducer is None:
            place = _join_beside(groups, loop, max(needed, default=-1))
        if place is None:
            place = len(groups)
            if loop.reducer is None:
                groups.append(loop)
            else:
                group = Rows(loop.shape, loop.dims)
                groups.append(group if group.try_add(loop, loads) else loop)
        for slot, _, _ in loop.results:
            made_by[slot] = place
    return groups


def _join_beside(groups: list[Loop | Rows], loop: Loop, after: int) -> int | None:
    """The number of a loop of the same shape, behind number *after*, that computes *loop*'s results from now on too."""
    for at in range(after + 1, len(groups)):
        group = groups[at]
        if isinstance(group, Loop) and group.reducer is None and group.shape == loop.shape:
            groups[at] = replace(
                group, expressions=group.expressions + loop.expressions, results=group.results + loop.results
            )
            return at
    return None
