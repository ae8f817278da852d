"""The learning curve as a picture, where matplotlib is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from polyad.files import replacing

__all__ = ["can_draw", "draw_curve"]


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw_curve(history: list[dict[str, float]], title: str, path: Path) -> None:
    """Write a PNG of loss and accuracy over the epochs."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    epochs = [entry["epoch"] for entry in history]
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    left.plot(epochs, [entry["loss"] for entry in history], marker="o", color="tab:red")
    left.set(xlabel="epoch", ylabel="training loss", ylim=(0, None))
    for name, label, colour in (("train", "training", "tab:blue"), ("held_out", "held out", "tab:green")):
        right.plot(epochs, [entry[name] for entry in history], marker="o", label=label, color=colour)
    right.set(xlabel="epoch", ylabel="accuracy")
    right.legend(loc="lower right")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.suptitle(title)
    with replacing(path, "polyad demo") as stream:
        figure.savefig(stream, format="png", dpi=120)
