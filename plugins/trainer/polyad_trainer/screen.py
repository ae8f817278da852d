"""The progress bar: batches, values, and the share of the time that went by waiting for data."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["Bar", "Waiting"]

INTERVAL = 0.1


class Waiting:
    """Measures which share of the time is spent in waiting for data."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()
        self.waited = 0.0

    def over(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items; how long each was waited for is noted."""
        iterator = iter(items)
        while True:
            begun = time.perf_counter()
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self.waited += time.perf_counter() - begun
            yield item

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.waited / max(time.perf_counter() - self.begun, 1e-9)


class Bar:
    """A bar below what is printed while an epoch runs in a terminal, and a line when it is over; off, neither."""

    def __init__(self, enabled: bool, console: Console | None = None) -> None:
        self.enabled = enabled
        self.console = console or Console()
        self._bar: Progress | None = None
        self._next = 0.0
        self._done = 0

    def begin(self, title: str, total: int | None, done: int = 0) -> None:
        """An epoch begins."""
        self._done = done
        if self.enabled and self.console.is_terminal:
            self._bar = Progress(
                TextColumn(title),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[values]}"),
                console=self.console,
                transient=True,
                auto_refresh=False,
            )
            self._bar.start()
            self._bar.add_task("", total=total, completed=done, values="")

    def batch(self, trainer: Any, waiting: Waiting) -> None:
        """A batch is done; what is shown is renewed ten times a second."""
        self._done += 1
        if self._bar is None:
            return
        now = time.perf_counter()
        if now < self._next:
            return
        self._next = now + INTERVAL
        text = _text({**trainer.training_results.shown(), **trainer.learning_rates})
        task = self._bar.task_ids[0]
        self._bar.update(task, completed=self._done, values=f"{text}  data {waiting.share:.0%}".strip())
        self._bar.refresh()

    def end(self) -> None:
        """The epoch is over, or was left."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def line(self, title: str, values: dict[str, float], waiting: Waiting | None = None) -> None:
        """What an epoch came to."""
        if self.enabled:
            text = f"{title}  {_text(values)}"
            if waiting is not None:
                seconds = time.perf_counter() - waiting.begun
                text += f"  ({seconds:.1f} s, {waiting.share:.0%} waiting for data)"
            self.print(text)

    def print(self, *values: Any, **options: Any) -> None:
        """Print, above the bar."""
        self.console.print(*values, highlight=False, markup=False, soft_wrap=True, **options)


def _text(values: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in values.items())
