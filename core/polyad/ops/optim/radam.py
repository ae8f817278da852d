"""RAdam: Adam whose first steps are not divided by an average of too few squares (Liu et al. 2020)."""

from __future__ import annotations

from ...tensor import Tensor
from ..pointwise.where import where
from .steps import bias_correction, decay, in_widest_dtype, moments, rates, step


@step("param", "exp_avg", "exp_avg_sq", scalars=("plain_rate", "adaptive_rate"))
def _radam_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    plain_rate: Tensor,
    adaptive_rate: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """A step along the average at one of two rates: divided by the average of the squares, or plain if that is 0."""
    param, grad = decay(param, grad, lr, weight_decay, decoupled, maximize)
    exp_avg, exp_avg_sq = moments(grad, exp_avg, exp_avg_sq, beta1, beta2)
    rate = where(adaptive_rate == 0, plain_rate, adaptive_rate / (exp_avg_sq.sqrt() + eps))
    return param - exp_avg * rate, exp_avg, exp_avg_sq


@rates("step", gives=("plain_rate", "adaptive_rate"))
def _radam_rates(step: Tensor, lr: float, beta1: float, beta2: float) -> tuple[Tensor, Tensor, Tensor]:
    """The count, and the two rates, of which the adaptive one is 0 while the squares are too few."""
    step = step + 1
    count = in_widest_dtype(step)
    correction2 = bias_correction(beta2, count)
    plain = lr / bias_correction(beta1, count)
    longest = 2 / (1 - beta2) - 1
    length = longest - count * 2 * (1 - correction2) / correction2
    few = length <= 5
    # Where there are too few, the root's operand may be negative: 6 stands for any length that is not.
    length = where(few, 6.0, length)
    scale = longest / ((longest - 4) * (longest - 2)) if longest not in (2, 4) else 0.0
    rectified = ((length - 4) * (length - 2) / length * scale).sqrt()
    return step, plain, where(few, 0.0, plain * rectified * correction2.sqrt())
