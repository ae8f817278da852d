"""Layers as functions of the model: each call of a layer is one node, whose function has the nodes of the layer.

Whatever a layer uses from outside, its weights among that, is an input of the function, so calls of two layers that do
the same share one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .translating import Translator

DOMAIN = "polyad.layers"


class Functions:
    """What is made of the calls of layers in one model.

    Attributes:
        classes: the names of the classes of layers that become functions; None for all.
        outputs: those of the model, which a call may come to give.
        made: the functions by name.
    """

    def __init__(
        self, to: Translator, domains: dict[str, int], wanted: bool | Collection[type], outputs: list[Any]
    ) -> None:
        self.to, self.domains, self.outputs = to, {**domains, DOMAIN: 1}, outputs
        self.classes = None if isinstance(wanted, bool) else {one.__name__ for one in wanted}
        self.made: dict[str, Any] = {}
        self._known: dict[Any, str] = {}

    def collapsed(self, nodes: Sequence[Any], depth: int = 0) -> list[Any]:
        """*nodes* with one node in the place of those of each call of a layer."""
        found: list[Any] = []
        for call, run in groupby(nodes, lambda node: self._call_at(node, depth)):
            part = list(run)
            if call is None:
                found += part
                continue
            inner = self.collapsed(part, depth + 1)
            wanted = self.classes is None or call.class_name in self.classes
            found += [self._function(call, inner)] if wanted else inner
        return found

    def _call_at(self, node: Any, depth: int) -> Any:
        calls = self.to.calls.get(node, ())
        return calls[depth] if depth < len(calls) else None

    def _function(self, call: Any, nodes: list[Any]) -> Any:
        """A call of a new function that has *nodes*."""
        ir = self.to.ir
        inside = {one for node in nodes for one in within(node)}
        own = [value for node in nodes for value in node.outputs]
        used = [value for node in nodes for one in within(node) for value in one.inputs if value is not None]
        made = {value for one in inside for value in one.outputs} | {
            value for one in inside for graph in graphs_of(one) for value in graph.inputs
        }
        given = list(dict.fromkeys(value for value in used if value not in made))
        results = [
            value for value in own if value in self.outputs or any(use.node not in inside for use in value.uses())
        ]
        outer = ir.node(call.class_name, given, domain=DOMAIN, num_outputs=len(results), name=call.path)
        self.to.calls[outer] = self.to.calls.get(nodes[0], ())[: self._depth(call, nodes[0])]
        for value, result in zip(results, outer.outputs, strict=True):
            result.type, result.shape, result.name = value.type, value.shape, value.name
            for use in list(value.uses()):
                if use.node not in inside:
                    use.node.replace_input_with(use.idx, result)
            self.outputs[:] = [result if one is value else one for one in self.outputs]
        outer.op_type = self._shared(call, nodes, inside, given, results)
        return outer

    def _depth(self, call: Any, node: Any) -> int:
        calls = self.to.calls.get(node, ())
        return calls.index(call) if call in calls else len(calls)

    def _shared(self, call: Any, nodes: list[Any], inside: set[Any], given: list[Any], results: list[Any]) -> str:
        """The name of the function of a call: of one that there is, if it has the same nodes."""
        key = _key(nodes, given, results)
        if key is not None and key in self._known:
            return self._known[key]
        name, count = call.class_name, 1
        while name in self.made:
            count += 1
            name = f"{call.class_name}_{count}"
        ir, taken = self.to.ir, set[str]()
        parameters = []
        for value in given:
            wanted = str(value.name).removeprefix(f"{call.path}.")
            while wanted in taken:
                wanted += "_"
            taken.add(wanted)
            parameters.append(ir.Value(name=wanted))
        for value, parameter in zip(given, parameters, strict=True):
            for use in list(value.uses()):
                if use.node in inside:
                    use.node.replace_input_with(use.idx, parameter)
        for value in (value for node in nodes for value in node.outputs):
            value.type = value.shape = None  # calls of other sizes share it
            value.name = str(value.name).removeprefix(f"{call.path}/")
        graph = ir.Graph(parameters, results, nodes=nodes, opset_imports=self.domains)
        self.made[name] = ir.Function(DOMAIN, name, graph=graph, attributes=[])
        if key is not None:
            self._known[key] = name
        return name


def graphs_of(node: Any) -> list[Any]:
    """The graphs among a node's attributes."""
    return [one.value for one in node.attributes.values() if one.type.name == "GRAPH"]


def within(node: Any) -> Iterator[Any]:
    """A node, and those of the graphs within it."""
    yield node
    for graph in graphs_of(node):
        for inner in graph:
            yield from within(inner)


def _key(nodes: Sequence[Any], given: Sequence[Any], results: Sequence[Any]) -> Any:
    """What two functions have in common that do the same; None if graphs are among it."""
    places = {value: place for place, value in enumerate(given)}
    rows = []
    for node in nodes:
        if graphs_of(node):
            return None
        attributes = tuple(sorted((name, str(one.value)) for name, one in node.attributes.items()))
        rows.append((node.domain, node.op_type, tuple(places.get(value) for value in node.inputs), attributes))
        for value in node.outputs:
            places[value] = len(places)
    return tuple(rows), tuple(places[value] for value in results)
