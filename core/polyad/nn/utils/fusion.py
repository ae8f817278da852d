"""A layer and the batch normalisation after it as a single layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from ...arguments import explain
from ...errors import ConditionError, ShapeError
from ...functions import ones_like, zeros_like
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..modules.batchnorm import BatchNorm
from ..modules.module import Module, require_module
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

M = TypeVar("M", bound=Module)


def fuse_conv_bn_eval(conv: M, bn: Module, transpose: bool = False) -> M:
    """A copy of *conv*, a (transposed, with *transpose*) convolution, that computes ``bn(conv(x))`` in evaluation.

    Raises AssertionError, a ValueError too, unless both are in evaluation mode and *bn* has running values.

    >>> from polyad import nn
    >>> nn.utils.fuse_conv_bn_eval(nn.Conv2d(1, 2, 3, bias=False).eval(), nn.BatchNorm2d(2).eval())
    Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
    """
    return _fused("fuse_conv_bn_eval", conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear: M, bn: Module) -> M:
    """A copy of *linear* that computes ``bn(linear(x))`` in evaluation.

    Raises AssertionError, a ValueError too, unless both are in evaluation mode and *bn* has running values and as many
    features as *linear*.

    >>> from polyad import nn
    >>> nn.utils.fuse_linear_bn_eval(nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval())
    Linear(in_features=3, out_features=2, bias=True)
    """
    features = getattr(bn, "num_features", None)
    if features not in (1, getattr(linear, "out_features", None)):
        raise ConditionError(
            f"fuse_linear_bn_eval: bn has {features} features, linear gives {getattr(linear, 'out_features', None)}",
            fix="fuse a batch normalisation of 1 feature or of linear.out_features",
        )
    return _fused("fuse_linear_bn_eval", linear, bn, fuse_linear_bn_weights)


def _fused(op: str, layer: M, bn: Any, fuse: Any, *more: bool) -> M:
    for module in (layer, bn):
        require_module(op, module)
    if layer.training or bn.training:
        raise ConditionError(f"{op}: both layers must be in evaluation mode", fix="call eval() on both first")
    if not isinstance(bn, BatchNorm) or bn.running_mean is None or bn.running_var is None:
        raise ConditionError(
            f"{op}: bn has no running mean and variance", fix="pass a batch normalisation that tracks them"
        )
    fused: Any = copy.deepcopy(layer)
    fused.weight, fused.bias = fuse(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, *more
    )
    result: M = fused
    return result


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that `fuse_conv_bn_eval` makes, from those of the two layers.

    >>> import polyad
    >>> one, zero = polyad.ones(1), polyad.zeros(1)
    >>> weight, bias = polyad.nn.utils.fuse_conv_bn_weights(polyad.ones(1, 1, 1, 1), None, one, one, 0.0, None, None)
    >>> bias.item()
    -1.0
    """
    op = "fuse_conv_bn_weights"
    _check_tensors(op, {"conv_w": conv_w, "bn_rm": bn_rm, "bn_rv": bn_rv})
    _check_tensors(op, {"conv_b": conv_b, "bn_w": bn_w, "bn_b": bn_b}, optional=True)
    if conv_w.ndim < 2:
        raise ShapeError(
            f"{op}: conv_w has {conv_w.ndim} dimensions, and a convolution's weight has two or more",
            operands={"conv_w": conv_w},
            fix="pass conv.weight",
        )
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    return _weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the linear layer that `fuse_linear_bn_eval` makes, from those of the two layers."""
    op = "fuse_linear_bn_weights"
    _check_tensors(op, {"linear_w": linear_w, "bn_rm": bn_rm, "bn_rv": bn_rv, "bn_w": bn_w, "bn_b": bn_b})
    _check_tensors(op, {"linear_b": linear_b}, optional=True)
    return _weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _check_tensors(op: str, given: dict[str, Any], optional: bool = False) -> None:
    for name, value in given.items():
        if value is not None or not optional:
            check_tensor(value, op, name)


def _weights(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    bn_weight: Tensor | None,
    bn_bias: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    bias = zeros_like(mean) if bias is None else bias
    bn_weight = ones_like(mean) if bn_weight is None else bn_weight
    bn_bias = zeros_like(mean) if bn_bias is None else bn_bias
    scale = bn_weight * (variance + eps).rsqrt()
    fused_weight = (weight * scale.view(shape)).to(weight.dtype)
    fused_bias = ((bias - mean) * scale + bn_bias).to(bias.dtype)
    return (
        Parameter(fused_weight.detach(), weight.requires_grad),
        Parameter(fused_bias.detach(), bias.requires_grad),
    )


explain(globals())
