"""A picture of how a run went: with matplotlib where it is installed, else with characters."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .files import read_csv
from .terminal import drawn

__all__ = ["learning_curve"]


def learning_curve(history: Any, path: Any = None, names: Iterable[str] | None = None, title: str = "") -> str:
    """Draw the values of a run over its steps.

    Args:
        history: a file of `CSVTracker`, or rows as `read_csv` gives them.
        path: where a PNG is written, where matplotlib is installed.
        names: which values; all if None.

    Returns:
        The same curves drawn with characters, a line each.

    >>> from polyad.trackers import learning_curve
    >>> learning_curve([{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}])
    'loss  █▁  2 -> 1'
    """
    rows: list[Mapping[str, Any]] = list(history) if isinstance(history, list | tuple) else list(read_csv(history))
    columns: dict[str, list[tuple[float, float]]] = {}
    for number, row in enumerate(rows):
        for name, value in row.items():
            if name != "step" and (names is None or name in set(names)):
                columns.setdefault(name, []).append((row.get("step", number), value))
    if path is not None and importlib.util.find_spec("matplotlib") is not None:
        _draw(columns, Path(path), title)
    width = max((len(name) for name in columns), default=0)
    return "\n".join(
        f"{name:<{width}}  {drawn([v for _, v in points])}  {points[0][1]:.4g} -> {points[-1][1]:.4g}"
        for name, points in columns.items()
    )


def _draw(columns: Mapping[str, list[tuple[float, float]]], path: Path, title: str) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, points in columns.items():
        axes.plot([x for x, _ in points], [y for _, y in points], label=name)
    axes.set(xlabel="step")
    if columns:
        axes.legend()
    axes.grid(alpha=0.3)
    figure.suptitle(title)
    figure.savefig(path, format="png", dpi=120)
