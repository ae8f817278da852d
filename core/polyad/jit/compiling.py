"""Graphs that a backend compiles as a whole.

A backend is asked once for each graph, at its first replay. What it gives computes and does no more, so it is used only
where a replay does no more either: no gradient is recorded and no mode is active. Else, and for every graph that it
declines, the calls are replayed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..backend.graphs import CapturedGraph, CompiledGraph, GraphCall, GraphValue
from ..base.device import Device
from ..base.state import state, warn_user
from ..devices import registry
from ..dispatch.op import OPS, Op
from ..errors import CompilerFailure, KernelFailure
from ..random import Generator
from ..tensor import Tensor
from ..transforms.wrapped import Wrapped
from .structure import Ref, leaves, replace

if TYPE_CHECKING:
    from .graph import Graph


def compile_graph(graph: Graph) -> Compiled | None:
    """What the graph's device has compiled; None if it does not compile graphs, or not this one."""
    devices = {value.device for value in graph.values}
    if len(devices) != 1:
        return None
    (device,) = devices
    backend = registry.get(device.type)
    if "graphs" not in backend.capabilities(device).features:
        return None
    shown = captured(graph, device)
    if shown is None:
        return None
    try:
        function = backend.compile_graph(shown)
    except CompilerFailure as error:
        warn_user(f"{graph.name}: {device} does not compile this graph; its calls run one by one: {error}", UserWarning)
        return None
    return None if function is None else Compiled(graph, shown, function)


def captured(graph: Graph, device: Device) -> CapturedGraph | None:
    """The graph as a backend sees it; None unless it only computes, and what it returns is new memory."""
    inputs = [value.number for value in graph.inputs]
    constants = [constant.value.number for constant in graph.constants]
    shown = [GraphValue(value.name, value.shape, value.dtype) for value in graph.values]
    new: set[int] = set()
    calls = []
    for node in graph.nodes:
        if not isinstance(node.op, Op) or OPS.get(node.op.name) is not node.op:
            return None
        if any(isinstance(leaf, Generator) for _, leaf in leaves(node.args)):
            return None
        results = [leaf.number for _, leaf in leaves(node.outputs) if isinstance(leaf, Ref)]
        if node.op.kind != "view":
            new.update(results)
        count = len(node.op.operands)
        operands = tuple(_frozen(replace(arg, Ref, lambda ref: shown[ref.number])) for arg in node.args[:count])
        params = dict(zip(node.op.params, node.args[count:], strict=True))
        calls.append(GraphCall(node.op.name, operands, params, tuple(shown[number] for number in results)))
    wanted = _outputs(graph)
    if not wanted or not new.issuperset(wanted):
        return None
    return CapturedGraph(
        graph.name,
        device,
        tuple(shown[number] for number in inputs),
        tuple(shown[number] for number in constants),
        tuple(calls),
        tuple(shown[number] for number in wanted),
    )


def _frozen(operand: Any) -> Any:
    return tuple(operand) if isinstance(operand, list) else operand


def _outputs(graph: Graph) -> list[int]:
    """The numbers of the values that are returned, each once."""
    return list(dict.fromkeys(leaf.number for _, leaf in leaves(graph.outputs) if isinstance(leaf, Ref)))


class Compiled:
    """A graph's compiled function, between tensors by the numbers of their values."""

    def __init__(self, graph: Graph, shown: CapturedGraph, function: CompiledGraph) -> None:
        self.name, self.shown, self.function = graph.name, shown, function
        self.given = [*(value.number for value in graph.inputs), *(one.value.number for one in graph.constants)]
        self.wanted = _outputs(graph)
        self.enables_grad = any(node.grad for node in graph.nodes)
        self.types = [
            registry.tensor_type(graph.values[number].dtype, shown.device, not graph.values[number].shape)
            for number in self.wanted
        ]

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
            number: Tensor._of(array, type_)
            for number, array, type_ in zip(self.wanted, arrays, self.types, strict=True)
        }

    def _check(self, arrays: Sequence[Any]) -> None:
        shapes = [tuple(array.shape) for array in arrays]
        expected = [value.shape for value in self.shown.outputs]
        if shapes != expected:
            raise KernelFailure(
                f"{self.name}: the compiled graph returned shapes {shapes}, captured were {expected}",
                fix="mend compile_graph of the device's backend",
            )
