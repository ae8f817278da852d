"""Graphs with blocks: values are set once, control flow is a node with blocks (``prim::If``, ``prim::Loop``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..types.types import Type, declared_name

__all__ = ["Block", "Graph", "Node", "Value"]


class Value:
    """What a node makes, or a block is given.

    Attributes:
        name: without the %.
    """

    def __init__(self, name: str, type: Type, node: Node | None = None) -> None:
        self.name, self._type, self._node = name, type, node
        self.users: list[Node] = []

    def type(self) -> Type:
        """Its type."""
        return self._type

    def node(self) -> Node | None:
        """The node that makes it, None of an input."""
        return self._node

    def debugName(self) -> str:
        """Its name."""
        return self.name

    def uses(self) -> list[Node]:
        """The nodes that read it."""
        return self.users

    def toIValue(self) -> Any:
        """The value of a constant, None of others."""
        return (
            None if self._node is None or self._node.kind() != "prim::Constant" else self._node.attributes.get("value")
        )

    def __str__(self) -> str:
        return f"%{self.name}"

    def __repr__(self) -> str:
        return f"%{self.name} : {declared_name(self._type)}"


class Node:
    """A call of an operator, a constant, or control flow.

    Attributes:
        attributes: what is fixed, such as the value of a constant.
    """

    def __init__(self, kind: str, inputs: list[Value], attributes: dict[str, Any] | None = None) -> None:
        self._kind, self._inputs, self.attributes = kind, inputs, attributes or {}
        self._outputs: list[Value] = []
        self._blocks: list[Block] = []
        for value in inputs:
            value.users.append(self)

    def kind(self) -> str:
        """``aten::add``."""
        return self._kind

    def inputs(self) -> Iterator[Value]:
        """What it reads."""
        return iter(self._inputs)

    def inputsAt(self, index: int) -> Value:
        """One of what it reads."""
        return self._inputs[index]

    def outputs(self) -> Iterator[Value]:
        """What it makes."""
        return iter(self._outputs)

    def output(self) -> Value:
        """What it makes, one value."""
        (found,) = self._outputs
        return found

    def inputsSize(self) -> int:
        """How many values it reads."""
        return len(self._inputs)

    def outputsSize(self) -> int:
        """How many values it makes."""
        return len(self._outputs)

    def blocks(self) -> Iterator[Block]:
        """The blocks of control flow."""
        return iter(self._blocks)

    def attributeNames(self) -> list[str]:
        """The names of what is fixed."""
        return list(self.attributes)

    def hasAttribute(self, name: str) -> bool:
        """Whether something of that name is fixed."""
        return name in self.attributes

    def s(self, name: str) -> str:
        """A string that is fixed."""
        return self.attributes[name]

    def i(self, name: str) -> int:
        """An integer that is fixed."""
        return self.attributes[name]

    def f(self, name: str) -> float:
        """A number that is fixed."""
        return self.attributes[name]

    def t(self, name: str) -> Any:
        """A tensor that is fixed."""
        return self.attributes[name]

    def lines(self, indent: int) -> Iterator[str]:
        """It as text."""
        space = "  " * indent
        left = ", ".join(map(repr, self._outputs))
        fixed = ", ".join(f"{name}={_attribute_text(value)}" for name, value in self.attributes.items())
        call = f"{self._kind}{f'[{fixed}]' if fixed else ''}({', '.join(map(str, self._inputs))})"
        yield f"{space}{left} = {call}" if left else f"{space} = {call}"
        for index, block in enumerate(self._blocks):
            yield f"{space}  block{index}({', '.join(map(repr, block.parameters))}):"
            yield from block.lines(indent + 2)

    def __str__(self) -> str:
        return "\n".join(self.lines(0)) + "\n"

    __repr__ = __str__


class Block:
    """Nodes in order, with what they are given and what they give."""

    def __init__(self) -> None:
        self.parameters: list[Value] = []
        self.made: list[Node] = []
        self.results: list[Value] = []

    def nodes(self) -> Iterator[Node]:
        """The nodes."""
        return iter(self.made)

    def inputs(self) -> Iterator[Value]:
        """What it is given."""
        return iter(self.parameters)

    def outputs(self) -> Iterator[Value]:
        """What it gives."""
        return iter(self.results)

    def findNode(self, kind: str, recurse: bool = True) -> Node | None:
        """The first node of a kind, None if there is none."""
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind: str, recurse: bool = True) -> list[Node]:
        """The nodes of a kind; *recurse* looks into blocks of nodes."""
        found = []
        for node in self.made:
            if node.kind() == kind:
                found.append(node)
            if recurse:
                for block in node.blocks():
                    found += block.findAllNodes(kind)
        return found

    def lines(self, indent: int) -> Iterator[str]:
        """It as text, with what it gives."""
        for node in self.made:
            yield from node.lines(indent)
        yield f"{'  ' * indent}-> ({', '.join(map(str, self.results))})"


class Graph(Block):
    """The graph of a function."""

    def copy(self) -> Graph:
        """The graph itself: it does not change."""
        return self

    def inputsSize(self) -> int:
        """How many values it is given."""
        return len(self.parameters)

    def __str__(self) -> str:
        head = ",\n      ".join(map(repr, self.parameters))
        lines = [f"graph({head}):", *[line for node in self.made for line in node.lines(1)]]
        return "\n".join([*lines, f"  return ({', '.join(map(str, self.results))})", ""])

    __repr__ = __str__


def _attribute_text(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, str):
        return '"' + value.replace("\n", "\\n") + '"'
    if isinstance(value, bool):
        return "1" if value else "0"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return "<Tensor>"
    return f"{value}."[:-1] if not isinstance(value, float) or value != int(value) else f"{int(value)}."
