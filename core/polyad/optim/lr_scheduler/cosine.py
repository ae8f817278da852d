"""Schedules along a cosine, without and with restarts (Loshchilov and Hutter 2017)."""

from __future__ import annotations

import math
from typing import Any

from ...errors import ArgumentError
from ..optimizer import Optimizer
from .scheduler import LRScheduler, values

__all__ = ["CosineAnnealingLR", "CosineAnnealingWarmRestarts"]


class CosineAnnealingLR(LRScheduler):
    """Let the learning rate go along a cosine to *eta_min* in *T_max* steps, and back in as many.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> for _ in range(2):
    ...     _ = optimizer.step()
    ...     scheduler.step()
    ...     print(round(scheduler.get_last_lr()[0], 4))
    0.5
    0.0
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The groups' rates, moved along the cosine."""
        self._warn_outside_of_step()
        if self._is_initial:
            return values(self.optimizer, "lr")
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # Before it the rate is least, and no factor leads up from there.
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (base - self.eta_min) * rise
                for base, group in zip(self.base_lrs, self.optimizer.param_groups, strict=True)
            ]
        factor = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [(group["lr"] - self.eta_min) * factor + self.eta_min for group in self.optimizer.param_groups]

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> list[Any]:
        height = self._height(self.last_epoch) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Let the learning rate fall along a cosine to *eta_min*, then restart; after *T_0* steps, *T_0 T_mult*, ...

    Raises ValueError unless T_0 and T_mult are whole numbers from 1 on and eta_min is a number.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(2):
    ...     _ = optimizer.step()
    ...     scheduler.step()
    ...     print(round(scheduler.get_last_lr()[0], 4))
    0.5
    1.0
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ArgumentError(
                    f"CosineAnnealingWarmRestarts: {name} must be a whole number from 1 on, not {value}",
                    fix=f"choose another {name}",
                )
        if not isinstance(eta_min, (int, float)):
            raise ArgumentError(
                f"CosineAnnealingWarmRestarts: eta_min must be a number, not {type(eta_min).__name__}",
                fix="pass a float",
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates at `T_cur` of `T_i` steps."""
        self._warn_outside_of_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the learning rates of the next step, or those at *epoch*, which may be a fraction.

        Raises ValueError if epoch is negative.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _go_to(self, epoch: float) -> None:
        if epoch < 0:
            raise ArgumentError(
                f"CosineAnnealingWarmRestarts.step: epoch must not be negative, but is {epoch}", fix="count from 0"
            )
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts
