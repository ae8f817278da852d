"""Adagrad (Duchi, Hazan and Singer 2011)."""

from __future__ import annotations

from ...tensor import Tensor
from .steps import direction, in_widest_dtype, rates, step


@step("param", "sum", scalars=("rate",))
def _adagrad_step(
    param: Tensor, grad: Tensor, sum: Tensor, rate: Tensor, eps: float, weight_decay: float, maximize: bool
) -> tuple[Tensor, Tensor]:
    """A step divided by the root of the sum of all squared gradients."""
    grad = direction(param, grad, weight_decay, maximize)
    sum = sum + grad * grad
    return param - grad / (sum.sqrt() + eps) * rate, sum


@rates("step", gives=("rate",))
def _adagrad_rates(step: Tensor, lr: float, lr_decay: float) -> tuple[Tensor, Tensor]:
    """The count, and the learning rate after decay."""
    return step + 1, lr / (in_widest_dtype(step) * lr_decay + 1)
