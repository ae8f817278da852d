"""What a tracker can be given. A tracker keeps what it has a place for; the rest of the methods do nothing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from polyad.errors import ArgumentError

__all__ = ["GROUP", "Tracker", "available", "open_tracker"]

GROUP = "polyad.trackers"


class Tracker:
    """Derive from it, override what there is a place for, and register the class in the entry-point group GROUP.

    >>> from polyad.trackers import Tracker
    >>> class Kept(Tracker):
    ...     def __init__(self):
    ...         self.rows = []
    ...     def log_metrics(self, metrics, step=None):
    ...         self.rows.append((step, dict(metrics)))
    """

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Numbers by name."""

    def log_hyperparams(self, params: Mapping[str, Any], **unused: Any) -> None:
        """The arguments of a run."""

    def log_image(self, key: str, image: Any, step: int | None = None) -> None:
        """A picture (C, H, W), from 0 to 1, or bytes from 0 to 255."""

    def log_histogram(self, key: str, values: Any, step: int | None = None) -> None:
        """How the elements of a tensor are distributed."""

    def log_text(self, key: str, text: str, step: int | None = None) -> None:
        """Text."""

    def log_artifact(self, path: Any, name: str | None = None) -> None:
        """A file."""

    def log_graph(self, model: Any, inputs: Any = None) -> None:
        """What a model consists of."""

    def save(self) -> None:
        """Write what is held back."""

    def finalize(self, status: str = "success") -> None:
        """The run is over."""


def available() -> list[str]:
    """The names that `open_tracker` takes, of installed packages too."""
    return sorted({"csv", "terminal", *(point.name for point in entry_points(group=GROUP))})


def open_tracker(name: str, *arguments: Any, **options: Any) -> Tracker:
    """The tracker of that name, made with the arguments.

    What cannot be loaded, or cannot be made because a server is away, is told of in a warning, and a tracker that
    keeps nothing is given: a run does not end because nobody writes it down.

    Raises:
        ValueError: nobody knows the name.

    >>> from polyad.trackers import open_tracker
    >>> type(open_tracker("terminal")).__name__
    'TerminalTracker'
    """
    from .files import CSVTracker
    from .terminal import TerminalTracker

    own: dict[str, Any] = {"csv": CSVTracker, "terminal": TerminalTracker}
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in own and name not in points:
        raise ArgumentError(
            f"open_tracker: no tracker is called {name!r}",
            notes={"there are": ", ".join(available())},
            fix="install the package that brings it",
        )
    try:
        make = own[name] if name in own else points[name].load()
        return make(*arguments, **options)
    except Exception as error:
        warnings.warn(
            f"the tracker {name!r} cannot be used, nothing is written to it: {type(error).__name__}: {error}",
            stacklevel=2,
        )
        return Tracker()
