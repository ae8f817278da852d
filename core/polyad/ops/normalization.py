"""Normalisation: elements shifted and scaled to mean 0 and variance 1, over a batch or over features.

Each op returns mean and (biased) variance too: the backward op of a backend's kernel reads them, and batch
normalisation tracks them. The decompositions of the backward ops compute them from the input again, so that they can be
differentiated. Float16 and bfloat16 are normalised in float32.

Sources: batch normalisation, Ioffe and Szegedy 2015; layer normalisation, Ba, Kiros and Hinton 2016; group
normalisation, Wu and He 2018.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..dispatch.op import composite, function, joint_gradient
from ..dispatch.promotion import Typing
from ..dtypes import FLOATING, bfloat16, float16, float32
from ..errors import ArgumentError, DTypeError, ShapeError
from ..layout import Shape
from ..tensor import Tensor, check_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..backend.interface import Signature

_HALF = (float16, bfloat16)


def _with_statistics(op: str) -> Any:
    """The first operand's dtype, and that of its statistics twice."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        dtype = types[0].dtype
        if dtype.category != FLOATING:
            raise DTypeError(
                f"{op}: input is {dtype.name}; only floating point tensors can be normalised",
                fix="convert it first: input.float()",
            )
        statistics = float32 if dtype in _HALF else dtype
        return Typing((None,) * len(types), (dtype, statistics, statistics))

    return rule


