"""Recording a call as a graph.

A tensor is known by its identity. An unknown tensor is, in this order: another tensor object over known
memory without history (a Parameter around a tensor), the gradient that a backward pass left at a known tensor, or a
constant.

Known limits, all of them PyTorch's trace's too: Python's decisions are baked in, those that depend on data with a
warning; Python state that the function changes (counters, lists, an optimizer's first step) is changed once, when it is
captured.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..base.state import state, user_line, warn_user
from ..dispatch.arguments import explaining
from ..dispatch.effects import Effect, Record, Result, declare
from ..dispatch.modes import Mode
from ..dispatch.op import Op
from ..errors import ArgumentTypeError, safe_repr
from ..tensor import Tensor
from ..tensor.tensor import DETACH
from .graph import Constant, Graph, ModuleCall, Node, Value, argument_name
from .structure import Ref, copied, leaves, replace

__all__ = ["BakedValueWarning", "Capture", "capture", "trace"]


class BakedValueWarning(UserWarning):
    """A captured function read data on the host; what it decided by it is the same on each replay."""


def _grad_of(tensor: Tensor) -> Tensor | None:
    return tensor.grad


GRAD_OF = declare(Effect("grad_of", _grad_of, record=Record.GRADIENT, result=Result.GRADIENT))


class Capture(Mode):
    """A mode that records what it sees and lets it happen. `capture` is the way to use it.

    Attributes:
        values, constants, nodes: as of `Graph`.
        names: names to show for tensors that turn out to be constants, by id.
    """

    def __init__(self, names: Mapping[int, str] | None = None) -> None:
        self.values: list[Value] = []
        self.constants: list[Constant] = []
        self.nodes: list[Node] = []
        self.names = dict(names or {})
        self._made = 0
        self._numbers: dict[int, int] = {}
        self._by_array: dict[int, int] = {}
        self._with_grad: list[tuple[Tensor, int]] = []
        # Identities are compared, so nothing that was seen may be freed and its id used again.
        self._alive: list[Any] = []
        self._grad_enabled = state.grad_enabled
        self._modules: tuple[ModuleCall, ...] = ()
        self._calls = 0

    @contextmanager
    def watching(self, function: Any) -> Iterator[None]:
        """Note in each node the submodules of *function*, if it is a module or a method of a module, that run."""
        module = getattr(function, "__self__", function)
        submodules = module.named_modules() if hasattr(module, "named_modules") else ()
        handles: list[Any] = []
        for path, submodule in submodules:
            if submodule is not module:
                handles.append(submodule.register_forward_pre_hook(partial(self._enter, path)))
                handles.append(submodule.register_forward_hook(self._leave, always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _enter(self, path: str, module: Any, args: Any) -> None:
        self._modules = (*self._modules, ModuleCall(path, type(module).__name__, self._calls))
        self._calls += 1

    def _leave(self, module: Any, args: Any, output: Any) -> None:
        self._modules = self._modules[:-1]

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Record the call and pass it on."""
        grad = state.grad_enabled
        recorded = copied(replace(args, Tensor, self._ref))
        effect = op if isinstance(op, Effect) else None
        if effect is not None and effect.record is Record.GRADIENT and args[effect.of]._grad is not None:
            self._ref(args[effect.of]._grad)  # the program may hold on to the gradient that is about to be replaced
        result = op.call(*args)
        outputs = replace(result, Tensor, self._result) if effect is None or not effect.to_host else None
        decides = effect is not None and effect.to_host and effect.result is not Result.CHECK
        line = user_line()
        baked = self._bake(op, result, line) if decides else ""
        other_grad = None if grad == self._grad_enabled else grad
        self.nodes.append(Node(op, recorded, outputs, other_grad, line, baked, modules=self._modules))
        return result

    def add_input(self, tensor: Tensor, name: str) -> Ref:
        """Give an input a value; the same tensor has the same value."""
        number = self._numbers.get(id(tensor))
        return Ref(self._new(tensor, name) if number is None else number)

    def finish(self, name: str, arguments: tuple[tuple[Any, ...], dict[str, Any]], result: Any) -> Graph:
        """The graph, once the function has returned *result*."""
        outputs = copied(replace(result, Tensor, self._ref))
        _find_last_uses(self.nodes, outputs)
        self._alive.clear()
        constants = [
            dataclasses.replace(constant, fixed=self._numbers[id(constant.tensor)] == constant.value.number)
            for constant in self.constants
        ]
        return Graph(name, self.values, constants, self.nodes, arguments, outputs)

    def _new(self, tensor: Tensor, name: str = "") -> int:
        number = len(self.values)
        type_ = tensor._type
        shape = tuple(tensor._array.shape)
        if not name:
            name, self._made = str(self._made), self._made + 1
        self.values.append(Value(number, name, shape, type_.dtype, type_.device, tensor.requires_grad))
        self._know(tensor, number)
        return number

    def _know(self, tensor: Tensor, number: int) -> None:
        self._numbers[id(tensor)] = number
        self._by_array[id(tensor._array)] = number
        self._alive += (tensor, tensor._array)
        if tensor.requires_grad:
            self._with_grad.append((tensor, number))

    def _ref(self, tensor: Tensor) -> Ref:
        number = self._numbers.get(id(tensor))
        return Ref(self._find(tensor) if number is None else number)

    def _find(self, tensor: Tensor) -> int:
        known = self._by_array.get(id(tensor._array))
        if known is not None and tensor._node is None:
            return self._insert(DETACH, known, tensor)
        for known_tensor, number in self._with_grad:
            if known_tensor._grad is tensor:
                return self._insert(GRAD_OF, number, tensor)
        name = self.names.get(id(tensor), "") or f"c{len(self.constants)}"
        number = self._new(tensor, name)
        self.constants.append(Constant(self.values[number], tensor))
        return number

    def _insert(self, effect: Effect, source: int, tensor: Tensor) -> int:
        number = self._new(tensor)
        self.nodes.append(Node(effect, (Ref(source),), Ref(number)))
        return number

    def _result(self, tensor: Tensor) -> Ref:
        number = self._numbers.get(id(tensor))
        if number is not None and self._fits(self.values[number], tensor):
            self._know(tensor, number)  # an in-place form may have given it another array
            return Ref(number)
        return Ref(self._new(tensor))

    @staticmethod
    def _fits(value: Value, tensor: Tensor) -> bool:
        return value.shape == tuple(tensor._array.shape) and value.dtype is tensor._type.dtype

    def _bake(self, op: Op | Effect, result: Any, line: str) -> str:
        text = repr(result)
        warn_user(
            f"capture: {op.name}() reads data ({line}); what the program decides by it is the same on each replay",
            BakedValueWarning,
        )
        return text if len(text) <= 30 else text[:27] + "..."


