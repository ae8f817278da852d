"""MLflow: a server, or a file of SQLite."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .given import as_histogram, as_picture, as_plain
from .tracker import Tracker, needed

__all__ = ["MLflowTracker"]

STATUSES = {"success": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}
PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
"""Variables that MLflow reads at each request: by its defaults, a server that is away holds a run up for minutes."""


class MLflowTracker(Tracker):
    """Writes a run of MLflow; needs ``polyad[mlflow]``.

    Pictures, histograms (as JSON) and text are artifacts of the run, ``NAME/STEP.png`` and so on. A run that goes on
    is the run that was stopped; values of steps that are done again stay twice, since MLflow removes none. A
    hyper-parameter keeps its first value, as MLflow has it.

    Args:
        save_dir: where ``mlflow.db`` and the artifacts are, unless *tracking_uri* says otherwise.
        experiment_name, run_name: what MLflow calls them.
        tracking_uri: a server or a database; the variable MLFLOW_TRACKING_URI, else the file in *save_dir*. For a
            server, MLflow's time limit is set to 10 seconds and one repetition in the environment, unless it is set.
        run_id: a run to go on with.

    Raises:
        ImportError (PackageMissing): mlflow-skinny, or mlflow, is not installed.
    """

    def __init__(
        self,
        save_dir: Any = ".",
        experiment_name: str = "polyad",
        run_name: str | None = None,
        tracking_uri: str | None = None,
        run_id: str | None = None,
    ) -> None:
        self._mlflow = needed("mlflow", "mlflow")
        self.folder = Path(os.fspath(save_dir)).absolute()
        self.experiment_name, self.run_name, self.run_id = experiment_name, run_name, run_id
        self.tracking_uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
        self._is_local = self.tracking_uri is None
        if self._is_local:
            self.tracking_uri = f"sqlite:///{self.folder / 'mlflow.db'}"
        elif str(self.tracking_uri).startswith("http"):
            for name, value in PATIENCE.items():
                os.environ.setdefault(name, value)
        self._client: Any = None
        self._running = False

    @property
    def log_dir(self) -> str:
        """The folder."""
        return str(self.folder)

    @property
    def experiment(self) -> Any:
        """The ``MlflowClient``; its run is `run_id`."""
        if self._client is None:
            if self._is_local:
                self.folder.mkdir(parents=True, exist_ok=True)
            self._client = self._mlflow.MlflowClient(tracking_uri=self.tracking_uri)
        if self.run_id is None:
            place = (self.folder / "mlartifacts").as_uri() if self._is_local else None
            found = self._client.get_experiment_by_name(self.experiment_name)
            number = (
                self._client.create_experiment(self.experiment_name, artifact_location=place)
                if found is None
                else found.experiment_id
            )
            self.run_id = self._client.create_run(number, run_name=self.run_name).info.run_id
            self._running = True
        elif not self._running:
            self._client.update_run(self.run_id, "RUNNING")
            self._running = True
        return self._client

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        make, now = self._mlflow.entities.Metric, int(time.time() * 1000)
        rows = [make(name, float(value), now, step or 0) for name, value in metrics.items()]
        self.experiment.log_batch(self.run_id, metrics=rows)

    def log_hyperparams(self, params: Mapping[str, Any], **unused: Any) -> None:
        given = {name: str(value) for name, value in as_plain(params).items()}
        if not given:
            return
        there = self.experiment.get_run(self.run_id).data.params
        changed = [name for name in given if there.get(name, given[name]) != given[name]]
        if changed:
            warnings.warn(
                f"MLflowTracker: MLflow keeps the first value of a hyper-parameter; of {', '.join(changed)} the new "
                "value is not kept",
                stacklevel=3,
            )
        make = self._mlflow.entities.Param
        new = [make(name, value) for name, value in given.items() if name not in there]
        for start in range(0, len(new), 100):  # as many as a request may hold
            self.experiment.log_batch(self.run_id, params=new[start : start + 100])

    def log_image(self, key: str, image: Any, step: int | None = None) -> None:
        self.experiment.log_image(self.run_id, as_picture(image), f"{key}/{_number(step)}.png")

    def log_histogram(self, key: str, values: Any, step: int | None = None) -> None:
        counts, borders = as_histogram(values)
        found = {"step": step, "counts": counts.tolist(), "borders": borders.tolist()}
        self.experiment.log_text(self.run_id, json.dumps(found), f"{key}/{_number(step)}.json")

    def log_text(self, key: str, text: str, step: int | None = None) -> None:
        self.experiment.log_text(self.run_id, text, f"{key}/{_number(step)}.txt")

    def log_artifact(self, path: Any, name: str | None = None) -> None:
        if name is None:
            self.experiment.log_artifact(self.run_id, os.fspath(path))
            return
        with tempfile.TemporaryDirectory() as folder:  # MLflow takes a file's own name
            copy = shutil.copyfile(path, os.path.join(folder, os.path.basename(name)))
            self.experiment.log_artifact(self.run_id, copy, os.path.dirname(name) or None)

    def finalize(self, status: str = "success") -> None:
        if self._running:
            self._running = False
            self._client.set_terminated(self.run_id, STATUSES[status])

    def state_dict(self) -> dict[str, Any]:
        return {"run_id": self.run_id}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.finalize("interrupted")
        self.run_id = state_dict["run_id"]


def _number(step: int | None) -> str:
    return f"{step or 0:08}"
