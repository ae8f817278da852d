"""Dead code: calls whose results nobody uses, and writes that nobody reads."""

from __future__ import annotations

from ..graph import Graph, numbers
from .facts import held, is_op, only_makes, only_writes
from .rewriting import Rewriting


def remove_dead(graph: Graph) -> Graph:
    """*graph* without calls that change nothing: what they make is not used, and what they write is not read.

    What stays for its own sake: writes into memory from outside, checks, reads to the host, and what changes the record
    of a tensor. Random draws may go: each of the others knows its place, and the graph where the generators end.
    """
    rewriting = Rewriting(graph)
    used = set(numbers(graph.outputs)) | {symbol.value for symbol in graph.symbols}
    known = held(graph)
    alive = set()
    for at, (node, writes) in reversed(list(enumerate(rewriting.rows))):
        if only_writes(node) and writes:
            needed = not known.isdisjoint(writes) or not used.isdisjoint(node.makes)
        elif (only_makes(node) or (is_op(node) and node.draws is not None)) and not writes:
            needed = not used.isdisjoint(node.results)
        else:
            needed = True
        if needed:
            alive.add(at)
            used.update(node.uses)
            used.update(_earlier(graph, node.makes) if not is_op(node) else ())
    rewriting.keep(lambda at, node: at in alive)
    return rewriting.finish()


def _earlier(graph: Graph, made: tuple[int, ...]) -> set[int]:
    """The tensors that these are values of, as they were before."""
    found = set()
    for number in made:
        earlier = graph.values[number].earlier
        while earlier is not None:
            found.add(earlier)
            earlier = graph.values[earlier].earlier
    return found
