"""Schedules that raise the learning rate and lower it again, with the momentum against it (Smith 2017, 2018)."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any, Literal

from ...base.kinds import State
from ...errors import ArgumentError
from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_optimizer, per_group, set_value

__all__ = ["CyclicLR", "OneCycleLR"]


class _WithMomentum(LRScheduler):
    """A schedule that may change the momentum, or the first beta, too."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, base: Any, most: Any, last_epoch: int) -> tuple[list[float], list[float]]:
        """Check that there is a momentum, and begin with the most."""
        name, optimizer = type(self).__name__, self.optimizer
        self.use_beta1 = "betas" in optimizer.defaults
        base_momentums = per_group(name, "base_momentum", base, optimizer)
        max_momentums = per_group(name, "max_momentum", most, optimizer)
        if last_epoch == -1:
            for low, high, group in zip(base_momentums, max_momentums, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return base_momentums, max_momentums

    @staticmethod
    def _check_momentum(schedule: str, optimizer: Optimizer) -> None:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ArgumentError(
                f"{schedule}: {type(optimizer).__name__} has neither momentum nor betas for cycle_momentum to change",
                fix="pass cycle_momentum=False",
            )

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Let the learning rate go from *base_lr* to *max_lr* and back, again and again. Step it after every batch.

    Args:
        optimizer: whose groups' learning rates are changed.
        base_lr, max_lr: the ends, for all groups or for each.
        step_size_up, step_size_down: steps up and steps down, by default as many.
        mode: "triangular"; "triangular2": each cycle is half as high; "exp_range": times ``gamma ** step``.
        gamma: see *mode*.
        scale_fn: instead of *mode*, a function that gives the height of a cycle, 1 for the whole.
        scale_mode: whether *scale_fn* takes the number of the "cycle" (from 1 on) or of the step ("iterations").
        cycle_momentum: let the momentum, or the first beta, go the other way.
        base_momentum, max_momentum: its ends.
        last_epoch: the number of the last step, to go on from.

    Raises:
        ValueError: the mode is another word, a list has another number of entries than there are groups, or there is no
            momentum to change.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> for _ in range(3):
    ...     _ = optimizer.step()
    ...     scheduler.step()
    ...     print(scheduler.get_last_lr())
    [0.5]
    [1.0]
    [0.5]
    """

    _unsaved = frozenset({"optimizer", "_scale_fn_custom"})

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer("CyclicLR", optimizer)
        base_lrs = per_group("CyclicLR", "base_lr", base_lr, optimizer)
        max_lrs = per_group("CyclicLR", "max_lr", max_lr, optimizer)
        if scale_fn is None and mode not in _SCALES:
            raise ArgumentError(
                f"CyclicLR: mode must be one of {', '.join(_SCALES)}, not {mode!r}, where there is no scale_fn",
                fix="choose one of these, or pass scale_fn",
            )
        if cycle_momentum:
            self._check_momentum("CyclicLR", optimizer)
        self.optimizer = optimizer
        self.max_lrs = max_lrs
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _SCALES[mode]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(base_momentum, max_momentum, last_epoch)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", rate)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, by the number of the cycle or of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 0.5 ** (x - 1) if self.mode == "triangular2" else float(self.gamma**x)

    def get_lr(self) -> list[Any]:
        """The rates at this place of the cycle; the momentum is set, too."""
        self._warn_outside_of_step()
        done = self.last_epoch / self.total_size
        cycle = math.floor(1 + done)
        place = 1.0 + done - cycle
        height = place / self.step_ratio if place <= self.step_ratio else (place - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            ends = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in ends:
                self._set_momentum(group, high - (high - low) * height)
        return [base + (most - base) * height for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """What the schedule needs to go on later; of a `scale_fn` that is an object, its attributes."""
        state = super().state_dict()
        custom = self._scale_fn_custom
        keep = custom is not None and not isinstance(custom, types.FunctionType)
        state["_scale_fn_custom"] = dict(getattr(custom, "__dict__", {})) if keep else None
        return state

    def load_state_dict(self, state_dict: State) -> None:
        """As `LRScheduler.load_state_dict`; a `scale_fn` stays that of this schedule."""
        self._check_state(state_dict)
        attributes = state_dict.get("_scale_fn_custom")
        if attributes and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self.__dict__.update((key, value) for key, value in state_dict.items() if key != "_scale_fn_custom")


_SCALES: dict[str, Literal["cycle", "iterations"]] = {
    "triangular": "cycle",
    "triangular2": "cycle",
    "exp_range": "iterations",
}
"""By mode: what the height of a cycle follows."""


class OneCycleLR(_WithMomentum):
    """Let the learning rate rise from a small one to *max_lr*, and fall to a smaller one. Step it after every batch.

    Args:
        optimizer: whose groups' learning rates are changed.
        max_lr: the highest learning rate, for all groups or for each.
        total_steps: how many steps there are; or *epochs* and *steps_per_epoch* say it.
        pct_start: the share of steps that go up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: let the momentum, or the first beta, go the other way.
        base_momentum, max_momentum: its ends.
        div_factor: *max_lr* over the first learning rate.
        final_div_factor: the first learning rate over the last.
        three_phase: fall to the first learning rate in as many steps as it rose, then to the last.
        last_epoch: the number of the last step, to go on from.

    Raises:
        ValueError: the number of steps is missing or no whole number from 1 on, *pct_start* is no share,
            *anneal_strategy* another word, or there is no momentum to change; in `step`, there are no steps left.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> for _ in range(2):
    ...     _ = optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer("OneCycleLR", optimizer)
        if total_steps is not None:
            self.total_steps = _whole("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = _whole("epochs", epochs) * _whole("steps_per_epoch", steps_per_epoch)
        else:
            raise ArgumentError(
                "OneCycleLR: the number of steps is missing",
                fix="pass total_steps, or epochs and steps_per_epoch",
            )
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ArgumentError(
                f"OneCycleLR: pct_start must be a float between 0 and 1, not {pct_start}",
                fix="choose another pct_start",
            )
        rates = per_group("OneCycleLR", "max_lr", max_lr, optimizer)
        if cycle_momentum:
            self._check_momentum("OneCycleLR", optimizer)
        self.optimizer = optimizer
        rise = float(pct_start * self.total_steps) - 1
        low, high = "base_momentum", "max_momentum"
        phases: list[tuple[float, str, str, str, str]] = [(rise, "initial_lr", "max_lr", high, low)]
        if three_phase:
            phases += [
                (float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", low, high),
                (self.total_steps - 1, "initial_lr", "min_lr", high, high),
            ]
        else:
            phases += [(self.total_steps - 1, "max_lr", "min_lr", low, high)]
        keys = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(keys, phase, strict=True)) for phase in phases]
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for most, group in zip(rates, optimizer.param_groups, strict=True):
                group["initial_lr"] = most / div_factor
                group["max_lr"] = most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates at this place of the cycle; the momentum is set, too."""
        self._warn_outside_of_step()
        step = self.last_epoch
        if step > self.total_steps:
            self.last_epoch -= 1
            self._step_count -= 1
            raise ArgumentError(
                f"OneCycleLR.step: the schedule has {self.total_steps} steps, and all of them are taken",
                fix="make the schedule with more steps",
            )
        start = 0.0
        phase = self._schedule_phases[-1]
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        share = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(*ends, share))
        return rates

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ArgumentError(
            f"OneCycleLR: {name} must be a whole number from 1 on, not {value}", fix=f"choose another {name}"
        )
    return value
