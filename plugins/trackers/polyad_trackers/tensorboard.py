"""Files of TensorBoard, written by tensorboardX."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyad.utils.tensorboard.graph import graph_event

from .given import as_array, as_picture, as_plain
from .tracker import Tracker, needed

__all__ = ["TensorBoardTracker"]


class TensorBoardTracker(Tracker):
    """Writes event files into a folder, which ``tensorboard --logdir FOLDER`` shows; needs ``polyad[tensorboard]``.

    A run that goes on marks what was written after its checkpoint as void, as TensorBoard does (``purge_step``).
    Artifacts have no place.

    Args:
        save_dir: the folder; with *name*, a folder in it.
        options: further arguments of ``tensorboardX.SummaryWriter``.

    Raises:
        ImportError (PackageMissing): tensorboardX is not installed.
    """

    def __init__(self, save_dir: Any, name: str | None = None, **options: Any) -> None:
        self._make = needed("tensorboardX", "tensorboard").SummaryWriter
        self.folder = Path(os.fspath(save_dir)) / (name or "")
        self._options = options
        self._writer: Any = None
        self._step = -1
        self._purge: int | None = None

    @property
    def log_dir(self) -> str:
        """The folder."""
        return str(self.folder)

    @property
    def experiment(self) -> Any:
        """The ``SummaryWriter``."""
        if self._writer is None:
            # Files are named by the second: a second one of the same second would take the place of the first.
            options = {"filename_suffix": f".{time.time_ns():020}", **self._options}
            self._writer = self._make(str(self.folder), purge_step=self._purge, **options)
            self._purge = None
        return self._writer

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        for name, value in metrics.items():
            self.experiment.add_scalar(name, float(value), self._seen(step))

    def log_hyperparams(self, params: Mapping[str, Any], **unused: Any) -> None:
        if not params:
            return
        summary = needed("tensorboardX.summary", "tensorboard")
        plain = {name: str(value) if value is None else value for name, value in as_plain(params).items()}
        for part in summary.hparams(plain, {}):
            self.experiment.file_writer.add_summary(part)

    def log_image(self, key: str, image: Any, step: int | None = None) -> None:
        self.experiment.add_image(key, as_picture(image), self._seen(step), dataformats="HWC")

    def log_histogram(self, key: str, values: Any, step: int | None = None) -> None:
        array = as_array(values).reshape(-1).astype("float64")
        array = array[abs(array) < float("inf")]
        if array.size:
            self.experiment.add_histogram(key, array, self._seen(step))

    def log_text(self, key: str, text: str, step: int | None = None) -> None:
        self.experiment.add_text(key, text, self._seen(step))

    def log_graph(self, model: Any, inputs: Any = None) -> None:
        self.experiment.file_writer.add_event(graph_event(model, inputs))

    def save(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def finalize(self, status: str = "success") -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def state_dict(self) -> dict[str, Any]:
        return {"step": self._step}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.finalize()
        self._step = state_dict["step"]
        self._purge = self._step + 1

    def _seen(self, step: int | None) -> int | None:
        self._step = max(self._step, -1 if step is None else step)
        return step
