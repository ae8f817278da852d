"""Normalisation: elements shifted and scaled to mean 0 and variance 1, over a batch or over features.

Each op returns mean and (biased) variance too: the backward op reads them, and batch normalisation tracks them. Where a
backward op may itself be differentiated, it computes them from the input again, since they depend on it. Float16 and
bfloat16 are normalised in float32.

Sources: batch normalisation, Ioffe and Szegedy 2015; layer normalisation, Ba, Kiros and Hinton 2016; group
normalisation, Wu and He 2018; root mean square normalisation, Zhang and Sennrich 2019.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...base.dtypes import FLOATING, finfo, float32
from ...base.shapes_and_strides import Shape, normalize_dims, normalize_shape
from ...dispatch.forward import by_body
from ...dispatch.modes import may_be_differentiated
from ...dispatch.op import alias, composite, function, joint_gradient
from ...dispatch.out import write_out
from ...dispatch.promotion import Typing
from ...dispatch.structure import Last, Rowwise, opaque, row_major
from ...errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError, UnsupportedDType, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import zeros
from ..declaring.half_types import HALF_TYPES, half_to_float32
from ..declaring.shape_rules import channels_in_front
from ..declaring.windows import arranged
from ..linalg.norms import _order, norm_over
from ..pointwise.arithmetic import _div
from ..pointwise.clamp import _clamp
from ..shaping.joining import cat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...backend.interface import Signature

    Dims = int | Sequence[int]


def _with_statistics(op: str) -> Any:
    """The first operand's dtype, and that of its statistics twice."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        dtype = types[0].dtype
        if dtype.category != FLOATING:
            raise UnsupportedDType(
                f"{op}: input is {dtype.name}; only floating point tensors can be normalised",
                fix="convert it first: input.float()",
            )
        statistics = float32 if dtype in HALF_TYPES else dtype
        return Typing((None,) * len(types), (dtype, statistics, statistics))

    return rule


def _by_given(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,) * len(types), _with_statistics("batch_norm")(types, params).outputs[:1])


def _check_dtypes(op: str, input: Tensor, **others: Tensor | None) -> None:
    """Raise unless all of *others* that are given have the dtype of *input* or, beside a half type, all float32."""
    dtypes = {name: other._type.dtype for name, other in others.items() if other is not None}
    dtype = input._type.dtype
    if any(other is not dtype for other in dtypes.values()) and not (
        dtype in HALF_TYPES and all(other is float32 for other in dtypes.values())
    ):
        name = next(name for name, other in dtypes.items() if other is not dtype)
        raise DTypeError(
            f"{op}: {name} is {dtypes[name].name} beside an input of {dtype.name}",
            operands={"input": input, **{name: other for name, other in others.items() if other is not None}},
            fix="give all parameters input's dtype; beside a half type they may all be float32",
        )


def _check_eps(op: str, eps: float, training: bool) -> None:
    if eps < 0 or (training and not eps):
        raise ArgumentError(
            f"{op}: eps {eps} must be {'above 0 in training' if training else 'at least 0'}", fix="1e-5 is usual"
        )


