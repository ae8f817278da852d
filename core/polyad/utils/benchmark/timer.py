"""`Timer`: how long a statement takes, with devices waited for."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from enum import Enum
from typing import Any

from ... import accelerator
from ...errors import ArgumentError, NotSupported
from .measurement import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]


class Language(Enum):
    """In what a statement is written."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Seconds on a clock, once the accelerator, if there is one, has done all that it was given."""
    if accelerator.is_available():
        accelerator.synchronize()
    return timeit.default_timer()


class Timer:
    """Times a statement of Python as `timeit.Timer` does, on one thread if not told otherwise, and waits for devices.

    Args:
        stmt, setup: what is timed, and what runs before.
        global_setup: of C++, which is refused.
        timer: the clock.
        globals: the names that the statement finds.
        label, sub_label, description, env: what `Compare` calls it.
        num_threads: what ops may use.
        language: Python alone.

    Raises:
        NotImplementedError: for C++.

    >>> import polyad
    >>> from polyad.utils.benchmark import Timer
    >>> m = Timer("x + 1", globals={"x": polyad.ones(4)}).timeit(10)
    >>> m.number_per_run, m.mean > 0
    (10, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if language not in (Language.PYTHON, "py", "python"):
            raise NotSupported(f"Timer: statements in {language} are not compiled", fix="write the statement in Python")
        if not isinstance(stmt, str):
            raise ArgumentError("Timer: stmt is no string", operands={"stmt": stmt}, fix='pass a string such as "f(x)"')
        self._globals = dict(globals or {})
        self._task_spec = TaskSpec(
            _dedented(stmt), _dedented(setup), global_setup, label, sub_label, description, env, num_threads
        )
        self._clock = timer
        self._timer = timeit.Timer(self._task_spec.stmt, self._task_spec.setup, timer, self._globals)

    def _seconds(self, number: int) -> float:
        with set_torch_threads(self._task_spec.num_threads):
            return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of *number* runs, after a few that do not count."""
        self._seconds(max(number // 100, 2))
        return Measurement(number, [self._seconds(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raises NotImplementedError, as in PyTorch: use `blocked_autorange`."""
        raise NotSupported("Timer.repeat: the times would not show their spread", fix="use blocked_autorange()")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> None:
        """Raises NotImplementedError, as in PyTorch: use `blocked_autorange`."""
        raise NotSupported("Timer.autorange: the times would not show their spread", fix="use blocked_autorange()")

    def _block(self, seconds: float) -> int:
        """So many runs that looking at the clock does not matter, and that several blocks fit into *seconds*."""
        overhead = min(self._clock_alone() for _ in range(5))
        number = 1
        while True:
            taken = self._seconds(number)
            if overhead / taken <= 1e-4 or taken >= seconds / 10 or number >= 10**9:
                return number
            number *= 10

    def _clock_alone(self) -> float:
        return max(timeit.Timer("pass", timer=self._clock).timeit(1), 1e-9)

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Measurements of equal blocks of runs, until they took *min_run_time* seconds."""
        number = self._block(min_run_time)
        return self._collect(number, min_run_time, float("inf"), lambda measured: True, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Measurements until the quartiles are closer than *threshold* of the median, or *max_run_time* is over."""
        number = self._block(min_run_time)
        return self._collect(
            number,
            min_run_time,
            max_run_time,
            lambda measured: len(measured.raw_times) > 3 and measured.meets_confidence(threshold),
            callback,
        )

    def _collect(
        self,
        number: int,
        least: float,
        most: float,
        enough: Callable[[Measurement], bool],
        callback: Callable[[int, float], Any] | None,
    ) -> Measurement:
        measured = Measurement(number, [], self._task_spec)
        total = 0.0
        while total < most and (total < least or not enough(measured)):
            taken = self._seconds(number)
            if callback is not None:
                callback(number, taken)
            measured.raw_times.append(taken)
            total += taken
        return measured

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> None:
        """Raises NotImplementedError: instructions are not counted."""
        raise NotSupported("Timer.collect_callgrind: instructions are not counted", fix="use blocked_autorange()")


def _dedented(text: str) -> str:
    import textwrap

    return textwrap.dedent(text).strip()
