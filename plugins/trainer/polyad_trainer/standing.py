"""What a trainer says of itself, in Lightning's names, for code that was written for it: callbacks, schedules, loggers.

There is one process and one device, so ranks are 0 and the world's size is 1.
"""

from __future__ import annotations

import math
from typing import Any

from .callbacks import EarlyStopping
from .saving import ModelCheckpoint

__all__ = ["Standing"]


class Standing:
    """The attributes of a trainer that follow from others of its."""

    global_rank = local_rank = node_rank = 0
    world_size = num_nodes = num_devices = 1
    is_global_zero = True
    received_sigterm = False
    min_steps: int | None = None
    distributed_sampler_kwargs: dict[str, Any] | None = None
    progress_bar_callback: Any = None
    stage: str | None = None
    """What the trainer is doing: "fit", "validation", "test", "predict", or None."""

    loggers: list[Any]
    callbacks: list[Any]
    schedules: list[Any]
    evaluated: dict[str, list[Any]]
    limits: dict[str, Any]
    num_training_batches: int | None
    device: Any
    results: Any
    sanity_checking: bool
    max_epochs: int
    max_steps: int
    accumulate_grad_batches: int
    default_root_dir: Any
    callback_metrics: dict[str, Any]
    steps: Any
    num_sanity_val_steps: int

    @property
    def estimated_stepping_batches(self) -> int | float:
        """How many steps the whole run takes, for schedules that need to know; inf where it has no end.

        May be asked for in ``configure_optimizers``. Raises ValueError before `fit` knows its data.
        """
        if self.max_epochs == -1:
            return self.max_steps if self.max_steps != -1 else math.inf
        batches = self.num_training_batches
        if batches is None:
            return self.max_steps if self.max_steps != -1 else math.inf
        steps = math.ceil(batches / self.accumulate_grad_batches) * max(self.max_epochs, 1)
        return min(self.max_steps, steps) if self.max_steps != -1 else steps

    @property
    def log_dir(self) -> str:
        """Where the first logger writes, or `default_root_dir`."""
        for logger in self.loggers:
            for name in ("log_dir", "save_dir", "folder"):
                found = getattr(logger, name, None)
                if found is not None:
                    return str(found)
        return str(self.default_root_dir)

    @property
    def lr_schedulers(self) -> list[Any]:
        """The schedules of learning rates."""
        return [schedule.scheduler for schedule in self.schedules]

    @property
    def lr_scheduler_configs(self) -> list[Any]:
        """The schedules with their interval, frequency and what they monitor."""
        return self.schedules

    @property
    def checkpoint_callbacks(self) -> list[Any]:
        """All callbacks that are a `ModelCheckpoint`."""
        return [callback for callback in self.callbacks if isinstance(callback, ModelCheckpoint)]

    @property
    def checkpoint_callback(self) -> Any:
        """The first `ModelCheckpoint`, or None."""
        return next(iter(self.checkpoint_callbacks), None)

    @property
    def early_stopping_callbacks(self) -> list[Any]:
        """All callbacks that are an `EarlyStopping`."""
        return [callback for callback in self.callbacks if isinstance(callback, EarlyStopping)]

    @property
    def early_stopping_callback(self) -> Any:
        """The first `EarlyStopping`, or None."""
        return next(iter(self.early_stopping_callbacks), None)

    @property
    def logger(self) -> Any:
        """The first tracker, or None."""
        return self.loggers[0] if self.loggers else None

    @property
    def device_ids(self) -> list[int]:
        """The number of the device."""
        return [self.device.index or 0]

    @property
    def training(self) -> bool:
        """Whether batches of training are under way."""
        return self.stage == "fit" and not self.sanity_checking and (self.results is None or self.results.training)

    @property
    def validating(self) -> bool:
        """Whether batches of validation are under way, in `validate` or in `fit`."""
        in_fit = self.stage == "fit" and self.results is not None and not self.results.training
        return (in_fit and not self.sanity_checking) or self.stage == "validation"

    @property
    def testing(self) -> bool:
        """Whether `test` is under way."""
        return self.stage == "test"

    @property
    def predicting(self) -> bool:
        """Whether `predict` is under way."""
        return self.stage == "predict"

    @property
    def evaluating(self) -> bool:
        """Whether `validate` or `test` is under way, or validation in `fit`."""
        return self.validating or self.testing

    @property
    def enable_validation(self) -> bool:
        """Whether `fit` validates."""
        return bool(self.evaluated.get("validation")) and self.limits["validation"] != 0

    @property
    def test_dataloaders(self) -> list[Any]:
        """The loaders of `test`."""
        return self.evaluated.get("test", [])

    @property
    def predict_dataloaders(self) -> list[Any]:
        """The loaders of `predict`."""
        return self.evaluated.get("predict", [])

    @property
    def num_val_batches(self) -> list[int | None]:
        """How many batches of each loader are validated; None where nobody knows."""
        return self._counts("validation")

    @property
    def num_test_batches(self) -> list[int | None]:
        """How many batches of each loader are tested."""
        return self._counts("test")

    @property
    def num_predict_batches(self) -> list[int | None]:
        """How many batches of each loader are predicted."""
        return self._counts("predict")

    @property
    def num_sanity_val_batches(self) -> list[int]:
        """How many batches of each loader are validated before the first step."""
        most = self.num_sanity_val_steps
        return [
            (math.inf if most == -1 else most) if count is None else count if most == -1 else min(count, most)  # type: ignore[misc]
            for count in self.num_val_batches
        ]

    @property
    def progress_bar_metrics(self) -> dict[str, float]:
        """What was logged with ``prog_bar=True``, as numbers."""
        return {name: float(value) for name, value in self.callback_metrics.items() if self.on_bar(name)}

    @property
    def scaler(self) -> Any:
        """The `polyad.amp.GradScaler` of half precision, or None."""
        return getattr(getattr(self, "steps", None), "scaler", None)

    @property
    def learning_rates(self) -> dict[str, float]:
        """The learning rate of each optimizer's first group: ``lr``, or ``lr-0``, ``lr-1`` where there are several."""
        rates = [float(optimizer.param_groups[0]["lr"]) for optimizer in self.optimizers if optimizer.param_groups]
        return {"lr" if len(rates) == 1 else f"lr-{number}": rate for number, rate in enumerate(rates)}

    optimizers: list[Any]

    def on_bar(self, name: str) -> bool:
        """Whether a value was logged with ``prog_bar=True``."""
        raise NotImplementedError

    def limited(self, loader: Any, limit: int | float | None) -> int | None:
        """How many batches of a loader are used; None where nobody knows before."""
        raise NotImplementedError

    def _counts(self, kind: str) -> list[int | None]:
        return [self.limited(loader, self.limits[kind]) for loader in self.evaluated.get(kind, [])]
