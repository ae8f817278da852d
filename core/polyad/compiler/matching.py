"""A run that is compared with recordings: each call that it makes is answered by a tensor that is computed later.

The calls that were matched and not carried out yet are *pending*. They are carried out at a barrier, when somebody asks
a pending tensor for its elements, and at the end: by a tape (`polyad.compiler.tape`) where the recording proves that it
leaves what the calls themselves would leave, else by the calls themselves, in their order. A call that no recording
has ends the comparison: what is pending is carried out, and the run goes on as if nothing had been compared.

Invariant: whatever the program can see between two of its calls is what it would see without this mode.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..base.state import NO_MODES, UNDER_INFERENCE, state
from ..dispatch.effects import Effect
from ..dispatch.modes import Mode
from ..dispatch.op import Op
from ..dispatch.structure import Pointwise
from ..errors import NotSupported, TransformError
from ..graph.structure import leaves_of
from ..history import node as history
from ..history.node import Leaf, PendingNode
from ..optim.update import UPDATE
from ..random.generator import Generator
from ..tensor import Tensor
from ..tensor.pending import PendingArray, fulfil, pending_type, real_type, watched
from ..tensor.storage import InferenceView, ViewOf
from ..tensor.tensor import SET_GRAD
from .answering import MISSING, Step, step_of
from .records import Call, Free, Kind, Made, Outside, Recording, Slot, Source, equal, history_of, mapped, memory_number
from .tape import give_up, tape_for
from .writing import LEFT_HISTORY


class Branches:
    """What recordings have next, at some point of a run.

    Attributes:
        steps: the ops that are called next, each with what answers the call.
        depth: how many calls were made by then.
        recording: one that comes through here.
        tail: whether a run may end here.
    """

    __slots__ = ("_calls", "depth", "recording", "steps", "tail")

    def __init__(self, depth: int, recording: Recording | None) -> None:
        self.steps: list[tuple[Op | Effect, Step]] = []
        self.depth, self.recording = depth, recording
        self.tail = False
        self._calls: list[tuple[Call, Branches]] = []

    def add(self, recording: Recording) -> Recording | None:
        """Add a recording that begins here; gives one of the same calls, whose place it takes."""
        here, same = self, True
        for at, call in enumerate(recording.calls):
            known, after = next(((one, after) for one, after in here._calls if one.same_as(call)), (None, None))
            if known is None or after is None:
                known, after, same = call, Branches(here.depth + 1, recording), False
                here._calls.append((call, after))
                here.steps.append((call.op, step_of(call, after)))
            recording.calls[at] = known
            here = after
        replaced = here.recording if same and here.tail else None
        here.recording, here.tail = recording, True
        return replaced

    def loosen(self, place: int, args: tuple[Any, ...]) -> None:
        """Take *args*, in which some numbers are free, for those of the call at *place*."""
        call, after = self._calls[place]
        call.args = args
        self.steps[place] = call.op, step_of(call, after)

    def find_looser(self, op: Op | Effect, args: tuple[Any, ...], run: Run) -> tuple[Branches, int, Any] | None:
        """The call that *args* are those of but for some floats, with these freed. Where a call records history, what
        backward computes with may be another number, so that such calls are recorded anew.
        """
        if isinstance(op, Op) and not isinstance(op.structure, Pointwise):
            return None  # a number may be a size
        for place, (call, _) in enumerate(self._calls):
            if call.op is op and call.kind is Kind.PROMISED and not call.recorded:
                found = looser(call.args, args, run)
                if found is not MISSING and not equal(call.args, found):
                    return self, place, found
        return None


class Stretch(NamedTuple):
    """A stretch of a run that was carried out.

    Attributes:
        begin, end: its place among the calls.
        calls: how many were put off until then.
        rows: of the tape; 0 if the calls themselves were carried out.
        why: it ended.
        reason: there is no tape.
    """

    begin: int
    end: int
    calls: int
    rows: int
    why: str
    reason: str

    def __str__(self) -> str:
        many = "s" if self.calls != 1 else ""
        how = (
            f"by a tape of {self.rows} row{'s' if self.rows != 1 else ''}"
            if self.rows
            else f"one by one ({self.reason})"
        )
        return f"calls {self.begin} to {self.end - 1}: {self.calls} call{many} {how}, until {self.why}"


class Run(Mode):
    """One run of a function, compared with recordings.

    Attributes:
        matching: whether all calls so far were in a recording.
        gains: whether a tape left work out.
        ended: the recording that it is like to the end.
        left_history: whether it had no tape since it left history.
        looser: the call that the run differed from in numbers alone, with these freed.
        ends: why the stretches ended, with how many calls they had and whether a tape ran them.
    """

    takes_whole = True
    differentiates = False

    def __init__(self, begin: Branches, most: int, lock: Any, whole: bool = False, strict: bool = False) -> None:
        self.matching = True
        self.gains = self.left_history = False
        self.ended: Recording | None = None
        self.ends: list[Stretch] = []
        self.differed = ""
        self.looser: tuple[Branches, int, Any] | None = None
        self._whole, self._strict = whole, strict
        self._here = begin
        self._lock = lock
        self._args: dict[int, Any] = {}  # of calls with numbers or generators of their own, by place
        self._casts: dict[int, Any] = {}  # the autocast that calls were made under, by place
        self._promised: list[PendingArray] = []  # since the last end
        self._done = 0  # calls before are carried out
        self._known: list[Any] = [
            None
        ] * most  # by number: a tensor from outside, or the `PendingArray` of one that a call made
        self._numbers: dict[int, int] = {}  # of tensors from outside, by id
        self._memories: dict[int, int] = {}
        self._arrays: dict[int, Any] = {}  # of tensors that are to be written
        self._before: dict[int, tuple[Tensor, Any]] = {}  # what ``.grad`` was at the last end
        self._broken = False

    # ------------------------------------------------------------------------------------------------ the mode

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Answer the call if a recording has it; else carry out what is pending, then the call."""
        if not self.matching:
            return op.call(*args)
        with self._lock:
            for known, step in self._here.steps:
                if known is op:
                    answer = step(self, args)
                    if answer is not MISSING:
                        return answer
            if self._strict:
                raise TransformError(
                    f"compile: the call of {op.name} differs from all that were recorded, and the stance is "
                    "fail_on_recompile",
                    fix="take another stance: polyad.compiler.set_stance('default')",
                )
            self.looser = self._here.find_looser(op, args, self)
            self.give_up(op.name)
        return op.call(*args)

    def give_up(self, at: str) -> None:
        """Compare no more."""
        self.matching, self.differed = False, at
        self._finish("another call than recorded: " + at)

    def shares_memory(self) -> None:
        """Compare no more: what is put off could read what others write."""
        with self._lock:
            if self.matching:
                self.give_up("memory that is shared")

    def finish(self) -> None:
        """Carry out what is pending, since somebody asks for elements."""
        with self._lock:
            if self._done < self._here.depth and not self._broken:
                self._finish("elements were asked for")

    def close(self) -> None:
        """Carry out what is pending at the end of the run."""
        with self._lock:
            try:
                self._finish("the end")
                self.ended = self._here.recording if self.matching and self._here.tail else None
            finally:
                self._known.clear()
                self._numbers.clear()
                self._args.clear()
                self._casts.clear()

    # ------------------------------------------------------------------------------------------------ comparison

    def _fits(self, call: Call) -> bool:
        """Whether what else a call depends on is as recorded."""
        if state.inspect or state.backward or state.saved_hooks or history.watchers:
            return False
        return all(map(self._same_gradient, call.gradients))

    def _watched(self, call: Call) -> bool:
        """Whether a leaf among a call's arguments has hooks, which the call would run."""
        slots: list[Any] = [*leaves_of(call.args, Slot), *leaves_of(call.args, Outside)]
        for slot in slots:
            node = getattr(self._tensor(slot.number), "_node", None)
            if node.__class__ is Leaf and node.hooks is not None:
                return True
        return False

    def _is(self, number: int, tensor: Any) -> bool:
        """Whether *tensor* is the run's tensor of that number."""
        known = self._known[number]
        if known.__class__ is not PendingArray:
            return known is tensor and tensor is not None
        if tensor is None or known.tensor() is not tensor:
            return False
        if known.array is not None:  # a pending call is going to need it
            self._known[number] = tensor
        return True

    def _bind(self, outside: Outside, tensor: Tensor) -> bool:
        """Note that *tensor*, which is from outside and looks as recorded, is that tensor of the recording; False if it
        is another tensor of the run, or shares memory with one that it did not share it with.
        """
        if id(tensor) in self._numbers:
            return False
        storage = tensor._storage
        if storage is not None:
            memory = memory_number(outside)
            if self._memories.setdefault(id(storage.origin or storage), memory) != memory:
                return False
        self._known[outside.number] = tensor
        self._numbers[id(tensor)] = outside.number
        return True

    def _same_gradient(self, gradient: Any) -> bool:
        leaf = self._tensor(gradient.leaf)
        if leaf is None or leaf._node.__class__ is not Leaf:
            return False
        node = leaf._node
        if node.hooks is not None or node.accumulated_hooks:
            return False
        present = leaf._grad
        if gradient.before is None:
            return present is None
        if not isinstance(present, Tensor) or present._node is not None:
            return False
        if gradient.before.__class__ is Slot:
            return self._is(gradient.before.number, present)
        return looks_like(gradient.before, present) and self._bind(gradient.before, present)

    def _tensor(self, number: int) -> Any:
        """The tensor of that number, if it still exists."""
        known = self._known[number]
        return known.tensor() if known.__class__ is PendingArray else known

    # ------------------------------------------------------------------------------------------------ answers

    def _answer(self, call: Call, args: tuple[Any, ...], own: bool) -> Any:
        """The answer to a call, in general."""
        if call.kind is not Kind.PROMISED:
            return self._carried_out(call, args)
        at = self._here.depth - 1
        if own:
            self._args[at] = mapped(self._with_slots(call.args, args), self._own)
        if state.autocast is not None:
            self._casts[at] = state.autocast
        if call.op is SET_GRAD:
            self._set_grad(args[0], args[1])
        result = mapped(call.result, self._promise)
        for gradient in call.gradients:
            if gradient.after is not None:
                self._set_grad(self._tensor(gradient.leaf), self._promise(gradient.after))
        if call.op is UPDATE:
            self._finish("the optimizer's step")
        else:
            for number in call.writes:
                self._hide(number)
        return result

    def _with_slots(self, known: Any, filled: Any) -> Any:
        """*filled*, a call's arguments, with what a recording has in the places of tensors."""
        kind = known.__class__
        if kind is Source:
            return known
        if kind is Free:
            return filled
        if kind in (tuple, list):
            return kind([self._with_slots(one, other) for one, other in zip(known, filled)])
        if kind is dict:
            return {key: self._with_slots(one, filled[key]) for key, one in known.items()}
        return known

    def _own(self, leaf: Any) -> Any:
        """A generator that stands where this call is to draw from; the program's goes on behind it."""
        if leaf.__class__ is not Source:
            return leaf
        own = Generator(leaf.generator.device)
        own.move(*leaf.generator.drawn.advance(leaf.blocks))
        return own

    def _promise(self, leaf: Any) -> Any:
        if leaf.__class__ is Slot:
            return self._tensor(leaf.number)
        if leaf.__class__ is not Made:
            return leaf
        out: Tensor = object.__new__(Tensor)
        array = PendingArray(leaf.shape, leaf.strides, self, leaf.number)
        watched(array, out)
        self._promised.append(array)
        out._type = pending_type(leaf.kind)
        out._storage = out._grad = None
        view = leaf.view
        out._view = None if view is None else (InferenceView if view is InferenceView else ViewOf)(None, leaf.offset)
        out._node = None if leaf.name is None else PendingNode(out)
        self._known[leaf.number] = array
        return out

    def _set_grad(self, tensor: Tensor, value: Any) -> None:
        self._before.setdefault(id(tensor), (tensor, tensor._grad))
        tensor._grad = value

    def _hide(self, number: int) -> None:
        """Let whoever asks a tensor that has elements for them wait for what is pending."""
        tensor = self._tensor(number)
        if tensor is not None and tensor._array.__class__ is not PendingArray:
            array = self._arrays[number] = tensor._array
            watched(PendingArray(array.shape, array.strides, self, number), tensor)
            tensor._type = pending_type(tensor._type)

    def _carried_out(self, call: Call, args: tuple[Any, ...]) -> Any:
        """The result of a call that is not put off."""
        if call.kind is Kind.BARRIER:
            if self._whole and isinstance(call.op, Effect) and call.op.to_host:
                raise NotSupported(
                    f"compile: {call.op.name}() reads data, and the function is compiled with fullgraph=True",
                    notes={"line": call.line},
                    fix="read it outside of the function, or leave fullgraph out",
                )
            self._finish(f"{call.op.name} at {call.line}", self._here.depth - 1)
        result = call.op.call(*args)
        if call.kind is Kind.BARRIER:
            self._done = self._here.depth
        if not self._take(call.result, result):
            self.matching, self.differed = False, call.op.name
            self._finish(f"{self.differed} gave another result", self._here.depth - 1)
        return result

    def _take(self, known: Any, result: Any) -> bool:
        """Give the tensors of a call that was carried out their numbers; False if they differ from those recorded."""
        if known.__class__ is Made:
            node = getattr(result, "_node", None)
            same = (
                result.__class__ is Tensor
                and result._type is known.kind
                and result._array.shape == known.shape
                and result._array.strides == known.strides
                and (node is None) == (known.name is None)
                and id(result) not in self._numbers
            )
            if same:
                self._known[known.number] = result
                self._numbers[id(result)] = known.number
            return same
        if known.__class__ is Slot:
            return self._is(known.number, result)
        if known.__class__ in (tuple, list):
            alike = result.__class__ is known.__class__ and len(result) == len(known)
            return alike and all(map(self._take, known, result))
        return not isinstance(result, Tensor)

    # ------------------------------------------------------------------------------------------------ carrying out

    def _finish(self, why: str, end: int | None = None) -> None:
        """Carry out the pending calls, those before number *end*."""
        begin, end = self._done, self._here.depth if end is None else end
        self._show()
        recording = self._here.recording
        pending = (
            [] if recording is None else [call for call in recording.calls[begin:end] if call.kind is Kind.PROMISED]
        )
        if not pending or recording is None:
            self._done = max(begin, end)
            return
        rows, reason = 0, ""
        saved, none, grad, cast = state.modes, state.no_modes, state.grad_enabled, state.autocast
        state.modes = state.no_modes
        try:
            rows, reason = self._by_tape(recording, begin, end)
            if not rows:
                self._by_calls(recording, begin, end)
                if reason.startswith("a kernel failed"):
                    give_up(recording, begin, end, reason)
        except BaseException:
            self._broken, self.matching = True, False
            raise
        finally:
            self._done = end
            self._before.clear()
            self._promised.clear()
            state.grad_enabled, state.autocast = grad, cast
            state.modes, state.no_modes = saved, none
        self.ends.append(Stretch(begin, end, len(pending), rows, why, reason))

    def _show(self) -> None:
        """Give tensors that are to be written their arrays back."""
        for number, array in self._arrays.items():
            tensor = self._tensor(number)
            hidden = None if tensor is None else tensor._array
            if hidden.__class__ is PendingArray:
                hidden.array = array
                tensor._array, tensor._type = array, real_type(tensor._type)
        self._arrays.clear()

    def _by_tape(self, recording: Recording, begin: int, end: int) -> tuple[int, str]:
        """The number of rows of the tape that has carried the calls out; 0 and the reason if none has."""
        alive = tuple([array.number for array in self._promised if array.array is None and array.tensor() is not None])
        tape, reason = tape_for(recording, begin, end, alive)
        if tape is None:
            self.left_history = self.left_history or reason.startswith(LEFT_HISTORY)
            return 0, reason
        failed = tape.run(self)
        self.gains = self.gains or tape.gains
        return (0, failed) if failed else (tape.rows, "")

    def _by_calls(self, recording: Recording, begin: int, end: int) -> None:
        """Carry out the calls themselves, in their order; pending tensors become what these give."""
        kept = [tensor._grad for tensor, _ in self._before.values()]  # these are alive
        for tensor, before in self._before.values():
            tensor._grad = before
        made: dict[int, Any] = {}
        for at in range(begin, end):
            call = recording.calls[at]
            if call.kind is not Kind.PROMISED:
                continue
            state.grad_enabled, state.autocast = call.flags[0], self._casts.get(at)
            state.modes = state.no_modes = UNDER_INFERENCE if call.flags[1] else NO_MODES
            args = mapped(self._args.get(at, call.args), lambda leaf: self._operand(leaf, made))
            result = call.op.call(*args)
            self._become(call.result, result, made)
            for gradient in call.gradients:
                if gradient.after is not None:
                    leaf = self._operand(Slot(gradient.leaf), made)
                    leaf._grad = self._become(gradient.after, leaf._grad, made)
        del kept

    def _operand(self, leaf: Any, made: dict[int, Any]) -> Any:
        if leaf.__class__ is Slot or leaf.__class__ is Outside:
            number = leaf.number
            return made[number] if number in made else self._tensor(number)
        return leaf.generator if leaf.__class__ is Source else leaf

    def _become(self, known: Any, result: Any, made: dict[int, Any]) -> Any:
        """Make the pending tensors of a call what it gave; returns the tensor."""
        if known.__class__ is Made:
            array = self._known[known.number]
            tensor, given = array.tensor(), array.array  # of a tape that failed
            array.array = result._array
            if tensor is not None and (tensor._array is array or tensor._array is given):
                fulfil(tensor, result)
                result = tensor
            made[known.number] = result
            return result
        if known.__class__ in (tuple, list):
            for one, other in zip(known, result, strict=True):
                self._become(one, other, made)
        return result


