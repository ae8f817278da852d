"""What must hold of loops, whoever made them: `verify` raises `BrokenLoops` and says which statement is wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from polyad.codegen.expression import Expression, Iota, Local, Operand, RowValue, Scalar, inside, nodes_of
from polyad.loops import nodes
from polyad.loops.nodes import Accumulator, Body, Node

NAME = re.compile(r"[A-Za-z_]\w*")
OF_GROUPS = {"id", "member", "number"}


class BrokenLoops(Exception):
    """A statement that no printer could make a right kernel of."""


@dataclass
class Scope:
    """What is there at a statement: indices (True: they change), and those that differ among a group's work items."""

    indices: dict[str, bool]
    known: set[Expression]
    names: set[str]  # of accumulators, of numbers that lanes were folded into, of memory
    differs: set[str]
    grouped: bool = False
    diverged: bool = False
    chosen: bool = False  # by member: not all of a group's work items do the same
    packed: bool = False
    private: set[str] | None = None  # in turns that must not depend on each other, what they may change
    here: set[str] = field(default_factory=set)
    copies: dict[int, set[Expression]] = field(default_factory=dict)

    def inner(self, **changes: bool) -> Scope:
        scope = Scope(
            dict(self.indices), set(self.known), set(self.names), set(self.differs), self.grouped, self.diverged,
            self.chosen, self.packed, None if self.private is None else set(self.private), set(), dict(self.copies),
        )  # fmt: skip
        for name, value in changes.items():
            setattr(scope, name, value)
        return scope


def variables(index: Expression) -> set[str]:
    """The variables in an index."""
    texts = [text for node in nodes_of(index) if isinstance(node, Local) for text in node.names]
    return {name for text in texts for name in NAME.findall(text.replace("g.at", ""))}


def verify(body: Body, *, arrays: Collection[str], scalars: Collection[Scalar], numbers: int, lanes: int) -> None:
    """Raise `BrokenLoops` unless *body* is right for a kernel with *arrays* and a geometry of so many *numbers*."""
    _Verifier(set(arrays), numbers, lanes).body(body, Scope({}, set(scalars), set(), set()))


