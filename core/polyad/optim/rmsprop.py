"""RMSprop: steps divided by the root of the average of squared gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.creation.factories import zeros_like
from ..ops.optim.counting import _step_count
from ..ops.optim.rmsprop import (
    _rmsprop_centered_momentum_step,
    _rmsprop_centered_step,
    _rmsprop_momentum_step,
    _rmsprop_step,
)
from ..tensor import Tensor
from .optimizer import Optimizer, Params, new_step
from .options import check_hints, check_numbers, number
from .update import advance, update

__all__ = ["RMSprop"]


class RMSprop(Optimizer):
    """RMSprop: steps divided by the root of the average of squared gradients.

    Hinton 2012; centered by Graves 2013.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        alpha: how slowly the average of squares moves.
        eps: added to the denominator.
        weight_decay: strength of the L2 penalty.
        momentum: how much of the last step's direction is kept.
        centered: divide by the gradient's standard deviation.
        maximize: go uphill.
        foreach, capturable: hints that change no result: the parameters of a group are stepped together, and
            their count of steps is on their device.
        differentiable: record the step; see `SGD`.

    Raises:
        ValueError: a number is negative.

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optimizer = optim.RMSprop([x], lr=0.05)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    _state_names = frozenset({"square_avg", "momentum_buffer", "grad_avg"})
    _required_state = frozenset({"step", "square_avg"})
    _optional_options = frozenset({"momentum", "centered", "foreach", "maximize", "differentiable", "capturable"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "centered": centered,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("RMSprop", options, "lr", "eps", "momentum", "weight_decay", "alpha")
        check_hints("RMSprop", options)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": new_step(param), "square_avg": zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = zeros_like(param)
        return state

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        momentum, centered = group["momentum"], group["centered"]
        names = ["square_avg", *["grad_avg"] * centered, *["momentum_buffer"] * (momentum > 0)]
        last = (group["weight_decay"], group["maximize"])
        options = (number(group["lr"]), group["alpha"], group["eps"], *(momentum,) * (momentum > 0), *last)
        update(_STEPS[centered, momentum > 0], self._rows(group, *names), options, (0, *range(2, len(names) + 2)), line)
        advance(_step_count, self._scalars(group, "step"), (), line)


_STEPS: dict[tuple[bool, bool], Callable[..., Any]] = {
    (False, False): _rmsprop_step,
    (False, True): _rmsprop_momentum_step,
    (True, False): _rmsprop_centered_step,
    (True, True): _rmsprop_centered_momentum_step,
}
"""The step by (centered, with momentum)."""
