"""Recording a call as a graph.

A tensor is known by its identity, memory by the array that owned it first. A write makes new values of the tensors over
that memory that the program uses again. An unknown tensor is, in this order: another tensor object over known
memory without history (a Parameter around a tensor), the gradient that a backward pass left at a known tensor, or a
constant.

A backward pass through history that the function itself made is entered: its ops and what it does to ``.grad`` are
nodes, and replays need no history for it. Where it goes on into history from before, which a replay may find to be
another, or uses what no mode saw, the pass is one node, and does the same again.

Known limits, all of them PyTorch's trace's too: Python's decisions are baked in, those that depend on data with a
warning; Python state that the function changes (counters, lists, an optimizer's first step) is changed once, when it is
captured.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from ..base.state import state, user_line, warn_user
from ..dispatch.abstract import assuming
from ..dispatch.arguments import explaining
from ..dispatch.effects import Effect, Record, Result
from ..dispatch.modes import Mode, Setting
from ..dispatch.op import Op
from ..dispatch.views import layout_of
from ..errors import ArgumentTypeError, safe_repr
from ..graph.building import Draft, Memory, Seen
from ..graph.graph import GRAD_OF, Graph, Node
from ..graph.replay import argument_name
from ..graph.structure import NumberRef, Ref, copied, leaves, leaves_of, replace
from ..graph.values import ModuleCall, Scalar
from ..history.node import Output
from ..tensor import Tensor
from ..tensor.tensor import DETACH
from .backward import Passes, taken_apart, takes_apart
from .draws import Draws
from .readings import Reading, Readings
from .twins import Twins

__all__ = ["BakedValueWarning", "Capture", "capture"]


Opens: TypeAlias = "Callable[[Op | Effect, tuple[Any, ...]], Callable[[], Any] | None]"


class BakedValueWarning(UserWarning):
    """A captured function read data on the host; what it decided by it is the same on each replay."""


class Capture(Mode):
    """A mode that records what it sees and lets it happen. `capture` is the way to use it.

    Attributes:
        names: names to show for tensors that turn out to be constants, by id.
        opens: for a call of which the calls inside are to be recorded, what makes these; None for others.
        twins: what stands for tensors in a capture without data.
    """

    takes_whole = True
    differentiates = False  # a pass does what it does without the mode

    def __init__(
        self, names: Mapping[int, str] | None = None, opens: Opens | None = None, twins: Twins | None = None
    ) -> None:
        self.names, self.opens, self.twins = dict(names or {}), opens, twins
        self._draft = Draft()
        self._taken: set[str] = set()
        self._made = 0
        self._numbers: dict[int, int] = {}
        self._by_array: dict[int, Tensor] = {}
        self._memory_by_array: dict[int, int] = {}
        self._by_history: dict[tuple[Any, ...], Tensor] = {}
        self._with_grad: list[Tensor] = []
        self._given: list[Tensor] = []
        # Identities are compared, so nothing that was seen may be freed and its id used again.
        self._alive: list[Any] = []
        self._grad_enabled = state.grad_enabled
        self._passes = Passes()
        self._missed = False
        here = weakref.proxy(self)  # no cycle: what a capture knows of tensors goes with it
        self._readings = Readings(lambda name: here._free_name(name))
        self._draws = Draws()
        self._modules: tuple[ModuleCall, ...] = ()
        self._calls = 0

    def option(self, setting: Setting, value: Any) -> Any:
        """Give the program a number that is known again where it is handed to a call."""
        if not self._readings.knows(setting, value):
            warn_user(f"capture: {setting} changes; each replay has it as it is now here", BakedValueWarning)
            return value
        return self._readings.read(setting, value)

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
        """Record the call and pass it on, or what is inside of it."""
        if self.twins is not None:
            args = self.twins.stand_in(args)
        inside = None if self.opens is None else self.opens(op, args)
        if inside is not None:
            with self:
                return inside()
        if state.grad_enabled and takes_apart(op, args):
            with self:
                return taken_apart(op, args)
        grad = state.grad_enabled
        effect = op if isinstance(op, Effect) else None
        assumed = 0 if self.twins is None else len(self.twins.sizes)
        called = args
        if effect is not None and effect.bodies is not None:
            from .bodies import hold_bodies  # whose captures are of this class

            args, called = hold_bodies(self, effect, args)
        recorded = copied(replace(args, Tensor, self._ref))
        if self._readings:
            recorded = replace(recorded, Reading, lambda number: NumberRef(number.name))
            called = replace(called, Reading, lambda number: number.plain)
        counts = [] if effect is None else _counts(args)
        draws = self._draws.follow(args)
        drawn_in_bodies = self._draws.follow_bodies(leaves_of(args, Graph)) if effect and effect.bodies else None
        if effect is not None and effect.record is Record.GRADIENT and args[effect.of]._grad is not None:
            present = args[effect.of]._grad  # the program may hold on to it, though it may be replaced now
            self._ref(present)
            counts += _counts((present,))
        if effect is not None and effect.record is Record.FOLLOWED and self._passes.enters(args[0]):
            entered, result = self._enter_pass(effect, called)
            if entered:
                return result
        else:
            result = self.carry_out(op, called)
        if drawn_in_bodies is not None:
            drawn_in_bodies()
        written = [] if effect is None else self._written(effect, args, counts)
        if effect is None or not effect.to_host:
            made = self._gradient if effect is not None and effect.result is Result.GRADIENT else self._result
            outputs = _tensors_of(replace(result, Tensor, made))
            outputs = outputs if leaves_of(outputs, Ref) else None
        else:
            outputs = None if effect.result is Result.CHECK else self._read(op, result)
        if self.twins is not None and len(self.twins.sizes) > assumed:
            self.twins.by_data.update(ref.number for ref in leaves_of(outputs, Ref))
        changed = None if grad == self._grad_enabled else grad
        self._draft.nodes.append(
            Node(op, recorded, outputs, (), changed, self.line(), self._modules, draws=draws and draws())
        )
        for tensor in written:
            self._ref(tensor)  # each version has a value
        return result if self.twins is None else self.twins.original(result)

    def name_of(self, tensor: Tensor) -> str:
        """The name to show for a tensor that is a constant, if there is one."""
        return self.names.get(id(tensor if self.twins is None else self.twins.original(tensor)), "")

    def line(self) -> str:
        """The line of the program that makes a call."""
        return user_line()

    def carry_out(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Pass a call on."""
        if self.twins is None:
            return op.call(*args)
        if op.name == "item":
            return self.twins.item(args[0])
        with assuming(self.twins.assume):
            return op.call(*args)

    def _enter_pass(self, effect: Effect, args: tuple[Any, ...]) -> tuple[bool, Any]:
        """The result of a pass. Whether what it used is known, too; if not, nothing is recorded of it."""
        kept = self._draft.copied(), {name: copy.copy(vars(self)[name]) for name in _BY_TENSOR}
        count, before, self._missed = len(self._passes.histories), self._missed, False
        with self, self._passes.inside():
            result = effect.body(*args)  # type: ignore[misc]
        missed, self._missed = self._missed, before
        if missed:
            self._draft, known = kept
            vars(self).update(known)
            del self._passes.histories[count:]
            self._passes.opaque = True
        return not missed, result

    def add_input(self, tensor: Tensor, name: str) -> Ref:
        """Give an input a value; the same tensor has the same value."""
        number = self._numbers.get(id(tensor))
        self._given.append(tensor)
        return Ref(self._new(tensor, name) if number is None else number)

    def ref(self, tensor: Tensor) -> Ref:
        """What stands for a tensor as it is now."""
        return self._ref(tensor)

    def reserve(self, names: Iterable[str]) -> None:
        """Keep *names*, those of arguments, from numbers that are read."""
        self._taken.update(names)

    def finish(self, name: str, arguments: tuple[tuple[Any, ...], dict[str, Any]], result: Any) -> Graph:
        """The graph, once the function has returned *result*."""
        outputs = copied(replace(result, Tensor, self._ref))
        draft = self._draft
        for place, (number, tensor, _) in enumerate(draft.constants):
            first, last = draft.seen[number], draft.seen[self._numbers[id(tensor)]]
            fixed = (first.layout.shape, first.dtype) == (last.layout.shape, last.dtype)
            draft.constants[place] = number, tensor, fixed
        roots = [*leaves_of(result, Tensor), *self._given, *[tensor for _, tensor, _ in draft.constants]]
        draft.nodes[:] = self._passes.without_spent(draft.nodes, roots)
        draft.ends = self._draws.ends()
        draft.numbers, draft.settings = self._readings.finish(draft.nodes)
        self._alive.clear()
        return draft.finish(name, arguments, outputs)

    # ------------------------------------------------------------------------------------------------ tensors

    def _new(self, tensor: Tensor, name: str = "", earlier: int | None = None) -> int:
        if earlier is not None:
            name = self._draft.seen[earlier].name
        else:
            if not name:
                name, self._made = str(self._made), self._made + 1
            name = self._free_name(name)
        place, layout = self._memory_of(tensor), layout_of(tensor)
        version = self._draft.memories[place].version
        seen = Seen(name, place, version, tensor._type.dtype, layout, tensor.requires_grad, earlier)
        number = self._draft.add(seen)
        self._know(tensor, number)
        return number

    def _free_name(self, name: str) -> str:
        count, found = 1, name
        while found in self._taken:
            count, found = count + 1, f"{name}_{count + 1}"
        self._taken.add(found)
        return found

    def _know(self, tensor: Tensor, number: int) -> None:
        self._numbers[id(tensor)] = number
        self._by_array[id(tensor._array)] = tensor
        self._alive += (tensor, tensor._array)
        self._passes.histories.append(tensor._node)
        if tensor._node is not None:
            self._by_history[_history_of(tensor)] = tensor
            self._with_grad.append(tensor)

    def _memory_of(self, tensor: Tensor) -> int:
        """The number of the memory that *tensor* shows. Memory is known by the array of the tensor that owned it first,
        which its `Storage` has too, once there is one.
        """
        storage = tensor._storage
        array = tensor._array if storage is None else storage._array
        number = self._memory_by_array.get(id(array))
        if number is None:
            number = self._memory_by_array[id(array)] = len(self._draft.memories)
            nbytes = math.prod(array.shape) * tensor._type.dtype.itemsize if storage is None else storage.nbytes
            self._draft.memories.append(Memory(tensor._type.device, nbytes))
            self._alive.append(array)
        self._memory_by_array.setdefault(id(tensor._array), number)
        return number

    def _ref(self, tensor: Tensor) -> Ref:
        number = self._numbers.get(id(tensor))
        return Ref(self._find(tensor) if number is None else self._renewed(tensor, number))

    def _renewed(self, tensor: Tensor, number: int) -> int:
        """The value of a known *tensor* now, which is another than *number* if its memory has been written to."""
        seen = self._draft.seen[number]
        memory = self._draft.memories[seen.memory]
        if seen.version == memory.version:
            return number
        new = self._draft.add(seen._replace(version=memory.version, earlier=number))
        self._know(tensor, new)
        node = self._draft.nodes[memory.writer]
        self._draft.nodes[memory.writer] = dataclasses.replace(node, renewed=(*node.renewed, new))
        return new

    def _find(self, tensor: Tensor) -> int:
        known = self._by_array.get(id(tensor._array))
        if known is not None and tensor._node is None:
            return self._insert(DETACH, known, tensor)
        same = self._by_history.get(_history_of(tensor))
        if same is not None:  # what a formula uses of its op's result, to be differentiated again
            self._alive.append(tensor)
            return self._ref(same).number
        for leaf in self._with_grad:
            if leaf._grad is tensor:
                return self._insert(GRAD_OF, leaf, tensor)
        self._missed = self._missed or self._passes.misses(tensor)
        number = self._new(tensor, self.name_of(tensor) or f"c{len(self._draft.constants)}")
        self._draft.constants.append((number, tensor, True))
        return number

    def _insert(self, effect: Effect, source: Tensor, tensor: Tensor) -> int:
        given, number = self._ref(source), self._new(tensor)
        self._draft.nodes.append(Node(effect, (given,), Ref(number)))
        return number

    def _result(self, tensor: Tensor) -> Ref:
        number = self._numbers.get(id(tensor))
        if number is None:
            return Ref(self._new(tensor))
        seen, place = self._draft.seen[number], self._memory_of(tensor)
        now = (place, self._draft.memories[place].version, tensor._type.dtype, layout_of(tensor), tensor.requires_grad)
        return Ref(number if seen[1:6] == now else self._new(tensor, earlier=number))

    def _gradient(self, tensor: Tensor) -> Ref:
        """What is in ``.grad`` has a value of its own: on replay it may be another tensor than what was added there."""
        known, ref = self._numbers.get(id(tensor)), self._result(tensor)
        return Ref(self._new(tensor)) if ref.number == known else ref

    def _written(self, effect: Effect, args: tuple[Any, ...], counts: list[tuple[Tensor, Any, int]]) -> list[Tensor]:
        """Count the writes of a call, declared ones and others that versions tell of; gives a tensor for each."""
        known = len(self._draft.memories)
        tensors = [] if effect.writes is None else leaves_of(args[effect.writes], Tensor)
        for tensor, array, version in counts:
            storage = tensor._storage
            if storage is not None and storage._array is array and storage.version != version:
                tensors.append(tensor)
        written = {self._memory_of(tensor): tensor for tensor in tensors}
        found = [(self._draft.memories[number], one) for number, one in written.items() if number < known]
        for memory, _ in found:
            memory.version += 1
            memory.writer = len(self._draft.nodes)
        return [tensor for _, tensor in found]

    def _read(self, op: Op | Effect, result: Any) -> Scalar:
        text, line = repr(result), user_line()
        warn_user(
            f"capture: {op.name}() reads data ({line}); what the program decides by it is the same on each replay",
            BakedValueWarning,
        )
        return Scalar(op.name, type(result).__name__, text if len(text) <= 30 else text[:27] + "...")


