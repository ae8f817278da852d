"""NAdam: Adam with Nesterov momentum (Dozat 2016)."""

from __future__ import annotations

import math

from ...tensor import Tensor
from .steps import bias_correction, decay, in_widest_dtype, moments, rates, step


@step("param", "exp_avg", "exp_avg_sq", scalars=("grad_rate", "average_rate", "root"))
def _nadam_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    grad_rate: Tensor,
    average_rate: Tensor,
    root: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """A step along the gradient and along its average, each at a rate of its own."""
    param, grad = decay(param, grad, lr, weight_decay, decoupled, maximize)
    exp_avg, exp_avg_sq = moments(grad, exp_avg, exp_avg_sq, beta1, beta2)
    denominator = exp_avg_sq.sqrt() / root + eps
    return param - (grad * grad_rate + exp_avg * average_rate) / denominator, exp_avg, exp_avg_sq


@rates("step", "mu_product", gives=("grad_rate", "average_rate", "root"))
def _nadam_rates(
    step: Tensor, mu_product: Tensor, lr: float, beta1: float, beta2: float, momentum_decay: float
) -> tuple[Tensor, ...]:
    """The count, the product of all momenta so far, and what the step needs of them."""
    step = step + 1
    count = in_widest_dtype(step)
    mu = _momentum(count, beta1, momentum_decay)
    mu_next = _momentum(count + 1, beta1, momentum_decay)
    product = (in_widest_dtype(mu_product) * mu).to(mu_product._type.dtype)
    rounded = in_widest_dtype(product)
    grad_rate = (1 - mu) / (1 - rounded) * lr
    average_rate = mu_next / (1 - rounded * mu_next) * lr
    return step, product, grad_rate, average_rate, bias_correction(beta2, count).sqrt()


def _momentum(count: Tensor, beta1: float, momentum_decay: float) -> Tensor:
    return (1 - (count * (momentum_decay * math.log(0.96))).exp() * 0.5) * beta1
