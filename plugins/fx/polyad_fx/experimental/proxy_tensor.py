"""The ops that a call makes, as a graph: `make_fx`, and `from_capture` for what `polyad.jit.capture` recorded.

A node's target is an op under PyTorch's name, such as ``polyad.ops.aten.mm.default``, or ``polyad.ops.polyad.<name>``
for an op that PyTorch has not. Calls of modules and functions are gone, and so is history: a graph of a backward pass
has its ops.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polyad
from polyad import Tensor, nn
from polyad.errors import NoData, NotSupported
from polyad.graph import Graph as OpGraph, Node as OpNode, Value
from polyad.graph.structure import Ref, leaves_of, replace
from polyad.utils import _pytree
from polyad.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from ..codegen import _PyTreeCodeGen, _PyTreeInfo
from ..graph import Graph
from ..graph_module import GraphModule, set_member
from ..node import Node, map_aggregate
from ..proxy import TraceError

__all__ = ["ProxyTorchDispatchMode", "from_capture", "get_proxy_mode", "make_fx"]


class ProxyTorchDispatchMode(TorchDispatchMode):
    """A mode that makes a node of each op.

    Args:
        graph: that nodes are added to.
        root: the module that gets the tensors which the calls use and did not make.
        decompositions: functions to call, and record, in place of ops.

    Attributes:
        device: what nodes say in place of device "meta", if that is not what is meant.
    """

    def __init__(
        self, graph: Graph, root: nn.Module, decompositions: Mapping[Any, Callable[..., Any]] | None = None
    ) -> None:
        super().__init__()
        self.graph, self.root = graph, root
        self.decompositions = dict(decompositions or {})
        self.device: polyad.device | None = None
        self._nodes: dict[int, tuple[Tensor, Node]] = {}
        self._constants: dict[int, tuple[Tensor, str]] = {}

    def track(self, tensor: Tensor, node: Node) -> None:
        """Let *tensor* be the value of *node*."""
        self._nodes[id(tensor)] = tensor, node  # with the tensor, so that its id is not another's

    def node_of(self, value: Any) -> Any:
        """The node of a tensor; what is no tensor as it is."""
        if isinstance(value, polyad.device) and value.type == "meta" and self.device is not None:
            return self.device
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self._nodes:
            self.track(value, self.graph.get_attr(self._name_of_constant(value)))
        return self._nodes[id(value)][1]

    def _name_of_constant(self, value: Tensor) -> str:
        if id(value) not in self._constants:
            kind = "_param_constant" if isinstance(value, nn.Parameter) else "_tensor_constant"
            number = sum(name.startswith(kind) for _, name in self._constants.values())
            self._constants[id(value)] = value, f"{kind}{number}"
            set_member(value, self.root, f"{kind}{number}")
        return self._constants[id(value)][1]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self.decompositions:
            with self:
                return self.decompositions[func](*args, **kwargs)
        if func.overloadpacket.__name__ == "_local_scalar_dense":
            raise TraceError(
                f"make_fx: {self.node_of(args[0])} is read as a number, which later calls would not be",
                fix="keep it a tensor, or use polyad.cond, polyad.where",
            )
        recorded_args, recorded_kwargs = map_aggregate((tuple(args), dict(kwargs)), self.node_of)
        if func is polyad.ops.aten.lift_fresh.default:  # what was made of data is new on each call
            func = polyad.ops.aten.lift_fresh_copy.default
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        node = self.graph.call_function(func, recorded_args, dict(recorded_kwargs), name=name)
        if isinstance(result, Tensor):
            self.track(result, node)
        elif isinstance(result, (tuple, list)):
            for place, item in enumerate(result):
                if isinstance(item, Tensor):
                    self.track(item, self.graph.call_function(operator.getitem, (node, place)))
        return result


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode by which `make_fx` records, if it is at work in this thread."""
    mode = _get_current_dispatch_mode()
    return mode if isinstance(mode, ProxyTorchDispatchMode) else None


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "real",
) -> Callable[..., GraphModule]:
    """A function that calls *f* and gives the ops that ran as a module.

    Args:
        decomposition_table: functions in place of ops: what they call is recorded.
        tracing_mode: "real": *f* computes with the very arguments. To compute nothing pass tensors of device "meta".

    The graph is that of the example: shapes, and what Python decided, are in it. Reading a tensor as a number raises
    `polyad.fx.proxy.TraceError`.

    >>> import polyad as torch
    >>> from polyad.fx.experimental.proxy_tensor import make_fx
    >>> print(make_fx(lambda x: torch.relu(x) + 1)(torch.ones(2)).code.strip())
    def forward(self, x_1):
        relu = torch.ops.aten.relu.default(x_1);  x_1 = None
        add = torch.ops.aten.add.Tensor(relu, 1);  relu = None
        return add
    """
    if tracing_mode != "real":
        raise NotSupported(
            f"make_fx: tracing_mode {tracing_mode!r} computes without data",
            fix='pass tensors of device "meta", with tracing_mode="real"',
        )

    def traced(*args: Any) -> GraphModule:
        return _traced(f, args, decomposition_table)

    return traced


def _traced(
    f: Callable[..., Any], args: tuple[Any, ...], decompositions: Mapping[Any, Callable[..., Any]] | None
) -> GraphModule:
    graph, root = Graph(), nn.Module()
    mode = ProxyTorchDispatchMode(graph, root, decompositions)
    names = _names_of_arguments(f, len(args))
    for name, value in zip(names, args, strict=True):
        for number, leaf in enumerate(_pytree.tree_leaves(value), 1):
            node = graph.placeholder(f"{name}_{number}")
            if isinstance(leaf, Tensor):
                mode.track(leaf, node)
    with mode:
        result = f(*args)
    _, structure = _pytree.tree_flatten(args)
    if all(child.is_leaf() for child in structure.children):
        graph.output(_returned(mode, result))
    else:
        leaves, out_spec = _pytree.tree_flatten(result)
        graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, structure, out_spec)))
        graph.output(_returned(mode, leaves))
    return GraphModule(root, graph, getattr(f, "__name__", type(f).__name__))


def _returned(mode: ProxyTorchDispatchMode, result: Any) -> Any:
    return map_aggregate(result, mode.node_of)


def _names_of_arguments(f: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = [one for one in inspect.signature(f).parameters.values() if one.kind is not one.VAR_POSITIONAL]
    except (TypeError, ValueError):
        parameters = []
    names = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD][:count]
    return names + [f"arg{number}" for number in range(len(names), count)]


def from_capture(captured: OpGraph) -> GraphModule:
    """The graph of ops that `polyad.jit.capture` recorded, as a module with a `polyad.fx.Graph`.

    It computes what *captured* does, given its tensors in their order. Nothing is computed meanwhile: the ops are
    called on device "meta". Raises NotImplementedError for what is no op: changes of ``.grad``, numbers that each
    replay reads anew, such as an optimizer's learning rate, control flow, and what depends on elements.

    >>> import polyad as torch
    >>> from polyad.fx.experimental.proxy_tensor import from_capture
    >>> module = from_capture(torch.jit.capture(lambda x: torch.relu(x) + 1, torch.ones(2)))
    >>> [str(node.target) for node in module.graph.nodes]
    ['x', 'aten.relu.default', 'aten.add.Tensor', 'output']
    """
    if captured.numbers:
        raise NotSupported(
            f"from_capture: {captured.name} reads numbers anew on each replay",
            notes={"numbers": ", ".join(number.name for number in captured.numbers)},
            fix="capture the part without the optimizer's step",
        )
    graph, root = Graph(), nn.Module()
    mode = ProxyTorchDispatchMode(graph, root)
    found = {value.number: _without_data(value) for value in _values_given(captured)}
    for value in captured.inputs:
        mode.track(found[value.number], graph.placeholder(value.name))
    for constant in captured.constants:
        mode.track(found[constant.value.number], graph.get_attr(mode._name_of_constant(constant.tensor)))
    with polyad.no_grad(), mode:
        for node in captured.nodes:
            _tell(captured, node, found, mode)
    graph.output(_returned(mode, replace(captured.outputs, Ref, lambda ref: found[ref.number])))
    return GraphModule(root, graph, captured.name)


def _values_given(captured: OpGraph) -> Iterable[Value]:
    return [*captured.inputs, *(constant.value for constant in captured.constants)]


def _without_data(value: Value) -> Tensor:
    layout = value.layout
    return polyad.empty_strided(tuple(layout.shape), tuple(layout.strides), dtype=value.dtype, device="meta")


def _tell(captured: OpGraph, node: OpNode, found: dict[int, Tensor], mode: ProxyTorchDispatchMode) -> None:
    """Call the op of *node* for *mode* to record."""

    def stand_in(value: Any) -> Any:
        return found[value.number] if isinstance(value, Ref) else polyad.device("meta")

    made = [captured.values[number] for number in node.makes]
    mode.device = made[0].device if made else None
    before = len(mode.graph.nodes)
    try:
        result = node.op.call(*replace(node.args, (Ref, polyad.device), stand_in))
    except NoData:
        before = len(mode.graph.nodes)
    if len(mode.graph.nodes) == before:
        raise NotSupported(
            f"from_capture: {node.name} is no op of tensors alone",
            notes={"in": captured.name},
            fix="capture the part without it",
        )
    for ref, tensor in zip(leaves_of(node.outputs, Ref), _pytree.tree_leaves(result), strict=False):
        found[ref.number] = tensor
    for number in node.renewed:
        earlier = captured.values[number].earlier
        assert earlier is not None
        found[number] = found[earlier]
