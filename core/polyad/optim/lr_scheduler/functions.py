"""Schedules whose factors a function of the user's gives."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ...base.kinds import State
from ...errors import ArgumentTypeError
from ..optimizer import Optimizer
from .scheduler import LRScheduler, check_optimizer, per_group, values

__all__ = ["LambdaLR", "MultiplicativeLR"]

Factor = Callable[[int], float]


class _ByFunction(LRScheduler):
    """Keeps a function for each group; the state has the attributes of those that are objects."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        name = type(self).__name__
        check_optimizer(name, optimizer)
        functions = per_group(name, "lr_lambda", lr_lambda, optimizer)
        for function in functions:
            if not callable(function):
                raise ArgumentTypeError(
                    f"{name}: lr_lambda must be a function, not {type(function).__name__}",
                    operands={"lr_lambda": function},
                    fix="pass a function of the step's number, or a list with one for each group",
                )
        self.lr_lambdas = functions
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """What the schedule needs to go on later; of the functions, the attributes of those that are objects."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else dict(getattr(function, "__dict__", {}))
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: State) -> None:
        """As `LRScheduler.load_state_dict`; functions stay those of this schedule."""
        self._check_state(state_dict)
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes:
                function.__dict__.update(attributes)
        self.__dict__.update((key, value) for key, value in state_dict.items() if key != "lr_lambdas")


class LambdaLR(_ByFunction):
    """Set the learning rate to the initial one times ``lr_lambda(step)``.

    Raises ValueError if there is a list of functions, but not one for each group.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
    >>> _ = optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        """The initial rates times the functions' values."""
        self._warn_outside_of_step()
        return [base * function(self.last_epoch) for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunction):
    """Multiply the learning rate by ``lr_lambda(step)`` every step.

    Raises ValueError if there is a list of functions, but not one for each group.

    >>> import polyad
    >>> from polyad import optim
    >>> optimizer = optim.SGD([polyad.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.5)
    >>> _ = optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Any]:
        """The groups' rates times the functions' values."""
        self._warn_outside_of_step()
        if self._is_initial:
            return values(self.optimizer, "lr")
        return [
            group["lr"] * function(self.last_epoch)
            for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]