def _find_last_uses(nodes: Sequence[Node], outputs: Any) -> None:
    kept = {leaf.number for _, leaf in leaves(outputs) if isinstance(leaf, Ref)}
    for node in reversed(nodes):
        used = {leaf.number for _, leaf in leaves((node.args, node.outputs)) if isinstance(leaf, Ref)}
        node.frees = tuple(sorted(used - kept))
        kept |= used


@explaining
def capture(function: Callable[..., Any], *example_inputs: Any, **example_kwargs: Any) -> Graph:
    """Call *function* once and record what it does as a `Graph`, which replays it with other inputs.

    Inputs and results may be tensors in nested lists, tuples and dicts. Tensors that the function uses and does not
    make (parameters, buffers) are constants by reference. Gradients flow through a replay as through the function
    itself.

    Baked in are shapes, dtypes, devices, arguments that are no tensors, and Python's decisions: an ``if`` that depends
    on data takes the captured side on each replay, and reading the data warns (BakedValueWarning). Raises TypeError if
    *function* is not callable or no example is a tensor, and whatever the function raises.

    >>> import polyad
    >>> def line(x, slope):
    ...     return x * slope + 1
    >>> graph = polyad.jit.capture(line, polyad.tensor([1.0, 2.0]), polyad.tensor(3.0))
    >>> graph(polyad.tensor([5.0, 6.0]), polyad.tensor(2.0))
    tensor([11., 13.])
    >>> [node.name for node in graph]
    ['mul', 'add']
    """
    if not callable(function):
        raise ArgumentTypeError(
            f"capture: {safe_repr(function)} cannot be called", fix="pass a function or a module, then its inputs"
        )
    given = (example_inputs, example_kwargs)
    if not any(isinstance(leaf, Tensor) for _, leaf in leaves(given)):
        raise ArgumentTypeError("capture: no example input is a tensor", fix="pass example tensors after the function")
    mode = Capture(_names_of_members(function))
    names = _names_of_inputs(function, given)
    arguments = copied(replace(given, Tensor, lambda tensor: mode.add_input(tensor, names[id(tensor)])))
    with mode.watching(function), mode:
        result = function(*example_inputs, **example_kwargs)
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return mode.finish(name, arguments, result)


@explaining
def trace(func: Callable[..., Any], example_inputs: Any) -> Graph:
    """PyTorch's spelling of `capture`: *example_inputs* is a tensor or a tuple of the function's arguments.

    >>> import polyad
    >>> double = polyad.jit.trace(lambda x: x * 2, polyad.ones(2))
    >>> double(polyad.tensor([3.0, 4.0]))
    tensor([6., 8.])
    """
    return capture(func, *(example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)))


def _names_of_members(function: Callable[..., Any]) -> dict[int, str]:
    """Names of parameters and buffers by id, if the function is a module or a method of a module."""
    module = getattr(function, "__self__", function)
    named: dict[int, str] = {}
    for members in ("named_parameters", "named_buffers"):
        if hasattr(module, members):
            named.update({id(tensor): name for name, tensor in getattr(module, members)()})
    return named


def _names_of_inputs(function: Callable[..., Any], given: tuple[tuple[Any, ...], dict[str, Any]]) -> dict[int, str]:
    """Each input tensor's name by id: the function's parameter if it has that, with the path within it."""
    try:
        called = getattr(function, "forward", function)
        parameters = inspect.signature(called).parameters.values()
        positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        positional = []
    names: dict[int, str] = {}
    for path, leaf in leaves(given):
        if isinstance(leaf, Tensor):
            name = argument_name(path)
            if name.startswith("input "):
                number, bracket, rest = name[6:].partition("[")
                position = int(number.partition(".")[0])
                known = positional[position] if position < len(positional) else f"input{position}"
                name = known + number[len(str(position)) :] + bracket + rest
            names.setdefault(id(leaf), name)
    return names