def _gradients(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Gradients of input, weight and bias; without a weight, the latter have the statistics' dtype."""
    weight = types[2].dtype if types[2] is not type(None) else types[3].dtype
    return Typing((None,) * len(types), (types[1].dtype, weight, weight))


def _wide(input: Tensor) -> Tensor:
    return input.to(float32) if input._type.dtype in _HALF else input


def _statistics(input: Tensor, dims: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, variance, and input minus mean, with *dims* kept."""
    mean = input.mean(dims, keepdim=True)
    centred = input - mean
    return mean, (centred * centred).mean(dims, keepdim=True), centred


def _normalized_backward(
    grad: Tensor, input: Tensor, scale: Tensor | None, dims: tuple[int, ...], eps: float
) -> tuple[Tensor, Tensor]:
    """The gradient with respect to input, and the normalised input; *scale* is the weight in a broadcast shape."""
    _, variance, centred = _statistics(_wide(input), dims)
    inverse = (variance + eps).rsqrt()
    normalized = centred * inverse
    grad = _wide(grad)
    arriving = grad if scale is None else grad * _wide(scale)
    shared = arriving.mean(dims, keepdim=True) + normalized * (arriving * normalized).mean(dims, keepdim=True)
    return (arriving - shared) * inverse, normalized


# ------------------------------------------------------------------------------------------------ over the batch


def _of_channels(input: Shape, *rest: Any) -> tuple[Shape, Shape, Shape]:
    return input, input[1:2], input[1:2]


def _backward_of_channels(grad: Shape, input: Shape, *rest: Any) -> tuple[Shape, Shape, Shape]:
    return _of_channels(input)


def _beside(channels: Tensor | None, ndim: int) -> Tensor | None:
    """A number for each channel in a shape that broadcasts over (N, C, ...)."""
    return None if channels is None else channels.reshape((-1,) + (1,) * (ndim - 2))


def _over_batch(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


@composite(
    dtype=_with_statistics("batch_norm"),
    shape=_of_channels,
    outputs=("out", "mean", "var"),
    method=False,
    grad_name="NativeBatchNormBackward0",
)
def _batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Each channel of (N, C, ...) normalised by its own mean and variance, then scaled and shifted."""
    ndim = len(input._array.shape)
    mean, variance, centred = _statistics(_wide(input), _over_batch(ndim))
    out = _affine(centred * (variance + eps).rsqrt(), _beside(weight, ndim), _beside(bias, ndim))
    return out.to(input.dtype), mean.flatten(), variance.flatten()


def _affine(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        input = input * weight
    return input if bias is None else input + bias


@composite(
    dtype=_gradients, shape=_backward_of_channels, outputs=("grad_input", "grad_weight", "grad_bias"), method=False
)
def _batch_norm_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, var: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `batch_norm` with respect to input, weight and bias."""
    ndim = len(input._array.shape)
    dims = _over_batch(ndim)
    grad_input, normalized = _normalized_backward(grad, input, _beside(weight, ndim), dims, eps)
    dtype = mean.dtype if weight is None else weight.dtype
    wide = _wide(grad)
    return grad_input.to(input.dtype), (wide * normalized).sum(dims).to(dtype), wide.sum(dims).to(dtype)


def _without_absent(gradients: tuple[Tensor, Tensor, Tensor], weight: Tensor | None) -> tuple[Tensor | None, ...]:
    return gradients if weight is not None else (gradients[0], None, gradients[2])


joint_gradient(
    _batch_norm,
    "input",
    "bias",
    lambda grads, input, weight, mean, var, eps: _without_absent(
        _batch_norm_backward(grads[0], input, weight, mean, var, eps), weight
    ),
)


def _first_shape(input: Shape, *rest: Any) -> Shape:
    return input


@composite(shape=_first_shape, method=False)
def _batch_norm_by(
    input: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Each channel of (N, C, ...) normalised by the given mean and variance, then scaled and shifted."""
    scale = (_wide(var) + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    shift = -(mean * scale) if bias is None else bias - mean * scale
    ndim = len(input._array.shape)
    return (_wide(input) * _beside(scale, ndim) + _beside(shift, ndim)).to(input.dtype)


def _check_channels(op: str, input: Tensor, **others: Tensor | None) -> None:
    check_tensor(input, op, "input")
    shape = input._array.shape
    if len(shape) < 2:
        raise ShapeError(
            f"{op}: input must have at least 2 dimensions", operands={"input": input}, fix="give (N, C, ...)"
        )
    for name, other in others.items():
        if other is not None and check_tensor(other, op, name)._array.shape != (shape[1],):
            raise ShapeError(
                f"{op}: {name} {tuple(other.shape)} does not fit the {shape[1]} channels of input {tuple(shape)}",
                operands={"input": input, name: other},
                fix=f"make it ({shape[1]},), or give input {other.numel()} channels",
            )


@function(method=False)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel over the batch and all positions, then scale by *weight* and shift by *bias*.

    Shapes: input (N, C, ...), the others (C,). In training the batch's mean and variance are used, and the running
    ones, if given, move towards them in place: ``running = (1 - momentum) * running + momentum * batch``, with the
    unbiased variance. An empty batch leaves them as they are. In evaluation the running ones are used.

    Raises ValueError in training on one value a channel; RuntimeError for shapes that do not fit, a dtype that is not
    floating point, or without running statistics in evaluation.

    >>> import polyad
    >>> x = polyad.tensor([[1.0], [3.0]])
    >>> polyad.nn.functional.batch_norm(x, None, None, training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    """
    _check_channels("batch_norm", input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not training:
        if running_mean is None or running_var is None:
            raise ShapeError(
                "batch_norm: evaluation needs running_mean and running_var",
                operands={"input": input},
                fix="pass them, or training=True",
            )
        return _batch_norm_by(input, running_mean, running_var, weight, bias, eps)
    shape = input._array.shape
    count = math.prod(shape) // shape[1] if shape[1] else 0
    if count == 1:
        raise ArgumentError(
            "batch_norm: one value a channel has no variance to train on",
            operands={"input": input},
            fix="use a larger batch, or evaluation mode",
        )
    if not count:
        # No values have no mean; the running ones stay as they are.
        from .creation import zeros

        none = zeros(shape[1], dtype=input.dtype, device=input.device)
        return _batch_norm_by(input, none, none, weight, bias, eps)
    out, mean, variance = _batch_norm(input, weight, bias, eps)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean.detach(), alpha=momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(variance.detach(), alpha=momentum * count / max(count - 1, 1))
    return out


# ------------------------------------------------------------------------------------------------ over the features


def _of_rows(input: Shape, weight: Any, bias: Any, count: int, eps: float) -> tuple[Shape, Shape, Shape]:
    rows = input[: len(input) - count] + (1,) * count
    return input, rows, rows


def _backward_of_rows(
    grad: Shape, input: Shape, weight: Any, mean: Shape, var: Shape, count: int, eps: float
) -> tuple[Shape, Shape, Shape]:
    features = input[len(input) - count :]
    return input, features, features


@composite(
    dtype=_with_statistics("layer_norm"),
    shape=_of_rows,
    outputs=("out", "mean", "var"),
    method=False,
    grad_name="NativeLayerNormBackward0",
)
def _layer_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, count: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The last *count* dimensions normalised together, then scaled and shifted."""
    ndim = len(input._array.shape)
    mean, variance, centred = _statistics(_wide(input), tuple(range(ndim - count, ndim)))
    return _affine(centred * (variance + eps).rsqrt(), weight, bias).to(input.dtype), mean, variance


@composite(dtype=_gradients, shape=_backward_of_rows, outputs=("grad_input", "grad_weight", "grad_bias"), method=False)
def _layer_norm_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, var: Tensor, count: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `layer_norm` with respect to input, weight and bias."""
    ndim = len(input._array.shape)
    grad_input, normalized = _normalized_backward(grad, input, weight, tuple(range(ndim - count, ndim)), eps)
    rows = tuple(range(ndim - count))
    dtype = mean.dtype if weight is None else weight.dtype
    wide = _wide(grad)
    of_weight, of_bias = wide * normalized, wide
    if rows:
        of_weight, of_bias = of_weight.sum(rows), of_bias.sum(rows)
    return grad_input.to(input.dtype), of_weight.to(dtype), of_bias.to(dtype)


joint_gradient(
    _layer_norm,
    "input",
    "bias",
    lambda grads, input, weight, mean, var, count, eps: _without_absent(
        _layer_norm_backward(grads[0], input, weight, mean, var, count, eps), weight
    ),
)


@function(method=False)
def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions, then scale by *weight* and shift by *bias*.

    Shapes: input (*, *normalized_shape), weight and bias normalized_shape; floating point.

    Raises RuntimeError for shapes and dtypes that do not fit.

    >>> import polyad
    >>> polyad.nn.functional.layer_norm(polyad.tensor([[1.0, 3.0], [5.0, 5.0]]), (2,), eps=0.5)
    tensor([[-0.8165,  0.8165],
            [ 0.0000,  0.0000]])
    """
    check_tensor(input, "layer_norm", "input")
    features = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    shape = input._array.shape
    if not features or shape[-len(features) :] != features:
        raise ShapeError(
            f"layer_norm: input {tuple(shape)} does not end in normalized_shape {features}",
            operands={"input": input},
            fix=f"use normalized_shape={tuple(shape[-max(len(features), 1) :])}",
        )
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and check_tensor(other, "layer_norm", name)._array.shape != features:
            raise ShapeError(
                f"layer_norm: {name} {tuple(other.shape)} is not of normalized_shape {features}",
                operands={"input": input, name: other},
                fix=f"make it {features}",
            )
    return _layer_norm(input, weight, bias, len(features), eps)[0]


@function(method=False)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalise each of *num_groups* groups of channels of each sample, then scale and shift each channel.

    Shapes: input (N, C, ...), weight and bias (C,); floating point.

    Raises RuntimeError when *num_groups* does not divide C or shapes do not fit.

    >>> import polyad
    >>> polyad.nn.functional.group_norm(polyad.tensor([[1.0, 3.0, 2.0, 6.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    _check_channels("group_norm", input, weight=weight, bias=bias)
    shape = input._array.shape
    if not isinstance(num_groups, int) or num_groups < 1 or shape[1] % num_groups:
        raise ShapeError(
            f"group_norm: {shape[1]} channels cannot be split into {num_groups!r} groups",
            operands={"input": input},
            fix="choose a divisor of the number of channels",
        )
    if not math.prod(shape):
        return _affine(input, _beside(weight, len(shape)), _beside(bias, len(shape)))
    normalized = _layer_norm(input.reshape(shape[0] * num_groups, -1), None, None, 1, eps)[0].reshape(shape)
    return _affine(normalized, _beside(weight, len(shape)), _beside(bias, len(shape)))
