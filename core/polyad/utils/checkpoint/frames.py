"""A checkpointed call: what it saved, as empty holders, and how to fill them.

While the function runs the first time, `saved_tensors_hooks` put a `Holder` in the place of each saved tensor. When
backward asks the first of them for its tensor, the function is called again, its graph is thrown away, and what it
saves is put into the holders, by its number. A holder gives its tensor away: a second backward calls the function
again.

Invariants: holders are held by the nodes of the graph, the frame by its holders, and the frame holds holders weakly, so
all of it is freed with the graph. The arguments are the frame's only tensors; in a checkpoint within a checkpoint they
belong to the outer checkpoint. The second call has the same random numbers, grad mode, default device and those of
the modes that change results.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from ...autograd.saved import Packed, saved_tensors_hooks
from ...base.state import state, user_line
from ...errors import AutogradError, PolyadError, describe
from ...inspection.tracing import TraceLog
from ...random.generator import default_generator
from ...tensor import Tensor
from ...tensor.storage import next_event
from .settings import settings

__all__ = ["CheckpointError", "Frame", "random_state", "with_random_state"]


class CheckpointError(PolyadError, RuntimeError):
    """The second call of a checkpointed function did something else than the first."""


class _Stop(BaseException):
    """Everything is there; leaves the function. No Exception, so that the function's own handlers let it pass."""


class Holder:
    """The place of a saved tensor; empty but for the time between the second call and its use."""

    __slots__ = ("__weakref__", "frame", "tensor")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.tensor: Tensor | None = None

    def take(self) -> Tensor:
        """The tensor, computed again if it is not there."""
        if self.tensor is None:
            self.frame.fill()
        tensor, self.tensor = self.tensor, None
        if tensor is None:
            raise CheckpointError(
                "checkpoint: the second call did not save a tensor that backward needs",
                notes={"function": self.frame.name},
                fix="make the function do the same each time that it is called",
            )
        return tensor


class _Argument:
    """A tensor among the arguments: its memory and its place in the graph, kept apart."""

    __slots__ = ("alias", "node", "since")

    def __init__(self, tensor: Tensor) -> None:
        self.alias = tensor._alias(type(tensor))
        self.node = tensor._node
        self.since = next_event()

    def open(self) -> Tensor:
        storage = self.alias._storage
        if storage is not None and storage.written > self.since:
            op, line = storage.writer
            raise AutogradError(
                "checkpoint: an argument was changed in place after the call, which backward has to repeat",
                operands={"argument": self.alias},
                notes={"changed": f"by {op}" + (f" ({line})" if line else "")},
                fix="clone() it before changing it, or before it is passed",
            )
        opened = self.alias._alias(type(self.alias))
        opened._node = self.node
        return opened


