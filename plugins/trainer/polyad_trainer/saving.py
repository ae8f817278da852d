"""Checkpoints while a run goes on: the last and the best, at places from which it resumes exactly."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from polyad.errors import ArgumentError, SerializationError
from polyad.serialization import CheckpointManager

from .callbacks import Callback, sign_of, watched

__all__ = ["ModelCheckpoint"]


class ModelCheckpoint(Callback):
    """Saves checkpoints into a folder: the last, and the best by a logged value.

    The files are those of `polyad.serialization.CheckpointManager`: ``step-00000400.polyad``, with links
    ``latest.polyad`` and ``best.polyad``. A disk that is full does not end the run: it says so and goes on.

    Args:
        dirpath: the folder; ``checkpoints`` in the trainer's folder if None.
        filename: taken for code of others; files are named by steps.
        monitor: the name of the logged value that says which is the best; without it the last is all.
        mode: "min" or "max", what is better.
        save_top_k: how many of the best stay beside the last; -1 for all, 0 for none at all.
        save_last: taken for code of others; the last is kept always.
        every_n_train_steps: save after so many steps of optimizers, in the middle of epochs too.
        every_n_epochs: save at the end of so many epochs; 1 unless *every_n_train_steps* is given.
        save_weights_only: no: what cannot be resumed is saved with `polyad.save`.
    """

    def __init__(
        self,
        dirpath: Any = None,
        filename: str | None = None,
        monitor: str | None = None,
        verbose: bool = False,
        save_last: bool | None = None,
        save_top_k: int = 1,
        save_weights_only: bool = False,
        mode: str = "min",
        every_n_train_steps: int | None = None,
        every_n_epochs: int | None = None,
        save_on_train_epoch_end: bool | None = None,
    ) -> None:
        if save_weights_only:
            raise ArgumentError(
                "ModelCheckpoint: save_weights_only is not offered", fix="polyad.save(module.state_dict(), path)"
            )
        if save_top_k < -1:
            raise ArgumentError(f"ModelCheckpoint: save_top_k is {save_top_k}", fix="pass a count, or -1 for all")
        self.dirpath, self.monitor, self.save_top_k, self.verbose = dirpath, monitor, save_top_k, verbose
        if filename is not None:
            warnings.warn(
                f"ModelCheckpoint: filename={filename!r} changes nothing: files are called step-NUMBER.polyad, "
                "best.polyad and latest.polyad",
                stacklevel=2,
            )
        self.sign = sign_of(mode, "ModelCheckpoint")
        self.every_n_train_steps = every_n_train_steps
        self.every_n_epochs = every_n_epochs or (0 if every_n_train_steps else 1)
        self.best_model_path = self.last_model_path = ""
        self.best_model_score: float | None = None
        self._manager: CheckpointManager | None = None
        self._scores: dict[int, float] = {}
        self._saved_at = (-1, False, -1)
        self._trouble_told = False

    @property
    def state_key(self) -> str:
        return f"ModelCheckpoint[{self.monitor}]"

    def state_dict(self) -> dict[str, Any]:
        return {
            "best_model_score": self.best_model_score,
            "scores": [[step, score] for step, score in self._scores.items()],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best_model_score = state_dict["best_model_score"]
        self._scores = dict(state_dict["scores"])

    def manager(self, trainer: Any) -> CheckpointManager:
        """What writes and reads the files."""
        if self._manager is None:
            folder = Path(self.dirpath) if self.dirpath is not None else trainer.default_root_dir / "checkpoints"
            best_is = "largest" if self.sign > 0 else "smallest"
            self._manager = CheckpointManager(folder, 1 if self.save_top_k in (0, 1) else None, best_is=best_is)
            self.dirpath = str(folder)
        return self._manager

    def on_safe_point(self, trainer: Any, pl_module: Any) -> None:
        step, at_end = trainer.global_step, trainer.at_epoch_end
        due = bool(self.every_n_train_steps) and step > 0 and step % (self.every_n_train_steps or 1) == 0
        epochs = trainer.current_epoch + 1
        if at_end and self.every_n_epochs and epochs % self.every_n_epochs == 0:
            due = True
        if trainer.interrupted or (not at_end and self.monitor and trainer.validated and not self.every_n_train_steps):
            due = True
        # Between the steps of several batches nothing is due, but Ctrl-C may come.
        place = (step, at_end, trainer.batches_done if trainer.interrupted else -1)
        if due and self.save_top_k and self._saved_at != place:
            self.save(trainer)
            self._saved_at = (step, at_end, -1)

    def save(self, trainer: Any) -> bool:
        """Save now; whether it could be done."""
        step = trainer.global_step
        score = None
        if self.monitor is not None and self.monitor in trainer.callback_metrics:
            score = watched(trainer, self.monitor, "ModelCheckpoint")
        elif self.monitor is not None and trainer.at_epoch_end and (trainer.validated or not trainer.val_dataloaders):
            watched(trainer, self.monitor, "ModelCheckpoint")  # raises: nothing of that name
        if score is not None:
            self._scores[step] = score
            if self.best_model_score is None or self.sign * (score - self.best_model_score) > 0:
                self.best_model_score = score
        try:
            manager = self.manager(trainer)
            self.last_model_path = str(manager.save(trainer.checkpoint(), step, score))
            self._prune(manager, step)
        except OSError as error:
            if not self._trouble_told:
                self._trouble_told = True
                warnings.warn(
                    f"ModelCheckpoint: the checkpoint of step {step} could not be saved, training goes on without it: "
                    f"{error}",
                    stacklevel=2,
                )
            return False
        self._trouble_told = False
        best = manager.folder / "best.polyad"
        self.best_model_path = str(best.resolve()) if best.exists() else self.last_model_path
        return True

    def _prune(self, manager: CheckpointManager, last: int) -> None:
        """Remove what is not among the best, nor the last."""
        if self.save_top_k in (-1, 0, 1):
            return
        there = {step: self._scores.get(step, -self.sign * float("inf")) for step in manager.steps()}
        ranked = sorted(there, key=lambda step: (self.sign * there[step], step), reverse=True)
        for step in ranked[self.save_top_k :]:
            if step != last:
                (manager.folder / f"step-{step:08}.polyad").unlink(missing_ok=True)

    def load(self, trainer: Any, which: str) -> Any:
        """The checkpoint called "last" or "best"; None where "last" has none yet."""
        manager = self.manager(trainer)
        if which == "last" and not manager.steps():
            return None
        found = manager.load_latest("cpu") if which == "last" else manager.load_best("cpu")
        if not isinstance(found, dict):
            raise SerializationError(f"{manager.folder} holds no checkpoint of a trainer", fix="name another folder")
        return found
