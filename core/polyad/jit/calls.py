"""Captures of one function, with data and without, and what they have in common."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

from ..graph.graph import Graph, Node, nodes_within
from ..graph.structure import leaves_of, replace
from ..tensor import Tensor
from .capture import Capture, captured, names_of_inputs, names_of_members
from .restoring import Restored
from .twins import Twins

Given: TypeAlias = "tuple[tuple[Any, ...], dict[str, Any]]"


class Calls:
    """Captures of one function.

    Attributes:
        given: the example's arguments.
        names: of the tensors among them, by id; tensors: these by name.
        first: the capture of the example, which is the only one with data as long as others can be without.
        same: whether a capture of the example without data has the same calls, once that was asked.
    """

    def __init__(self, function: Callable[..., Any], given: Given, mode: Callable[..., Capture]) -> None:
        self.function, self.given, self.mode = function, given, mode
        self.names = names_of_inputs(function, given)
        self.tensors = {self.names[id(tensor)]: tensor for tensor in leaves_of(given, Tensor)}
        self.members = names_of_members(function)
        self.first = self.with_data(given)
        self.same: bool | None = None

    def with_data(self, given: Given) -> Graph:
        """The capture of a call; what it changes stays as it leaves it."""
        return captured(self.mode(names=self.members), self.function, *given)

    def without_data(self, given: Given, number: int = 1) -> tuple[Graph, Twins]:
        """The capture of a call without data, and what stood for tensors in it; for *number* see `Twins`."""
        twins = Twins(number)
        with self.restored(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mode = self.mode(names=self.members, twins=twins)
            graph = captured(mode, self.function, *replace(given, Tensor, twins.of))
        return graph, twins

    def restored(self) -> Restored:
        """A block after which all is as before, for a further call."""
        return Restored.of(self.first, self.function)

    def works_without_data(self) -> bool:
        """Whether a capture without data is as one with data, for the example."""
        if self.same is None:
            try:
                self.same = _makes_the_same_calls(self.first, *self.without_data(self.given))
            except Exception:
                self.same = False
        return self.same


def _makes_the_same_calls(one: Graph, other: Graph, twins: Twins) -> bool:
    """Whether two captures of one example have the same calls, and the same shapes where these follow from no data."""
    if called_ops(one) != called_ops(other) or len(one.values) != len(other.values):
        return False
    return bool(twins.sizes) or all(a.shape == b.shape for a, b in zip(one.values, other.values, strict=True))


def called_ops(graph: Graph) -> list[str]:
    """The ops that are called."""
    return [node.op.name for node in nodes_within(graph)]


def only_shows(node: Node) -> bool:
    """Whether a call changes only how elements lie: whether a copy is needed follows from sizes."""
    return node.op.kind == "view" or node.op.name == "copy"


def argument_lengths(graph: Graph) -> list[int]:
    """How many items the arguments have that are lists."""
    return [len(arg) for node in nodes_within(graph) for arg in node.args if isinstance(arg, tuple)]
