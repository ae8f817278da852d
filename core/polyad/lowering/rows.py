"""Steps that go over the same rows, as one kernel of several stages.

A softmax's maximum, its sum and its quotient are three steps over memory; as one kernel each row is read from memory
once. Steps join a group of the same shape and the same reduced dimensions if they read nothing that comes after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ..base.dtypes import DType
from ..base.layout import Layout, Shape, broadcast_strides, contiguous_strides, reduced_shape
from ..codegen import Expression, Operand, Place, RowValue, Stage
from ..codegen.expression import KEPT, inside, leaves_of, substituted
from .steps import Read, Step


@dataclass
class Rows:
    """Steps over rows: all *dims* of *shape*.

    Attributes:
        steps: as they were, for a device or layouts that had better take them one by one.
        stages: one for each reduction and for each expression that has a value a row.
        elements: expressions with a value at each place, with slot, dtype and layout of their results.
        stage_of: the stage that computes a slot.
        results: for each stage's slot, slot, dtype and layout of the array, if it is wanted outside of the group.
        reads: what the expressions' operands are, laid out along *shape*.
    """

    shape: Shape
    dims: tuple[int, ...]
    steps: list[Step] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    elements: list[tuple[Expression, tuple[int, DType, Layout]]] = field(default_factory=list)
    stage_of: dict[int, int] = field(default_factory=dict)
    results: dict[int, tuple[int, DType, Layout]] = field(default_factory=dict)
    reads: list[Read] = field(default_factory=list)

    @property
    def written(self) -> set[int]:
        """The slots of elements."""
        return {result[0] for _, result in self.elements}

    def row_layout(self) -> Layout:
        """How a value a row lies along *shape* in the array that a step would make of it."""
        strides = list(contiguous_strides(reduced_shape(self.shape, self.dims, False)))
        for dim in self.dims:
            strides.insert(dim, 0)
        return Layout(
            self.shape, tuple([0 if size == 1 else s for s, size in zip(strides, self.shape, strict=True)]), 0
        )

    def spread(self, layout: Layout, of: Shape) -> Layout | None:
        """*layout*, an operand of a step of shape *of*, along *shape*; None if it does not lie along its rows."""
        strides = broadcast_strides(layout.shape, layout.strides, of)
        if of == self.shape:
            pass
        elif of == reduced_shape(self.shape, self.dims, True):
            strides = tuple([0 if dim in self.dims else step for dim, step in enumerate(strides)])
        elif of == reduced_shape(self.shape, self.dims, False):
            spread = list(strides)
            for dim in self.dims:
                spread.insert(dim, 0)
            strides = tuple(spread)
        else:
            return None
        return Layout(
            self.shape,
            tuple([0 if size == 1 else s for s, size in zip(strides, self.shape, strict=True)]),
            layout.offset,
        )

    def seen(self, expression: Expression, of: Shape, reads: Sequence[Read]) -> Expression | None:
        """*expression*, of a step of shape *of*, as one of this group; None if it does not lie along its rows."""
        moved: dict[Expression, Expression] = {}
        row = self.row_layout()
        added: list[Read] = []
        for leaf in leaves_of(expression):
            if not isinstance(leaf, Operand):
                continue
            read = reads[leaf.position]
            layout = self.spread(read.layout, of)
            if layout is None or read.slot in self.written:
                return None
            if read.slot in self.stage_of:
                if layout != row:
                    return None
                moved[leaf] = RowValue(self.stage_of[read.slot], leaf.dtype)
                continue
            along = Read(read.slot, layout)
            known = [*self.reads, *added]
            if along not in known:
                added.append(along)
                known.append(along)
            moved[leaf] = Operand(known.index(along), leaf.dtype)
        self.reads += added
        return substituted([expression], moved)[0]

    def take(self, step: Step, reads: Sequence[Read]) -> bool:
        """Add *step*; False if it goes over other rows."""
        before = len(self.reads)
        found = [self.seen(expression, step.shape, reads) for expression in step.expressions]
        if any(expression is None for expression in found):
            del self.reads[before:]
            return False
        self.steps.append(step)
        for expression, result in zip(found, step.results, strict=True):
            assert expression is not None
            slot, dtype, _ = result
            if step.reducer is None and step.shape == self.shape:
                self.elements.append((expression, result))
            else:
                self.stage_of[slot] = len(self.stages)
                self.results[slot] = result
                self.stages.append(Stage(expression, step.reducer, dtype))
        return True

    def lift(self) -> None:
        """Have what is computed of a row's values, and of operands that do not change along it, computed once a row."""
        along = [dim for dim in self.dims if self.shape[dim] > 1]
        still = frozenset([
            position
            for position, read in enumerate(self.reads)
            if not any(read.layout.strides[dim] for dim in along)
        ])  # fmt: skip
        stages: list[Stage] = []
        renumbered: dict[Expression, Expression] = {}
        known: dict[Expression, Expression] = {}

        def lifted(expression: Expression) -> Expression:
            for node in _fixed_parts(expression, still):
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


@lru_cache(KEPT)
def _fixed_parts(expression: Expression, still: frozenset[int]) -> tuple[Expression, ...]:
    """The largest parts of *expression* that have one value a row, but for those that are only read or a number."""
    fixed: dict[Expression, bool] = {}
    waiting = [expression]
    while waiting:
        node = waiting[-1]
        missing = [each for each in inside(node) if each not in fixed]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        varies = isinstance(node, Place) or (isinstance(node, Operand) and node.position not in still)
        fixed[node] = not varies and all(fixed[each] for each in inside(node))
    found: list[Expression] = []
    seen: set[Expression] = set()
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if node in seen or not inside(node):
            continue
        seen.add(node)
        if not fixed[node]:
            waiting += inside(node)
        elif any(isinstance(leaf, (Operand, RowValue)) for leaf in leaves_of(node)):
            found.append(node)
    return tuple(found)


def grouped(steps: Sequence[Step], reads: Sequence[Read]) -> list[Step | Rows]:
    """*steps* with those that go over the same rows together, in an order in which each finds what it reads."""
    groups: list[Step | Rows] = []
    made_by: dict[int, int] = {}  # from a slot to the place of its group
    for step in steps:
        needed = [
            made_by[reads[leaf.position].slot]
            for leaf in leaves_of(*step.expressions)
            if isinstance(leaf, Operand) and reads[leaf.position].slot in made_by
        ]
        first = max(needed, default=0)
        place = None
        for at in range(len(groups) - 1, first - 1, -1):
            group = groups[at]
            if not isinstance(group, Rows):
                continue
            if step.reducer is not None and (group.shape, group.dims) != (step.shape, step.dims):
                continue
            if step.reducer is None and at not in needed:
                continue
            if group.take(step, reads):
                place = at
                break
        if place is None and step.reducer is None:
            place = _beside(groups, step, max(needed, default=-1))
        if place is None:
            place = len(groups)
            if step.reducer is None:
                groups.append(step)
            else:
                group = Rows(step.shape, step.dims)
                groups.append(group if group.take(step, reads) else step)
        for slot, _, _ in step.results:
            made_by[slot] = place
    return groups


def _beside(groups: list[Step | Rows], step: Step, after: int) -> int | None:
    """The place of a group behind number *after* that computes at the same places, and now *step*'s results too."""
    for at in range(after + 1, len(groups)):
        group = groups[at]
        if isinstance(group, Step) and group.reducer is None and group.shape == step.shape:
            groups[at] = replace(
                group, expressions=group.expressions + step.expressions, results=group.results + step.results
            )
            return at
    return None
