"""Where the time of chosen steps goes: PyTorch's ``torch.profiler``, over `polyad.autograd.profiler`.

Times are the host's: on a device that works through a queue, an op's time is that of handing it over. What the device
does meanwhile is shown by its vendor's profiler, see `polyad.cuda.nvtx`.
"""

from __future__ import annotations

import functools
import gzip
import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum
from types import TracebackType
from typing import Any, Self

from ..base.state import warn_user
from ..errors import AutogradError, ConditionError, wrong_type
from ..files import replacing
from . import op_times as _ops
from .op_times import Averages, Event, record_function as record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What can be looked at."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What is done during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def kineto_available() -> bool:
    """True: `profile` records, though not by the library of that name, which PyTorch's needs.

    >>> import polyad
    >>> polyad.profiler.kineto_available()
    True
    """
    return True


def supported_activities() -> set[ProfilerActivity]:
    """What `profile` looks at: the host alone.

    >>> import polyad
    >>> polyad.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What `profile` does in which step: after *skip_first* steps it waits, warms up and records, and begins anew.

    Args:
        wait, warmup, active: steps of each; only the active ones are recorded.
        repeat: how often; 0 is without end.
        skip_first_wait: anything but 0 leaves the first wait out.

    Raises AssertionError for numbers below 0, and for no active step.

    >>> import polyad
    >>> plan = polyad.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ConditionError(
            f"schedule: wait={wait}, warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first}",
            fix="give numbers of 0 or more, and an active of 1 or more",
        )
    length = wait + warmup + active

    def planned(step: int) -> ProfilerAction:
        if step < 0:
            raise ConditionError(f"schedule: step {step} is negative", fix="count from 0")
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        place = step % length
        if place < wait or (repeat and step >= repeat * length):
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return planned


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """An *on_trace_ready* that writes what was recorded to a file in *dir_name*, as TensorBoard's plug-in wants it.

    *use_python_export* has no effect.
    """

    def write(profiled: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        profiled.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile:
    """Time the ops of the steps that *schedule* chooses, all without one; ``step()`` ends a step.

    Args:
        activities: what to look at; ops are timed on the host, whatever else is named.
        schedule: gives the `ProfilerAction` of a step's number, see `schedule`.
        on_trace_ready: called with the profile where a recording ends.
        record_shapes, with_stack: as in `polyad.autograd.profiler.profile`.

    PyTorch's other options are understood and have no effect.

    >>> import polyad
    >>> from polyad.profiler import ProfilerActivity, profile, record_function
    >>> with profile(activities=[ProfilerActivity.CPU]) as profiled, record_function("double"):
    ...     x = polyad.ones(3) * 2
    >>> {average.key: average.count for average in profiled.key_averages()}["mul"]
    1
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
    ) -> None:
        for activity in activities or ():
            if not isinstance(activity, ProfilerActivity):
                raise wrong_type("profile", "activities", activity, "a list of polyad.profiler.ProfilerActivity")
            if activity is not ProfilerActivity.CPU:
                warn_user(
                    f"profile: {activity.name}: times are the host's; a vendor's profiler shows a device's own",
                    UserWarning,
                )
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self._new = functools.partial(_ops.profile, record_shapes=record_shapes, with_stack=with_stack)
        self._labels = schedule is not None
        self._label: record_function | None = None
        self._recorded: _ops.profile | None = None
        self._recording = False
        self.step_num = 0
        self.current_action = self.schedule(0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the present step."""
        if self.current_action in _RECORDING:
            self._begin()
        self._named_step(begins=True)

    def stop(self) -> None:
        """End the present step, and what is recorded."""
        self._named_step(begins=False)
        if self._recording:
            self._end()

    def step(self) -> None:
        """End a step, and begin the next."""
        following = self.schedule(self.step_num + 1)
        self._named_step(begins=False)
        done, self.step_num, self.current_action = self.current_action, self.step_num + 1, following
        if self._recording and (done is ProfilerAction.RECORD_AND_SAVE or following not in _RECORDING):
            self._end()
        if following in _RECORDING and not self._recording:
            self._begin()
        self._named_step(begins=True)

    def _named_step(self, begins: bool) -> None:
        if not self._labels:
            return
        if begins:
            self._label = record_function(f"ProfilerStep#{self.step_num}")
            self._label.__enter__()
        elif self._label is not None:
            self._label.__exit__()
            self._label = None

    def _begin(self) -> None:
        self._recorded = self._new()
        self._recorded.__enter__()
        self._recording = True

    def _end(self) -> None:
        assert self._recorded is not None
        self._recorded.__exit__(None, None, None)
        self._recording = False
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _last(self) -> _ops.profile:
        if self._recorded is None:
            raise AutogradError(
                f"profile: nothing was recorded in {self.step_num + 1} steps",
                fix="call step() at the end of each, and give a schedule with fewer steps before the active ones",
            )
        return self._recorded

    def events(self) -> list[Event]:
        """The calls that were recorded last. Raises RuntimeError if nothing was."""
        return self._last().function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> Averages:
        """What was recorded last, by name, and by the operands' shapes if asked for. *group_by_stack_n* has no effect.

        Raises RuntimeError if nothing was.
        """
        return self._last().key_averages(group_by_input_shape)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write what was recorded last to a file that chrome://tracing and Perfetto show, packed if it ends in ".gz".

        Raises RuntimeError if nothing was recorded.
        """
        text = self._last().chrome_trace().encode()
        with replacing(path, "profile.export_chrome_trace") as file:
            file.write(gzip.compress(text) if str(path).endswith(".gz") else text)
