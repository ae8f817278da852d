"""The calls of submodules in a captured graph, as a tree: which nodes each one made, what it was given, what it gave.

A call is a stretch of nodes. What it uses and neither made nor holds as a parameter it is given as an argument; what
others use of what it made, it returns. So each call becomes a method of its submodule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from polyad.graph import Graph
from polyad.graph.expressions import SizeRef, names_of
from polyad.graph.graph import Node
from polyad.graph.structure import Ref, leaves_of

__all__ = ["Flow", "Region", "regions_of"]


_SIZES_UNSAID = frozenset({"convolution_transposed"})
"""Ops whose text has no sizes of results."""


@dataclass(eq=False)
class Region:
    """A call of a submodule, or the whole call, whose path is empty.

    Attributes:
        path: where the module is in the traced one.
        number: of the call; -1 of the whole.
        items: its nodes and the calls in it, in order.
        begin, end: its stretch of the graph's nodes.
        inputs: the first numbers of the values that it is given.
        outputs: the first numbers of the values that it gives.
    """

    path: str
    number: int = -1
    items: list[Node | Region] = field(default_factory=list)
    begin: int = 0
    end: int = 0
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def regions(self) -> Iterator[Region]:
        """It and all that are in it."""
        yield self
        for item in self.items:
            if isinstance(item, Region):
                yield from item.regions()


def regions_of(graph: Graph, within: Callable[[str, str], bool]) -> Region:
    """The whole call of *graph*.

    Args:
        within: whether the module at the second path is reached from that at the first; a call of another module, which
            the caller knows from elsewhere, becomes a part of its caller.
    """
    root = Region("")
    stack = [root]
    for at, node in enumerate(graph.nodes):
        chain = list(node.modules)
        if chain or node.line:  # else it was put in by the capture, and belongs to what is there
            depth = 0
            wanted: list[tuple[int, str]] = []
            path = ""
            for call in chain:
                if within(path, call.path):
                    wanted.append((call.number, call.path))
                    path = call.path
            while depth < len(wanted) and depth + 1 < len(stack) and stack[depth + 1].number == wanted[depth][0]:
                depth += 1
            del stack[depth + 1 :]
            for number, path in wanted[depth:]:
                inner = Region(path, number, begin=at)
                stack[-1].items.append(inner)
                stack.append(inner)
        stack[-1].items.append(node)
        for region in stack:
            region.end = at + 1
    return root


class Flow:
    """Which values are made and used where.

    Attributes:
        first: of each value, the number of the same tensor's first value.
        made: at which node a tensor is made, -1 for what comes from outside.
        used: at which nodes it is used.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.first: list[int] = []
        for value in graph.values:
            self.first.append(value.number if value.earlier is None else self.first[value.earlier])
        self.made = dict.fromkeys(self.first, -1)
        self.used: dict[int, list[int]] = {}
        for at, node in enumerate(graph.nodes):
            for number in node.uses:
                self.used.setdefault(self.first[number], []).append(at)
            for number in node.results:
                if graph.values[number].earlier is None:
                    self.made[number] = at
        self.returned = {self.first[ref.number] for ref in leaves_of(graph.outputs, Ref)}

    def fill(self, region: Region, holds: Callable[[str, int], bool]) -> None:
        """Find inputs and outputs of *region* and of those in it; *holds* tells whether the module at a path reaches a
        constant by itself.
        """
        for one in reversed(list(region.regions())):
            if one.number >= 0:
                self._use_sizes(one, self._inputs(one, holds))
        for one in region.regions():
            inside = range(one.begin, one.end)
            one.inputs = self._inputs(one, holds)
            made = [number for number, at in self.made.items() if at in inside]
            one.outputs = [
                number
                for number in made
                if number in self.returned or any(at not in inside for at in self.used.get(number, ()))
            ]

    def _inputs(self, region: Region, holds: Callable[[str, int], bool]) -> list[int]:
        inside = range(region.begin, region.end)
        return [
            number
            for number, places in self.used.items()
            if self.made[number] not in inside and any(at in inside for at in places) and not holds(region.path, number)
        ]

    def _use_sizes(self, region: Region, inputs: list[int]) -> None:
        """Note that *region* uses the tensors off which it reads sizes that none of its inputs has."""
        known = {item for number in inputs for item in self.graph.values[number].sizes if isinstance(item, SizeRef)}
        nodes = [node for node in self.graph.nodes[region.begin : region.end] if node.name not in _SIZES_UNSAID]
        wanted = names_of([node.args for node in nodes]) - {item.name for item in known}
        for symbol in self.graph.symbols:
            first = self.first[symbol.value]
            if symbol.name in wanted and self.made[first] not in range(region.begin, region.end):
                self.used.setdefault(first, []).append(region.begin)
