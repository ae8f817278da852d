"""Values as lines in the terminal, and curves drawn with characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from .tracker import Tracker

__all__ = ["TerminalTracker", "drawn"]

BLOCKS = "▁▂▃▄▅▆▇█"


class TerminalTracker(Tracker):
    """Prints values as they come, and a curve of each when the run is over."""

    def __init__(self, console: Console | None = None, width: int = 60) -> None:
        self.console = console or Console()
        self.width = width
        self.values: dict[str, list[float]] = {}

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        for name, value in metrics.items():
            self.values.setdefault(name, []).append(float(value))
        self._line(f"step {step}  " + "  ".join(f"{name} {float(value):.4g}" for name, value in metrics.items()))

    def log_hyperparams(self, params: Mapping[str, Any], **unused: Any) -> None:
        if params:
            self._line("with " + ", ".join(f"{name}={value!r}" for name, value in params.items()))

    def log_text(self, key: str, text: str, step: int | None = None) -> None:
        self._line(f"step {step}  {key}: {text}")

    def finalize(self, status: str = "success") -> None:
        for name, values in self.values.items():
            if len(values) > 1:
                self._line(f"{name}  {drawn(values, self.width)}  {values[0]:.4g} -> {values[-1]:.4g}")
        self.values.clear()

    def _line(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, highlight=False, markup=False)


def drawn(values: Sequence[float], width: int = 60) -> str:
    """A curve as a line of blocks; where there are more values than places, a place has the mean of its values.

    >>> from polyad.trackers.terminal import drawn
    >>> drawn([0, 1, 2, 3])
    '▁▃▆█'
    """
    finite = [value for value in values if abs(value) < float("inf")]
    if not finite:
        return ""
    places = min(width, len(finite))
    parts = [finite[len(finite) * i // places : len(finite) * (i + 1) // places] for i in range(places)]
    means = [sum(part) / len(part) for part in parts]
    low, high = min(means), max(means)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((mean - low) * scale)] for mean in means)
