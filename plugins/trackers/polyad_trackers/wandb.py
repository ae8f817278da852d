"""Weights & Biases."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .given import as_histogram, as_picture, as_plain
from .tracker import Tracker, needed

__all__ = ["WandbTracker"]


class WandbTracker(Tracker):
    """Writes a run of Weights & Biases, into a folder unless *mode* is "online"; needs ``polyad[wandb]``.

    ``wandb sync FOLDER/wandb/offline-run-...`` sends it. Steps are a value of their own, "step", over which all others
    are drawn: rows may come in any order. A run that goes on has the id of the run that was stopped; rows that are done
    again stay twice.

    Args:
        save_dir: where the folder ``wandb`` is made.
        project, name, id: what Weights & Biases calls the run.
        mode: "offline", "online" or "disabled".
        options: further arguments of ``wandb.init``.

    Raises:
        ImportError (PackageMissing): wandb is not installed.
    """

    def __init__(
        self,
        save_dir: Any = ".",
        project: str = "polyad",
        name: str | None = None,
        id: str | None = None,
        mode: str = "offline",
        **options: Any,
    ) -> None:
        self._wandb = needed("wandb", "wandb")
        self.folder = os.fspath(save_dir)
        self.id = id
        self._options = {"project": project, "name": name, "mode": mode, **options}
        self._run: Any = None

    @property
    def log_dir(self) -> str:
        """The folder."""
        return self.folder

    @property
    def experiment(self) -> Any:
        """The run of Weights & Biases."""
        if self._run is None:
            os.makedirs(self.folder, exist_ok=True)
            self._wait_for_a_folder()
            options = dict(self._options)
            # A server that is away would hold the run up for 90 seconds, and the screen is the program's.
            settings = {"init_timeout": 20, "silent": True, "console": "off", **dict(options.pop("settings", {}))}
            self._run = self._wandb.init(
                dir=self.folder, id=self.id, resume="allow", settings=self._wandb.Settings(**settings), **options
            )
            self.id = self._run.id
            self._run.define_metric("*", step_metric="step")
        return self._run

    def _wait_for_a_folder(self) -> None:
        """Folders are named by the second and the id: going on within a second would write over what is there."""
        there = Path(self.folder, "wandb")
        while self.id is not None and any(
            list(there.glob(f"*run-{time.strftime('%Y%m%d_%H%M%S', now)}-{self.id}"))
            for now in (time.localtime(), time.gmtime())
        ):
            time.sleep(0.05)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        self._row({name: float(value) for name, value in metrics.items()}, step)

    def log_hyperparams(self, params: Mapping[str, Any], **unused: Any) -> None:
        self.experiment.config.update(as_plain(params), allow_val_change=True)

    def log_image(self, key: str, image: Any, step: int | None = None) -> None:
        picture = as_picture(image)
        self._row({key: self._wandb.Image(picture[..., 0] if picture.shape[2] == 1 else picture)}, step)

    def log_histogram(self, key: str, values: Any, step: int | None = None) -> None:
        self._row({key: self._wandb.Histogram(np_histogram=as_histogram(values))}, step)

    def log_text(self, key: str, text: str, step: int | None = None) -> None:
        self._row({key: text}, step)

    def log_artifact(self, path: Any, name: str | None = None) -> None:
        path = os.fspath(path)
        name = name or os.path.basename(path)
        artifact = self._wandb.Artifact("".join(c if c.isalnum() or c in "-_." else "-" for c in name), type="file")
        artifact.add_file(path, name=name)
        self.experiment.log_artifact(artifact)

    def finalize(self, status: str = "success") -> None:
        if self._run is not None:
            self._run.finish(exit_code=0 if status == "success" else 1)
            self._run = None

    def state_dict(self) -> dict[str, Any]:
        return {"id": self.id}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.finalize("interrupted")
        self.id = state_dict["id"]

    def _row(self, values: dict[str, Any], step: int | None) -> None:
        self.experiment.log(values if step is None else {**values, "step": step})
