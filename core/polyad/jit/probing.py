"""Captures without data, on device "meta": at sizes that would take too long or too much memory with data.

Tensors that the function has from elsewhere are represented by twins on the device, so nothing of theirs changes. Not
every function can be called so, and not each makes the same calls there: a capture of the example tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..base.device import Device
from ..base.state import state
from ..dispatch.effects import Effect
from ..dispatch.op import Op
from ..graph.graph import Graph
from ..graph.structure import replace
from ..history.grad_mode import no_grad
from ..tensor import Tensor
from .capture import Capture, captured, names_of_members

META = Device("meta")


class WithoutData(Capture):
    """A capture in which all tensors are on device "meta".

    Attributes:
        originals: the tensors of which there are twins, by the twins' ids.
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__(names)
        self.originals: dict[int, Tensor] = {}
        self._twins: dict[int, Tensor] = {}

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Record the call of the twins; what has a twin comes back itself, as the result of a write to it."""
        args = replace(replace(args, Tensor, self.twin_of), Device, lambda device: META)
        result = super().dispatch(op, args)
        return self.originals.get(id(result), result)

    def twin_of(self, tensor: Tensor) -> Tensor:
        """The tensor that stands for *tensor*, which stands for itself if it has no data."""
        if tensor.device == META:
            return tensor
        found = self._twins.get(id(tensor))
        if found is None:
            modes, state.modes = state.modes, state.no_modes
            try:
                with no_grad():
                    found = tensor.detach().to("meta").requires_grad_(tensor.requires_grad)
            finally:
                state.modes = modes
            self._twins[id(tensor)], self.originals[id(found)] = found, tensor
            if id(tensor) in self.names:
                self.names[id(found)] = self.names[id(tensor)]
        return found


def captured_without_data(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Graph, dict[int, Tensor]]:
    """The graph of a call, and the tensors for which its constants stand, by the ids of these."""
    mode = WithoutData(names_of_members(function))
    given, named = replace((args, kwargs), Tensor, mode.twin_of)
    graph = captured(mode, function, given, named)
    return graph, mode.originals


def makes_the_same_calls(one: Graph, other: Graph) -> bool:
    """Whether two captures of one example have the same calls and shapes."""
    if [node.op.name for node in one] != [node.op.name for node in other] or len(one.values) != len(other.values):
        return False
    return all(a.shape == b.shape for a, b in zip(one.values, other.values, strict=True))
