"""Schedules that are made of others: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ...base.kinds import State
from ...errors import ArgumentError, ArgumentTypeError
from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, copied, set_value, values

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Combined(LRScheduler):
    """Has other schedules, whose states are in its own."""

    _schedulers: Sequence[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """What the schedules need to go on later."""
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: State) -> None:
        """As `LRScheduler.load_state_dict`, for all schedules: they fit, or nothing is changed."""
        self._check_state(state_dict)
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)
        self.__dict__.update((key, value) for key, value in state_dict.items() if key != "_schedulers")

    def _check_state(self, state_dict: Any) -> None:
        name = f"{type(self).__name__}.load_state_dict"
        super()._check_state(state_dict)
        states = state_dict.get("_schedulers") if isinstance(state_dict, Mapping) else None
        if not isinstance(states, (list, tuple)) or len(states) != len(self._schedulers):
            raise ArgumentError(
                f"{name}: the state has not the {len(self._schedulers)} schedules of this one; nothing was changed",
                fix="build the schedule as it was when the state was saved",
            )
        for scheduler, state in zip(self._schedulers, states, strict=True):
            scheduler._check_state(state)


def _check(name: str, schedulers: Any, optimizer: Optimizer | None) -> Optimizer:
    """The optimizer of *schedulers*; raises unless they can be combined."""
    schedulers = list(schedulers)
    if not schedulers:
        raise ArgumentError(f"{name}: there are no schedulers", fix="pass at least one")
    for number, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise ArgumentTypeError(
                f"{name}: schedulers[{number}] is no schedule but {type(scheduler).__name__}",
                operands={f"schedulers[{number}]": scheduler},
                fix="pass schedules of polyad.optim.lr_scheduler",
            )
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ArgumentError(
                f"{name}: schedulers[{number}] is a ReduceLROnPlateau, whose step needs a metric",
                fix="step it apart",
            )
        optimizer = optimizer or scheduler.optimizer
        if scheduler.optimizer is not optimizer:
            raise ArgumentError(
                f"{name}: schedulers[{number}] belongs to another optimizer",
                fix="make all of them for the same optimizer",
            )
    assert optimizer is not None
    return optimizer


class SequentialLR(_Combined):
    """Follow one schedule after another; the next begins at each of the steps *milestones*.

    Raises ValueError unless the schedules are the optimizer's and there is a milestone between any two.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> warmup = optim.lr_scheduler.ConstantLR(optimizer, factor=0.25, total_iters=2)
    >>> decay = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
    >>> for _ in range(4):
    ...     print(scheduler.get_last_lr())
    ...     _ = optimizer.step()
    ...     scheduler.step()
    [0.25]
    [0.25]
    [1.0]
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        _check("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                f"SequentialLR: {len(schedulers)} schedulers need {len(schedulers) - 1} milestones, not "
                f"{len(milestones)}",
                fix="give the step at which each but the first begins",
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each of them has set its first learning rate when it was made; only the schedule of step 0 is to.
        for group in optimizer.param_groups:
            set_value(group, "lr", copied(group["initial_lr"]))
        self.recursive_undo()
        current = self._current()
        current._initial_step()
        self._last_lr = current.get_last_lr()

    def recursive_undo(self, sched: LRScheduler | None = None) -> None:
        """Take back the step that each of the schedules took when it was made."""
        scheduler = self if sched is None else sched
        if isinstance(scheduler, _Combined):
            for inner in scheduler._schedulers:
                self.recursive_undo(inner)
        else:
            scheduler.last_epoch -= 1

    def _current(self) -> LRScheduler:
        return self._schedulers[bisect_right(self._milestones, self.last_epoch)]

    def _initial_step(self) -> None:
        self._current()._initial_step()

    def _update_lr(self, epoch: int | None = None) -> None:
        self._current()._update_lr(epoch)

    def step(self) -> None:  # type: ignore[override]
        """Step the schedule whose turn it is; one whose turn begins starts at its first value."""
        self.last_epoch += 1
        current = self._current()
        if self.last_epoch in self._milestones:
            current._update_lr(0)
        else:
            current.step()
        self._last_lr = current.get_last_lr()


class ChainedScheduler(_Combined):
    """Step several schedules at once; their factors multiply.

    Raises ValueError unless the schedules are those of one optimizer.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> halving = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> warmup = optim.lr_scheduler.ConstantLR(optimizer, factor=0.25, total_iters=1)
    >>> scheduler = optim.lr_scheduler.ChainedScheduler([halving, warmup])
    >>> _ = optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self.optimizer = _check("ChainedScheduler", schedulers, optimizer)
        self._schedulers = schedulers
        self._last_lr = values(self.optimizer, "lr")

    def _update_lr(self, epoch: int | None = None) -> None:
        for scheduler in self._schedulers:
            scheduler._update_lr(epoch)
        self._last_lr = values(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Step all schedules, in order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values(self.optimizer, "lr")
