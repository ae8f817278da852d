"""Writes into whole tensors of the graph's own, as ops that make new ones: ``x.relu_()`` becomes ``x = x.relu()``.

What is left are writes that others may see: into memory from outside, through a view of what is used as a whole later,
or of a tensor of which another view is. They stay as they are, in order.
"""

from __future__ import annotations

from dataclasses import replace as exchanged

from ...dispatch.effects import Effect, Result
from ...dispatch.op import Op
from ...dispatch.views import layout_of
from ...tensor import Tensor
from ..graph import Graph, Node
from ..verify import without_data
from .facts import differentiable, draws, held
from .rewriting import Rewriting, Row


def functionalise(graph: Graph) -> Graph:
    """*graph* with an op in place of each in-place form whose target nobody sees under another name afterwards.

    Values and gradients are the same bits, since an in-place form computes and records as its op does; the results take
    memory of their own. A write without gradients to what may have a history stays: it leaves the history as it is.
    """
    rewriting = Rewriting(graph)
    known, recorded = held(exchanged(graph, outputs=None)), differentiable(graph)
    for at, row in enumerate(rewriting.rows):
        node = row.node
        call = _as_op(graph, node)
        if call is None or node.renewed or not known.isdisjoint(row.writes):
            continue
        (target, *_), (result,) = call.uses, node.results
        if node.grad is False and target in recorded:
            continue
        later = _shown_later(rewriting, at, result)
        if later is not None:
            _move(rewriting, at, call, result, later)
    return rewriting.finish()


def _as_op(graph: Graph, node: Node) -> Node | None:
    """The call of the op that an in-place form comes down to; None if its result would not be as the target is."""
    effect = node.op
    if not isinstance(effect, Effect) or effect.op is None or not effect.packed or effect.result is not Result.TARGET:
        return None
    target, args, kwargs = node.args
    if kwargs or len(args) + 1 != len(effect.op.names) or len(node.results) != 1 or draws(node):
        return None
    call = exchanged(node, op=effect.op, args=(target, *args))
    return call if _fits(graph, call, effect.op) else None


def _fits(graph: Graph, call: Node, op: Op) -> bool:
    (number,) = call.results
    wanted = graph.values[number]
    try:
        found, places = without_data(graph, call)
    except Exception:  # the op refuses what the form takes
        return False
    if not isinstance(found, Tensor) or id(found._storage) in places or op.kind == "view":
        return False
    return (found.dtype, layout_of(found)) == (wanted.dtype, wanted.layout)


def _shown_later(rewriting: Rewriting, at: int, result: int) -> list[int] | None:
    """The values over the memory of *result* that are made after row *at*; None if one is of a tensor from before."""
    place = rewriting.seen[result].memory
    found = [result]
    for node, _ in rewriting.rows[at + 1 :]:
        for number in node.makes:
            seen = rewriting.seen[number]
            if seen.memory == place and number not in found:
                if seen.earlier is not None and seen.earlier not in found:
                    return None
                found.append(number)
    return found


def _move(rewriting: Rewriting, at: int, call: Node, result: int, later: list[int]) -> None:
    """Let row *at* be *call*, whose *result* and what shows it *later* have memory of their own."""
    place = rewriting.seen[result].memory
    new = rewriting.new_memory(place)
    old = rewriting.seen[result].name
    name = rewriting.free_name(old)
    rewriting.seen[result] = rewriting.seen[result]._replace(earlier=None)
    for number in later:
        seen = rewriting.seen[number]
        rewriting.seen[number] = seen._replace(memory=new, name=name if seen.name == old else seen.name)
    rewriting.rows[at] = Row(call, frozenset())
    for number in range(at + 1, len(rewriting.rows)):
        node, writes = rewriting.rows[number]
        if place in writes:
            rewriting.rows[number] = Row(node, writes - {place} | {new})
