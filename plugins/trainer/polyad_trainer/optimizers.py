"""What `configure_optimizers` returns, in any of its forms, and a step of an optimizer with all that precedes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polyad
from polyad.arguments import check_choice
from polyad.errors import ArgumentError
from polyad.nn.utils import clip_grad_norm_, clip_grad_value_
from polyad.optim import LBFGS, Optimizer

__all__ = ["PRECISIONS", "Schedule", "Steps", "configured"]

PRECISIONS: dict[str, Any] = {
    "32-true": None, "32": None, "64-true": polyad.float64, "64": polyad.float64, "bf16-true": polyad.bfloat16,
    "16-true": polyad.float16, "bf16-mixed": polyad.bfloat16, "bf16": polyad.bfloat16, "16-mixed": polyad.float16,
    "16": polyad.float16,
}  # fmt: skip
"""The dtype of parameters ("-true") or of what `polyad.autocast` computes in; None leaves all as it is."""


@dataclass
class Schedule:
    """A schedule of learning rates, and when it is stepped."""

    scheduler: Any
    interval: str = "epoch"
    frequency: int = 1
    monitor: str | None = None
    strict: bool = True
    name: str | None = None
    reduce_on_plateau: bool = False

    @property
    def takes_metric(self) -> bool:
        """Whether its step is given what it monitors."""
        return self.reduce_on_plateau or isinstance(self.scheduler, polyad.optim.lr_scheduler.ReduceLROnPlateau)


def configured(given: Any) -> tuple[list[Any], list[Schedule]]:
    """Optimizers and schedules of what `configure_optimizers` returned.

    Raises:
        ValueError: it has none of the forms.
    """
    if given is None:
        return [], []
    if isinstance(given, Optimizer):
        return [given], []
    if isinstance(given, dict):
        if "optimizer" not in given:
            raise _wrong(given)
        schedules = [_schedule(given["lr_scheduler"], given.get("monitor"))] if given.get("lr_scheduler") else []
        return [given["optimizer"]], schedules
    if isinstance(given, list | tuple):
        if len(given) == 2 and isinstance(given[0], list | tuple):
            entries = given[1] if isinstance(given[1], list | tuple) else [given[1]]
            return list(given[0]), [_schedule(entry, None) for entry in entries]
        parts = [configured(entry) for entry in given if isinstance(entry, Optimizer | dict)]
        if len(parts) == len(given):
            return [o for found, _ in parts for o in found], [s for _, found in parts for s in found]
    raise _wrong(given)


def _schedule(given: Any, monitor: str | None) -> Schedule:
    if not isinstance(given, dict):
        return Schedule(given, monitor=monitor)
    unknown = given.keys() - Schedule.__dataclass_fields__.keys()
    if unknown or "scheduler" not in given:
        raise ArgumentError(
            f"configure_optimizers: an lr_scheduler has the keys {', '.join(map(str, given))}",
            fix="use scheduler, interval, frequency, monitor, strict, name",
        )
    schedule = Schedule(**{"monitor": monitor, **given})
    check_choice("configure_optimizers", "interval", schedule.interval, ("epoch", "step"))
    return schedule


def _wrong(given: Any) -> ArgumentError:
    return ArgumentError(
        f"configure_optimizers returned {type(given).__name__}, in none of the forms that are known",
        fix='return an optimizer, or {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule}}',
    )


class _Wrapped:
    """An optimizer whose `step` does what precedes a step, and is counted; all else is the optimizer's own."""

    def __init__(self, optimizer: Any, steps: Steps) -> None:
        self.__dict__.update(optimizer=optimizer, _steps=steps)

    def step(self, closure: Callable[[], Any] | None = None, **options: Any) -> Any:
        """See `Optimizer.step`."""
        return self._steps.step(self.optimizer, closure)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["optimizer"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.optimizer, name, value)


class _PassedOver(Exception):
    """``training_step`` gave no loss."""


class Steps:
    """Steps optimizers: gradients are unscaled and clipped before, and the trainer counts."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.wrapped = [_Wrapped(optimizer, self) for optimizer in trainer.optimizers]
        self.scaler: Any = None
        if trainer.precision in ("16-mixed", "16"):
            self.scaler = polyad.amp.GradScaler(trainer.device.type)
        if trainer.accumulate_grad_batches > 1 and any(isinstance(one, LBFGS) for one in trainer.optimizers):
            raise ArgumentError(
                "LBFGS computes the loss of a step several times, which does not go with accumulate_grad_batches="
                f"{trainer.accumulate_grad_batches}",
                fix="use larger batches, or another optimizer",
            )

    def backward(self, loss: Any, **options: Any) -> None:
        """The loss's gradients, scaled where float16 wants it."""
        trainer = self.trainer
        trainer.hooks.call("on_before_backward", trainer, loss)
        (loss if self.scaler is None else self.scaler.scale(loss)).backward(**options)
        trainer.hooks.call("on_after_backward", trainer)

    def step(self, optimizer: Any, closure: Callable[[], Any] | None) -> Any:
        """Step an optimizer, after its closure."""
        trainer = self.trainer
        if isinstance(optimizer, LBFGS) and closure is not None:
            if self.scaler is not None:
                raise ArgumentError("LBFGS does not go with precision '16-mixed'", fix="use 'bf16-mixed' or 32")
            try:
                result = optimizer.step(lambda: self._prepared_or_passed_over(optimizer, closure))
            except _PassedOver:
                return None
        else:
            result = self._prepared(optimizer, closure)
            if closure is not None and result is None:
                return None  # training_step passed the batch over
            if self.scaler is None:
                optimizer.step()
            else:
                self.scaler.step(optimizer)
                self.scaler.update()
        trainer.global_step += 1
        trainer.pending = 0
        return result

    def _prepared(self, optimizer: Any, closure: Callable[[], Any] | None) -> Any:
        trainer = self.trainer
        result = None if closure is None else closure()
        if closure is not None and result is None:
            return None
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)
        trainer.hooks.call("on_before_optimizer_step", trainer, optimizer)
        if trainer.lightning_module.automatic_optimization:
            self.clip(optimizer, trainer.gradient_clip_val, trainer.gradient_clip_algorithm)
        return result

    def _prepared_or_passed_over(self, optimizer: Any, closure: Callable[[], Any]) -> Any:
        result = self._prepared(optimizer, closure)
        if result is None:
            raise _PassedOver
        return result

    def clip(self, optimizer: Any, value: float | None, algorithm: str | None) -> None:
        """Clip the gradients of an optimizer's parameters, by their norm or each value."""
        if not value:
            return
        optimizer = getattr(optimizer, "optimizer", optimizer)
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        if algorithm == "value":
            clip_grad_value_(parameters, value)
        else:
            clip_grad_norm_(parameters, value)

    def step_schedules(self, interval: str, count: int) -> None:
        """Step the schedules of an interval; *count* epochs or steps are over."""
        trainer = self.trainer
        for schedule in trainer.schedules:
            if schedule.interval != interval or count % schedule.frequency:
                continue
            metric = None
            if schedule.takes_metric:
                name = schedule.monitor or "val_loss"
                metric = trainer.callback_metrics.get(name)
                if metric is None:
                    if not schedule.strict:
                        continue
                    raise ArgumentError(
                        f"{type(schedule.scheduler).__name__} monitors {name!r}, which nobody logged",
                        notes={"logged": ", ".join(trainer.callback_metrics) or "nothing"},
                        fix=f'self.log({name!r}, ...) in a step, or name another "monitor" in configure_optimizers',
                    )
            trainer.lightning_module.lr_scheduler_step(schedule.scheduler, metric)
