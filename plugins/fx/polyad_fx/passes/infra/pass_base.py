"""A pass over a GraphModule as an object with checks before and after it."""

from __future__ import annotations

from typing import NamedTuple

from polyad.errors import NotSupported

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """What a pass gives.

    Attributes:
        graph_module: the module, changed in place or another.
        modified: whether anything was changed.
    """

    graph_module: GraphModule
    modified: bool


class PassBase:
    """Derive from it and define `call`; an object is called with a GraphModule.

    >>> import polyad as torch
    >>> from polyad.fx.passes.infra.pass_base import PassBase, PassResult
    >>> class Sigmoid(PassBase):
    ...     def call(self, graph_module):
    ...         found = graph_module.graph.find_nodes(op="call_function", target=torch.relu)
    ...         for node in found:
    ...             node.target = torch.sigmoid
    ...         graph_module.recompile()
    ...         return PassResult(graph_module, bool(found))
    >>> Sigmoid()(torch.fx.symbolic_trace(lambda x: torch.relu(x))).modified
    True
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module if result is None else result.graph_module)
        return result

    def call(self, graph_module: GraphModule) -> PassResult | None:
        """What the pass does; None: *graph_module* itself may have been changed."""
        raise NotSupported(f"{type(self).__name__}: the pass has no call function", fix="define call(graph_module)")

    def requires(self, graph_module: GraphModule) -> None:
        """Called before the pass: raises for a module that it cannot take."""

    def ensures(self, graph_module: GraphModule) -> None:
        """Called behind the pass with its result: raises for one that is wrong."""
