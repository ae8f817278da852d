"""What passes ask of a node, answered from declarations alone: an op's structure and kind, an `Effect`'s data."""

from __future__ import annotations

from collections.abc import Iterable

from ...dispatch.effects import Effect, Result
from ...dispatch.op import OPS, Op
from ...dispatch.structure import Random
from ...random.generator import Generator
from ..graph import Graph, Node, numbers
from ..structure import leaves_of

_NEW = (Result.FRESH, Result.COPY, Result.ALIAS, Result.DETACHED)


def is_op(node: Node) -> bool:
    """Whether it is a call of a declared op: a function of its arguments, which writes nothing."""
    return isinstance(node.op, Op) and OPS.get(node.op.name) is node.op


def draws(node: Node) -> bool:
    """Whether it may draw random numbers."""
    structure = node.op.structure if isinstance(node.op, Op) else None
    return isinstance(structure, Random) or bool(leaves_of(node.args, Generator))


def only_makes(node: Node) -> bool:
    """Whether all that a call does is to make its results: without these it is as if it had not been."""
    op = node.op
    if draws(node):
        return False
    if not isinstance(op, Effect):
        return is_op(node)
    return op.record is None and op.changes is None and op.result in _NEW


def only_writes(node: Node) -> bool:
    """Whether all that a call does is to write into an argument's memory."""
    op = node.op
    if not isinstance(op, Effect) or op.writes is None or op.rebinds is not None or draws(node):
        return False
    return op.record is None and op.result is Result.TARGET


def writes_of(graph: Graph) -> list[set[int]]:
    """For each node the numbers of the storages that it writes to."""
    known = {value.storage.number for value in graph.inputs}
    known |= {constant.value.storage.number for constant in graph.constants}
    versions = dict.fromkeys(known, 0)
    found = []
    for node in graph.nodes:
        made = [graph.values[number] for number in node.makes]
        written = {one.storage.number for one in made if one.version > versions.get(one.storage.number, one.version)}
        for one in made:
            place = one.storage.number
            versions[place] = max(one.version, versions.get(place, 0))
        found.append(written)
    return found


def storages_of(graph: Graph, shown: Iterable[int]) -> set[int]:
    """The numbers of the storages that values show."""
    return {graph.values[number].storage.number for number in shown}


def outside(graph: Graph) -> set[int]:
    """The storages of inputs and constants."""
    return {one.number for one in graph.storages if one.role in ("input", "state")}


def held(graph: Graph) -> set[int]:
    """The storages that others than the graph's ops may know or keep: from outside, returned, or given to an effect
    that does more than to make its results or to write.
    """
    found = outside(graph) | storages_of(graph, numbers(graph.outputs))
    for node in graph.nodes:
        if not is_op(node) and not only_makes(node) and not only_writes(node):
            found |= storages_of(graph, (*node.uses, *node.makes))
    return found


def written(graph: Graph) -> set[int]:
    """The storages that the graph writes to."""
    return set().union(*writes_of(graph))


def changed(graph: Graph) -> set[int]:
    """The values of tensors that a write or another effect gives further values, or another record."""
    found = {value.earlier for value in graph.values if value.earlier is not None}
    for node in graph.nodes:
        op = node.op
        if isinstance(op, Effect) and (op.changes is not None or op.record is not None):
            found.update(node.uses)
    return found


def differentiable(graph: Graph) -> set[int]:
    """The values that may have a history when a replay records gradients.

    Inputs and constants may, if their dtype can; and so may what is computed from these while gradients are on.
    """
    values = graph.values
    outer = [*graph.inputs, *(constant.value for constant in graph.constants)]
    found = {one.number for one in outer if one.dtype.is_floating_point or one.dtype.is_complex}
    for node in graph.nodes:
        op = node.op
        cut = isinstance(op, Effect) and op.record is None and op.result in (Result.FRESH, Result.DETACHED)
        known = not found.isdisjoint(node.uses) and not cut
        if is_op(node) or only_makes(node):
            known = known and node.grad is not False
        elif not cut:  # it may give a history to what had none, and to other tensors over the same memory
            known = known or (isinstance(op, Effect) and op.record is not None)
        for number in node.makes:
            value = values[number]
            able = value.dtype.is_floating_point or value.dtype.is_complex
            if able and (known or value.earlier in found):
                found.add(number)
    return found
