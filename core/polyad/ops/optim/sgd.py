"""Stochastic gradient descent, plain and with momentum."""

from __future__ import annotations

from typing import Any

from ...dispatch.op import composite
from ...tensor import Tensor
from .steps import Shape, check_shapes, direction, elementwise, written_over


def _sgd_shape(param: Shape, grad: Shape, *params: Any) -> Shape:
    check_shapes("sgd_step", param, grad=grad)
    return param


@composite(dtype=written_over("sgd_step", 0), structure=elementwise, shape=_sgd_shape, method=False)
def _sgd_step(param: Tensor, grad: Tensor, lr: float, weight_decay: float, maximize: bool) -> Tensor:
    """``param - lr * grad``, with ``weight_decay * param`` added to the gradient; with *maximize* it goes uphill."""
    _sgd_shape(param._array.shape, grad._array.shape)  # they must be the same, not broadcast
    return param - direction(param, grad, weight_decay, maximize) * lr


def _sgd_momentum_shape(param: Shape, grad: Shape, momentum_buffer: Shape, *params: Any) -> tuple[Shape, ...]:
    check_shapes("sgd_momentum_step", param, grad=grad, momentum_buffer=momentum_buffer)
    return param, param


@composite(
    dtype=written_over("sgd_momentum_step", 0, 2),
    structure=elementwise,
    shape=_sgd_momentum_shape,
    outputs=("new_param", "new_momentum_buffer"),
    method=False,
)
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
    direction = direction(param, grad, weight_decay, maximize)
    momentum_buffer = momentum_buffer * momentum + direction * (1 - dampening)
    if nesterov:
        direction = direction + momentum_buffer * momentum
    else:
        direction = momentum_buffer
    return param - direction * lr, momentum_buffer