class _Verifier:
    def __init__(self, arrays: set[str], numbers: int, lanes: int) -> None:
        self.arrays, self.numbers, self.lanes = arrays, numbers, lanes

    def body(self, body: Iterable[Node], scope: Scope) -> None:
        for node in body:
            try:
                getattr(self, f"on_{type(node).__name__.lower()}")(node, scope)
            except BrokenLoops as error:
                raise error if len(error.args) > 1 else BrokenLoops(*error.args, node) from None

    # ---------------------------------------------------------------------------------------- what statements use

    def index(self, index: Expression | int, scope: Scope) -> None:
        if isinstance(index, int):
            return
        for name in variables(index) - set(scope.indices):
            raise BrokenLoops(f"variable {name} is not there")
        for text in re.findall(r"g\.at\[(\d+)", repr(index)):
            if int(text) >= self.numbers:
                raise BrokenLoops(f"the geometry has {self.numbers} numbers")

    def value(self, value: Expression, scope: Scope) -> None:
        waiting, seen = [value], set(scope.known)
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, (Operand, Iota, Scalar, RowValue)):
                raise BrokenLoops(f"{node} is not known")
            if isinstance(node, Local):
                self.local(node, scope)
            waiting += inside(node)

    def local(self, local: Local, scope: Scope) -> None:
        for text in local.names:
            for name in set(NAME.findall(text)) - scope.names - set(scope.indices):
                raise BrokenLoops(f"{name} is not there")

    def define(self, name: str, scope: Scope, changes: bool) -> None:
        if name in scope.here:
            raise BrokenLoops(f"{name} is there already")
        scope.here.add(name)
        scope.indices[name] = changes
        if scope.private is not None:
            scope.private.add(name)

    def taint(self, name: str, index: Expression | int, scope: Scope) -> None:
        if not isinstance(index, int) and variables(index) & scope.differs:
            scope.differs.add(name)

    def differs(self, index: Expression | int, scope: Scope) -> bool:
        return not isinstance(index, int) and bool(variables(index) & scope.differs)

    # ---------------------------------------------------------------------------------------- indices

    def on_let(self, node: nodes.Let, scope: Scope) -> None:
        self.index(node.value, scope)
        self.define(node.name, scope, node.changes)
        scope.differs.discard(node.name)
        self.taint(node.name, node.value, scope)

    def on_set(self, node: nodes.Set, scope: Scope) -> None:
        self.index(node.value, scope)
        if not scope.indices.get(node.name):
            raise BrokenLoops(f"{node.name} does not change")
        if scope.private is not None and node.name not in scope.private:
            raise BrokenLoops(f"turns depend on each other by {node.name}")
        self.taint(node.name, node.value, scope)

    def on_search(self, node: nodes.Search, scope: Scope) -> None:
        self.index(node.count, scope)
        self.index(node.sought, scope)
        self.define(node.name, scope, False)

    def on_point(self, node: nodes.Point, scope: Scope) -> None:
        self.index(node.address, scope)
        self.arrays.add(node.name)

    # ---------------------------------------------------------------------------------------- loops

    def on_loop(self, node: nodes.Loop, scope: Scope) -> None:
        for bound in (node.begin, node.end):
            self.index(bound, scope)
        if node.step < 1:
            raise BrokenLoops("a step that is not positive")
        if node.kind in (nodes.WHOLE, nodes.REST):
            if not scope.indices.get(node.variable):
                raise BrokenLoops(f"{node.variable} does not change")
        elif node.variable in OF_GROUPS:
            raise BrokenLoops(f"{node.variable} is a group's")
        inner = scope.inner()
        inner.indices[node.variable] = False
        inner.differs.discard(node.variable)
        if self.differs(node.begin, scope) or self.differs(node.end, scope):
            inner.diverged = True
            inner.differs.add(node.variable)
            inner.chosen |= self.differs(node.begin, scope)
        if node.kind == nodes.GROUPS:
            inner.grouped = True
            inner.indices.update(dict.fromkeys(OF_GROUPS, False))
            inner.differs |= OF_GROUPS if node.step > 1 else {"id", "member"}
        elif node.kind == nodes.PACK:
            inner.packed = True
            inner.indices["c"] = False
        elif node.kind == nodes.VECTOR:
            inner.private = {name for each in node.accumulators for name in self.names(each)}
            inner.private |= {each.local.names[0] for each in node.accumulators}
        self.body(node.body, inner)

    def on_if(self, node: nodes.If, scope: Scope) -> None:
        self.index(node.condition, scope)
        inner = scope.inner()
        if self.differs(node.condition, scope):
            inner.diverged = inner.chosen = True
        self.body(node.body, inner)

    def on_block(self, node: nodes.Block, scope: Scope) -> None:
        inner = scope.inner()
        if node.copy is not None:
            inner.known |= scope.copies.get(node.copy, set())
        self.body(node.body, inner)
        if node.copy is not None:
            scope.copies[node.copy] = inner.known

    # ---------------------------------------------------------------------------------------- memory

    def access(self, node: nodes.Load | nodes.Store, scope: Scope) -> None:
        self.index(node.place, scope)
        self.index(node.stride, scope)
        if node.packed and not scope.packed:
            raise BrokenLoops("a pack outside of a loop over packs")
        if node.array not in self.arrays and not (isinstance(node, nodes.Load) and isinstance(node.leaf, Iota)):
            raise BrokenLoops(f"there is no array {node.array}")
        if self.lanes > 1 and not node.single:
            self.index(node.count, scope)
            if node.count != nodes.number(self.lanes) and node.count != nodes.var("m"):
                raise BrokenLoops(f"neither {self.lanes} lanes nor what is left")

    def on_load(self, node: nodes.Load, scope: Scope) -> None:
        self.access(node, scope)
        scope.known.add(node.leaf)

    def on_store(self, node: nodes.Store, scope: Scope) -> None:
        self.access(node, scope)
        self.value(node.value, scope)
        if not node.array.startswith("out"):
            raise BrokenLoops(f"{node.array} is not written")
        if scope.grouped and not scope.chosen:
            raise BrokenLoops("all work items of a group write the same place")

    # ---------------------------------------------------------------------------------------- values

    def on_compute(self, node: nodes.Compute, scope: Scope) -> None:
        for value in node.values:
            self.value(value, scope)

    def on_give(self, node: nodes.Give, scope: Scope) -> None:
        inner = scope.inner()
        if node.width > 1:
            inner.indices["c"] = False
        self.body(node.loads, inner)
        self.value(node.value, inner)
        if node.name.dtype is not node.value.dtype:
            raise BrokenLoops(f"{node.name.dtype.name} is given {node.value.dtype.name}")
        scope.known.add(node.name)

    def names(self, accumulator: Accumulator) -> set[str]:
        return {name.removesuffix("[c]") for name in accumulator.local.names}

    def on_begin(self, node: nodes.Begin, scope: Scope) -> None:
        scope.names |= self.names(node.accumulator)
        if scope.private is not None:
            scope.private |= self.names(node.accumulator)

    def on_accumulate(self, node: nodes.Accumulate, scope: Scope) -> None:
        self.value(node.value, scope)
        if node.count is not None:
            self.index(node.count, scope)
        if node.value.dtype is not node.accumulator.dtype:
            raise BrokenLoops(f"{node.accumulator.dtype.name} accumulates {node.value.dtype.name}")
        into = node.into or node.accumulator.local
        self.local(into, scope)
        if (
            scope.private is not None
            and node.accumulator.width == 1
            and not scope.private & self.names(node.accumulator)
        ):
            raise BrokenLoops(f"turns depend on each other by {into.names[0]}")

    def on_fold(self, node: nodes.Fold, scope: Scope) -> None:
        self.local(node.accumulator.local, scope)
        if self.lanes == 1:
            raise BrokenLoops("there are no lanes")
        scope.names |= {NAME.match(name)[0] for name in node.local.names}  # type: ignore[index]

    # ---------------------------------------------------------------------------------------- groups

    def together(self, scope: Scope) -> None:
        if not scope.grouped:
            raise BrokenLoops("no group meets here")
        if scope.diverged:
            raise BrokenLoops("not all of a group come here")

    def on_shared(self, node: nodes.Shared, scope: Scope) -> None:
        scope.names.add(node.name)

    def on_barrier(self, node: nodes.Barrier, scope: Scope) -> None:
        self.together(scope)

    def on_move(self, node: nodes.Move, scope: Scope) -> None:
        self.local(node.value, scope)
        self.local(node.into, scope)

    def on_exchange(self, node: nodes.Exchange, scope: Scope) -> None:
        self.together(scope)
        self.local(node.value, scope)
        if node.new:
            scope.names |= set(node.into.names)
        self.local(node.into, scope)


def all_nodes(body: Iterable[Node]) -> list[Node]:
    """Every statement of *body*, outer ones first."""
    found = []
    for node in body:
        found += [node, *all_nodes(getattr(node, "body", ()))]
    return found
