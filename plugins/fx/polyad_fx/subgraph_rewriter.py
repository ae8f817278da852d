"""Replacing each place where a graph has a pattern by another graph."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from polyad import nn
from polyad.errors import ArgumentError

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, set_member
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher, pattern_graph

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where the pattern was.

    Attributes:
        anchor: the node that gave its result.
        nodes_map: for each node of the pattern, what it was in the graph.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place where the pattern was, with the nodes that came instead.

    Attributes:
        anchor, nodes_map: see `Match`.
        replacements: the new nodes.
    """

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


Pattern = Callable[..., Any] | GraphModule | Graph
Filter = Callable[[InternalMatch, Graph, Graph], bool]


def replace_pattern(gm: GraphModule, pattern: Pattern, replacement: Pattern) -> list[Match]:
    """Put *replacement* wherever the graph of *gm* computes what *pattern* does, and recompile it.

    Both are functions (or modules) of the same arguments, which stand for anything. A place of which something
    inside is used outside of it stays, and so do places that overlap with one before.

    If *replacement* is a module, submodules that nobody calls any more are taken away.

    Returns the places, in order. Raises ValueError if the two take different numbers of arguments.

    >>> import polyad as torch
    >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x * 2).sum())
    >>> found = torch.fx.replace_pattern(module, lambda x: torch.relu(x), lambda x: torch.sigmoid(x))
    >>> len(found), [node.name for node in module.graph.nodes]
    (1, ['x', 'mul', 'sigmoid', 'sum_1', 'output'])
    """
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(one.anchor, one.nodes_map) for one in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: list[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """As `replace_pattern`, for the places of which all *match_filters* are true.

    Args:
        match_filters: functions of a match, the graph and the pattern.
        ignore_literals: whether numbers and strings in the pattern need not be equal to those in the graph.
        replacement_callback: makes the replacement for a match, in place of *replacement*.
    """
    looked_for = pattern_graph(pattern)
    matcher = SubgraphMatcher(looked_for, match_output=False, match_placeholder=False, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(gm.graph)
        if all(accepts(match, gm.graph, looked_for) for accepts in match_filters or ())
    ]
    fixed = None if replacement is None else pattern_graph(replacement)
    _take_members(gm, replacement)
    changed: dict[Node, Node] = {}
    done = []
    for match in matches:
        put = fixed if replacement_callback is None else replacement_callback(match, gm.graph, looked_for)
        if put is None:
            raise ArgumentError("replace_pattern: there is no replacement", fix="pass it, or replacement_callback")
        done.append(_replace(gm.graph, match, looked_for, put, changed))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        gm.delete_all_unused_submodules()
    return done


def _replace(
    graph: Graph, match: InternalMatch, pattern: Graph, put: Graph, changed: dict[Node, Node]
) -> ReplacedPatterns:
    inputs = [node for node in put.nodes if node.op == "placeholder"]
    given = [match.nodes_map.get(node) for node in pattern.nodes if node.op == "placeholder"]
    if len(inputs) != len(given):
        raise ArgumentError(
            f"replace_pattern: the pattern takes {len(given)} arguments and the replacement {len(inputs)}",
            fix="give both the same arguments",
        )
    values: dict[Node, Any] = {}
    for own, value in zip(inputs, given, strict=True):
        values[own] = _latest(value, changed)
    returned = [_latest(node, changed) for node in match.returning_nodes]
    first = _first_place(graph, match, values)
    with graph.inserting_before(first):
        result = graph.graph_copy(put, values)
    new = [node for own, node in values.items() if own.op != "placeholder"]
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(results) != len(returned):
        raise ArgumentError(
            f"replace_pattern: the pattern gives {len(returned)} results and the replacement {len(results)}",
            fix="let both return as many",
        )
    own_new = set(new)
    for old, replaced in zip(returned, results, strict=True):
        old.replace_all_uses_with(replaced, lambda user: user not in own_new)
        changed[old] = replaced
    for node in reversed(list(pattern.nodes)):
        old = match.nodes_map.get(node)
        if node.op not in ("placeholder", "output") and isinstance(old, Node) and not old.users:
            graph.erase_node(old)
    return ReplacedPatterns(match.returning_nodes[0], dict(match.nodes_map), new)


def _latest(value: Any, changed: dict[Node, Node]) -> Any:
    while isinstance(value, Node) and value in changed:
        value = changed[value]
    return value


def _first_place(graph: Graph, match: InternalMatch, values: dict[Node, Any]) -> Node:
    """The node before which the replacement can stand: behind its inputs, before whoever uses what it replaces."""
    inputs = [value for value in values.values() if isinstance(value, Node)]
    users = {user for node in match.returning_nodes for user in node.users}
    place = min((node for node in users if node not in match.nodes_map.values()), default=graph.output_node())
    last = max(inputs, default=None) if inputs else None
    return last.next if last is not None and last >= place else place


def _take_members(gm: GraphModule, replacement: Any) -> None:
    """Let *gm* have the modules and tensors that the replacement brings."""
    traced = isinstance(replacement, (GraphModule, Graph)) or not callable(replacement)
    source = replacement if traced else symbolic_trace(replacement)
    if not isinstance(source, GraphModule):
        return
    for node in source.graph.nodes:
        if node.op in ("get_attr", "call_module") and not _has(gm, str(node.target)):
            value: Any = source
            for name in str(node.target).split("."):
                value = getattr(value, name)
            set_member(copy.copy(value) if not isinstance(value, nn.Module) else value, gm, str(node.target))


def _has(module: Any, path: str) -> bool:
    for name in path.split("."):
        if not hasattr(module, name):
            return False
        module = getattr(module, name)
    return True
