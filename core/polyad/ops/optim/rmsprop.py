"""RMSprop (Hinton 2012), plain, with momentum, and centered (Graves 2013)."""

from __future__ import annotations

from ...tensor import Tensor
from .steps import direction, step


@step("param", "square_avg")
def _rmsprop_step(
    param: Tensor,
    grad: Tensor,
    square_avg: Tensor,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> tuple[Tensor, Tensor]:
    """A step divided by the root of the average of the squares."""
    grad, square_avg = _squares(param, grad, square_avg, alpha, weight_decay, maximize)
    return param - grad / (square_avg.sqrt() + eps) * lr, square_avg


@step("param", "square_avg", "momentum_buffer")
def _rmsprop_momentum_step(
    param: Tensor,
    grad: Tensor,
    square_avg: Tensor,
    momentum_buffer: Tensor,
    lr: float,
    alpha: float,
    eps: float,
    momentum: float,
    weight_decay: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """As `_rmsprop_step`, with momentum."""
    grad, square_avg = _squares(param, grad, square_avg, alpha, weight_decay, maximize)
    momentum_buffer = momentum_buffer * momentum + grad / (square_avg.sqrt() + eps)
    return param - momentum_buffer * lr, square_avg, momentum_buffer


@step("param", "square_avg", "grad_avg")
def _rmsprop_centered_step(
    param: Tensor,
    grad: Tensor,
    square_avg: Tensor,
    grad_avg: Tensor,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """A step divided by the gradient's standard deviation."""
    grad, square_avg = _squares(param, grad, square_avg, alpha, weight_decay, maximize)
    grad_avg = grad_avg + (grad - grad_avg) * (1 - alpha)
    return param - grad / _deviation(square_avg, grad_avg, eps) * lr, square_avg, grad_avg


@step("param", "square_avg", "grad_avg", "momentum_buffer")
def _rmsprop_centered_momentum_step(
    param: Tensor,
    grad: Tensor,
    square_avg: Tensor,
    grad_avg: Tensor,
    momentum_buffer: Tensor,
    lr: float,
    alpha: float,
    eps: float,
    momentum: float,
    weight_decay: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """As `_rmsprop_centered_step`, with momentum."""
    grad, square_avg = _squares(param, grad, square_avg, alpha, weight_decay, maximize)
    grad_avg = grad_avg + (grad - grad_avg) * (1 - alpha)
    momentum_buffer = momentum_buffer * momentum + grad / _deviation(square_avg, grad_avg, eps)
    return param - momentum_buffer * lr, square_avg, grad_avg, momentum_buffer


def _squares(
    param: Tensor, grad: Tensor, square_avg: Tensor, alpha: float, weight_decay: float, maximize: bool
) -> tuple[Tensor, Tensor]:
    grad = direction(param, grad, weight_decay, maximize)
    return grad, square_avg * alpha + grad * grad * (1 - alpha)


def _deviation(square_avg: Tensor, grad_avg: Tensor, eps: float) -> Tensor:
    return (square_avg - grad_avg * grad_avg).sqrt() + eps
