"""Graphs that a backend compiles as a whole.

A backend is asked once for each graph, at its first replay. What it gives computes and does no more, so it is used only
where a replay does no more either: no gradient is recorded and no mode is active. Else, and for every graph that it
declines, the calls are replayed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base.state import state, warn_user
from ..devices import registry
from ..errors import CompilerFailure, KernelFailure
from ..tensor import Tensor
from ..transforms.wrapped import Wrapped
from .graph import Graph, computes

if TYPE_CHECKING:
    from ..backend.interface import CompiledGraph


def compile_graph(graph: Graph) -> Compiled | None:
    """What the graph's device has compiled; None if it does not compile graphs, or not this one."""
    devices = {storage.device for storage in graph.storages}
    if len(devices) != 1:
        return None
    (device,) = devices
    backend = registry.get(device.type)
    if "graphs" not in backend.capabilities(device).features or not computes(graph):
        return None
    try:
        function = backend.compile_graph(graph)
    except CompilerFailure as error:
        warn_user(f"{graph.name}: {device} does not compile this graph; its calls run one by one: {error}", UserWarning)
        return None
    return None if function is None else Compiled(graph, function)


class Compiled:
    """A graph's compiled function, between tensors by the numbers of their values."""

    def __init__(self, graph: Graph, function: CompiledGraph) -> None:
        self.name, self.results, self.function = graph.name, graph.results, function
        self.given = [value.number for value in (*graph.inputs, *(constant.value for constant in graph.constants))]
        self.enables_grad = any(node.grad for node in graph.nodes)
        self.types = [registry.tensor_type(value.dtype, value.device, not value.shape) for value in self.results]

    def fits(self, found: dict[int, Tensor]) -> bool:
        """Whether a replay with these tensors would compute and do no more."""
        if state.modes:
            return False
        given = [found[number] for number in self.given]
        if any(isinstance(tensor, Wrapped) for tensor in given):
            return False
        return not ((state.grad_enabled or self.enables_grad) and any(tensor.requires_grad for tensor in given))

    def __call__(self, found: dict[int, Tensor]) -> dict[int, Tensor]:
        """The tensors that are wanted. Raises KernelFailure for a result of another shape than was captured."""
        arrays = self.function(*[found[number]._array for number in self.given])
        self._check(arrays)
        return {
            value.number: Tensor._of(array, type_)
            for value, array, type_ in zip(self.results, arrays, self.types, strict=True)
        }

    def _check(self, arrays: Sequence[Any]) -> None:
        shapes = [tuple(array.shape) for array in arrays]
        expected = [value.shape for value in self.results]
        if shapes != expected:
            raise KernelFailure(
                f"{self.name}: the compiled graph returned shapes {shapes}, captured were {expected}",
                fix="mend compile_graph of the device's backend",
            )
