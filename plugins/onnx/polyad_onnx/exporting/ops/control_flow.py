"""Branches and loops that depend on data, with the functions as graphs within their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polyad as torch
from polyad.graph import Graph

from ..registry import translates
from ..translating import Translator


def _known(to: Any, refs: Sequence[Any]) -> list[Any]:
    return [to.known[ref.number] for ref in refs]


def _scalar_truth(to: Any, value: Any) -> Any:
    """A truth of no dimension."""
    return to.op("Reshape", value, to.ints()) if value.shape is None or len(value.shape) else value


def inlined(to: Any, body: Graph, given: Sequence[Any]) -> list[Any]:
    """The results of a function, computed in the present graph."""
    inner = Translator(body, to.table, outer=to)
    inner.nodes, inner.place_before = to.nodes, to.place
    for ref, value in zip(body.arguments[0], given, strict=True):
        inner.bind(ref.number, value)
    inner.run()
    return _known(inner, body.outputs)


class Body:
    """A graph within a node that is being put together.

    Attributes:
        inner: what writes its nodes.
        inputs: of the graph.
    """

    def __init__(self, to: Any, body: Graph) -> None:
        self.to, self.body = to, body
        self.inner = Translator(body, to.table, outer=to)
        self.inner.place_before = to.place
        self.inputs: list[Any] = []

    def add_input(self, name: str, dtype: Any, sizes: Sequence[Any]) -> Any:
        """An input of the graph within the node."""
        value = self.to.ir.Value(name=self.to.free_name(name))
        self.to.describe(value, dtype, sizes)
        self.inputs.append(value)
        return value

    def graph(self, outputs: Sequence[Any]) -> Any:
        """The graph; what it gives is made by its own nodes."""
        inner, found = self.inner, []
        made = {id(value) for node in inner.nodes for value in node.outputs}
        for value in outputs:
            own = value if id(value) in made and value not in found else inner.op("Identity", value)
            own.type, own.shape = value.type, value.shape
            found.append(own)
        name = self.to.free_name(self.body.name.strip("<>") or "body")
        return self.to.ir.Graph(self.inputs, found, nodes=inner.nodes, name=name)


@translates("cond")
def cond(to: Any, pred: Any, true_body: Graph, false_body: Graph, operands: Sequence[Any]) -> list[Any]:
    """One of two functions."""
    branches = []
    for body in (true_body, false_body):
        part = Body(to, body)
        for ref, value in zip(body.arguments[0], _known(to, operands), strict=True):
            part.inner.bind(ref.number, value)
        part.inner.run()
        branches.append(part.graph(_known(part.inner, body.outputs)))
    truth = _scalar_truth(to, to.known[pred.number])
    count = len(to.node.results)
    found = to.op("If", truth, count=count, then_branch=branches[0], else_branch=branches[1])
    return [found] if count == 1 else list(found)


@translates("while_loop")
def while_loop(to: Any, cond_body: Graph, body: Graph, carried: Sequence[Any], used: Sequence[Any]) -> list[Any]:
    """A function again and again, while another holds."""
    outside = _known(to, used)
    goes_on = _scalar_truth(to, inlined(to, cond_body, [*_known(to, carried), *outside])[0])
    part = Body(to, body)
    part.add_input("iteration", torch.int64, ())
    part.add_input("goes_on", torch.bool, ())
    given = [part.add_input(f"carried_{place}", to.graph.values[ref.number].dtype, to.sizes_of(ref))
             for place, ref in enumerate(carried)]  # fmt: skip
    for ref, value in zip(body.arguments[0], [*given, *outside], strict=True):
        part.inner.bind(ref.number, value)
    part.inner.run()
    results = _known(part.inner, body.outputs)
    again = _scalar_truth(part.inner, inlined(part.inner, cond_body, [*results, *outside])[0])
    count = len(carried)
    found = to.op("Loop", None, goes_on, *_known(to, carried), count=count, body=part.graph([again, *results]))
    return [found] if count == 1 else list(found)


def _scanned(
    to: Any, body: Graph, carry: Sequence[Any], xs: Sequence[Any], used: Sequence[Any], back: bool
) -> list[Any]:
    part = Body(to, body)
    given = []
    for place, ref in enumerate((*carry, *xs)):
        sizes = to.sizes_of(ref) if place < len(carry) else to.sizes_of(ref)[1:]
        given.append(part.add_input(f"scanned_{place}", to.graph.values[ref.number].dtype, sizes))
    for ref, value in zip(body.arguments[0], [*given, *_known(to, used)], strict=True):
        part.inner.bind(ref.number, value)
    part.inner.run()
    count, rows = len(to.node.results), len(to.node.results) - len(carry)
    found = to.op(
        "Scan", *_known(to, carry), *_known(to, xs), count=count,
        body=part.graph(_known(part.inner, body.outputs)), num_scan_inputs=len(xs),
        scan_input_directions=[int(back)] * len(xs), scan_output_directions=[int(back)] * rows if rows else None,
    )  # fmt: skip
    return [found] if count == 1 else list(found)


@translates("scan")
def scan(
    to: Any, body: Graph, carry: Sequence[Any], xs: Sequence[Any], reverse: bool, used: Sequence[Any]
) -> list[Any]:
    """A function of what it gave last and the next slice."""
    return _scanned(to, body, carry, xs, used, reverse)


@translates("map")
def map_slices(to: Any, body: Graph, xs: Sequence[Any], used: Sequence[Any]) -> list[Any]:
    """A function of each slice."""
    return _scanned(to, body, (), xs, used, False)
