"""Adamax: Adam with the infinity norm (Kingma and Ba 2015, section 7.1)."""

from __future__ import annotations

from ...tensor import Tensor
from .steps import bias_correction, direction, in_widest_dtype, rates, step


@step("param", "exp_avg", "exp_inf", scalars=("rate",))
def _adamax_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_inf: Tensor,
    rate: Tensor,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """A step divided by the largest gradient so far, which fades."""
    grad = direction(param, grad, weight_decay, maximize)
    exp_avg = exp_avg + (grad - exp_avg) * (1 - beta1)
    exp_inf = (exp_inf * beta2).maximum(grad.abs() + eps)
    return param - exp_avg / exp_inf * rate, exp_avg, exp_inf


@rates("step", gives=("rate",))
def _adamax_rates(step: Tensor, lr: float, beta1: float) -> tuple[Tensor, Tensor]:
    """The count, and the learning rate with the average's bias corrected."""
    step = step + 1
    return step, lr / bias_correction(beta1, in_widest_dtype(step))
