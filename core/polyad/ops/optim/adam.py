"""Adam, AdamW and AMSGrad.

Their ops count the step themselves: a ``step`` operand is a 0-d float32 tensor, which the new count is written over.
"""

from __future__ import annotations

from ...base.dtypes import DType, float64
from ...tensor import Tensor
from .steps import bias_correction, decay, moments, step


@step("param", "exp_avg", "exp_avg_sq", "step", scalars=("step",))
def _adam_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    step: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Adam (Kingma and Ba 2015); with *decoupled* weight decay, AdamW (Loshchilov and Hutter 2019)."""
    param, grad = decay(param, grad, lr, weight_decay, decoupled, maximize)
    step = step + 1
    exp_avg, exp_avg_sq = moments(grad, exp_avg, exp_avg_sq, beta1, beta2)
    return _descend(param, exp_avg, exp_avg_sq, step, lr, beta1, beta2, eps), exp_avg, exp_avg_sq, step


@step("param", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step", scalars=("step",))
def _amsgrad_step(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    max_exp_avg_sq: Tensor,
    step: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    decoupled: bool,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Adam whose step never grows again where the second moment shrinks (Reddi et al. 2018)."""
    param, grad = decay(param, grad, lr, weight_decay, decoupled, maximize)
    step = step + 1
    exp_avg, exp_avg_sq = moments(grad, exp_avg, exp_avg_sq, beta1, beta2)
    max_exp_avg_sq = max_exp_avg_sq.maximum(exp_avg_sq)
    param = _descend(param, exp_avg, max_exp_avg_sq, step, lr, beta1, beta2, eps)
    return param, exp_avg, exp_avg_sq, max_exp_avg_sq, step


def _descend(
    param: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, step: Tensor, lr: float, beta1: float, beta2: float, eps: float
) -> Tensor:
    dtype = param._type.dtype
    denominator = exp_avg_sq.sqrt() / _correction(beta2, step, dtype).sqrt() + eps
    return param - exp_avg / denominator * (lr / _correction(beta1, step, dtype))


def _correction(beta: float, step: Tensor, dtype: DType) -> Tensor:
    return bias_correction(beta, step.to(dtype) if dtype is float64 else step).to(dtype)
