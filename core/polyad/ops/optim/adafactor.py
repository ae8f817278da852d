"""Adafactor (Shazeer and Stern 2018), in PyTorch's form: with a learning rate, and means for sums."""

from __future__ import annotations

from ...dispatch.structure import opaque
from ...tensor import Tensor
from .steps import in_widest_dtype, step


@step("param", "row_var", "col_var", "step", scalars=("row_var", "col_var", "step"), structure=opaque)
def _adafactor_step(
    param: Tensor,
    grad: Tensor,
    row_var: Tensor,
    col_var: Tensor,
    step: Tensor,
    lr: float,
    beta2_decay: float,
    eps1: float,
    eps2: float,
    d: float,
    weight_decay: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A step of matrices, whose squares are kept as averages of rows and of columns."""
    step = step + 1
    count = in_widest_dtype(step)
    grad = -grad if maximize else grad
    share = (count**beta2_decay).to(param._type.dtype)
    squares = grad * grad
    row_var = row_var + (squares.mean(-1, keepdim=True) - row_var) * share
    col_var = col_var + (squares.mean(-2, keepdim=True) - col_var) * share
    estimate = row_var @ col_var / row_var.mean(-2, keepdim=True).clamp_min(eps1)
    return _descend(param, grad, estimate, count, lr, eps1, eps2, d, weight_decay), row_var, col_var, step


@step("param", "variance", "step", scalars=("step",), structure=opaque)
def _adafactor_vector_step(
    param: Tensor,
    grad: Tensor,
    variance: Tensor,
    step: Tensor,
    lr: float,
    beta2_decay: float,
    eps1: float,
    eps2: float,
    d: float,
    weight_decay: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """A step of what has one dimension or none, whose squares are kept as they are."""
    step = step + 1
    count = in_widest_dtype(step)
    grad = -grad if maximize else grad
    share = (count**beta2_decay).to(param._type.dtype)
    variance = variance + (grad * grad - variance) * share
    return _descend(param, grad, variance, count, lr, eps1, eps2, d, weight_decay), variance, step


def _descend(
    param: Tensor,
    grad: Tensor,
    estimate: Tensor,
    count: Tensor,
    lr: float,
    eps1: float,
    eps2: float,
    d: float,
    weight_decay: float,
) -> Tensor:
    rate = (count**-0.5).clamp_max(lr) * _root_mean_square(param).clamp_min(eps2)
    update = grad / estimate.clamp_min(eps1 * eps1).sqrt()
    rate = rate / (_root_mean_square(update) / d).clamp_min(1.0)
    return param * (1 - lr * weight_decay) - update * rate


def _root_mean_square(tensor: Tensor) -> Tensor:
    return (tensor * tensor).mean().sqrt()