def _gradients(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Gradients of input, weight and bias; without a weight, the latter have the statistics' dtype."""
    weight = types[2].dtype if types[2] is not type(None) else types[3].dtype
    return Typing((None,) * len(types), (types[1].dtype, weight, weight))


def _statistics(input: Tensor, dims: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Mean, variance, and input minus mean, with *dims* kept."""
    mean = input.mean(dims, keepdim=True)
    centred = input - mean
    return mean, (centred * centred).mean(dims, keepdim=True), centred


def _normalized_backward(
    grad: Tensor, input: Tensor, scale: Tensor | None, mean: Tensor, variance: Tensor, dims: tuple[int, ...], eps: float
) -> tuple[Tensor, Tensor]:
    """The gradient with respect to input, and the normalised input; *scale* is the weight, and *mean* and *variance*
    the statistics, in shapes that broadcast.
    """
    centred = half_to_float32(input) - mean
    if may_be_differentiated():
        _, variance, centred = _statistics(half_to_float32(input), dims)
    inverse = (variance + eps).rsqrt()
    normalized = centred * inverse
    grad = half_to_float32(grad)
    arriving = grad if scale is None else grad * half_to_float32(scale)
    shared = arriving.mean(dims, keepdim=True) + normalized * (arriving * normalized).mean(dims, keepdim=True)
    return (arriving - shared) * inverse, normalized


# ------------------------------------------------------------------------------------------------ over the batch


def _of_channels(input: Shape, *rest: Any) -> tuple[Shape, Shape, Shape]:
    return input, input[1:2], input[1:2]


def _backward_of_channels(grad: Shape, input: Shape, *rest: Any) -> tuple[Shape, Shape, Shape]:
    return _of_channels(input)


def _beside(channels: Tensor | None, ndim: int) -> Tensor | None:
    """As `_there`, of a weight or bias that may be absent."""
    return None if channels is None else _there(channels, ndim)


def _there(channels: Tensor, ndim: int) -> Tensor:
    """A number for each channel in a shape that broadcasts over (N, C, ...)."""
    return channels.reshape((-1,) + (1,) * (ndim - 2))


def _over_batch(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


@composite(
    dtype=_with_statistics("batch_norm"),
    structure=opaque,
    strides=row_major,
    shape=_of_channels,
    outputs=("out", "mean", "var"),
    method=False,
    grad_name="NativeBatchNormBackward0",
)
def _batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Each channel of (N, C, ...) normalised by its own mean and variance, then scaled and shifted."""
    ndim = len(input._array.shape)
    mean, variance, centred = _statistics(half_to_float32(input), _over_batch(ndim))
    out = _affine(centred * (variance + eps).rsqrt(), _beside(weight, ndim), _beside(bias, ndim))
    return out.to(input.dtype), mean.flatten(), variance.flatten()


def _affine(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        input = input * weight
    return input if bias is None else input + bias


@composite(
    dtype=_gradients,
    structure=opaque,
    shape=_backward_of_channels,
    outputs=("grad_input", "grad_weight", "grad_bias"),
    method=False,
)
def _batch_norm_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, var: Tensor, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `batch_norm` with respect to input, weight and bias."""
    ndim = len(input._array.shape)
    dims = _over_batch(ndim)
    grad_input, normalized = _normalized_backward(
        grad, input, _beside(weight, ndim), _there(mean, ndim), _there(var, ndim), dims, eps
    )
    dtype = mean.dtype if weight is None else weight.dtype
    wide = half_to_float32(grad)
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
by_body(_batch_norm)


def _first_shape(input: Shape, *rest: Any) -> Shape:
    return input


@composite(dtype=_by_given, structure=opaque, strides=row_major, shape=_first_shape, method=False)
def _batch_norm_by(
    input: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """Each channel of (N, C, ...) normalised by the given mean and variance, then scaled and shifted."""
    scale = (half_to_float32(var) + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    shift = -(mean * scale) if bias is None else bias - mean * scale
    ndim = len(input._array.shape)
    return (half_to_float32(input) * _beside(scale, ndim) + _beside(shift, ndim)).to(input.dtype)


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
                fix=channels_in_front(shape, other.numel())
                or f"make it ({shape[1]},), or give input {other.numel()} channels",
            )


@function(namespace="nn.functional")
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

    Raises ValueError in training on a single value per channel, and for an eps that is not positive; RuntimeError for
    shapes and dtypes that do not fit, a dtype that is not floating point, or values in evaluation without running
    statistics.

    >>> import polyad
    >>> x = polyad.tensor([[1.0], [3.0]])
    >>> polyad.nn.functional.batch_norm(x, None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    channels = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    _check_channels("batch_norm", input, **channels)
    _check_dtypes("batch_norm", input, **channels)
    _check_eps("batch_norm", eps, training)
    if isinstance(momentum, bool) or not isinstance(momentum, (int, float)):
        raise ArgumentTypeError(f"batch_norm: momentum is {safe_repr(momentum)}, not a number", fix="0.1 is usual")
    shape = input._array.shape
    count = math.prod(shape) // shape[1] if shape[1] else 0
    if not training and (count or running_mean is not None or running_var is not None):
        if running_mean is None or running_var is None:
            raise ShapeError(
                "batch_norm: evaluation needs running_mean and running_var",
                operands={"input": input},
                fix="pass them, or training=True",
            )
        return arranged(_batch_norm_by(input, running_mean, running_var, weight, bias, eps), input)
    if count == 1:
        raise ArgumentError(
            "batch_norm: one value a channel has no variance to train on",
            operands={"input": input},
            fix="use a larger batch, or evaluation mode",
        )
    if not count:
        # No values have no mean; the running ones stay as they are.
        none = zeros(shape[1], dtype=input.dtype, device=input.device)
        return _batch_norm_by(input, none, none, weight, bias, eps)
    out, mean, variance = _batch_norm(input, weight, bias, eps)
    out = arranged(out, input)
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
    structure=Rowwise(Last("count")),
    strides=row_major,
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
    mean, variance, centred = _statistics(half_to_float32(input), tuple(range(ndim - count, ndim)))
    return _affine(centred * (variance + eps).rsqrt(), weight, bias).to(input.dtype), mean, variance


@composite(
    dtype=_gradients,
    structure=opaque,
    shape=_backward_of_rows,
    outputs=("grad_input", "grad_weight", "grad_bias"),
    method=False,
)
def _layer_norm_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, mean: Tensor, var: Tensor, count: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `layer_norm` with respect to input, weight and bias."""
    ndim = len(input._array.shape)
    grad_input, normalized = _normalized_backward(grad, input, weight, mean, var, tuple(range(ndim - count, ndim)), eps)
    rows = tuple(range(ndim - count))
    dtype = mean.dtype if weight is None else weight.dtype
    wide = half_to_float32(grad)
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
by_body(_layer_norm)


def _features(op: str, input: Tensor, normalized_shape: Any, **others: Tensor | None) -> Shape:
    """The sizes that are normalised together. Raises unless input ends in them and all of *others* have them."""
    check_tensor(input, op, "input")
    if not isinstance(normalized_shape, (tuple, list)):
        raise ArgumentTypeError(
            f"{op}: normalized_shape is {safe_repr(normalized_shape)}, neither tuple nor list",
            operands={"input": input},
            fix=f"write ({safe_repr(normalized_shape)},)",
        )
    features = normalize_shape((normalized_shape,), op)
    shape = input._array.shape
    if not features or shape[-len(features) :] != features:
        raise ShapeError(
            f"{op}: input {tuple(shape)} does not end in normalized_shape {features}",
            operands={"input": input},
            fix=f"use normalized_shape={tuple(shape[-max(len(features), 1) :])}",
        )
    for name, other in others.items():
        if other is not None and check_tensor(other, op, name)._array.shape != features:
            raise ShapeError(
                f"{op}: {name} {tuple(other.shape)} is not of normalized_shape {features}",
                operands={"input": input, name: other},
                fix=f"make it {features}",
            )
    return features


@function(namespace="nn.functional")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
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
    features = _features("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    _check_dtypes("layer_norm", input, weight=weight, bias=bias)
    return _layer_norm(input, weight, bias, len(features), eps)[0]


@function(namespace="nn.functional")
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
            f"group_norm: {shape[1]} channels cannot be split into {safe_repr(num_groups)} groups",
            operands={"input": input},
            fix="choose a divisor of the number of channels",
        )
    _check_dtypes("group_norm", input, weight=weight, bias=bias)
    scale, shift = _beside(weight, len(shape)), _beside(bias, len(shape))
    if not math.prod(shape):
        return _affine(half_to_float32(input), scale, shift).to(input.dtype)
    if math.prod(shape) == num_groups:
        raise ArgumentError(
            "group_norm: one value a group has no variance",
            operands={"input": input},
            fix="use fewer groups, or more positions or samples",
        )
    rows = half_to_float32(input).reshape(shape[0] * num_groups, -1)
    out = _affine(_layer_norm(rows, None, None, 1, eps)[0].reshape(shape), scale, shift).to(input.dtype)
    return arranged(out, input)


@function(namespace="nn.functional")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each sample over its positions, then scale by *weight* and shift by *bias* (Ulyanov et
    al. 2016).

    Shapes: input (N, C, ...), the others (C,). With *use_input_stats* each sample's mean and variance are used, and the
    running ones, if given, move towards their averages over the batch as in `batch_norm`; without, the running ones
    are used.

    Raises ValueError for a single value per channel and for a running statistic without the other; RuntimeError for
    shapes and dtypes that do not fit, or without running statistics where they are used.

    >>> import polyad
    >>> polyad.nn.functional.instance_norm(polyad.tensor([[[1.0, 3.0], [2.0, 6.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    check_tensor(input, "instance_norm", "input")
    shape = input._array.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ArgumentError(
            f"instance_norm: input {tuple(shape)} has one value a channel, which has no variance",
            operands={"input": input},
            fix="give (N, C, L) with 2 or more positions",
        )
    if (running_mean is None) != (running_var is None):
        raise ArgumentError(
            "instance_norm: running_mean and running_var go together",
            operands={"input": input},
            fix="give both or none",
        )
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    channels = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    _check_channels("instance_norm", input, **channels)
    _check_dtypes("instance_norm", input, **channels)
    _check_eps("instance_norm", eps, False)
    count, positions = shape[0], math.prod(shape[2:])
    if not math.prod(shape):
        scale, shift = _beside(weight, len(shape)), _beside(bias, len(shape))
        return _affine(half_to_float32(input), scale, shift).to(input.dtype)
    rows = input.reshape(1, count * shape[1], *shape[2:])
    scales, shifts = (None if tensor is None else tensor.repeat(count) for tensor in (weight, bias))
    out, mean, variance = _batch_norm(rows, scales, shifts, eps)
    if running_mean is not None and running_var is not None:
        average = mean.detach().reshape(count, shape[1]).mean(0)
        spread = variance.detach().reshape(count, shape[1]).mean(0)
        running_mean.mul_(1 - momentum).add_(average, alpha=momentum)
        running_var.mul_(1 - momentum).add_(spread, alpha=momentum * positions / (positions - 1))
    return out.reshape(shape)


# ------------------------------------------------------------------------------------------------ by size alone


def _with_inverse(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,) * len(types), _with_statistics("rms_norm")(types, params).outputs[:2])


def _of_rows_once(input: Shape, weight: Any, count: int, eps: float) -> tuple[Shape, Shape]:
    return input, input[: len(input) - count] + (1,) * count


def _weight_gradient(types: Signature, params: Mapping[str, Any]) -> Typing:
    weight = types[2] if types[2] is not type(None) else types[3]
    return Typing((None,) * len(types), (types[1].dtype, weight.dtype))


def _backward_of_rows_once(grad: Shape, input: Shape, weight: Any, inverse: Shape, count: int, eps: float) -> Any:
    return input, input[len(input) - count :]


@composite(
    dtype=_with_inverse,
    structure=Rowwise(Last("count")),
    strides=row_major,
    shape=_of_rows_once,
    outputs=("out", "inverse"),
    method=False,
    grad_name="FusedRmsNormBackward0",
)
def _rms_norm(input: Tensor, weight: Tensor | None, count: int, eps: float) -> tuple[Tensor, Tensor]:
    """The last *count* dimensions divided by their root mean square, then scaled; and 1 over that."""
    ndim = len(input._array.shape)
    wide = half_to_float32(input)
    inverse = ((wide * wide).mean(tuple(range(ndim - count, ndim)), keepdim=True) + eps).rsqrt()
    return _affine(wide * inverse, weight, None).to(input.dtype), inverse


@composite(
    dtype=_weight_gradient,
    structure=opaque,
    shape=_backward_of_rows_once,
    outputs=("grad_input", "grad_weight"),
    method=False,
)
def _rms_norm_backward(
    grad: Tensor, input: Tensor, weight: Tensor | None, inverse: Tensor, count: int, eps: float
) -> tuple[Tensor, Tensor]:
    """The gradients of `rms_norm` with respect to input and weight."""
    ndim = len(input._array.shape)
    dims = tuple(range(ndim - count, ndim))
    x, wide = half_to_float32(input), half_to_float32(grad)
    if may_be_differentiated():
        inverse = ((x * x).mean(dims, keepdim=True) + eps).rsqrt()
    normalized = x * inverse
    arriving = wide if weight is None else wide * half_to_float32(weight)
    of_input = (arriving - normalized * (arriving * normalized).mean(dims, keepdim=True)) * inverse
    of_weight = wide * normalized
    if ndim > count:
        of_weight = of_weight.sum(tuple(range(ndim - count)))
    return of_input.to(input.dtype), of_weight.to(inverse.dtype if weight is None else weight.dtype)


joint_gradient(
    _rms_norm,
    "input",
    "weight",
    lambda grads, input, weight, inverse, count, eps: _of_rms_norm(grads, input, weight, inverse, count, eps),
)
by_body(_rms_norm)


def _of_rms_norm(
    grads: Any, input: Tensor, weight: Tensor | None, inverse: Tensor, count: int, eps: float
) -> tuple[Tensor | None, ...]:
    of_input, of_weight = _rms_norm_backward(grads[0], input, weight, inverse.detach(), count, eps)
    return of_input, None if weight is None else of_weight


@function(namespace="nn.functional")
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root of the mean square over the last dimensions plus *eps*, then scale by *weight* (Zhang and
    Sennrich 2019).

    Shapes: input (*, *normalized_shape), weight normalized_shape; floating point. *eps* is by default that of the
    dtype in which the mean is taken: float32 for half types.

    Raises RuntimeError for shapes and dtypes that do not fit.

    >>> import polyad
    >>> polyad.nn.functional.rms_norm(polyad.tensor([[3.0, 4.0]]), (2,))
    tensor([[0.8485, 1.1314]])
    """
    features = _features("rms_norm", input, normalized_shape, weight=weight)
    if weight is not None and weight._type.dtype.category > FLOATING:
        raise DTypeError(
            f"rms_norm: weight is {weight._type.dtype.name}, not floating point",
            operands={"input": input, "weight": weight},
            fix="pass weight.real",
        )
    if eps is None:
        eps = finfo(float32 if input._type.dtype in HALF_TYPES or not input.is_floating_point() else input.dtype).eps
    return _rms_norm(input, weight, len(features), eps)[0]


@function(namespace="nn.functional")
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """``input / (k + alpha * average)**beta``, with the average of the squares in *size* channels around each, those
    beyond the ends counting as 0 (Krizhevsky et al. 2012).

    Shapes: input (N, C, ...) with at least 3 dimensions. Raises ValueError below that, RuntimeError for a size below 1.

    >>> import polyad
    >>> polyad.nn.functional.local_response_norm(polyad.ones(1, 3, 1), 2, alpha=1.0, beta=1.0).flatten()
    tensor([0.6667, 0.5000, 0.5000])
    """
    check_tensor(input, "local_response_norm", "input")
    shape = input._array.shape
    if len(shape) < 3:
        raise ArgumentError(
            f"local_response_norm: input has {len(shape)} dimensions, fewer than 3",
            operands={"input": input},
            fix="give (N, C, ...)",
        )
    (size,) = normalize_shape((size,), "local_response_norm")
    if size < 1:
        raise ShapeError(f"local_response_norm: size {size} is below 1", operands={"input": input}, fix="5 is usual")
    squares = input * input
    channels = shape[1]
    below, above = size // 2, (size - 1) // 2
    beyond = squares.new_zeros((shape[0], below, *shape[2:])), squares.new_zeros((shape[0], above, *shape[2:]))
    padded = cat([beyond[0], squares, beyond[1]], 1)
    total = padded.narrow(1, 0, channels)
    for step in range(1, size):
        total = total + padded.narrow(1, step, channels)
    return input / (total * (alpha / size) + k) ** beta


@function(method=False, namespace="nn.functional")
def normalize(input: Tensor, p: float = 2.0, dim: Dims = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """*input* divided by its *p*-norm over *dim* (an int or several), or by *eps* where the norm is smaller.

    Raises RuntimeError for integers and bool, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.nn.functional.normalize(polyad.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    check_tensor(input, "normalize", "input")
    dims = normalize_dims(dim, input.ndim, "normalize")
    length = norm_over(input, _order("normalize", p), dims, True)
    result = _div(input, _clamp(length, eps, None))
    if out is not None:
        return write_out(out, result)  # type: ignore[no-any-return]
    return result


# PyTorch shows these in its main namespace, too.
alias("rms_norm", rms_norm, namespace="")
alias("layer_norm", layer_norm, namespace="")
alias("group_norm", group_norm, namespace="")
