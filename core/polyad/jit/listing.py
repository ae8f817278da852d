"""How a graph prints: its inputs and constants, then one line a node, results at the right, remarks behind a ``#``."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import DType
from ..dispatch.effects import Effect
from ..tensor import Tensor
from .graph import Graph, Node, Value
from .structure import Ref, leaves


def listing(graph: Graph) -> str:
    """The text of a graph."""
    rows = [(f"%{value.name}", str(value), "input") for value in graph.inputs]
    for constant in graph.constants:
        rows.append((f"%{constant.value.name}", str(constant.value), "constant, by reference"))
    rows = [
        (left, right, _remarks([what, _grad(value)]))
        for (left, right, what), value in zip(rows, _outer(graph), strict=True)
    ]
    for node in graph.nodes:
        results = [graph.values[leaf.number] for _, leaf in leaves(node.outputs) if isinstance(leaf, Ref)]
        new = [value for value in results if not _is_operand(value, node)]
        left = f"{', '.join(f'%{value.name}' for value in new)} = " if new else ""
        rows.append(
            (left + f"{node.name}({_arguments(graph, node)})", "; ".join(map(str, new)), _remarks(_node_remarks(node)))
        )
    widths = [min(60, max((len(row[column]) for row in rows), default=0)) for column in (0, 1)]
    lines = [f"    {left:<{widths[0]}}  {right:<{widths[1]}}  {remark}".rstrip() for left, right, remark in rows]
    return "\n".join([f"graph of {graph.name}", *lines, f"    return {_text(graph, graph.outputs)}"])


def _outer(graph: Graph) -> list[Value]:
    return [*graph.inputs, *(constant.value for constant in graph.constants)]


def _grad(value: Value) -> str:
    return "requires grad" if value.requires_grad else ""


def _is_operand(value: Value, node: Node) -> bool:
    return any(isinstance(leaf, Ref) and leaf.number == value.number for _, leaf in leaves(node.args))


def _node_remarks(node: Node) -> list[str]:
    baked = f"baked in: {node.baked}" if node.baked else ""
    return ["" if node.grad is None else "enable_grad" if node.grad else "no_grad", baked, node.line]


def _remarks(remarks: list[str]) -> str:
    text = ", ".join(filter(None, remarks))
    return f"# {text}" if text else ""


def _arguments(graph: Graph, node: Node) -> str:
    if isinstance(node.op, Effect):
        args, kwargs = node.op.arguments(node.args)
        parts = [_text(graph, arg) for arg in args]
        return ", ".join([*parts, *(f"{name}={_text(graph, value)}" for name, value in kwargs.items())])
    parts = []
    for name, arg in zip(node.op.names, node.args, strict=True):
        text = _text(graph, arg)
        parts.append(text if name in node.op.operands else f"{name}={text}")
    return ", ".join(parts)


def _text(graph: Graph, item: Any) -> str:
    if isinstance(item, Ref):
        return f"%{graph.values[item.number].name}"
    if isinstance(item, (list, tuple)):
        inner = ", ".join(_text(graph, part) for part in item)
        return f"[{inner}]" if isinstance(item, list) else f"({inner}{',' if len(item) == 1 else ''})"
    if isinstance(item, dict):
        return "{" + ", ".join(f"{key!r}: {_text(graph, part)}" for key, part in item.items()) + "}"
    if isinstance(item, DType):
        return item.name
    if hasattr(item, "shape") and hasattr(item, "tolist") and not isinstance(item, Tensor):
        text = repr(item.tolist())
        return text if len(text) <= 40 else f"<data of shape {tuple(item.shape)}>"
    text = getattr(item, "__qualname__", None) or (f'"{item}"' if type(item).__name__ == "Device" else repr(item))
    return text if len(text) <= 60 else text[:57] + "..."
