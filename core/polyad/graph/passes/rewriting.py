"""Writing a graph anew: some of its nodes, other arguments, new values.

A pass says which nodes there are, in the numbers of the graph that it got; the rest follows here: which values,
constants and storages are left, their numbers, and the versions, which count the writes that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace as exchanged
from typing import Any, NamedTuple

from ...tensor import Tensor
from ..building import Draft, Memory, Seen
from ..graph import Graph, Node, numbers
from ..structure import Ref, replace
from .facts import writes_of


class Row(NamedTuple):
    """A node, and the numbers of the storages that it writes to."""

    node: Node
    writes: frozenset[int]


class Rewriting:
    """A graph that is being written anew.

    Attributes:
        graph: what it was.
        rows: the nodes that there will be, in order; a pass changes this list.
        outputs: what will be returned; a pass may replace it.
        symbols: the sizes that are read off values, which stay.
        seen: values by number: those of the graph, then new ones.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        pairs = zip(graph.nodes, writes_of(graph), strict=True)
        self.rows = [Row(node, frozenset(writes)) for node, writes in pairs]
        self.outputs = graph.outputs
        self.symbols = graph.symbols
        self.seen = [
            Seen(
                one.name,
                one.storage.number,
                one.version,
                one.dtype,
                one.layout,
                one.requires_grad,
                one.earlier,
                one.general,
            )
            for one in graph.values
        ]
        self._memories = [(one.device, one.nbytes) for one in graph.storages]
        self._constants = [(one.value.number, one.tensor, one.fixed) for one in graph.constants]
        self._names = {one.name for one in graph.values}

    def new_memory(self, like: int) -> int:
        """The number of a new storage, on the device of storage *like*."""
        self._memories.append((self._memories[like][0], 0))
        return len(self._memories) - 1

    def new_value(self, seen: Seen) -> int:
        """The number of a new value, whose name is made anew where it is taken."""
        self.seen.append(seen._replace(name=self._free_name(seen.name)))
        return len(self.seen) - 1

    def fold(self, number: int, tensor: Tensor) -> None:
        """Let value *number* be a constant, which no row makes."""
        self.seen[number] = self.seen[number]._replace(name=self._free_name(f"c{len(self._constants)}"))
        self._constants.append((number, tensor, True))

    def _free_name(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._names:
            name, count = f"{wanted}_{count + 1}", count + 1
        self._names.add(name)
        return name

    def substitute(self, instead: Mapping[int, int]) -> None:
        """Name other values wherever arguments or outputs name these; what shows their memory moves with them."""
        pairs = [(self.seen[number].memory, self.seen[other].memory) for number, other in instead.items()]
        moved = {place: other for place, other in pairs if place != other}

        def other(ref: Ref) -> Ref:
            number = ref.number
            while number in instead:
                number = instead[number]
            return Ref(number)

        def memory(number: int) -> int:
            while number in moved:
                number = moved[number]
            return number

        self.seen = [seen._replace(memory=memory(seen.memory)) for seen in self.seen]
        self.rows = [Row(exchanged(node, args=replace(node.args, Ref, other)), writes) for node, writes in self.rows]
        self.outputs = replace(self.outputs, Ref, other)
        self.symbols = [exchanged(one, value=other(Ref(one.value)).number) for one in self.symbols]

    def keep(self, wanted: Callable[[int, Node], bool]) -> None:
        """Leave the rows out that are not *wanted*, which is told place and node."""
        self.rows = [row for at, row in enumerate(self.rows) if wanted(at, row.node)]

    # ------------------------------------------------------------------------------------------------ the end

    def finish(self) -> Graph:
        """The graph."""
        return _Copy(self).graph()


class _Copy:
    """The values that are left, in their order, in a new draft."""

    def __init__(self, source: Rewriting) -> None:
        self.source, self.draft = source, Draft()
        used = set(numbers(source.outputs)) | {symbol.value for symbol in source.symbols}
        for node, _ in source.rows:
            used.update(node.uses)
        self.used = used
        self.numbers: dict[int, int] = {}
        self.memories: dict[int, int] = {}

    def graph(self) -> Graph:
        source, draft = self.source, self.draft
        for number in dict.fromkeys(numbers(source.graph.arguments)):
            self.add(number)
        for number, tensor, fixed in source._constants:
            if number in self.used:
                draft.constants.append((self.add(number), tensor, fixed))
        for row in source.rows:
            draft.nodes.append(self.node(*row))
        self.in_order()
        draft.symbols = [exchanged(one, value=self.numbers[one.value]) for one in source.symbols]
        draft.numbers, draft.settings, draft.ends = source.graph.numbers, source.graph.settings, source.graph.ends
        return draft.finish(source.graph.name, self.renumbered(source.graph.arguments), self.renumbered(source.outputs))

    def add(self, number: int) -> int:
        """The new number of a value, which is there from now on."""
        if number in self.numbers:
            return self.numbers[number]
        seen = self.source.seen[number]
        place = self.memories.get(seen.memory)
        if place is None:
            place = self.memories[seen.memory] = len(self.draft.memories)
            self.draft.memories.append(Memory(*self.source._memories[seen.memory]))
        earlier = seen.earlier
        while earlier is not None and earlier not in self.numbers:
            earlier = self.source.seen[earlier].earlier
        new = seen._replace(
            memory=place,
            version=self.draft.memories[place].version,
            earlier=None if earlier is None else self.numbers[earlier],
        )
        self.numbers[number] = self.draft.add(new)
        return self.numbers[number]

    def node(self, node: Node, writes: frozenset[int]) -> Node:
        for place in writes & self.memories.keys():
            self.draft.memories[self.memories[place]].version += 1
        results = [self.add(number) for number in node.results]
        shown = {self.draft.seen[number].memory for number in results}
        renewed = []
        for number in node.renewed:
            place = self.memories[self.source.seen[number].memory]
            if number in self.used or (place not in shown and self._written(number, writes)):
                renewed.append(self.add(number))  # each version has a value
                shown.add(place)
        return exchanged(
            node,
            args=self.renumbered(node.args),
            outputs=self.renumbered(node.outputs),
            renewed=tuple(renewed),
            frees=(),
        )

    def _written(self, number: int, writes: Iterable[int]) -> bool:
        return self.source.seen[number].memory in writes

    def renumbered(self, structure: Any) -> Any:
        return replace(structure, Ref, lambda ref: Ref(self.numbers[ref.number]))

    def in_order(self) -> None:
        """Number the memories as the graph did, new ones last."""
        draft = self.draft
        order = sorted(self.memories)
        places = {self.memories[old]: new for new, old in enumerate(order)}
        draft.memories = [draft.memories[self.memories[old]] for old in order]
        draft.seen = [seen._replace(memory=places[seen.memory]) for seen in draft.seen]


def same_nodes(one: Sequence[Node], other: Sequence[Node]) -> bool:
    """Whether two passes' graphs have the same calls in the same order, whatever their values' numbers."""
    return len(one) == len(other) and all(a.op is b.op for a, b in zip(one, other, strict=True))
