"""A stretch of a recorded run as one function: kernels called on arrays, without dispatch and without history.

The function is generated source (`polyad.compiler.writing`). A stretch has a tape only if that leaves what the calls
themselves would leave. So the history of what is still shown afterwards has been used up by backward passes inside of
the stretch; or the stretch is the whole run, and what it leaves has the history of `polyad.compiler.passes`.

Invariant: a tape that fails before it has written to memory from outside has changed nothing.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.gradients import BACKWARD, GRAD
from ..base.state import NO_MODES, UNDER_INFERENCE, state, warn_once
from ..history.node import spent_node
from ..tensor.pending import PendingArray
from .passes import Memory, Passage
from .records import Recording
from .writing import NoTape, PassWriter, Writer

if TYPE_CHECKING:
    from .matching import Run

MOST_TAPES = 16
"""So many tapes are kept for a recording; what is left over runs by its calls."""


def give_up(recording: Recording, begin: int, end: int, reason: str) -> None:
    """Have no tape for a stretch any more, since one failed where the calls themselves did not."""
    for key in list(recording.tapes):
        if key[:2] == (begin, end):
            recording.tapes[key] = reason


def tape_for(recording: Recording, begin: int, end: int, alive: tuple[int, ...]) -> tuple[Tape | None, str]:
    """The tape of the calls from *begin* to *end*, after which the tensors *alive* are shown; or why there is none."""
    key = begin, end, alive
    found = recording.tapes.get(key)
    if found is None:
        if len(recording.tapes) >= MOST_TAPES:
            return None, "the stretches of the run differ each time"
        try:
            found = Tape(recording, begin, end, alive)
        except NoTape as reason:
            found = str(reason)
        except Exception as error:  # the calls themselves are always right
            found = f"it could not be written: {type(error).__name__}: {error}"
            warn_once("tape", found, f"compile: a stretch of the program runs op by op: {found}", UserWarning)
        recording.tapes[key] = found
    return (None, found) if isinstance(found, str) else (found, "")


def _function(owner: Any, name: str, source: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function ``tape`` of a source, whose lines tracebacks show as long as *owner* exists."""
    name = f"{name}:{id(owner)}"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    weakref.finalize(owner, linecache.cache.pop, name, None)
    exec(compile(source, name, "exec"), scope)
    found: Callable[..., Any] = scope["tape"]
    return found


class Tape:
    """A stretch of a run.

    Attributes:
        source: the text of the function.
        rows: how many calls it makes.
        fused: how many ops share a kernel with others.
        gains: whether it leaves work out: ops on large tensors share kernels, or a backward pass needs no history.
        inputs: numbers of the tensors that it reads or writes and has not made.
        passage: the history of what it leaves, if it leaves some.
    """

    def __init__(self, recording: Recording, begin: int, end: int, alive: tuple[int, ...]) -> None:
        writer = Writer(recording, begin, end, alive)
        self.source, scope = writer.written()
        self.rows, self.fused = writer.rows, writer.fused
        self.gains = writer.gains or any(call.op in (BACKWARD, GRAD) for call in recording.calls[begin:end])
        self.inputs, self.inference = writer.inputs, writer.inference
        shown = [(made, recording.name_of(made, end)) for made in writer.live.values() if made.name is not None]
        self.passage: Passage | None = None
        if writer.passing is not None:
            after = PassWriter(writer)
            self.passage = Passage(recording, writer.passing, {made.number: name for made, name in shown})
            self.passage.function = _function(self.passage, "polyad-pass", *after.written())
            self.gains, shown = True, []
        self._histories = [(made.number, name, made.shape, made.kind) for made, name in shown]
        self._run = _function(self, "polyad-tape", self.source, scope)

    def run(self, run: Run) -> str:
        """Carry the calls out; says why if that cannot be done, and nothing has been changed then."""
        tensors = [run._tensor(number) for number in self.inputs]
        if any(tensor is None or tensor._array.__class__ is PendingArray for tensor in tensors):
            return "a tensor that it reads is gone"
        refused = self.passage.refuses(run) if self.passage is not None else ""
        if refused:
            return refused
        wrote: list[bool] = []
        state.grad_enabled, state.autocast = False, None
        state.modes = state.no_modes = UNDER_INFERENCE if self.inference else NO_MODES
        memory = None if self.passage is None else Memory(run, self.passage.recording)
        try:
            left = self._run(run, tensors, run._args, wrote)
        except Exception as error:
            if wrote:
                raise
            return f"a kernel failed: {type(error).__name__}: {error}"  # the calls themselves say what is wrong
        if self.passage is not None and memory is not None:
            self.passage.leave(run, memory, *left)
        for number, name, shape, type_ in self._histories:
            tensor = run._tensor(number)
            if tensor is not None:
                tensor._node = spent_node(name, shape, type_)
        return ""
