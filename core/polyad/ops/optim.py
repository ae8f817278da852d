"""One training step of a parameter, as an op: what a backend fuses into a single pass over memory.

Each op takes a parameter, its gradient and the optimizer's state of it, and returns the new parameter and the new
state. The optimizers (`polyad.optim`) call them so that the results are written over the operands; a kernel that
takes ``out`` does so without allocating anything. A ``step`` operand is a 0-d float32 tensor on the parameter's
device: nothing has to wait for the device to read it.

To add an optimizer, declare its step here as a composite, then write the class in polyad/optim/. A kernel for it may
come later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..backend.interface import Signature
from ..dispatch.op import composite
from ..dispatch.promotion import Rule, Typing
from ..dispatch.structure import Pointwise, as_operands
from ..dtypes import FLOATING, DType, float64
from ..errors import DTypeError, ShapeError
from ..tensor import Tensor

Shape = tuple[int, ...]


def _written_over(op: str, *positions: int) -> Rule:
    """Operands as they are; each result has the dtype of the operand over which it is written."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        if types[0].dtype.category < FLOATING:
            raise DTypeError(
                f"{op}: param is {types[0].dtype.name}; only floating point and complex tensors can be trained",
                fix="give the optimizer floating point parameters",
            )
        return Typing((None,) * len(types), tuple([types[position].dtype for position in positions]))

    return rule


def _check_shapes(op: str, param: Shape, **others: Shape) -> None:
    for name, shape in others.items():
        if tuple(shape) != tuple(param):
            raise ShapeError(
                f"{op}: param {tuple(param)} and {name} {tuple(shape)} must have one shape",
                fix="make a new optimizer if the parameter was given another shape",
            )


def _sgd_shape(param: Shape, grad: Shape, *params: Any) -> Shape:
    _check_shapes("sgd_step", param, grad=grad)
    return param


@composite(
    dtype=_written_over("sgd_step", 0),
    structure=Pointwise(broadcasts=False),
    strides=as_operands,
    shape=_sgd_shape,
    method=False,
)
def _sgd_step(param: Tensor, grad: Tensor, lr: float, weight_decay: float, maximize: bool) -> Tensor:
    """``param - lr * grad``, with ``weight_decay * param`` added to the gradient; with *maximize* it goes uphill."""
    _sgd_shape(param._array.shape, grad._array.shape)  # they must be the same, not broadcast
    return param - _direction(param, grad, weight_decay, maximize) * lr


def _sgd_momentum_shape(param: Shape, grad: Shape, momentum_buffer: Shape, *params: Any) -> tuple[Shape, ...]:
    _check_shapes("sgd_momentum_step", param, grad=grad, momentum_buffer=momentum_buffer)
    return param, param


@composite(
    dtype=_written_over("sgd_momentum_step", 0, 2),
    structure=Pointwise(broadcasts=False),
    strides=as_operands,
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
    direction = _direction(param, grad, weight_decay, maximize)
    momentum_buffer = momentum_buffer * momentum + direction * (1 - dampening)
    if nesterov:
        direction = direction + momentum_buffer * momentum
    else:
        direction = momentum_buffer
    return param - direction * lr, momentum_buffer


def _adam_shape(
    param: Shape, grad: Shape, exp_avg: Shape, exp_avg_sq: Shape, step: Shape, *params: Any
) -> tuple[Shape, ...]:
    _check_shapes("adam_step", param, grad=grad, exp_avg=exp_avg, exp_avg_sq=exp_avg_sq)
    return param, param, param, step


@composite(
    dtype=_written_over("adam_step", 0, 2, 3, 4),
    structure=Pointwise(broadcasts=False),
    strides=as_operands,
    shape=_adam_shape,
    outputs=("new_param", "new_exp_avg", "new_exp_avg_sq", "new_step"),
    method=False,
)
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
    param, direction = _decay(param, grad, lr, weight_decay, decoupled, maximize)
    step = step + 1
    exp_avg, exp_avg_sq = _moments(direction, exp_avg, exp_avg_sq, beta1, beta2)
    return _descend(param, exp_avg, exp_avg_sq, step, lr, beta1, beta2, eps), exp_avg, exp_avg_sq, step


def _amsgrad_shape(
    param: Shape, grad: Shape, exp_avg: Shape, exp_avg_sq: Shape, max_exp_avg_sq: Shape, step: Shape, *params: Any
) -> tuple[Shape, ...]:
    _check_shapes(
        "amsgrad_step", param, grad=grad, exp_avg=exp_avg, exp_avg_sq=exp_avg_sq, max_exp_avg_sq=max_exp_avg_sq
    )
    return param, param, param, param, step


@composite(
    dtype=_written_over("amsgrad_step", 0, 2, 3, 4, 5),
    structure=Pointwise(broadcasts=False),
    strides=as_operands,
    shape=_amsgrad_shape,
    outputs=("new_param", "new_exp_avg", "new_exp_avg_sq", "new_max_exp_avg_sq", "new_step"),
    method=False,
)
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
    param, direction = _decay(param, grad, lr, weight_decay, decoupled, maximize)
    step = step + 1
    exp_avg, exp_avg_sq = _moments(direction, exp_avg, exp_avg_sq, beta1, beta2)
    max_exp_avg_sq = max_exp_avg_sq.maximum(exp_avg_sq)
    param = _descend(param, exp_avg, max_exp_avg_sq, step, lr, beta1, beta2, eps)
    return param, exp_avg, exp_avg_sq, max_exp_avg_sq, step


def _direction(param: Tensor, grad: Tensor, weight_decay: float, maximize: bool) -> Tensor:
    """The gradient of what is minimised: uphill turned downhill, plus the penalty's gradient."""
    if maximize:
        grad = -grad
    return grad + param * weight_decay if weight_decay else grad


def _decay(
    param: Tensor, grad: Tensor, lr: float, weight_decay: float, decoupled: bool, maximize: bool
) -> tuple[Tensor, Tensor]:
    """Weight decay: on the parameter itself if *decoupled*, else as a part of the gradient."""
    if decoupled and weight_decay:
        param, weight_decay = param * (1 - lr * weight_decay), 0.0
    return param, _direction(param, grad, weight_decay, maximize)


def _moments(grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
    """The moving averages of the gradient and of its square."""
    return exp_avg + (grad - exp_avg) * (1 - beta1), exp_avg_sq * beta2 + grad * grad * (1 - beta2)


def _descend(
    param: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, step: Tensor, lr: float, beta1: float, beta2: float, eps: float
) -> Tensor:
    dtype = param._type.dtype
    denominator = exp_avg_sq.sqrt() / _bias_correction(beta2, step, dtype).sqrt() + eps
    return param - exp_avg / denominator * (lr / _bias_correction(beta1, step, dtype))


def _bias_correction(beta: float, step: Tensor, dtype: DType) -> Tensor:
    """``1 - beta ** step`` without the cancellation that costs float32 four digits when beta is 0.999."""
    exponent = (step.to(dtype) if dtype is float64 else step) * (math.log(beta) if beta else -math.inf)
    return (-exponent.expm1()).to(dtype)
