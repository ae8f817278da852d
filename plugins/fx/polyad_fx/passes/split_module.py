"""A graph in parts: each part becomes a submodule, and what is left calls them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from polyad import nn

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import GraphError, Node, map_arg

__all__ = ["split_module"]


@dataclass
class Part:
    """One part while it is made.

    Attributes:
        name: of the submodule.
        inputs: the nodes of the whole that it is given, as the keys of a dict.
        outputs: the nodes of it that others use, likewise.
        after: the parts that must run before it.
        own: what its graph has for nodes of the whole.
    """

    name: str
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[Node, None] = field(default_factory=dict)
    outputs: dict[Node, None] = field(default_factory=dict)
    after: set[Any] = field(default_factory=set)
    graph: Graph = field(default_factory=Graph)
    own: dict[Node, Node] = field(default_factory=dict)


def split_module(
    m: GraphModule,
    root_m: nn.Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool = False,
    keep_original_input_name: bool = True,
) -> GraphModule:
    """A module whose submodules ``submod_<part>`` have the nodes of *m*, and which calls them.

    Args:
        m: what is split.
        root_m: the module whose members its nodes name.
        split_callback: the number, or another key, of a node's part.
        qualname_map: gets for each member of a submodule its name in *m*.
        keep_original_order: whether parts run in the order in which their first nodes do, as far as they can.
        keep_original_node_name: whether nodes keep their names.
        keep_original_input_name: whether the inputs of submodules are called as the nodes that they get.

    Raises RuntimeError if parts depend on each other in a circle.

    >>> import polyad as torch
    >>> from polyad.fx.passes.split_module import split_module
    >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1) * 2)
    >>> split = split_module(module, module, lambda node: 0 if node.name == "add" else 1)
    >>> print(split.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    parts: dict[Any, Part] = {}
    place: dict[Node, Any] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        key = place[node] = split_callback(node)
        parts.setdefault(key, Part(f"submod_{key}")).nodes.append(node)
    _connect(m.graph, parts, place)
    order = _run_order(parts)
    members: dict[str, Any] = {}
    for key in order:
        members[parts[key].name] = _made(
            parts[key], root_m, qualname_map, keep_original_node_name, keep_original_input_name
        )
    return _caller_of(m, root_m, parts, order, members)


def _connect(graph: Graph, parts: dict[Any, Part], place: dict[Node, Any]) -> None:
    """Find what each part is given and gives."""
    for node in graph.nodes:
        for used in node.all_input_nodes:
            if used.op == "get_attr" and node.op != "output":
                continue  # each part gets it by itself
            source, target = place.get(used), place.get(node)
            if used in place and (node not in place or source != target):
                parts[source].outputs.setdefault(used)
            if node in place and (used not in place or source != target):
                parts[target].inputs.setdefault(used)
                if used in place:
                    parts[target].after.add(source)


def _run_order(parts: dict[Any, Part]) -> list[Any]:
    """The parts, each behind those that it needs, else as they come."""
    left = list(parts)
    done: list[Any] = []
    while left:
        key = next((key for key in left if parts[key].after <= set(done)), None)
        if key is None:
            raise GraphError(
                f"split_module: the parts {', '.join(map(str, left))} depend on each other in a circle",
                fix="let split_callback put nodes together that go back and forth",
            )
        left.remove(key)
        done.append(key)
    return done


def _made(
    part: Part, root: nn.Module, renamed: dict[str, str] | None, keep_node_name: bool, keep_input_name: bool
) -> GraphModule:
    """The submodule of a part."""
    for number, node in enumerate(part.inputs):
        made = part.graph.placeholder(node.name if keep_input_name else f"arg_{number}", type_expr=node.type)
        made.meta = dict(node.meta)
        part.own[node] = made
    names: dict[str, Any] = {}

    def own(node: Node) -> Node:
        if node.op == "get_attr" and node not in part.own:
            part.own[node] = part.graph.get_attr(take(str(node.target)))
        return part.own[node]

    def take(path: str) -> str:
        value: Any = root
        for name in path.split("."):
            value = getattr(value, name)
        short = path.replace(".", "_")
        names[short] = value
        if renamed is not None:
            renamed[f"{part.name}.{short}"] = path
        return short

    for node in part.nodes:
        args, kwargs = map_arg((node.args, node.kwargs), own)
        target = take(str(node.target)) if node.op == "call_module" else node.target
        name = node.name if keep_node_name else None
        made = part.graph.create_node(node.op, target, args, dict(kwargs), name, node.type)
        made.meta = dict(node.meta)
        part.own[node] = made
    results = tuple([part.own[node] for node in part.outputs])
    part.graph.output(results[0] if len(results) == 1 else results)
    return GraphModule(names, part.graph)


def _caller_of(
    m: GraphModule, root: nn.Module, parts: dict[Any, Part], order: list[Any], members: dict[str, Any]
) -> GraphModule:
    """The module that calls the parts."""
    graph = Graph()
    values: dict[Node, Node] = {}

    def own(node: Node) -> Node:
        if node.op == "get_attr" and node not in values:
            found: Any = root
            for name in str(node.target).split("."):
                found = getattr(found, name)
            members[str(node.target)] = found
            values[node] = graph.get_attr(str(node.target))
        return values[node]

    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = node.args if node.args else ()
            values[node] = graph.create_node("placeholder", node.target, default, name=node.name, type_expr=node.type)
            values[node].meta = dict(node.meta)
    for key in order:
        part = parts[key]
        called = graph.call_module(part.name, tuple([own(node) for node in part.inputs]))
        for number, node in enumerate(part.outputs):
            values[node] = called if len(part.outputs) == 1 else graph.call_function(operator.getitem, (called, number))
    for node in m.graph.nodes:
        if node.op == "output":
            graph.output(map_arg(node.args[0], own), type_expr=node.type)
    graph.set_codegen(m.graph._codegen)
    return GraphModule(members, graph, type(m).__name__)
