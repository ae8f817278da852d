"""Gradients of convolutions by themselves, at PyTorch's path ``polyad.nn.grad``.

A convolution is linear in its input and in its weight: the gradient by one of them needs only its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..arguments import explain
from ..autograd import enable_grad, grad
from ..functions import zeros
from ..history.grad_mode import is_grad_enabled
from ..tensor import Tensor
from .functional import conv1d, conv2d, conv3d

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

PerAxis: TypeAlias = int | Sequence[int]


def _by_input(convolve: Callable[..., Tensor]) -> Any:
    def function(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        with enable_grad():
            input = zeros(input_size, dtype=weight.dtype, device=weight.device, requires_grad=True)
            result = convolve(input, weight, None, stride, padding, dilation, groups)
        return _gradient(result, input, grad_output)

    return _described(function, convolve, "input")


def _by_weight(convolve: Callable[..., Tensor]) -> Any:
    def function(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        with enable_grad():
            weight = zeros(weight_size, dtype=input.dtype, device=input.device, requires_grad=True)
            result = convolve(input, weight, None, stride, padding, dilation, groups)
        return _gradient(result, weight, grad_output)

    return _described(function, convolve, "weight")


def _gradient(result: Tensor, operand: Tensor, grad_output: Tensor) -> Tensor:
    (found,) = grad(result, operand, grad_output, create_graph=is_grad_enabled())
    assert found is not None
    return found


def _described(function: Any, convolve: Callable[..., Tensor], operand: str) -> Any:
    name: str = convolve.__name__
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


conv1d_input, conv2d_input, conv3d_input = map(_by_input, (conv1d, conv2d, conv3d))
conv1d_weight, conv2d_weight, conv3d_weight = map(_by_weight, (conv1d, conv2d, conv3d))

explain(globals())
