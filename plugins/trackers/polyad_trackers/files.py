"""Values in a file of comma-separated values, which grows with the run."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .tracker import Tracker

__all__ = ["CSVTracker", "read_csv"]


class CSVTracker(Tracker):
    """Writes ``metrics.csv``, ``hparams.json``, ``text.jsonl`` and ``artifacts/`` into a folder, after what is there.

    A value of a name that the file has no column for has the file written anew, whole or not at all. A run that goes on
    from a checkpoint begins with the rows that there were when it was saved: those of steps that are done again are
    removed.

    >>> import tempfile
    >>> from polyad.trackers import CSVTracker, read_csv
    >>> folder = tempfile.TemporaryDirectory()
    >>> tracker = CSVTracker(folder.name)
    >>> tracker.log_metrics({"loss": 0.5}, step=1)
    >>> tracker.log_metrics({"loss": 0.25, "accuracy": 1.0}, step=2)
    >>> read_csv(folder.name + "/metrics.csv")
    [{'step': 1, 'loss': 0.5}, {'step': 2, 'loss': 0.25, 'accuracy': 1.0}]
    >>> folder.cleanup()
    """

    def __init__(self, save_dir: Any, name: str | None = None) -> None:
        self.folder = Path(os.fspath(save_dir)) / (name or "")
        self.path = self.folder / "metrics.csv"
        self.text_path = self.folder / "text.jsonl"
        self._columns: list[str] | None = None
        self._rows = self._texts = 0

    @property
    def log_dir(self) -> str:
        """The folder."""
        return str(self.folder)

    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        row: dict[str, Any] = {"step": step, **{name: float(value) for name, value in metrics.items()}}
        self.folder.mkdir(parents=True, exist_ok=True)
        first = self._columns is None
        new = [name for name in row if name not in (self._columns or ())]
        if new or first:  # the first time, for a killed run may have left half a line
            self._write_anew([*self._read(), row])
        else:
            self._write(self.path, "a", [row])
            self._rows += 1

    def _read(self) -> list[dict[str, Any]]:
        """The rows that there are, and which columns the file has."""
        if not self.path.exists():
            return []
        with open(self.path, newline="") as stream:
            self._columns = next(csv.reader(stream), None)
        return read_csv(self.path)

    def _write_anew(self, rows: list[dict[str, Any]]) -> None:
        """The file with these rows, in the place of the one that there is."""
        names = dict.fromkeys(self._columns or ())
        for row in rows:
            names.update(dict.fromkeys(row))
        self._columns = list(names)
        beside = self.path.with_name(".metrics.csv.new")
        self._write(beside, "w", rows)
        os.replace(beside, self.path)
        self._rows = len(rows)

    def _write(self, path: Path, mode: str, rows: list[dict[str, Any]]) -> None:
        with open(path, mode, newline="") as stream:
            writer = csv.DictWriter(stream, self._columns or [], restval="")
            if mode == "w":
                writer.writeheader()
            writer.writerows(rows)

    def log_hyperparams(self, params: Mapping[str, Any], **unused: Any) -> None:
        if params:
            self.folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps(dict(params), default=repr, indent=1)
            (self.folder / "hparams.json").write_text(text + "\n")

    def log_text(self, key: str, text: str, step: int | None = None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self._texts:
            self._keep_texts(None)
        with open(self.text_path, "a") as stream:
            stream.write(json.dumps({"step": step, "key": key, "text": text}) + "\n")
        self._texts += 1

    def log_artifact(self, path: Any, name: str | None = None) -> None:
        target = self.folder / "artifacts" / (name or os.path.basename(os.fspath(path)))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)

    def state_dict(self) -> dict[str, Any]:
        if self._columns is None and self.path.exists():  # of a run before, to which nothing is added yet
            self._rows = len(read_csv(self.path))
        if not self._texts:
            self._keep_texts(None)
        return {"rows": self._rows, "texts": self._texts}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        if self.path.exists():
            self._write_anew(self._read()[: state_dict["rows"]])
        self._keep_texts(state_dict["texts"])

    def _keep_texts(self, count: int | None) -> None:
        """Keep the first *count* lines of text, all if None; a line that was cut is removed."""
        if not self.text_path.exists():
            return
        lines = self.text_path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if line.endswith("\n")][:count]
        if kept != lines:
            beside = self.text_path.with_name(".text.jsonl.new")
            beside.write_text("".join(kept))
            os.replace(beside, self.text_path)
        self._texts = len(kept)


def read_csv(path: Any) -> list[dict[str, Any]]:
    """The rows of a file of `CSVTracker`, each with the values that it has; a last line that was cut is left out."""
    with open(path, newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = []
    for number, row in enumerate(rows):
        try:
            values = {name: int(text) if name == "step" else float(text) for name, text in row.items() if name and text}
        except ValueError:
            if number + 1 < len(rows):
                raise
            continue
        found.append(values)
    return found
