"""Common subexpressions: what is computed twice is computed once.

Two calls of one op with the same arguments at the same versions, in the same grad mode, give the same elements. They
become one call where nobody could tell:

- by memory: neither result is written to or held by anybody outside of the graph twice, nor is one's record changed;
- by history: a call that saves tensors gives them up in the first backward pass through it. So such calls become one
  only where nothing is recorded, or where all that comes of both is one output.
"""

from __future__ import annotations

from typing import Any

from ...dispatch.op import Op
from ..graph import Graph, Node, numbers
from ..structure import Ref
from .facts import changed, differentiable, draws, held, is_op, only_makes, only_writes, written
from .rewriting import Rewriting


def merge_common(graph: Graph) -> Graph:
    """*graph* with one call in place of several equal ones. Random draws are never equal."""
    return _Merging(graph).run()


class _Merging:
    """One walk through a graph.

    Attributes:
        instead: the numbers of values that are left out, with those of the equal ones that stay.
        places: storages that are left out, with those that stay.
        held: storages that may be known outside of the graph.
        ends: by value, in which outputs or lasting effects what is computed from it ends, as bits.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.instead: dict[int, int] = {}
        self.places: dict[int, int] = {}
        self.held = held(graph)
        self.written, self.changed = written(graph), changed(graph)
        self.returned = set(numbers(graph.outputs))
        self.recorded, self.ends = differentiable(graph), ends_of(graph)

    def run(self) -> Graph:
        first: dict[Any, Node] = {}
        gone = set()
        for at, node in enumerate(self.graph.nodes):
            if not is_op(node) or draws(node):
                continue
            key = self.key(node)
            before = None if key is None else first.setdefault(key, node)
            if before is not None and before is not node and self.may_merge(before, node):
                gone.add(at)
                self.merge(before, node)
        if not gone:
            return self.graph
        rewriting = Rewriting(self.graph)
        rewriting.keep(lambda at, node: at not in gone)
        rewriting.substitute(self.instead)
        return rewriting.finish()

    def key(self, node: Node) -> Any:
        """What equal calls have in common; None for arguments that cannot be compared."""
        found = (node.op.name, node.grad, self.comparable(node.args))
        try:
            hash(found)
        except TypeError:
            return None
        return found

    def comparable(self, item: Any) -> Any:
        """*item* such that equal items stand for equal arguments: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
        if isinstance(item, Ref):
            return (Ref, self.instead.get(item.number, item.number))
        if isinstance(item, (list, tuple)):
            return (type(item), *map(self.comparable, item))
        if isinstance(item, dict):
            return (dict, *[(key, self.comparable(one)) for key, one in item.items()])
        return (type(item), repr(item) if isinstance(item, (float, complex)) else item)

    def may_merge(self, one: Node, other: Node) -> bool:
        if not self.changed.isdisjoint((*one.results, *other.results)):
            return False
        given = {self.place(number) for number in one.uses}
        for a, b in zip(one.results, other.results, strict=True):
            place, instead = self.place(b), self.place(a)
            if self.graph.values[a].layout != self.graph.values[b].layout:
                return False
            if place == instead or instead in given:  # views of one memory: tensors are told apart, memory is not
                if place != instead or {a, b} <= self.returned:
                    return False
            elif not self.written.isdisjoint((place, instead)) or {place, instead} <= self.held:
                return False
        return self.alike_in_history(one, other)

    def alike_in_history(self, one: Node, other: Node) -> bool:
        if one.grad is False or self.recorded.isdisjoint(one.results) or _saves_nothing(one):
            return True
        ends = 0
        for number in (*one.results, *other.results):
            ends |= self.ends[number]
        return ends.bit_count() <= 1

    def place(self, number: int) -> int:
        """The storage that a value shows, after what was merged so far."""
        found = self.graph.values[number].storage.number
        return self.places.get(found, found)

    def merge(self, one: Node, other: Node) -> None:
        for a, b in zip(one.results, other.results, strict=True):
            self.instead[b] = a
            self.ends[a] |= self.ends[b]
            if b in self.returned:
                self.returned.add(a)
            place, instead = self.place(b), self.place(a)
            if place != instead:
                self.places[place] = instead
            if place in self.held:
                self.held.add(instead)


def _saves_nothing(node: Node) -> bool:
    """Whether backward may go through a call again: its formulas save no tensors. What the body of a composite without
    formulas saves is not known.
    """
    op = node.op
    return isinstance(op, Op) and not op.saves_tensors and (op.kind == "view" or bool(op.formulas))


def ends_of(graph: Graph) -> list[int]:
    """For each value a number with a bit for each output that depends on it, and for each such effect that does more
    than to make its results or to write.
    """
    found = [0] * len(graph.values)
    bits = 0

    def end(shown: Any) -> None:
        nonlocal bits
        for number in shown:
            found[number] |= 1 << bits
        bits += 1

    for number in dict.fromkeys(numbers(graph.outputs)):
        end((number,))
    for node in reversed(graph.nodes):
        ends = 0
        for number in node.makes:
            ends |= found[number]
        if not is_op(node) and not only_makes(node) and not only_writes(node):
            end(node.uses)
        for number in node.uses:
            found[number] |= ends
        for number in node.renewed:
            earlier = graph.values[number].earlier
            if earlier is not None:
                found[earlier] |= ends
    return found
