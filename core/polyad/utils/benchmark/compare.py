"""`Compare`: measurements as a table."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from enum import Enum

from .measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]


class Colorize(Enum):
    """What the colours of a table say: nothing, which column is best, or which row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table for each label: a row for each sub-label and number of threads, a column for each description.

    >>> from polyad.utils.benchmark import Compare, Measurement, TaskSpec
    >>> def took(sub_label, description, seconds):
    ...     return Measurement(1, [seconds], TaskSpec("f(x)", "", "", "f", sub_label, description))
    >>> print(Compare([took("small", "old", 3e-6), took("small", "new", 1e-6), took("large", "old", 5e-4)]))
    [------ f -------]
              old  new
    1 thread
      small     3    1
      large   500
    Times are medians in microseconds (us).
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show no more digits than mean something."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Mark the best time of each column, or of each row, by a colour."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times that differ much from run to run."""
        self._highlight_warnings = True

    def print(self) -> None:
        """Print the tables."""
        sys.stdout.write(str(self) + "\n")

    def __str__(self) -> str:
        results = Measurement.merge(self._results)
        labels = ordered_unique(one.task_spec.label or one.task_spec.stmt for one in results)
        return "\n\n".join(
            self._table(label, [one for one in results if (one.task_spec.label or one.task_spec.stmt) == label])
            for label in labels
        )

    def _table(self, label: str, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(one.median for one in results))
        columns = ordered_unique(one.task_spec.description or "" for one in results)
        rows: list[tuple[str, list[str]]] = [("", columns)]
        for threads in ordered_unique(sorted(one.task_spec.num_threads for one in results)):
            at_once = [one for one in results if one.task_spec.num_threads == threads]
            rows.append((f"{threads} thread{'s' * (threads != 1)}", []))
            for env, name in ordered_unique((one.task_spec.env, one.as_row_name) for one in at_once):
                cells = {
                    one.task_spec.description or "": one
                    for one in at_once
                    if (one.task_spec.env, one.as_row_name) == (env, name)
                }
                shown = [self._cell(cells.get(column), scale, results, list(cells.values())) for column in columns]
                rows.append((f"  {name}{f' ({env})' if env else ''}", shown))
        first = max(len(name) for name, _ in rows)
        widths = [max(_length(cells[at]) for _, cells in rows if cells) for at in range(len(columns))]
        lines = [
            name.ljust(first)
            + "".join("  " + " " * (width - _length(cell)) + cell for cell, width in zip(cells, widths))
            for name, cells in rows
        ]
        head = f"[{f' {label} '.center(max(map(_length, lines)) - 2, '-')}]"
        marks = ["(!) times that differ much from run to run."] if self._highlight_warnings else []
        foot = f"Times are medians in {unit_to_english(unit)}s ({unit})."
        return "\n".join([head, *(line.rstrip() for line in lines), foot, *marks])

    def _cell(self, one: Measurement | None, scale: float, table: list[Measurement], row: list[Measurement]) -> str:
        if one is None:
            return ""
        value = one.median / scale
        text = f"{trim_sigfig(value, one.significant_figures) if self._trim else value:,.4g}"
        if self._highlight_warnings and one.has_warnings:
            text = f"(!) {text}"
        among = row if self._colorize is Colorize.ROWWISE else []
        if self._colorize is Colorize.COLUMNWISE:
            among = [other for other in table if other.task_spec.description == one.task_spec.description]
        return f"\x1b[32m{text}\x1b[0m" if among and one.median == min(each.median for each in among) else text


def _length(text: str) -> int:
    """How wide it is on a screen."""
    return len(re.sub(r"\x1b\[\d+m", "", text))
