"""Gradients of convolutions by themselves, at PyTorch's path ``polyad.nn.grad``.

A convolution is linear in its input and in its weight: the gradient by one of them needs only its shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..arguments import explain
from ..ops.nn.convolution import convolution_gradient
from ..tensor import Tensor

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

PerAxis: TypeAlias = int | Sequence[int]


def _by_input(count: int) -> Any:
    def function(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        settings = stride, padding, dilation, groups
        return convolution_gradient(function.__name__, count, input_size, weight, grad_output, *settings)

    return _described(function, count, "input")


def _by_weight(count: int) -> Any:
    def function(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        settings = stride, padding, dilation, groups
        return convolution_gradient(function.__name__, count, input, weight_size, grad_output, *settings)

    return _described(function, count, "weight")


def _described(function: Any, count: int, operand: str) -> Any:
    name = f"conv{count}d"
    function.__name__ = function.__qualname__ = f"{name}_{operand}"
    function.__doc__ = f"""The gradient of `{name}` by its {operand}, which has *{operand}_size*. Differentiable.

    >>> import polyad
    >>> x, w = polyad.arange(4.0).reshape(1, 1, 4), polyad.ones(1, 1, 2)
    >>> polyad.nn.grad.conv1d_input(x.shape, w, polyad.ones(1, 1, 3))
    tensor([[[1., 2., 2., 1.]]])
    >>> polyad.nn.grad.conv1d_weight(x, w.shape, polyad.ones(1, 1, 3))
    tensor([[[3., 6.]]])
    """
    return function


conv1d_input, conv2d_input, conv3d_input = map(_by_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_by_weight, (1, 2, 3))

explain(globals())
