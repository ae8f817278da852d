"""A compiled function: what it has recorded, and what a call of it does."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..base.dtypes import on_default_change
from ..base.locks import Lock, RLock
from ..base.state import NO_MODES, UNDER_INFERENCE, state, warn_once
from ..devices.registry import on_forget
from ..errors import OptionError, safe_repr
from ..graph.structure import leaves_of
from ..tensor import Tensor
from .entry import CompiledForward
from .matching import Branches, Run
from .passes import watch
from .recording import Recorder, Unfit
from .records import Recording

MOST = 8
"""So many runs of a function are recorded for each kind of arguments, unless told otherwise."""

MOST_PROGRAMS = 64
"""For so many kinds of arguments."""

MOST_KNOWN = 32
"""So many runs of each kind are recorded in vain, while another way is looked for: they went a way that is known."""


class Program:
    """What is known of the runs of a function that begin alike.

    Attributes:
        branches: the calls that they make.
        recordings: those that differ.
        plain: why runs are not compared any more; empty while they are.
        last: the last run that was compared, for `polyad.compiler.explain`.
        differed: the calls at which runs differed, with how many runs did.
        wants: whether the next run is recorded.
        seeks: whether it is since a run went a way that is not known.
        known: how many runs were recorded that went a way that is known.
        tries: how many others were.
        awaited: how often a run was to be recorded since its backward pass was not.
    """

    def __init__(self) -> None:
        self.branches = Branches(0, None)
        self.recordings: list[Recording] = []
        self.plain = ""
        self.last: Run | None = None
        self.differed: Counter[str] = Counter()
        self.wants = True
        self.seeks = False
        self.known = self.awaited = 0
        self.tries = 0
        self.runs = 0
        self.gains = False


_regions: weakref.WeakSet[Region] = weakref.WeakSet()


class Region:
    """A function whose runs are recorded and compared.

    Args:
        whole: raise where it reads data.
        look: called with the graph of each recording, and the inputs.
        most: how many recordings are kept for each kind of arguments.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        whole: bool,
        look: Callable[..., Any] | None = None,
        most: int | None = None,
    ) -> None:
        self.function, self.whole, self.look = function, whole, look
        self.name: str = getattr(function, "__qualname__", type(function).__qualname__)
        self.most = MOST if most is None else most
        self.programs: dict[Any, Program] = {}
        _regions.add(self)
        self._lock = Lock()
        self._locks: list[Any] = []  # of runs that are over

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        if stance.name == "force_eager" or not may_begin():
            return self.function(*args, **kwargs)
        key = (state.grad_enabled, state.no_modes is UNDER_INFERENCE, _signature(args), _signature(kwargs))
        program = self.programs.get(key)
        if program is None:
            if stance.name == "eager_on_recompile":
                return self.function(*args, **kwargs)
            if len(self.programs) >= MOST_PROGRAMS:
                return self.function(*args, **kwargs)
            with self._lock:
                program = self.programs.setdefault(key, Program())
        if program.plain:
            return self.function(*args, **kwargs)
        if program.wants and not (program.recordings and stance.name in ("eager_on_recompile", "fail_on_recompile")):
            return self._record(program, args, kwargs)
        return self._compare(program, args, kwargs)

    def _record(self, program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recorder = Recorder(self.whole)
        program.tries += 1
        if self.look is not None:
            recorder.take_inputs(args, kwargs)
        try:
            with recorder:
                result = self.function(*args, **kwargs)
        except BaseException:
            if program.tries >= self.most:
                program.plain = "errors were raised"
            raise
        if self.look is not None and not recorder.unfit:
            self.look(recorder.graph_of(self.name, result), leaves_of((args, kwargs), Tensor))
        try:
            if not recorder.unfit:
                watch(recorder, result)
            recording = recorder.done()
        except Unfit as reason:
            if program.tries >= self.most or not program.recordings:
                program.plain = str(reason)
            return result
        with self._lock:
            replaced = program.branches.add(recording)
            program.recordings = [one for one in program.recordings if one is not replaced] + [recording]
            if replaced is not None:
                program.known += 1
                program.tries -= 1
            program.wants = program.seeks = program.seeks and replaced is not None and program.known < MOST_KNOWN
        return result

    def _compare(self, program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        lock = self._locks.pop() if self._locks else RLock()
        most = max(one.most for one in program.recordings)
        run = Run(program.branches, most, lock, self.whole, stance.name == "fail_on_recompile")
        try:
            with run:
                return self.function(*args, **kwargs)
        finally:
            run.close()
            self._locks.append(lock)
            program.last = run
            program.runs += 1
            program.gains = program.gains or run.gains
            self._learn(program, run)

    def _learn(self, program: Program, run: Run) -> None:
        if run.looser is not None:
            branches, place, args = run.looser
            with self._lock:
                branches.loosen(place, args)
                for recording in program.recordings:
                    recording.tapes.clear()
        elif run.differed:
            program.differed[run.differed] += 1
            if program.tries < self.most and program.known < MOST_KNOWN:
                program.wants = program.seeks = True
            elif program.tries >= self.most or 2 * program.differed.total() > program.runs:
                program.plain = f"runs differ: {', '.join(program.differed)}"
                warn_once(
                    "compile",
                    str(id(program)),
                    f"compile: {self.name} takes ever other ways, the last "
                    f"at {run.differed}; it runs op by op from now on",
                    UserWarning,
                )
        elif run.ended is not None and run.ended.unfolded >= MOST:
            program.plain = "backward passes differ from the one that was recorded"
        elif run.ended is not None and run.ended.waits(run.left_history):
            program.awaited += 1
            program.wants = run.ended.watched() is None and program.awaited < self.most
            if program.awaited >= self.most and len(program.recordings) > 1:
                run.ended.passable = False
            elif program.awaited >= self.most:
                program.plain = "no backward pass comes, or another each time"
        elif program.runs >= 2 and not program.gains:
            reasons = [stretch.reason for stretch in run.ends if stretch.reason]
            program.plain = reasons[0] if reasons else "no calls become one kernel, and no backward is in it"


def may_begin() -> bool:
    """Whether this thread's calls may be recorded and compared: nobody else sees them, or answers in their place."""
    return (state.modes is NO_MODES or state.modes is UNDER_INFERENCE) and not (
        state.function_modes or state.saved_hooks or state.inspect or state.capturing or state.backward
    )


def _signature(value: Any) -> Any:
    """What tells apart calls that likely differ: tensors by what they look like, other arguments by their class."""
    if isinstance(value, Tensor):
        return value._type, value._array.shape, value._node is not None
    if isinstance(value, (list, tuple)) and len(value) <= 16:
        return type(value), *map(_signature, value)
    if isinstance(value, dict) and len(value) <= 16:
        return tuple([(key if isinstance(key, str) else type(key), _signature(item)) for key, item in value.items()])
    return value if value.__class__ in (bool, type(None), str) else value.__class__


def region_of(compiled: Any) -> Region | None:
    """The region behind a compiled function or module; None if it is none, or compiles nothing."""
    if isinstance(compiled, Region):
        return compiled
    own = getattr(compiled, "__dict__", {})
    if isinstance(own.get("forward"), CompiledForward):
        own = vars(own["forward"])
    found = own.get("_region")
    if found is None and hasattr(compiled, "__func__"):  # of a method
        found = getattr(compiled.__func__, "_region", None)
    return found if isinstance(found, Region) else None


def forget() -> None:
    """Forget all recordings."""
    for region in list(_regions):
        region.programs.clear()


class Stance:
    """How calls of compiled functions go on; see `polyad.compiler.set_stance`."""

    name = "default"


stance = Stance()
STANCES = ("default", "eager_on_recompile", "fail_on_recompile", "force_eager")


class enter_stance:
    """Take a stance; leaving it as a context manager goes back to the one before."""

    def __init__(self, name: str) -> None:
        if name not in STANCES:
            raise OptionError(
                f"set_stance: there is no stance {safe_repr(name)}", fix=f"use one of {', '.join(STANCES)}"
            )
        self._before, stance.name = stance.name, name

    def __enter__(self) -> None:
        return

    def __exit__(self, *error: Any) -> None:
        stance.name = self._before


# What a tape calls follows from plans, which are dropped then.
on_default_change(forget)
on_forget(forget)
