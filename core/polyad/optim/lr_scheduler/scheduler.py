"""LRScheduler: the base of all schedules.

A schedule changes ``lr`` in its optimizer's groups, at once when it is made and then whenever it is stepped. What it
needs to go on is in its attributes, which `state_dict` returns; they have PyTorch's names.

To add a schedule, derive from `LRScheduler` and define ``get_lr``, or from `Multiplying` and define ``_factor`` and
``_product``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...arguments import Explained
from ...base.kinds import State
from ...base.state import warn_user
from ...errors import ArgumentError, ArgumentTypeError, NotSupported
from ...history.grad_mode import no_grad
from ...tensor import Tensor
from ..optimizer import MissingKey, Optimizer

__all__ = ["LRScheduler", "Multiplying"]


class LRScheduler(Explained):
    """Base class of schedules.

    Args:
        optimizer: whose groups' learning rates are changed.
        last_epoch: the number of the last step, to go on from; -1 begins.

    Raises:
        TypeError: *optimizer* is none.
        KeyError: *last_epoch* is not -1, and a group has no ``initial_lr``.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> for epoch in range(2):
    ...     _ = optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    _is_initial = False
    _get_lr_called_within_step = False
    _unsaved: frozenset[str] = frozenset({"optimizer"})
    """Attributes that are no part of the state."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(type(self).__name__, optimizer)
        if last_epoch != -1:
            for number, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise MissingKey(
                        f"{type(self).__name__}: param_groups[{number}] has no 'initial_lr' to go on from",
                        notes={"last_epoch": str(last_epoch)},
                        fix="load the optimizer's state before, or begin with last_epoch=-1",
                    )
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copied(group["lr"]))
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """What the schedule needs to go on later, but for the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key not in self._unsaved}

    def load_state_dict(self, state_dict: State) -> None:
        """Go on where *state_dict* was taken; the optimizer has a state of its own. It fits, or nothing is changed.

        Raises:
            TypeError: it is no dict.
            ValueError: it is of another schedule, or for another number of groups.
        """
        self._check_state(state_dict)
        self.__dict__.update(state_dict)

    def _check_state(self, state_dict: Any) -> None:
        name = f"{type(self).__name__}.load_state_dict"
        missing = [key for key in self.state_dict() if not key.startswith("_") and key not in state_dict]
        if missing:
            raise ArgumentError(
                f"{name}: the state has no {', '.join(map(repr, missing))}; nothing was changed",
                notes={"has": ", ".join(map(str, state_dict)) or "nothing"},
                fix="load the state of a schedule of the same class",
            )
        groups, rates = len(self.optimizer.param_groups), state_dict.get("base_lrs")
        if isinstance(rates, Sequence) and len(rates) != groups:
            raise ArgumentError(
                f"{name}: the state is for {len(rates)} parameter groups, the optimizer has {groups}; nothing was "
                "changed",
                fix="build the optimizer as it was when the state was saved",
            )

    def get_last_lr(self) -> list[Any]:
        """The learning rates of the groups that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rates of the groups for the step that is being taken."""
        raise NotSupported(f"{type(self).__name__}: get_lr is not defined", fix="define get_lr(self)")

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next step; call it after the optimizer's step.

        Warns of a call before the optimizer's first step, which leaves out the schedule's first value. *epoch* goes to
        that step instead; PyTorch discourages it.
        """
        if self._step_count == 1 and not self.optimizer._stepped:
            warn_user(
                f"{type(self).__name__}.step() before the first optimizer.step(): the schedule's first learning rate "
                "is never used; step the optimizer first",
                UserWarning,
            )
        self._step_count += 1
        if epoch is not None:
            warn_user(f"{type(self).__name__}.step: epoch is deprecated; call step() once an epoch", UserWarning)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self._get_closed_form_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set(rates)

    def _get_closed_form_lr(self) -> list[Any]:
        """The learning rates at `last_epoch`, whatever they were before."""
        return self.get_lr()

    def _set(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = values(self.optimizer, "lr")

    def _warn_outside_of_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn_user("get_lr() is for the schedule's own step; ask get_last_lr() for the rates in use", UserWarning)


class _LRScheduler(LRScheduler):
    """The base class by the name that it had in older code."""


class Multiplying(LRScheduler):
    """A schedule that multiplies the learning rates, whatever they are, so that several can work together."""

    def _factor(self) -> float:
        """By what the rates are multiplied to get those at `last_epoch`."""
        raise NotImplementedError

    def _product(self) -> float:
        """The product of all factors up to `last_epoch`."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """The groups' rates times the factor of this step."""
        self._warn_outside_of_step()
        factor = self._factor()
        if factor == 1:
            return values(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        product = self._product()
        return [base * product for base in self.base_lrs]


def copied(value: Any) -> Any:
    """A number as it is, a tensor as another tensor, which nobody else writes to."""
    return value.detach().clone() if isinstance(value, Tensor) else value


def values(optimizer: Optimizer, key: str) -> list[Any]:
    """The entries of the groups under *key*."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an entry of a group; a tensor there is written to, so that whoever holds it sees the change."""
    if isinstance(group[key], Tensor):
        with no_grad():
            group[key].fill_(float(value))
    else:
        group[key] = float(value) if isinstance(value, Tensor) else value


def check_optimizer(schedule: str, optimizer: Any) -> None:
    """Raise TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise ArgumentTypeError(
            f"{schedule}: optimizer must be an Optimizer, not {type(optimizer).__name__}",
            operands={"optimizer": optimizer},
            fix="make the optimizer first and pass it",
        )


def per_group(schedule: str, name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """An option as a list with an entry a group. Raises ValueError for a list of another length."""
    if not isinstance(value, (list, tuple)):
        return [value] * len(optimizer.param_groups)
    if len(value) != len(optimizer.param_groups):
        raise ArgumentError(
            f"{schedule}: {name} has {len(value)} entries, and the optimizer {len(optimizer.param_groups)} groups",
            fix="give a number for all groups, or an entry for each",
        )
    return list(value)
