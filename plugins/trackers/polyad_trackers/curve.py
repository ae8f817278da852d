"""A picture of how a run went: with matplotlib where it is installed, else with characters."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from polyad.files import replacing

from .files import read_csv
from .terminal import drawn

__all__ = ["can_draw", "learning_curve"]

FEW = 50
"""Points of a curve of which each is marked."""

Curves = dict[str, list[tuple[float, float]]]


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def learning_curve(
    history: Any,
    path: Any = None,
    names: Iterable[str] | None = None,
    title: str = "",
    *,
    x: str = "step",
    panels: Mapping[str, Iterable[str]] | None = None,
) -> str:
    """Draw the values of a run over its steps.

    Args:
        history: a file of `CSVTracker`, or rows as `read_csv` gives them.
        path: where a PNG is written, where matplotlib is installed.
        names: which values; all if None.
        x: what they are drawn over: "step", or another name that rows have; the row's number where it has none.
        panels: the names of values that a panel of the picture shows, by what stands at its side; one panel if None.

    Returns:
        The same curves drawn with characters, a line each.

    Raises:
        OSError (FileTrouble): the picture cannot be written; a file that was there is as it was.

    >>> from polyad.trackers import learning_curve
    >>> learning_curve([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}])
    'loss  █▁  2 -> 1'
    """
    rows: list[Mapping[str, Any]] = list(history) if isinstance(history, list | tuple) else list(read_csv(history))
    parts = None if panels is None else {label: list(inner) for label, inner in panels.items()}
    if names is None and parts is not None:
        names = [name for inner in parts.values() for name in inner]
    wanted = None if names is None else set(names)
    curves: Curves = {}
    for number, row in enumerate(rows):
        for name, value in row.items():
            if name != x and (wanted is None or name in wanted):
                curves.setdefault(name, []).append((row.get(x, number), value))
    if path is not None and can_draw():
        shown = {"": list(curves)} if parts is None else parts
        _draw([(label, {n: curves[n] for n in inner if n in curves}) for label, inner in shown.items()], path, x, title)
    width = max((len(name) for name in curves), default=0)
    return "\n".join(
        f"{name:<{width}}  {drawn([v for _, v in points])}  {points[0][1]:.4g} -> {points[-1][1]:.4g}"
        for name, points in curves.items()
    )


def _draw(panels: list[tuple[str, Curves]], path: Any, x: str, title: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (label, curves) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        for name, points in curves.items():
            marker = "o" if len(points) <= FEW else None
            axes.plot([at for at, _ in points], [value for _, value in points], marker=marker, label=name)
        axes.set(xlabel=x, ylabel=label)
        if curves:
            axes.legend()
        axes.grid(alpha=0.3)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.suptitle(title)
    with replacing(Path(path), "learning_curve") as stream:
        figure.savefig(stream, format="png", dpi=120)