def looser(known: Any, arg: Any, run: Run) -> Any:
    """*known*, what a recording has of an argument, with floats freed in which *arg* differs; `MISSING` if it differs
    in more.
    """
    kind = known.__class__
    if kind is Slot:
        return known if run._is(known.number, arg) else MISSING
    if kind is Outside:
        return known if isinstance(arg, Tensor) and looks_like(known, arg) else MISSING
    if kind is Source:
        return known if arg is known.generator else MISSING
    if kind is dict:
        if arg.__class__ is not dict or list(arg) != list(known):
            return MISSING
        values = looser([*known.values()], [*arg.values()], run)
        return MISSING if values is MISSING else dict(zip(known, values, strict=True))
    if kind in (tuple, list):
        if arg.__class__ is not kind or len(arg) != len(known):
            return MISSING
        inner = [looser(one, other, run) for one, other in zip(known, arg, strict=True)]
        return MISSING if any(one is MISSING for one in inner) else kind(inner)
    if equal(known, arg):
        return known
    return Free(float) if kind is float and arg.__class__ is float else MISSING


def looks_like(known: Outside, tensor: Tensor) -> bool:
    """Whether *tensor*, from outside, looks as recorded."""
    return (
        tensor.__class__ is known.cls
        and tensor._type is known.kind
        and tensor._array.shape == known.shape
        and tensor._array.strides == known.strides
        and history_of(tensor) == known.history
        and (None if tensor._view is None else tensor._view.__class__) is known.view
    )