class Frame:
    """One checkpointed call. See the module's docstring."""

    __slots__ = (
        "_again",
        "_args",
        "_autocast",
        "_check",
        "_complete",
        "_device",
        "_early_stop",
        "_function",
        "_holders",
        "_kwargs",
        "_log",
        "_modes",
        "_random",
        "_saved",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        again: AbstractContextManager[Any],
        *,
        preserve_random: bool,
        check: bool,
        debug: bool,
        early_stop: bool,
    ) -> None:
        self._function, self._again, self._check = function, again, check
        self._args = tuple([_detach_saved(value) for value in args])
        self._kwargs = {name: _detach_saved(value) for name, value in kwargs.items()}
        self._early_stop = early_stop if settings.early_stop is None else settings.early_stop
        self._random = random_state() if preserve_random else None
        self._device = (state.default_device, state.outer_devices)
        self._modes = tuple([mode for mode in state.modes if mode.alters])
        self._autocast = (state.autocast, state.autocast_cache)
        self._log = TraceLog() if (debug if settings.debug is None else settings.debug) else None
        self._holders: list[weakref.ref[Holder]] = []
        self._saved: list[tuple[Any, ...]] = []
        self._complete = False  # whether the first call has come to its end

    @property
    def name(self) -> str:
        """The function's name."""
        name = getattr(self._function, "__qualname__", None) or type(self._function).__qualname__
        return str(name).replace("<locals>.", "")

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Around the first call."""
        with ExitStack() as stack:
            if self._log is not None:
                stack.enter_context(self._log)
            stack.enter_context(saved_tensors_hooks(self._put_away, Holder.take))
            yield
        self._complete = True

    def _put_away(self, tensor: Tensor) -> Holder:
        holder = Holder(self)
        self._holders.append(weakref.ref(holder))
        if self._check:
            self._saved.append(_facts(tensor))
        return holder

    def fill(self) -> None:
        """Call the function again, and put what it saves into the holders."""
        count = 0
        wanted = len(self._holders)
        stop = _Stop()
        log = None if self._log is None else TraceLog()

        def put_back(tensor: Tensor) -> Tensor:
            nonlocal count
            if count == wanted:
                if self._early_stop:
                    raise stop
                if not self._complete:  # the first call has a backward pass within, and goes on to save more
                    return tensor
                raise self._differs(count, tensor, log)
            if self._check and self._saved[count] != _facts(tensor):
                raise self._differs(count, tensor, log)
            holder = self._holders[count]()
            if holder is not None:
                holder.tensor = tensor._alias()
            count += 1
            if count == wanted and self._early_stop:
                raise stop
            return tensor

        before = (state.default_device, state.outer_devices, state.modes, state.grad_enabled)
        casts = (state.autocast, state.autocast_cache)
        state.autocast, state.autocast_cache = self._autocast
        state.default_device, state.outer_devices = self._device
        state.modes, state.grad_enabled = self._modes, True
        try:
            with ExitStack() as stack:
                if self._random is not None:
                    stack.enter_context(with_random_state(self._random))
                args = [_opened(value) for value in self._args]
                kwargs = {name: _opened(value) for name, value in self._kwargs.items()}
                if log is not None:
                    stack.enter_context(log)
                stack.enter_context(saved_tensors_hooks(put_back, _identity))
                stack.enter_context(self._again)
                self._function(*args, **kwargs)
        except _Stop as raised:
            if raised is not stop:
                raise  # an outer checkpoint's, which is done
        finally:
            state.default_device, state.outer_devices, state.modes, state.grad_enabled = before
            state.autocast, state.autocast_cache = casts
            # It holds the frames it came through, and with them all that the function computed.
            stop.__traceback__ = None
        if count < wanted:
            raise self._differs(count, None, log)

    def _differs(self, number: int, tensor: Tensor | None, log: TraceLog | None) -> CheckpointError:
        """The error for saved tensor *number*, which is *tensor* in the second call, None if there is none."""
        notes = {"function": self.name}
        if self._saved and number < len(self._saved):
            dtype, shape, device = self._saved[number]
            notes["first"] = f"{dtype.name} {shape} on {device}"
        elif number >= len(self._holders):
            notes["first"] = "nothing more"
        notes["second"] = "nothing more" if tensor is None else describe(tensor)
        line = user_line()
        if tensor is not None and line:
            notes["at"] = line
        error = CheckpointError(
            f"checkpoint: the two calls differ from saved tensor {number + 1} on; the first saved {len(self._holders)}",
            notes=notes,
            fix="make the function do the same each time: no decision by a counter, a clock, a generator of its own or "
            "a global that changes; debug=True shows the ops of both calls",
        )
        if log is not None:
            error.add_note(f"ops of the first call:\n{self._log}\n\nops of the second call:\n{log}")
        return error


def _facts(tensor: Tensor) -> tuple[Any, ...]:
    type_ = tensor._type
    return type_.dtype, tuple(tensor._array.shape), type_.device


def _detach_saved(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    # Of nested checkpoints, the outer can compute this argument again.
    return Packed(value, state.saved_hooks[-1]) if state.saved_hooks else _Argument(value)


def _opened(value: Any) -> Any:
    return value.open() if isinstance(value, (Packed, _Argument)) else value


def _identity(tensor: Tensor) -> Tensor:
    return tensor


def random_state() -> Tensor:
    """The default generator's state, read unseen by modes."""
    modes, state.modes = state.modes, ()
    try:
        return default_generator.get_state()
    finally:
        state.modes = modes


@contextmanager
def with_random_state(random: Tensor) -> Iterator[None]:
    """Draw from *random* inside, and go on afterwards as if nothing had been drawn."""
    now = random_state()
    _set_random_state(random)
    try:
        yield
    finally:
        _set_random_state(now)


def _set_random_state(random: Tensor) -> None:
    modes, state.modes = state.modes, ()
    try:
        default_generator.set_state(random)
    finally:
        state.modes = modes
