"""The times of one statement, and how times are written."""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import ArgumentError
from ...settings import get_num_threads, set_num_threads

__all__ = [
    "Measurement",
    "TaskSpec",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "trim_sigfig",
    "unit_to_english",
]

_UNITS = (("ns", 1e-9, "nanosecond"), ("us", 1e-6, "microsecond"), ("ms", 1e-3, "millisecond"), ("s", 1.0, "second"))
_SPREAD_TO_WARN_OF = 0.25


class TaskSpec(NamedTuple):
    """What was measured. *label* names the task, *sub_label* one of its cases, *description* one of its ways."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement where there is none."""
        if self.label is not None:
            return f"{self.label}: {self.sub_label}" if self.sub_label else self.label
        return self.stmt.strip() if "\n" not in self.stmt.strip() else "[several lines]"


@dataclass
class Measurement:
    """How long a statement took: *raw_times* are seconds of *number_per_run* runs each.

    >>> from polyad.utils.benchmark import Measurement, TaskSpec
    >>> m = Measurement(10, [0.0029, 0.003, 0.0031], TaskSpec("f(x)", "pass"))
    >>> round(m.median, 6), round(m.mean, 6)
    (0.0003, 0.0003)
    >>> m
    f(x)
      median 300 us, IQR 10 us (295 to 305)
      3 measurements of 10 runs each, 1 thread
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds of one run, for each measurement."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median of `times`."""
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return statistics.fmean(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The times below which a quarter and three quarters of all are."""
        if len(self.raw_times) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return low, high

    @property
    def iqr(self) -> float:
        """The distance of the quartiles."""
        low, high = self.quartiles
        return high - low

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something, by the spread of the times."""
        if len(self.raw_times) < 2 or not self.iqr:
            return 3
        # A median of n normal numbers is off by about 1.25 deviations over root n; IQR is 1.35 deviations.
        error = 1.25 * self.iqr / 1.35 / math.sqrt(len(self.raw_times))
        return max(1, min(5, math.floor(-math.log10(error / self.median)) + 1)) if self.median else 3

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ by more than a quarter of the median."""
        return bool(self.median) and self.iqr / self.median > _SPREAD_TO_WARN_OF

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the quartiles are closer than *threshold* of the median."""
        return bool(self.median) and self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """What was measured."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """Where, as it was given."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """How a table calls the case."""
        return self.task_spec.sub_label or self.task_spec.stmt.strip()

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec._fields:
            return getattr(self.task_spec, name)
        raise AttributeError(name)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """The times of equal tasks together, a measurement for each task."""
        found: dict[TaskSpec, list[Measurement]] = {}
        for one in measurements:
            found.setdefault(one.task_spec, []).append(one)
        return [
            Measurement(1, [time for one in group for time in one.times], spec) if len(group) > 1 else group[0]
            for spec, group in found.items()
        ]

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        low, high = self.quartiles
        lines = [self.title, *([self.task_spec.description] if self.task_spec.description else [])]
        if len(self.raw_times) > 1:
            span = f"({low / scale:.4g} to {high / scale:.4g})"
            lines.append(f"  median {self.median / scale:.4g} {unit}, IQR {self.iqr / scale:.4g} {unit} {span}")
        else:
            lines.append(f"  {self.median / scale:.4g} {unit}")
        threads = self.task_spec.num_threads
        runs = f"{self.number_per_run} run{'s' * (self.number_per_run != 1)} each"
        count = len(self.raw_times)
        lines.append(f"  {count} measurement{'s' * (count != 1)} of {runs}, {threads} thread{'s' * (threads != 1)}")
        if self.has_warnings:
            lines.append("  the times differ much: something else may be running")
        return "\n".join(lines)


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which *t* seconds are best written, and its seconds.

    >>> from polyad.utils.benchmark import select_unit
    >>> select_unit(0.02)
    ('ms', 0.001)
    """
    at = 0 if not t else max(0, min(3, math.floor((math.log10(t) + 9 + 1e-9) / 3)))
    unit, seconds, _ = _UNITS[at]
    return unit, seconds


def unit_to_english(u: str) -> str:
    """The name of a unit of `select_unit`.

    >>> from polyad.utils.benchmark import unit_to_english
    >>> unit_to_english("us")
    'microsecond'
    """
    return {short: name for short, _, name in _UNITS}[u]


def trim_sigfig(x: float, n: int) -> float:
    """*x* rounded to *n* digits that mean something.

    >>> from polyad.utils.benchmark import trim_sigfig
    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    if n < 1:
        raise ArgumentError(f"trim_sigfig: n is {n}", fix="pass a number of digits, 1 or more")
    return float(f"{x:.{n - 1}e}")


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The elements, each once, in the order of their first.

    >>> from polyad.utils.benchmark import ordered_unique
    >>> ordered_unique("banana")
    ['b', 'a', 'n']
    """
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Inside of ``with`` an op uses at most *n* threads on the cpu."""
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)
