"""Where a graph has the shape of another, the pattern: for `polyad.fx.replace_pattern`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...graph import Graph
from ...graph_module import GraphModule
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place where a graph has the pattern.

    Attributes:
        anchors: the nodes at which the pattern's results are.
        nodes_map: for each node of the pattern, what it is in the graph.
        placeholder_nodes: what the pattern's inputs are, in their order.
        returning_nodes: what the pattern's results are.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Node] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            list(self.anchors), dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes)
        )


class SubgraphMatcher:
    """Finds a pattern in graphs.

    Args:
        pattern: the graph that is looked for; its placeholders stand for anything.
        match_output: whether its output must be the graph's.
        match_placeholder: whether its placeholders must be the graph's.
        remove_overlapping_matches: whether a node is in one match at most.
        ignore_literals: whether numbers and strings among the arguments need not be equal.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = (
            [output] if match_output else [one for one in self.pattern_returning_nodes if len(one.users) == 1]
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places where *graph* has the pattern, in order."""
        found: list[InternalMatch] = [InternalMatch(anchors=self.pattern_anchors)]
        for anchor in self.pattern_anchors:
            candidates = [node for node in graph.nodes if self._alike(anchor, node)]
            grown = []
            for match in found:
                for node in candidates:
                    trial = match.__copy__()
                    if self._matches(anchor, node, trial):
                        grown.append(trial)
            found = grown
        found = [match for match in found if self._is_whole(match) and self._is_closed(match)]
        for match in found:
            match.placeholder_nodes = [
                match.nodes_map[one] for one in self.pattern_placeholder_nodes if one in match.nodes_map
            ]
            match.returning_nodes = [match.nodes_map[one] for one in self.pattern_returning_nodes]
        return self._apart(found) if self.remove_overlapping_matches else found

    def _alike(self, pattern: Node, node: Node) -> bool:
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            return self._same_kind_of_attribute(pattern, node)
        return pattern.target == node.target

    @staticmethod
    def _same_kind_of_attribute(pattern: Node, node: Node) -> bool:
        def value(one: Node) -> Any:
            found: Any = one.graph.owning_module
            for name in str(one.target).split("."):
                found = getattr(found, name, None)
            return found

        return type(value(pattern)) is type(value(node))

    def _matches(self, pattern: Node, node: Any, match: InternalMatch) -> bool:
        if not isinstance(node, Node):
            if pattern.op == "placeholder" and not self.match_placeholder:
                known = match.nodes_map.get(pattern, node)
                match.nodes_map[pattern] = node
                return bool(known == node)
            return False
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] is node
        if node in match.nodes_map.values() and pattern.op != "placeholder":
            return False
        if not self._alike(pattern, node):
            return False
        match.nodes_map[pattern] = node
        if pattern.op == "placeholder":
            return True
        return self._match_values(pattern.args, node.args, match) and self._match_values(
            dict(pattern.kwargs), dict(node.kwargs), match
        )

    def _match_values(self, pattern: Any, value: Any, match: InternalMatch) -> bool:
        if isinstance(pattern, Node):
            return self._matches(pattern, value, match)
        if isinstance(pattern, (tuple, list)):
            return (
                isinstance(value, (tuple, list))
                and len(pattern) == len(value)
                and all(self._match_values(one, other, match) for one, other in zip(pattern, value, strict=True))
            )
        if isinstance(pattern, Mapping):
            return (
                isinstance(value, Mapping)
                and pattern.keys() == value.keys()
                and all(self._match_values(one, value[key], match) for key, one in pattern.items())
            )
        if isinstance(value, Node):
            return False
        return self.ignore_literals or (type(pattern) is type(value) and bool(pattern == value))

    def _is_whole(self, match: InternalMatch) -> bool:
        return all(node in match.nodes_map for node in self.pattern_returning_nodes)

    def _is_closed(self, match: InternalMatch) -> bool:
        """Whether what is inside the match is used by nobody outside of it, so that it can be taken away."""
        inside = {node for node in match.nodes_map.values() if isinstance(node, Node)}
        outer = {*self.pattern_placeholder_nodes, *self.pattern_returning_nodes}
        return all(
            set(node.users) <= inside
            for pattern, node in match.nodes_map.items()
            if pattern not in outer and pattern.op not in ("output", "get_attr")
        )

    def _apart(self, found: list[InternalMatch]) -> list[InternalMatch]:
        taken: set[Node] = set()
        apart = []
        for match in found:
            own = {
                node
                for pattern, node in match.nodes_map.items()
                if pattern.op not in ("placeholder", "output") and isinstance(node, Node)
            }
            if not own & taken:
                taken |= own
                apart.append(match)
        return apart


def pattern_graph(pattern: Any, name: str = "pattern") -> Graph:
    """The graph of a pattern, which may be a graph, a GraphModule or a function."""
    from ..._symbolic_trace import symbolic_trace

    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph
