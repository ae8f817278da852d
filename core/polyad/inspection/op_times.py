"""Where a program's time goes: `profile` times the ops of its thread, forward and backward, `emit_nvtx` names them for
NVIDIA's profilers; `record_function` labels.

Both are modes. What it shows is host time: on a device that works through a queue, an op's time is that of handing
it over, except for ops that wait (``item``). The ops inside an op are part of its time; a label's and a backward
pass's *self* time is what is left without the ops in them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter_ns
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from ..base.state import state, user_line, warn_user
from ..devices import registry
from ..dispatch.effects import Effect
from ..dispatch.modes import Mode
from ..dispatch.op import Op
from ..errors import ArgumentError, AutogradError, safe_repr
from ..files import replacing
from ..tensor import Tensor

__all__ = ["emit_nvtx", "profile", "record_function"]

F = TypeVar("F", bound=Callable[..., Any])


class Event(NamedTuple):
    """One call: name, start and length in nanoseconds, length without what it called, operands' shapes, user's line."""

    name: str
    start: int
    time: int
    self_time: int
    shapes: tuple[tuple[int, ...], ...]
    line: str


class Average:
    """All calls of one name, by PyTorch's names: times are in microseconds."""

    def __init__(self, key: str, events: Sequence[Event]) -> None:
        self.key = key
        self.count = len(events)
        self.cpu_time_total = sum(event.time for event in events) / 1e3
        self.self_cpu_time_total = sum(event.self_time for event in events) / 1e3
        self.input_shapes = events[0].shapes
        self.line = events[0].line

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count

    def __repr__(self) -> str:
        return f"<{self.key}: {self.count} calls, {self.cpu_time_total:.1f} us>"


_SORTS = ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count")


class Averages(list[Average]):
    """What ``key_averages`` gives: a list of `Average`, printed as a table."""

    def total_average(self) -> Average:
        """All calls together; its total is the sum of self times."""
        total = Average("Total", [Event("Total", 0, 0, 0, (), "")])
        total.count = sum(average.count for average in self)
        total.self_cpu_time_total = total.cpu_time_total = sum(average.self_cpu_time_total for average in self)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """The averages as text, the most expensive first.

        *sort_by* is "cpu_time_total", "self_cpu_time_total", "cpu_time" or "count"; the host's time stands for that of
        a device ("cuda_time_total"), with a warning. Raises ValueError for another.
        """
        key = sort_by or "self_cpu_time_total"
        for device in ("cuda", "device"):
            if (host := str(key).replace(f"{device}_time", "cpu_time")) != key:
                warn_user(f"table: {key} is not measured; sorted by {host}", UserWarning)
                key = host
        if key not in _SORTS:
            raise ArgumentError(f"table: sort_by is {safe_repr(sort_by)}", fix=f"pass one of {', '.join(_SORTS)}")
        whole = self.total_average().self_cpu_time_total or 1.0
        rows = [("Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "# of Calls")]
        for average in sorted(self, key=lambda average: getattr(average, key), reverse=True)[:row_limit]:
            rows.append(
                (
                    average.key,
                    f"{100 * average.self_cpu_time_total / whole:.1f}%",
                    _time(average.self_cpu_time_total),
                    _time(average.cpu_time_total),
                    _time(average.cpu_time),
                    str(average.count),
                )
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([lines[0], rule, *lines[1:], rule, f"Self CPU time total: {_time(whole)}"])

    def __str__(self) -> str:
        return self.table()


def _time(microseconds: float) -> str:
    for unit, factor in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= factor:
            return f"{microseconds / factor:.3f}{unit}"
    return f"{microseconds:.3f}us"


class _Watch(Mode):
    """What does something around each op of its thread, forward and backward, and around each label."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._entered = False

    def __enter__(self) -> Self:
        if self._entered:
            name = type(self).__name__
            raise AutogradError(f"{name}: it has been entered already", fix=f"make a new {name}(...) for each with")
        self._entered = True
        if self.enabled:
            super().__enter__()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.enabled:
            super().__exit__(exception_type, exception, traceback)

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Watch the call; in a backward pass and other effects, also the ops inside it."""
        with self.around(op.name, args):
            if isinstance(op, Effect) and op.body is not None and not op.updates and not state.modes:
                state.modes = (self,)
                try:
                    return op.body(*args)
                finally:
                    state.modes = state.no_modes
            return op.call(*args)

    def around(self, name: str, args: tuple[Any, ...] = ()) -> AbstractContextManager[None]:
        """A context around what is called *name*."""
        raise NotImplementedError


def is_watched() -> bool:
    """Whether a profiler watches this thread; libraries know it as ``polyad.autograd._profiler_enabled``."""
    return any(isinstance(mode, _Watch) for mode in state.modes)


class emit_nvtx(_Watch):
    """Show the ops that run inside, and labels, as ranges to NVIDIA's profilers; see `polyad.cuda.nvtx`.

    With *record_shapes* a range's name says its operands' shapes, too. Start the program with ``nsys profile``. Raises
    RuntimeError where device type "cuda" is not installed.

    >>> import polyad
    >>> with polyad.autograd.profiler.emit_nvtx(enabled=polyad.cuda.is_available()):
    ...     x = polyad.ones(2) + 1
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        super().__init__(enabled)
        self.record_shapes = record_shapes
        self._markers = registry.get("cuda").markers() if enabled else None

    @contextmanager
    def around(self, name: str, args: tuple[Any, ...] = ()) -> Iterator[None]:
        """A range around what is called *name*."""
        markers = self._markers
        assert markers is not None
        shapes = list(map(list, _shapes_text(args))) if self.record_shapes else []
        markers.push(f"{name}, sizes = {shapes}" if shapes else name)
        try:
            yield
        finally:
            markers.pop()


class profile(_Watch):
    """Time the ops that run inside, forward and backward.

    Args:
        enabled: whether to do so at all.
        record_shapes: keep the operands' shapes, for ``key_averages(group_by_input_shape=True)``.
        with_stack: keep the user's line of each call.

    PyTorch's other options are understood and have no effect. Each op costs some microseconds more.

    >>> import polyad
    >>> x = polyad.ones(64, 64, requires_grad=True)
    >>> with polyad.autograd.profiler.profile() as profiled:
    ...     x.exp().sum().backward()
    >>> averages = {average.key: average.count for average in profiled.key_averages()}
    >>> averages["backward"], averages["exp"]
    (1, 1)
    >>> print(profiled.key_averages().table(row_limit=3).splitlines()[0])
    Name      Self CPU %  Self CPU  CPU total  CPU time avg  # of Calls
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
    ) -> None:
        super().__init__(enabled)
        self.record_shapes, self.with_stack = record_shapes, with_stack
        self.function_events: list[Event] = []
        self._children = [0]

    def around(self, name: str, args: tuple[Any, ...] = ()) -> AbstractContextManager[None]:
        """A context that is timed as *name*."""
        return _Timed(self, name, args)

    def key_averages(self, group_by_input_shape: bool = False) -> Averages:
        """The calls by name, and by their operands' shapes if asked for."""
        groups: dict[Any, list[Event]] = {}
        for event in self.function_events:
            groups.setdefault((event.name, event.shapes if group_by_input_shape else None), []).append(event)
        return Averages(Average(name, events) for (name, _), events in groups.items())

    def total_average(self) -> Average:
        """All calls together."""
        return self.key_averages().total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """`key_averages` as text."""
        return self.key_averages().table(sort_by, row_limit)

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all calls, in microseconds."""
        return self.total_average().self_cpu_time_total

    def chrome_trace(self) -> str:
        """The calls in the form of chrome://tracing and Perfetto."""
        events = [
            {"name": event.name, "ph": "X", "ts": event.start / 1e3, "dur": event.time / 1e3, "pid": 0, "tid": 0}
            for event in self.function_events
        ]
        return json.dumps({"traceEvents": events})

    def export_chrome_trace(self, path: str) -> None:
        """Write the calls to a file that chrome://tracing and Perfetto show."""
        with replacing(path, "profile.export_chrome_trace") as file:
            file.write(self.chrome_trace().encode())

    def __iter__(self) -> Iterator[Event]:
        return iter(self.function_events)

    def __repr__(self) -> str:
        return self.table() if self.function_events else "<profile: nothing ran>"

    __str__ = __repr__


class _Timed(AbstractContextManager[None]):
    __slots__ = ("_args", "_name", "_profile", "_start")

    def __init__(self, profile: profile, name: str, args: tuple[Any, ...]) -> None:
        self._profile, self._name, self._args = profile, name, args

    def __enter__(self) -> None:
        self._profile._children.append(0)
        self._start = perf_counter_ns()

    def __exit__(self, *error: object) -> None:
        taken = perf_counter_ns() - self._start
        owner = self._profile
        inside = owner._children.pop()
        owner._children[-1] += taken
        shapes = tuple(_shapes_text(self._args)) if owner.record_shapes else ()
        line = user_line() if owner.with_stack else ""
        owner.function_events.append(Event(self._name, self._start, taken, taken - inside, shapes, line))


def _shapes_text(args: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    for arg in args:
        if isinstance(arg, Tensor):
            yield tuple(arg.shape)
        elif isinstance(arg, (list, tuple)):
            yield from _shapes_text(arg)


class record_function:
    """Show a stretch of a program under *name* in profiles and to NVIDIA's profilers; a context manager or a decorator.

    >>> import polyad
    >>> with polyad.autograd.profiler.profile() as profiled:
    ...     with polyad.autograd.profiler.record_function("start"):
    ...         _ = polyad.ones(2) + 1
    >>> [event.name for event in profiled]
    ['full', 'add', 'start']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[list[AbstractContextManager[None]]] = []

    def __enter__(self) -> record_function:
        watching = [mode.around(self.name) for mode in state.modes if isinstance(mode, _Watch)]
        for context in watching:
            context.__enter__()
        self._open.append(watching)
        return self

    def __exit__(self, *error: object) -> None:
        for context in reversed(self._open.pop()):
            context.__exit__(None, None, None)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]
