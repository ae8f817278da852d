"""Stochastic gradient descent, plain and with momentum."""

from __future__ import annotations

from ...tensor import Tensor
from .steps import direction, step


@step("param")
def _sgd_step(param: Tensor, grad: Tensor, lr: float, weight_decay: float, maximize: bool) -> Tensor:
    """``param - lr * grad``, with ``weight_decay * param`` added to the gradient; with *maximize* it goes uphill."""
    return param - direction(param, grad, weight_decay, maximize) * lr


@step("param", "momentum_buffer")
def _sgd_momentum_step(
    param: Tensor,
    grad: Tensor,
    momentum_buffer: Tensor,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
) -> tuple[Tensor, Tensor]:
    """Stochastic gradient descent with (Nesterov) momentum (Sutskever et al. 2013)."""
    grad = direction(param, grad, weight_decay, maximize)
    momentum_buffer = momentum_buffer * momentum + grad * (1 - dampening)
    along = grad + momentum_buffer * momentum if nesterov else momentum_buffer
    return param - along * lr, momentum_buffer
