"""Averaged stochastic gradient descent (Polyak and Juditsky 1992)."""

from __future__ import annotations

from ...tensor import Tensor
from ..pointwise.where import where
from .steps import direction, in_widest_dtype, rates, step


@step("param", "ax", scalars=("eta", "mu"))
def _asgd_step(
    param: Tensor,
    grad: Tensor,
    ax: Tensor,
    eta: Tensor,
    mu: Tensor,
    lambd: float,
    weight_decay: float,
    maximize: bool,
) -> tuple[Tensor, Tensor]:
    """A step of size *eta* with decay *lambd*; *ax* moves towards the parameter by the share *mu*."""
    grad = direction(param, grad, weight_decay, maximize)
    eta = in_widest_dtype(eta)
    param = param * (1 - eta * lambd) - grad * eta
    return param, ax + (param - ax) * in_widest_dtype(mu)


@rates("step", gives=("eta", "mu"))
def _asgd_rates(step: Tensor, lr: float, lambd: float, alpha: float, t0: float) -> tuple[Tensor, Tensor, Tensor]:
    """The count, and the size and the share of the next step."""
    step = step + 1
    count = in_widest_dtype(step)
    past = count - t0
    return step, lr / (count * (lambd * lr) + 1) ** alpha, 1 / where(past > 1, past, 1.0)
