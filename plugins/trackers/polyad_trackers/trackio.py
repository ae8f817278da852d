"""Trackio: a file of SQLite, a server, or a Space of Hugging Face."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import Any

from .given import as_histogram, as_picture, as_plain
from .tracker import Tracker, needed

__all__ = ["TrackioTracker"]


class TrackioTracker(Tracker):
    """Writes a run of Trackio, which ``trackio show`` shows; needs ``polyad[trackio]``.

    Trackio has a folder for all projects; the variable TRACKIO_DIR, which it reads when it is imported, says which. One
    run of a program is open at a time. A run that goes on is the run that was stopped; rows that are done again stay
    twice.

    Args:
        project, name: what Trackio calls the run.
        options: further arguments of ``trackio.init``.

    Raises:
        ImportError (PackageMissing): trackio is not installed.
    """

    def __init__(self, project: str = "polyad", name: str | None = None, **options: Any) -> None:
        self._trackio = needed("trackio", "trackio")
        self.project = project
        self.name = name or f"run-{secrets.token_hex(4)}"
        self._options = {"embed": False, **options}
        self._config: dict[str, Any] = {}
        self._run: Any = None

    @property
    def experiment(self) -> Any:
        """The run of Trackio."""
        if self._run is None:
            self._run = self._trackio.init(
                self.project, name=self.name, resume="allow", config=self._config or None, **self._options
            )
        return self._run

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        self.experiment.log({name: float(value) for name, value in metrics.items()}, step=step)

    def log_hyperparams(self, params: Mapping[str, Any], **unused: Any) -> None:
        self._config.update(as_plain(params))
        if self._run is not None:  # Trackio takes them when a run is opened
            self.finalize()

    def log_image(self, key: str, image: Any, step: int | None = None) -> None:
        picture = as_picture(image)
        picture = picture.repeat(3, axis=2) if picture.shape[2] == 1 else picture
        self.experiment.log({key: self._trackio.Image(picture)}, step=step)

    def log_histogram(self, key: str, values: Any, step: int | None = None) -> None:
        self.experiment.log({key: self._trackio.Histogram(np_histogram=as_histogram(values))}, step=step)

    def log_text(self, key: str, text: str, step: int | None = None) -> None:
        self.experiment.log({key: text}, step=step)

    def log_artifact(self, path: Any, name: str | None = None) -> None:
        name = name or os.path.basename(os.fspath(path))
        called = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
        self.experiment.log_artifact(os.fspath(path), name=called, type="file")

    def finalize(self, status: str = "success") -> None:
        if self._run is not None:
            self._run.finish()
            self._run = None

    def state_dict(self) -> dict[str, Any]:
        return {"name": self.name}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.finalize()
        self.name = state_dict["name"]
