"""Schedules that multiply the learning rate by a factor that follows from the step alone."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ...base.kinds import Probability, State
from ...errors import ArgumentError
from ..optimizer import Optimizer
from .scheduler import Multiplying

__all__ = ["ConstantLR", "ExponentialLR", "LinearLR", "MultiStepLR", "PolynomialLR", "StepLR"]


class StepLR(Multiplying):
    """Multiply the learning rate by *gamma* every *step_size* steps.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2)
    >>> for _ in range(3):
    ...     _ = optimizer.step()
    ...     scheduler.step()
    ...     print(scheduler.get_last_lr())
    [1.0]
    [0.1]
    [0.1]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if not step_size > 0:
            raise ArgumentError(
                f"StepLR: step_size must be at least 1, not {step_size}", fix="choose another step_size"
            )
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0

    def _product(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(Multiplying):
    """Multiply the learning rate by *gamma* at each of the steps *milestones*; at one that is listed twice, twice.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 2], gamma=0.5)
    >>> for _ in range(3):
    ...     _ = optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """What the schedule needs to go on later, but for the optimizer: plain data, milestones as a dict of counts."""
        return {**super().state_dict(), "milestones": dict(self.milestones)}

    def load_state_dict(self, state_dict: State) -> None:
        """Go on where *state_dict* was taken, which may have its milestones as a dict or as PyTorch's Counter."""
        self._check_state(state_dict)
        counts = state_dict["milestones"]
        if not isinstance(counts, Mapping) or not all(type(count) is int for count in counts.values()):
            raise ArgumentError(
                "MultiStepLR.load_state_dict: milestones must be a dict of counts; nothing was changed",
                operands={"milestones": counts},
                fix="pass what state_dict() gave",
            )
        super().load_state_dict({**state_dict, "milestones": Counter(counts)})

    def _factor(self) -> float:
        times = self.milestones.get(self.last_epoch, 0)
        return self.gamma**times if times else 1.0

    def _product(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(Multiplying):
    """Multiply the learning rate by *factor* for the first *total_iters* steps.

    Raises ValueError unless factor is in [0, 1].

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> optim.lr_scheduler.ConstantLR(optimizer, factor=0.5).get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, factor: Probability = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0

    def _product(self) -> float:
        return 1.0 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(Multiplying):
    """Let the factor of the learning rate go in a line from *start_factor* to *end_factor*, in *total_iters* steps.

    Raises ValueError unless start_factor is in (0, 1] and end_factor in [0, 1].

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> for _ in range(3):
    ...     print(scheduler.get_last_lr())
    ...     _ = optimizer.step()
    ...     scheduler.step()
    [0.5]
    [0.75]
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: Probability = 1.0 / 3,
        end_factor: Probability = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor == 0:
            raise ArgumentError("LinearLR: start_factor must be above 0", fix="choose a small start_factor")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _product(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ExponentialLR(Multiplying):
    """Multiply the learning rate by *gamma* every step.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> _ = optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        return 1.0 if self._is_initial else self.gamma

    def _product(self) -> float:
        return self.gamma**self.last_epoch


class PolynomialLR(Multiplying):
    """Let the learning rate fall to 0 in *total_iters* steps, as a power of the share that is left.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0)
    >>> for _ in range(2):
    ...     _ = optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return float((left / before) ** self.power)

    def _product(self) -> float:
        return float((1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power)
