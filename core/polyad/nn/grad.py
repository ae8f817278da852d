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


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by its input, which has *input_size*.

    >>> import polyad
    >>> polyad.nn.grad.conv1d_input((1, 1, 4), polyad.ones(1, 1, 2), polyad.ones(1, 1, 3))
    tensor([[[1., 2., 2., 1.]]])
    """
    return _by_input(conv1d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by its weight, which has *weight_size*.

    >>> import polyad
    >>> polyad.nn.grad.conv1d_weight(polyad.arange(4.0).reshape(1, 1, 4), (1, 1, 2), polyad.ones(1, 1, 3))
    tensor([[[3., 6.]]])
    """
    return _by_weight(conv1d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by its input; as `conv1d_input`."""
    return _by_input(conv2d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by its weight; as `conv1d_weight`."""
    return _by_weight(conv2d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by its input; as `conv1d_input`."""
    return _by_input(conv3d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by its weight; as `conv1d_weight`."""
    return _by_weight(conv3d, input, weight_size, grad_output, stride, padding, dilation, groups)


def _by_input(
    convolve: Callable[..., Tensor], size: Sequence[int], weight: Tensor, g: Tensor, *settings: Any
) -> Tensor:
    with enable_grad():
        input = zeros(size, dtype=weight.dtype, device=weight.device, requires_grad=True)
        result = convolve(input, weight, None, *settings)
    (found,) = grad(result, input, g, create_graph=is_grad_enabled())
    assert found is not None
    return found


def _by_weight(
    convolve: Callable[..., Tensor], input: Tensor, size: Sequence[int], g: Tensor, *settings: Any
) -> Tensor:
    with enable_grad():
        weight = zeros(size, dtype=input.dtype, device=input.device, requires_grad=True)
        result = convolve(input, weight, None, *settings)
    (found,) = grad(result, weight, g, create_graph=is_grad_enabled())
    assert found is not None
    return found


explain(globals())
