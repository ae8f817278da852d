"""Recording a run: the program's own calls, which later runs are compared with, and the nodes of a graph
(`polyad.jit.capture`), in which backward passes are entered.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ..autograd.accumulation import ACCUMULATE_GRAD
from ..autograd.gradients import BACKWARD, GRAD
from ..base.device import Device
from ..base.state import UNDER_INFERENCE, state, user_line
from ..devices.registry import tensor_type
from ..dispatch.abstract import new_array
from ..dispatch.effects import Effect, Record, Result
from ..dispatch.modes import Mode
from ..dispatch.op import Op
from ..dispatch.views import layout_of
from ..errors import NotSupported
from ..graph.graph import Graph
from ..graph.structure import copied, leaves_of, replace
from ..history.node import Leaf, Node as History, Output
from ..jit.backward import _reached
from ..jit.capture import Capture
from ..nn.parameter import Buffer, Parameter
from ..random.generator import Generator, default_generator
from ..tensor import Tensor
from ..tensor.tensor import SET_GRAD
from .records import (
    Call,
    Gradient,
    Kind,
    Made,
    Outside,
    Recording,
    Slot,
    Source,
    history_of,
    mapped,
    memory_of,
)

CLASSES = (Tensor, Parameter, Buffer)
"""Tensors of other classes may answer calls in their own way, so runs with them are not compiled."""


class Unfit(Exception):
    """Why a run cannot be compared with later ones."""


class Recorder(Capture):
    """A mode that lets a run happen, and records it as a `Recording`.

    Args:
        whole: raise at a call that ends the program.
    """

    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.recording = Recording()
        self.unfit = ""
        self._whole = whole
        self._inside = False
        self._nodes = (0, 0)
        self._slots: dict[int, int] = {}
        self._met: list[Tensor] = []
        self._memories: dict[Any, int] = {}
        self._outside: list[int] = []
        self._gradients: list[tuple[Tensor, Any, Tensor | None]] = []
        self._unclear = False
        self._rewritten: Tensor | None = None
        self._computed = -1  # up to this call nothing is pending
        self._histories: dict[int, int] = {}
        self._spent: dict[int, tuple[History, int]] = {}

    option = Mode.option  # numbers that vary are found by comparing

    def _read(self, op: Any, result: Any) -> Any:
        return None

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Record the program's call; the calls inside of it are nodes alone."""
        if isinstance(op, Effect) and op.lends and not self._inside:
            self.shares_memory()
        if self.unfit:
            return op.call(*args)
        if self._inside:
            return self._within(op, args)
        self._inside = True
        try:
            try:
                call = self._begin(op, args)
            except Unfit as error:
                self.unfit = str(error)
                return op.call(*args)
            first, generator = len(self._draft.nodes), default_generator.drawn.advance(0)
            sources = {one: one.drawn.advance(0) for one in leaves_of(args, Generator)}
            result = super().dispatch(op, args)
            self._nodes = first, len(self._draft.nodes)
            try:
                self._end(call, args, result, sources, generator)
            except Unfit as error:
                self.unfit = str(error)
            return result
        except Exception:
            self.unfit = self.unfit or "an error was raised"
            raise
        finally:
            self._inside = False

    def shares_memory(self) -> None:
        """Others may write where a call reads, between it and the time at which it would be carried out."""
        self.unfit = self.unfit or "memory is shared with NumPy or another library"

    def _within(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        if op is not ACCUMULATE_GRAD:
            self._unclear = self._unclear or op is SET_GRAD
            return super().dispatch(op, args)
        before = args[0]._grad
        result = super().dispatch(op, args)
        self._gradients.append((args[0], before, result))
        return result

    # ------------------------------------------------------------------------------------------------ a call

    def _begin(self, op: Op | Effect, args: tuple[Any, ...]) -> Call:
        call = Call()
        call.op, call.line = op, user_line()
        call.flags = state.grad_enabled, state.no_modes is UNDER_INFERENCE
        call.autocast = state.autocast is not None
        call.gradients, call.since, call.recorded = (), 0, False
        self._rewritten, call.rewrites = self._rewritten_by(op, args), None
        self._gradients, self._unclear = [], False
        call.kind = _kind_of(op)
        if self._whole and call.kind is Kind.BARRIER and isinstance(op, Effect) and op.to_host:
            raise NotSupported(
                f"compile: {op.name}() reads data, and the function is compiled with fullgraph=True",
                notes={"line": call.line},
                fix="read it outside of the function, or leave fullgraph out",
            )
        self._before = len(self._outside)
        # A generator's blocks are known afterwards.
        call.args = mapped(args, self._argument)
        if op in (BACKWARD, GRAD):
            reached = _reached([getattr(one, "_node", None) for one in leaves_of(args, Tensor)])
            call.since = min([self._histories[id(node)] for node in reached if id(node) in self._histories], default=0)
        return call

    def _argument(self, leaf: Any) -> Any:
        return self._slot(leaf) if isinstance(leaf, Tensor) else leaf

    def _end(self, call: Call, args: Any, result: Any, sources: Any, generator: tuple[int, int]) -> None:
        op = call.op
        made: list[Tensor] = []
        call.result = mapped(result, lambda leaf: self._outcome(leaf, made) if isinstance(leaf, Tensor) else leaf)
        for one, before in sources.items():
            after = one.drawn.advance(0)
            if after[0] != before[0]:
                call.kind = Kind.BARRIER
            source = Source(one, (after[1] - before[1]) % 2**64)
            call.args = mapped(call.args, partial(_exchanged, one, source))
        drawn_from = {one.drawn for one in sources}
        if default_generator.drawn not in drawn_from and default_generator.drawn.advance(0) != generator:
            call.kind = Kind.BARRIER  # numbers are drawn inside of it
        if call.kind is Kind.PROMISED:
            if isinstance(op, Op):
                promised = _known_before(op, args, made)
            elif op in (BACKWARD, GRAD):
                promised = self._pass_is_clear(call, made)
            else:
                promised = op.writes is None or self._rewritten is not None or not _records_a_write(args)
            plain = all(type(leaf) in (bool, type(None), Made, Slot) for leaf in _leaves(call.result))
            if not promised or not plain:
                call.kind = Kind.BARRIER
        if self._whole and call.kind is Kind.BARRIER and isinstance(op, Op):
            raise NotSupported(
                f"compile: what {op.title} gives depends on data, and the function is compiled with fullgraph=True",
                notes={"line": call.line},
                fix="leave fullgraph out, or use an op whose result has a size of its own",
            )
        if call.kind is not Kind.PROMISED:
            call.result = mapped(call.result, lambda leaf: leaf if type(leaf) in (Made, Slot) else None)
        self._note_writes(call, args)
        self._note_history(call, made)
        self.recording.add(call, self._nodes)

    def _rewritten_by(self, op: Op | Effect, args: tuple[Any, ...]) -> Tensor | None:
        """The tensor that a call writes to, if its history goes on: the run has made it since the last barrier."""
        if isinstance(op, Op) or op.writes is None or not _records_a_write(args):
            return None
        target = args[op.writes]
        plain = isinstance(target, Tensor) and target._view is None and target._node is not None
        if not plain or not self.has_made(target):
            return None
        return target if self._spent.get(self.number_of(target), (None, -1))[1] > self._computed else None

    def _pass_is_clear(self, call: Call, made: list[Tensor]) -> bool:
        nodes = self._draft.nodes[slice(*self._nodes)]
        entered = not any(node.op in (BACKWARD, GRAD) for node in nodes)
        passes = self._passes
        create_graph = call.args[3] if call.op is BACKWARD else call.args[4]
        batched = call.op is GRAD and call.args[7]
        if not entered or passes._hooked or passes.opaque or self._unclear or create_graph or batched:
            return False
        if state.saved_hooks or any(one._node is not None for one in made):
            return False
        found = []
        for leaf, before, after in self._gradients:
            if after is None or (before is not None and before is not after):
                return False
            slot = self._slot(leaf)
            if not isinstance(slot, Slot):
                return False
            was = None if before is None else self._slot(before)
            if before is not None:
                found.append(Gradient(slot.number, was, None))
                continue
            after_made = self._outcome(after, made)
            if not isinstance(after_made, Made):
                return False
            found.append(Gradient(slot.number, None, after_made))
        call.gradients = tuple(found)
        return True

    def _note_writes(self, call: Call, args: Any) -> None:
        """Which tensors show memory that is written by this call, or, from outside, was when they were met here."""
        draft, written = self._draft, set()
        writes = any(
            isinstance(node.op, Effect) and node.op.writes is not None for node in draft.nodes[self._nodes[0] :]
        )
        new = self._outside[self._before :]
        for number, tensor in enumerate(self._met) if writes else [(one, self._met[one]) for one in new]:
            memory = draft.memories[draft.seen[self._numbers[id(tensor)]].memory]
            if (number in new and memory.version > 0) or self._nodes[0] <= memory.writer < self._nodes[1]:
                written.add(number)
        written |= {gradient.before.number for gradient in call.gradients if gradient.before is not None}
        call.writes = tuple(sorted(written))

    def _note_history(self, call: Call, made: list[Tensor]) -> None:
        at = len(self.recording.calls)
        rewritten = self._rewritten
        if rewritten is not None and call.kind is Kind.PROMISED:
            made = [*made, rewritten]
            call.rewrites = self._slots[id(rewritten)]
            self.recording.names.append((at, call.rewrites, type(_origin(rewritten)).__name__))
        if call.kind is Kind.BARRIER:
            self._computed = at
        for tensor in made:
            node = tensor._node
            if node is None:
                continue
            call.recorded = True
            self._alive.append(node)
            origin = _origin(tensor)
            self._histories[id(node)] = self._histories[id(origin)] = at
            self._spent[self._slots[id(tensor)]] = origin, at
        if call.op not in (BACKWARD, GRAD) or call.kind is not Kind.PROMISED:
            return
        for number, (node, made_at) in list(self._spent.items()):
            if made_at >= call.since and _is_spent(node):
                self.recording.spent[number] = made_at, at
                del self._spent[number]

    # ------------------------------------------------------------------------------------------------ tensors

    def _number(self, tensor: Tensor) -> int:
        number = self._slots[id(tensor)] = len(self._met)
        self._met.append(tensor)
        self._alive.append(tensor)
        return number

    def _slot(self, tensor: Tensor) -> Any:
        self._ref(tensor)  # gives it a value in the graph
        number = self._slots.get(id(tensor))
        if number is not None:
            return Slot(number)
        if type(tensor) not in CLASSES:
            raise Unfit(f"a tensor of class {type(tensor).__name__}")
        number = self._number(tensor)
        owner = memory_of(tensor)
        memory = self._memories.get(id(owner))
        if owner is not None and memory is None:
            self._memories[id(owner)] = -1 - number
            self._alive.append(owner)
        place = None if tensor._view is None else tensor._view.__class__
        array = tensor._array
        self._outside.append(number)
        return Outside(
            number, type(tensor), tensor._type, array.shape, array.strides, history_of(tensor), place, memory
        )

    def _outcome(self, tensor: Tensor, made: list[Tensor]) -> Any:
        number = self._slots.get(id(tensor))
        if number is not None:
            return Slot(number)
        if type(tensor) is not Tensor:
            raise Unfit(f"a result of class {type(tensor).__name__}")
        self._ref(tensor)
        number = self._number(tensor)
        made.append(tensor)
        node, view, array = tensor._node, tensor._view, tensor._array
        name = None if node is None else type(_origin(tensor)).__name__
        offset = 0 if view is None else view.offset
        owner = memory_of(tensor)
        if owner is not None:
            self._memories.setdefault(id(owner), number)
            self._alive.append(owner)
        place = None if view is None else view.__class__
        return Made(number, tensor._type, array.shape, array.strides, name, place, offset)

    def take_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Take the tensors among a call's arguments for inputs of the graph."""
        given = args, kwargs
        self._inputs = copied(replace(given, Tensor, lambda tensor: self.add_input(tensor, "input")))

    def graph_of(self, name: str, result: Any) -> Graph:
        """The graph of the run, which has returned *result*."""
        kept, self._draft = self._draft, self._draft.copied()
        try:
            return self.finish(name, self._inputs, result)
        finally:
            self._draft = kept

    def done(self) -> Recording:
        """The recording, once the run is over. Raises `Unfit` if it cannot be compared with later runs."""
        if self.unfit:
            raise Unfit(self.unfit)
        found, draft = self.recording, self._draft
        found.graph_nodes, found.seen = draft.nodes, draft.seen
        found.memories = draft.memories
        found.most = len(self._met)
        latest = {self._numbers[id(tensor)]: number for number, tensor in enumerate(self._met)}
        found.numbers = {}
        for value, number in latest.items():
            at: int | None = value
            while at is not None:
                found.numbers[at] = number
                at = draft.seen[at].earlier
        return found

    # ------------------------------------------------------------------------------------------------ passes

    def has_made(self, tensor: Tensor) -> bool:
        """Whether the run has made *tensor*."""
        number = self._slots.get(id(tensor))
        return number is not None and number not in self._outside

    def is_outside(self, tensor: Tensor) -> bool:
        """Whether the run has met *tensor*, and has not made it."""
        return self._slots.get(id(tensor)) in self._outside

    def number_of(self, tensor: Tensor) -> int:
        """The number of a tensor that the run has met."""
        return self._slots[id(tensor)]

    def history_of(self, number: int) -> Any:
        """The node of the tensor with that number."""
        return self._met[number]._node

    def let_go(self, tensor: Tensor) -> None:
        """Know another tensor in the place of *tensor*, which may be freed then."""
        twin: Tensor = object.__new__(Tensor)
        for name in ("_array", "_type", "_node", "_storage", "_view", "_grad"):
            setattr(twin, name, getattr(tensor, name))
        for table in (self._numbers, self._slots):
            table[id(twin)] = table.pop(id(tensor))
        for known in (self._by_array, self._by_history):
            known.update({key: twin for key, one in known.items() if one is tensor})  # type: ignore[misc]
        for held in (self._met, self._with_grad, self._alive):
            held[:] = [twin if one is tensor else one for one in held]

    def are_new(self, tensors: list[Tensor]) -> bool:
        """Whether the run knows nothing of *tensors*, which are several, nor of their memory."""
        arrays = {id(one._array if one._storage is None else one._storage._array) for one in tensors}
        known = self._memory_by_array.keys() | self._by_array.keys()
        return len(arrays) == len(tensors) and known.isdisjoint(arrays | {id(one._array) for one in tensors})

    def record_pass(self, roots: list[Any], leaves: list[Tensor], gradients: list[Tensor]) -> tuple[Any, Any]:
        """Record a pass after the run. Gives the gradients of *leaves*, or None if it used what the run does not know,
        and from which node of the graph to which the pass goes.
        """
        first, self._inside = len(self._draft.nodes), True
        with self:
            found = GRAD.through_modes(roots, leaves, gradients, True, False, True, True, False, False)
        nodes = first, len(self._draft.nodes)
        known = not any(node.op in (BACKWARD, GRAD) for node in self._draft.nodes[first:])
        return found if known else None, nodes


def _exchanged(one: Any, other: Any, leaf: Any) -> Any:
    return other if leaf is one else leaf


def _leaves(structure: Any) -> Iterator[Any]:
    found: list[Any] = []
    mapped(structure, found.append)
    return iter(found)


def _kind_of(op: Op | Effect) -> Kind:
    """How a call of *op* may be answered, as far as that is known before it is made."""
    if isinstance(op, Op):
        return Kind.PROMISED
    if op in (BACKWARD, GRAD, SET_GRAD):
        return Kind.PROMISED
    if op.result is Result.FRESH:
        return Kind.AT_ONCE
    fixed = op.result in (
        Result.NOTHING, Result.CHECK, Result.COPY, Result.ALIAS, Result.DETACHED, Result.TARGET,
    )  # fmt: skip
    if not fixed or op.rebinds is not None or op.bodies is not None or op.record not in (None, Record.GRADIENT):
        return Kind.BARRIER
    return Kind.PROMISED


def _origin(tensor: Tensor) -> Any:
    """The node of what made *tensor*."""
    node = tensor._node
    return node.parent if isinstance(node, Output) else node


def _records_a_write(args: Any) -> bool:
    """Whether a write with these arguments changes the history of what it writes to."""
    tensors = leaves_of(args, Tensor)
    return state.grad_enabled and any(tensor._node is not None for tensor in tensors)


def _known_before(op: Op, args: tuple[Any, ...], results: list[Tensor]) -> bool:
    """Whether shapes and strides of what *op* gives follow from those of its operands: then it gives the same without
    data.
    """
    if op.kind == "view" or not any(isinstance(arg, (Tensor, list, tuple)) for arg in args):
        return True
    modes, grad = state.modes, state.grad_enabled
    state.modes, state.grad_enabled = state.no_modes, False
    try:
        found = op.call(*mapped(args, _without_data))
    except Exception:
        return False
    finally:
        state.modes, state.grad_enabled = modes, grad
    shapes = [one._array.shape for one in leaves_of(found, Tensor)]
    return shapes == [one._array.shape for one in results] or not results


_META = Device("meta")


def _without_data(leaf: Any) -> Any:
    if isinstance(leaf, Tensor):
        shape, strides, _ = layout_of(leaf)
        dtype = leaf._type.dtype
        return Tensor._of(new_array(shape, dtype, strides), tensor_type(dtype, _META, not shape))
    if isinstance(leaf, Device):
        return _META
    return Generator() if isinstance(leaf, Generator) else leaf


def _is_spent(node: History | None) -> bool:
    """Whether all paths from *node* end where a pass has freed the graph."""
    if node is None or node.__class__ is Leaf:
        return False
    if isinstance(node, Output):
        return _is_spent(node.parent)
    if node.calls is None:
        return True
    targets = node.targets()
    return bool(targets) and all(map(_is_spent, targets))
