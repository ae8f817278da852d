"""What a tracker can be given. A tracker keeps what it has a place for, and never ends a run."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

from polyad.base import extras
from polyad.errors import ArgumentError

__all__ = ["GROUP", "Tracker", "available", "needed", "open_tracker"]

GROUP = "polyad.trackers"

OWN = {
    "csv": ("files", "CSVTracker"),
    "mlflow": ("mlflow", "MLflowTracker"),
    "tensorboard": ("tensorboard", "TensorBoardTracker"),
    "terminal": ("terminal", "TerminalTracker"),
    "trackio": ("trackio", "TrackioTracker"),
    "wandb": ("wandb", "WandbTracker"),
}
"""Which module of this package has which class; the module of a tool imports the tool when its class is called."""

CALLS = (
    "log_metrics", "log_hyperparams", "log_image", "log_histogram", "log_text", "log_artifact", "log_graph", "save",
    "finalize",
)  # fmt: skip


def _failing_once(method: Callable[..., None]) -> Callable[..., None]:
    """*method*, whose first exception is told of in a warning; from then on the tracker is given nothing."""

    @functools.wraps(method)
    def call(self: Tracker, *arguments: Any, **options: Any) -> None:
        if self.failed:
            return
        try:
            method(self, *arguments, **options)
        except Exception as error:
            self.failed = True
            warnings.warn(
                f"{type(self).__name__} failed, the run goes on without it: {type(error).__name__}: {error}",
                stacklevel=2,
            )

    return call


class Tracker:
    """Derive from it, override what there is a place for, and register the class in the entry-point group GROUP.

    An exception in one of the methods is told of once, as a warning, and the tracker is then left alone: a run does not
    end because nobody writes it down. What a tracker has no place for is told of once too.

    >>> from polyad.trackers import Tracker
    >>> class Kept(Tracker):
    ...     def __init__(self):
    ...         self.rows = []
    ...     def log_metrics(self, metrics, step=None):
    ...         self.rows.append((step, dict(metrics)))
    """

    failed = False
    """Whether a method raised, so that nothing is written any more."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in CALLS:
            if name in cls.__dict__:
                setattr(cls, name, _failing_once(cls.__dict__[name]))

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Numbers by name."""

    def log_hyperparams(self, params: Mapping[str, Any], **unused: Any) -> None:
        """The arguments of a run."""

    def log_image(self, key: str, image: Any, step: int | None = None) -> None:
        """A picture (C, H, W) or (H, W), from 0 to 1, or bytes from 0 to 255."""
        self._has_no_place_for("images")

    def log_histogram(self, key: str, values: Any, step: int | None = None) -> None:
        """How the elements of a tensor are distributed; those that are NaN or infinite are left out."""
        self._has_no_place_for("histograms")

    def log_text(self, key: str, text: str, step: int | None = None) -> None:
        """Text."""
        self._has_no_place_for("text")

    def log_artifact(self, path: Any, name: str | None = None) -> None:
        """A file."""
        self._has_no_place_for("artifacts")

    def log_graph(self, model: Any, inputs: Any = None) -> None:
        """What a model consists of: the ops of a call with *inputs*, else its modules; as text, unless overridden."""
        from polyad.utils.tensorboard.graph import captured

        self.log_text("graph", repr(model) if inputs is None else str(captured(model, inputs)))

    def save(self) -> None:
        """Write what is held back."""

    def finalize(self, status: str = "success") -> None:
        """The run is over: "success", "failed" or "interrupted". What is logged afterwards is written too."""

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps of it, so that a run that goes on from there is written where it was."""
        return {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where the checkpoint was made; what was written after it is removed where that can be done."""

    def _has_no_place_for(self, what: str) -> None:
        told = self.__dict__.setdefault("_told", set())
        if what not in told:
            told.add(what)
            warnings.warn(f"{type(self).__name__} has no place for {what}: they are not kept", stacklevel=3)


class NoTracker(Tracker):
    """Keeps nothing, and has said why."""

    failed = True

    def _has_no_place_for(self, what: str) -> None:
        pass


def needed(module: str, extra: str) -> Any:
    """The module of a tool.

    Raises:
        ImportError (PackageMissing): it is not installed.
    """
    return extras.needed(module, extra, f"open_tracker: {extra!r} is written by {module.partition('.')[0]}")


def available() -> list[str]:
    """The names that `open_tracker` takes, of installed packages too."""
    return sorted({*OWN, *(point.name for point in entry_points(group=GROUP))})


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
    points = {point.name: point for point in entry_points(group=GROUP)}
    if name not in OWN and name not in points:
        raise ArgumentError(
            f"open_tracker: no tracker is called {name!r}",
            notes={"there are": ", ".join(available())},
            fix="install the package that brings it",
        )
    try:
        if name in OWN:
            module, kind = OWN[name]
            make = getattr(importlib.import_module(f".{module}", __package__), kind)
        else:
            make = points[name].load()
        return make(*arguments, **options)
    except Exception as error:
        warnings.warn(
            f"the tracker {name!r} cannot be used, nothing is written to it: {type(error).__name__}: {error}",
            stacklevel=2,
        )
        return NoTracker()
