"""The schedule that watches a metric."""

from __future__ import annotations

import math
from typing import Literal, SupportsFloat

from ...base.state import warn_user
from ...errors import ArgumentError, OptionError
from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_optimizer, per_group, set_value, values

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by *factor* when a metric has not become better for more than *patience* steps.

    Args:
        optimizer: whose groups' learning rates are changed.
        mode: "min" if a smaller metric is better, "max" if a larger.
        factor: below 1.
        patience: how many steps without a better metric are endured.
        threshold: by how much a metric has to be better to count.
        threshold_mode: "rel": by that share of the best; "abs": by that number.
        cooldown: how many steps after a reduction are not judged.
        min_lr: the least learning rate, for all groups or for each.
        eps: reductions by less than that are left out.

    Raises:
        ValueError: factor is not below 1, a mode is another word, or *min_lr* has another number of entries.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    >>> for loss in (2.0, 1.0, 1.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if not factor < 1.0:
            raise ArgumentError(
                f"ReduceLROnPlateau: factor must be below 1, not {factor}", fix="choose another factor, such as 0.1"
            )
        check_optimizer("ReduceLROnPlateau", optimizer)
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = per_group("ReduceLROnPlateau", "min_lr", min_lr, optimizer)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = values(optimizer, "lr")
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether a reduction is so recent that steps are not judged."""
        return self.cooldown_counter > 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:  # type: ignore[override]
        """Judge *metrics*, a number or a tensor of one element, and reduce the learning rates if it is time.

        Raises RuntimeError if the optimizer has got more groups, and *min_lr* was a list.
        """
        current = float(metrics)
        if epoch is not None:
            warn_user("ReduceLROnPlateau.step: epoch is deprecated; call step(metrics) once an epoch", UserWarning)
        groups = len(self.optimizer.param_groups)
        if groups != len(self.min_lrs):
            if self.default_min_lr is None:
                raise OptionError(
                    f"ReduceLROnPlateau.step: min_lr has {len(self.min_lrs)} entries, the optimizer {groups} groups",
                    fix="append an entry to scheduler.min_lrs for each group that was added",
                )
            self.min_lrs = [self.default_min_lr] * groups
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                before = float(group["lr"])
                reduced = max(before * self.factor, least)
                if before - reduced > self.eps:
                    set_value(group, "lr", reduced)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = values(self.optimizer, "lr")

    def _is_better(self, value: float, best: float) -> bool:
        if self.threshold_mode == "rel":
            limit = best * (1.0 - self.threshold if self.mode == "min" else 1.0 + self.threshold)
        else:
            limit = best - self.threshold if self.mode == "min" else best + self.threshold
        return value < limit if self.mode == "min" else value > limit
