"""What the demo shows: a header, a row for each epoch, a progress bar, and pictures drawn with characters.

In a terminal there are colours and a moving bar; into a file or a pipe goes plain text without control characters,
the same rows. A picture is drawn with two pixels a character, upper and lower: in grey half blocks where the terminal
has colours, else in five shades of ink.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.style import Style
from rich.text import Text

__all__ = ["Screen", "picture"]

Pixels = Sequence[Sequence[float]]
INK = " ░▒▓█"
ASCII_INK = " .:+#"


class Screen:
    """Writes the demo's output to a rich console."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, text: str = "", style: str = "") -> None:
        """One line of text, never broken: a terminal breaks long ones, a file keeps them."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def fact(self, name: str, text: str, style: str = "") -> None:
        """A line with a name in front, as the header and the last lines have it."""
        self.console.print(Text.assemble((f"{name:<11}", "dim"), (text, style)), soft_wrap=True)

    def epoch_header(self) -> None:
        """The names of the columns that `epoch_row` fills."""
        self.line()
        self.line(f"{'epoch':>5}  {'loss':>7}  {'train acc':>9}  {'held-out acc':>12}  {'seconds':>7}", "bold")

    def epoch_row(self, entry: dict[str, float], is_best: bool) -> None:
        """One finished epoch."""
        row = Text(f"{entry['epoch']:>5}  {entry['loss']:>7.4f}  {entry['train']:>9.4f}  ")
        row.append(f"{entry['held_out']:>12.4f}", "bold green" if is_best else "")
        row.append(f"  {entry['seconds']:>7.1f}")
        self.console.print(row, soft_wrap=True)

    @contextlib.contextmanager
    def progress(self, epoch: int, epochs: int, batches: int) -> Iterator[Callable[[], None]]:
        """A bar below the rows while an epoch runs; gives the function to call after each batch."""
        bar = Progress(
            TextColumn(f"epoch {epoch}/{epochs}"),
            BarColumn(bar_width=40),
            MofNCompleteColumn(),
            TextColumn("batches"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        with bar:
            task = bar.add_task("", total=batches)
            yield lambda: bar.advance(task)

    def gallery(self, pictures: Sequence[tuple[Pixels, str]]) -> None:
        """Pictures with a caption each, side by side as far as the width goes, in at most two rows."""
        colours = self.console.color_system in ("truecolor", "256", "windows") and not self.console.no_color
        ink = INK if self.console.encoding.lower().startswith("utf") else ASCII_INK
        drawn = [picture(pixels, colours, ink) for pixels, _ in pictures]
        gap = 3
        width = max((len(rows[0]) for rows in drawn), default=0)
        width = max(width, *(len(caption) for _, caption in pictures))
        fitting = max(1, (self.console.width + gap) // (width + gap))
        for start in range(0, min(len(pictures), 2 * fitting), fitting):
            row = slice(start, start + fitting)
            if start:
                self.line()
            for parts in zip(*drawn[row], strict=True):
                self._side_by_side(parts, width, gap)
            self._side_by_side([Text(caption) for _, caption in pictures[row]], width, gap)

    def _side_by_side(self, parts: Sequence[Text], width: int, gap: int) -> None:
        line = Text()
        for part in parts:
            line.append_text(part)
            line.append(" " * (width - len(part) + gap))
        line.rstrip()
        self.console.print(line, soft_wrap=True)


def picture(pixels: Pixels, colours: bool, ink: str = INK) -> list[Text]:
    """A grey picture as lines of text; small ones are doubled in size.

    Args:
        pixels: rows of values from 0 (paper) to 1 (ink).
        colours: draw half blocks in greys; else characters of *ink*, from paper to full.

    >>> [line.plain for line in picture([[0.0, 1.0]] * 16, colours=False, ink=" .:+#")][0]
    ' #'
    """
    rows = [list(row) for row in pixels]
    if len(rows) < 16:
        rows = [[value for value in row for _ in range(2)] for row in rows for _ in range(2)]
    lines = []
    for upper, lower in zip(rows[::2], rows[1::2], strict=False):
        line = Text()
        for top, bottom in zip(upper, lower, strict=True):
            if colours:
                line.append("▀", Style(color=_grey(top), bgcolor=_grey(bottom)))
            else:
                line.append(ink[min(round((top + bottom) / 2 * (len(ink) - 1)), len(ink) - 1)])
        lines.append(line)
    return lines


def _grey(value: float) -> str:
    level = 24 + round(min(max(value, 0.0), 1.0) * 231)
    return f"rgb({level},{level},{level})"