_BY_TENSOR = ("_taken", "_made", "_numbers", "_by_array", "_memory_by_array", "_by_history", "_with_grad")
"""What a capture knows of tensors."""


def _history_of(tensor: Tensor) -> tuple[Any, ...]:
    """What two tensors that hold the same and come from the same have in common."""
    node = tensor._node
    return id(tensor._array), *((node.parent, node.number) if isinstance(node, Output) else (node,))


def _counts(args: tuple[Any, ...]) -> list[tuple[Tensor, Any, int]]:
    """The tensors among *args* with the arrays that own their memory, and the versions of that."""
    pairs = [(tensor, tensor._storage) for tensor in leaves_of(args, Tensor)]
    return [(one, one._array, 0) if kept is None else (one, kept._array, kept.version) for one, kept in pairs]


def _tensors_of(structure: Any) -> Any:
    """The tensors of a call's result, in lists and tuples; None for all else."""
    if isinstance(structure, Ref) or not isinstance(structure, (list, tuple)):
        return structure if isinstance(structure, Ref) else None
    return (
        [_tensors_of(item) for item in structure] if isinstance(structure, list) else tuple(map(_tensors_of, structure))
    )


@explaining
def capture(function: Callable[..., Any], *example_inputs: Any, **example_kwargs: Any) -> Graph:
    """Call *function* once and record what it does as a `Graph`, which replays it with other inputs.

    Inputs and results may be tensors in nested lists, tuples and dicts. Tensors that the function uses and does not
    make (parameters, buffers) are constants by reference. Gradients flow through a replay as through the function
    itself.

    Baked in are shapes, dtypes, devices, arguments that are no tensors, and Python's decisions: an ``if`` that depends
    on data takes the captured side on each replay, and reading the data warns (BakedValueWarning); `polyad.cond` and
    `polyad.while_loop` are recorded with all that they may do. Raises TypeError if
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
    if not any(isinstance(leaf, Tensor) for _, leaf in leaves((example_inputs, example_kwargs))):
        raise ArgumentTypeError("capture: no example input is a tensor", fix="pass example tensors after the function")
    return captured(Capture(names_of_members(function)), function, example_inputs, example_kwargs)


def captured(
    mode: Capture,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Mapping[int, str] | None = None,
) -> Graph:
    """The graph that *mode*, which is new, records of a call, with *names* of inputs by id, if not the function's."""
    if names is None:
        names = names_of_inputs(function, (args, kwargs))
    arguments = copied(replace((args, kwargs), Tensor, lambda tensor: mode.add_input(tensor, names[id(tensor)])))
    mode.reserve(kwargs)
    with mode.watching(function), mode:
        result = function(*args, **kwargs)
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return mode.finish(name, arguments, result)


def names_of_members(function: Callable[..., Any]) -> dict[int, str]:
    """Names of parameters and buffers by id, if the function is a module or a method of a module."""
    module = getattr(function, "__self__", function)
    named: dict[int, str] = {}
    for members in ("named_parameters", "named_buffers"):
        if hasattr(module, members):
            named.update({id(tensor): name for name, tensor in getattr(module, members)()})
    return named


def names_of_inputs(function: Callable[..., Any], given: tuple[tuple[Any, ...], dict[str, Any]]) -> dict[int, str]:
    """Each input tensor's name by id: the function's parameter if it has that, with the path within it. A function may
    have its parameters' names as an attribute, ``parameter_names``.
    """
    positional = getattr(function, "parameter_names", None)
    if positional is None:
        try:
            parameters = inspect.signature(getattr(function, "forward", function)).parameters.values()
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
