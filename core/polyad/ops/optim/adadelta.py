"""Adadelta (Zeiler 2012)."""

from __future__ import annotations

from ...tensor import Tensor
from .steps import direction, step


@step("param", "square_avg", "acc_delta")
def _adadelta_step(
    param: Tensor,
    grad: Tensor,
    square_avg: Tensor,
    acc_delta: Tensor,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """A step in proportion to the average size of the steps before it over that of the gradients."""
    grad = direction(param, grad, weight_decay, maximize)
    square_avg = square_avg * rho + grad * grad * (1 - rho)
    delta = (acc_delta + eps).sqrt() / (square_avg + eps).sqrt() * grad
    return param - delta * lr, square_avg, acc_delta * rho + delta * delta * (1 - rho)
