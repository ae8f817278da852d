"""Convolution: sums over sliding windows, weighted by a learnt kernel (strictly speaking, cross-correlation).

Three primitives, each of whose gradients the other two express: the result of a convolution is linear in input and in
weight.

    convolution              sum over (c, i) of input[n, c, x * stride + i * dilation - padding] * weight[o, c, i]
    convolution_transposed   what convolution's gradient with respect to its input is
    convolution_weight_grad  what convolution's gradient with respect to its weight is

They have one to three spatial dimensions. Public functions validate and normalise: inside, everything is
(N, C, *spatial), settings have a number for each spatial dimension, padding is symmetric.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...base.dtypes import BOOL, FLOATING, bfloat16, float32
from ...base.shapes_and_strides import Shape, window_count
from ...dispatch.forward import affine, multilinear
from ...dispatch.op import alias, function, gradient, primitive
from ...dispatch.promotion import promoted
from ...dispatch.structure import Contraction
from ...errors import ArgumentTypeError, DTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.shape_rules import CHANNELS_LAST, channels_in_front, to_front
from ..declaring.windows import AXES, Sizes, arranged, batched, per_axis, unbatched
from ..pointwise.arithmetic import conjugate
from ..reductions.sums import _sum
from .padding import _pad_constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    PerAxis = int | Sequence[int]

_KERNELS = {1: "kernel length", 2: "kernel height, kernel width", 3: "kernel depth, kernel height, kernel width"}


def _convolved_shape(
    input: Shape, weight: Shape, bias: Shape | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Shape:
    """The result's shape; raises ShapeError that says which sizes do not agree."""
    out_channels, each, *kernel = weight
    if groups < 1:
        raise ShapeError(f"convolution: groups {groups} must be at least 1", fix="1 is an ordinary convolution")
    if out_channels % groups:
        raise ShapeError(
            f"convolution: weight {weight} has {out_channels} result channels, which {groups} groups do not divide",
            fix="make them a multiple of groups",
        )
    if each * groups != input[1]:
        expected = f"{each} * {groups} groups = {each * groups}" if groups > 1 else f"{each}"
        raise ShapeError(
            f"convolution: input {input} and weight {weight} do not agree: {input[1]} channels != {expected}",
            fix=channels_in_front(input, each * groups)
            or f"give input {each * groups} channels"
            + (f", or weight {input[1] // groups} in its second dimension" if input[1] % groups == 0 else ""),
        )
    _check_bias(weight, bias, out_channels)
    spatial = []
    for name, *axis in zip(AXES[len(kernel)], input[2:], kernel, stride, padding, dilation, strict=True):
        size, extent, step, amount, spacing = axis
        if extent < 1:
            raise ShapeError(f"convolution: weight {weight} has an empty kernel", fix="kernel sizes are at least 1")
        if size + 2 * amount < spacing * (extent - 1) + 1:
            reach = f"kernel of {extent}" + (f" dilated to {spacing * (extent - 1) + 1}" if spacing > 1 else "")
            raise ShapeError(
                f"convolution: the {reach} is larger than the padded {name} {size} + 2 * {amount}",
                fix="use a larger input, more padding or a smaller kernel",
            )
        spatial.append(window_count(size, extent, step, amount, spacing))
    return (input[0], out_channels, *spatial)


def _check_bias(weight: Shape, bias: Shape | None, channels: int) -> None:
    if bias is not None and bias != (channels,):
        raise ShapeError(
            f"convolution: bias {bias} does not fit weight {weight}: one number for each of {channels} result channels",
            fix=f"make bias ({channels},)",
        )


def _transposed_shape(
    input: Shape,
    weight: Shape,
    bias: Shape | None,
    size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Shape:
    """As `_convolved_shape`, for the transposed convolution."""
    if groups < 1:
        raise ShapeError(f"convolution: groups {groups} must be at least 1", fix="1 is an ordinary convolution")
    if weight[0] != input[1]:
        raise ShapeError(
            f"convolution: input {input} and weight {weight} do not agree: {input[1]} channels != {weight[0]}",
            fix=channels_in_front(input, weight[0])
            or f"give input {weight[0]} channels, or weight {input[1]} in its first dimension",
        )
    if weight[0] % groups:
        raise ShapeError(
            f"convolution: input {input} has {weight[0]} channels, which {groups} groups do not divide",
            fix="make them a multiple of groups",
        )
    _check_bias(weight, bias, weight[1] * groups)
    for name, extent, length in zip(AXES[len(size)], weight[2:], size, strict=True):
        if extent < 1:
            raise ShapeError(f"convolution: weight {weight} has an empty kernel", fix="kernel sizes are at least 1")
        if length < 1:
            raise ShapeError(
                f"convolution: the result would have a {name} of {length}", fix="use a larger input or less padding"
            )
    return (input[0], weight[1] * groups, *size)


def _weight_grad_shape(
    grad: Shape, input: Shape, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Shape:
    return (grad[1], input[1] // groups, *kernel)


def _by_results(result: Shape, input: Shape, weight: Shape, *rest: Any) -> int:
    return math.prod(result) * math.prod(weight[1:])


def _by_inputs(result: Shape, input: Shape, weight: Shape, *rest: Any) -> int:
    return math.prod(input) * math.prod(weight[1:])


def _by_gradients(result: Shape, grad: Shape, *rest: Any) -> int:
    return math.prod(grad) * math.prod(result[1:])


@primitive(
    dtype=promoted,
    structure=Contraction(products=_by_results),
    shape=_convolved_shape,
    grad_name="ConvolutionBackward0",
)
def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Tensor:
    """Convolution of (N, C, *spatial) with (O, C / groups, *kernel), plus a number for each result channel."""


@primitive(
    dtype=promoted,
    structure=Contraction(products=_by_inputs),
    shape=_transposed_shape,
    grad_name="ConvolutionBackward0",
)
def _convolution_transposed(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Tensor:
    """Every element of input (N, O, *spatial) spread over its window by weight (O, C / groups, *kernel), added up on
    (N, C, *size), plus a number for each of the C channels.
    """


@primitive(dtype=promoted, structure=Contraction(products=_by_gradients), shape=_weight_grad_shape)
def _convolution_weight_grad(
    grad: Tensor, input: Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Tensor:
    """Input (N, C, *spatial) correlated with grad (N, O, *spatial) at the places of the kernel: (O, C / groups,
    *kernel).
    """


def _bias_grad(g: Tensor) -> Tensor:
    return _sum(g, (0, *range(2, g.ndim)), False)


gradient(
    _convolution,
    input=lambda g, weight, input_shape, stride, padding, dilation, groups: _convolution_transposed(
        g, conjugate(weight), None, input_shape[2:], stride, padding, dilation, groups
    ),
    weight=lambda g, input, weight_shape, stride, padding, dilation, groups: _convolution_weight_grad(
        g, conjugate(input), weight_shape[2:], stride, padding, dilation, groups
    ),
    bias=_bias_grad,
)
affine(_convolution, "input", "weight", "bias")
gradient(
    _convolution_transposed,
    input=lambda g, weight, stride, padding, dilation, groups: _convolution(
        g, conjugate(weight), None, stride, padding, dilation, groups
    ),
    weight=lambda g, input, weight_shape, stride, padding, dilation, groups: _convolution_weight_grad(
        conjugate(input), g, weight_shape[2:], stride, padding, dilation, groups
    ),
    bias=_bias_grad,
)
affine(_convolution_transposed, "input", "weight", "bias")
gradient(
    _convolution_weight_grad,
    grad=lambda g, input, stride, padding, dilation, groups: _convolution(
        conjugate(input), g, None, stride, padding, dilation, groups
    ),
    input=lambda g, grad, input_shape, stride, padding, dilation, groups: _convolution_transposed(
        conjugate(grad), g, None, input_shape[2:], stride, padding, dilation, groups
    ),
)
multilinear(_convolution_weight_grad, "grad", "input")


def _check_operands(op: str, count: int, input: Any, weight: Any, bias: Any, first: str) -> None:
    check_tensor(input, op, "input")
    check_tensor(weight, op, "weight")
    if bias is not None:
        check_tensor(bias, op, "bias")
    dtype = input._type.dtype
    if weight._type.dtype is not dtype or (bias is not None and bias._type.dtype is not dtype):
        raise DTypeError(
            f"{op}: input, weight and bias must have one dtype",
            operands=_name_operands(input, weight, bias),
            fix=f"convert the input: input.to({weight._type.dtype})",
        )
    if dtype.category == BOOL:
        raise DTypeError(
            f"{op}: bool tensors have no products to add up",
            operands=_name_operands(input, weight, bias),
            fix="convert them first: input.float()",
        )
    if len(weight._array.shape) != count + 2:
        raise ShapeError(
            f"{op}: weight has {len(weight._array.shape)} dimensions, not {count + 2}",
            operands=_name_operands(input, weight, bias),
            fix=f"give ({first}, {_KERNELS[count]})",
        )


def _name_operands(input: Tensor, weight: Tensor, bias: Tensor | None) -> dict[str, Tensor]:
    operands = {"input": input, "weight": weight, "bias": bias}
    return {name: value for name, value in operands.items() if value is not None}


def _check_groups(op: str, groups: Any) -> None:
    if groups.__class__ is not int:
        raise ArgumentTypeError(f"{op}: groups is {safe_repr(groups)}, not an int", fix="pass an int")


def _renamed(op: str, error: ShapeError, input: Tensor, weight: Tensor, bias: Tensor | None) -> ShapeError:
    message = error.message.replace("convolution:", f"{op}:", 1)
    fix = error.fix or ""
    if fix.startswith(CHANNELS_LAST) and len(input._array.shape) < len(weight._array.shape):  # one without a batch
        fix = to_front(len(input._array.shape), 0)
    return ShapeError(message, operands=_name_operands(input, weight, bias), fix=fix)


def _padding_of(op: str, padding: Any, input: Tensor, kernel: Shape, stride: Sizes, dilation: Sizes) -> Any:
    """(symmetric padding, input): for "same" with an odd sum, input with what more is needed at the ends."""
    count = len(stride)
    if padding == "valid":
        return (0,) * count, input
    if padding != "same":
        raise ShapeError(f"{op}: padding {safe_repr(padding)} is unknown", fix="use 'same', 'valid' or numbers")
    if max(stride) > 1:
        raise ShapeError(f"{op}: padding='same' needs a stride of 1, not {stride}", fix="give the padding as numbers")
    total = [spacing * (extent - 1) for spacing, extent in zip(dilation, kernel, strict=True)]
    if any(amount % 2 for amount in total):
        pads = [0] * 4
        for amount in total:
            pads += [0, amount % 2]
        input = _pad_constant(input, tuple(pads), 0)
    return tuple([amount // 2 for amount in total]), input


def _arranged(result: Tensor, count: int, batch: Tensor, weight: Tensor) -> Tensor:
    """In memory as PyTorch has it, which convolves volumes of some dtypes in row-major order alone."""
    if count == 3 and result._type.dtype not in (float32, bfloat16):
        return result
    return arranged(result, batch, weight)


def _convolve(
    op: str,
    count: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
) -> Tensor:
    """Convolution over *count* spatial dimensions, arguments as the user gave them."""
    _check_operands(op, count, input, weight, bias, "result channels, channels / groups")
    batch = batched(input, op, count)
    step, spacing = per_axis(stride, op, "stride", count, 1), per_axis(dilation, op, "dilation", count, 1)
    _check_groups(op, groups)
    if isinstance(padding, str):
        amount, batch = _padding_of(op, padding, batch, weight._array.shape[2:], step, spacing)
    else:
        amount = per_axis(padding, op, "padding", count)
    shapes = batch._array.shape, weight._array.shape, None if bias is None else bias._array.shape
    try:
        _convolved_shape(*shapes, step, amount, spacing, groups)
    except ShapeError as error:
        raise _renamed(op, error, input, weight, bias) from None
    result = _convolution(batch, weight, bias, step, amount, spacing, groups)
    return unbatched(_arranged(result, count, batch, weight), len(input._array.shape), count)


def convolution_gradient(
    op: str,
    count: int,
    input: Tensor | Sequence[int],
    weight: Tensor | Sequence[int],
    grad: Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
) -> Tensor:
    """The gradient of a convolution by *input* or by *weight*, whichever is a size, without the convolution.

    Raises RuntimeError for shapes or dtypes that do not fit, TypeError for arguments of another type.
    """
    operands: dict[str, Any] = {"input": input, "weight": weight, "grad_output": grad}
    name = "weight" if isinstance(weight, Tensor) else "input"
    other: Tensor = operands[name]
    for each in (name, "grad_output"):
        check_tensor(operands[each], op, each)
    if other._type.dtype is not grad._type.dtype or grad._type.dtype.category < FLOATING:
        raise DTypeError(
            f"{op}: {name} and grad_output must have one dtype, floating or complex",
            operands=operands,
            fix=f"convert them, as by {name}.to({grad._type.dtype})",
        )
    size, kernel = (tuple(one.shape) if isinstance(one, Tensor) else tuple(one) for one in (input, weight))
    if len(kernel) != count + 2 or len(size) not in (count + 1, count + 2):
        raise ShapeError(
            f"{op}: input {size} and weight {kernel} have not {count + 2} dimensions", operands=operands,
            fix=f"give weight as (result channels, channels / groups, {_KERNELS[count]})",
        )  # fmt: skip
    step, spacing = per_axis(stride, op, "stride", count, 1), per_axis(dilation, op, "dilation", count, 1)
    amount = per_axis(padding, op, "padding", count)
    _check_groups(op, groups)
    g, batch = batched(grad, op, count), size if len(size) == count + 2 else (1, *size)
    try:
        expected = _convolved_shape(batch, kernel, None, step, amount, spacing, groups)
    except ShapeError as error:
        raise ShapeError(error.message.replace("convolution:", f"{op}:", 1), operands=operands, fix=error.fix) from None
    if g._array.shape != expected:
        raise ShapeError(
            f"{op}: grad_output is {tuple(grad.shape)}, and the convolution gives {expected}", operands=operands,
            fix="pass a gradient of the shape of the convolution's result",
        )  # fmt: skip
    if other is weight:
        result = _convolution_transposed(g, conjugate(other), None, batch[2:], step, amount, spacing, groups)
        return unbatched(result, len(size), count)
    images = batched(other, op, count)
    return _convolution_weight_grad(g, conjugate(images), kernel[2:], step, amount, spacing, groups)


@function(method=False, namespace="nn.functional")
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: str | PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of sequences.

    Shapes: input (N, C, L) or (C, L), weight (O, C / groups, K), bias (O,) -> (N, O, OL) or (O, OL), where
    OL = (L + 2 * padding - dilation * (K - 1) - 1) // stride + 1. Settings and errors as in `conv2d`.

    >>> import polyad
    >>> polyad.nn.functional.conv1d(polyad.arange(4.0).reshape(1, 1, 4), polyad.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@function(method=False, namespace="nn.functional")
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: str | PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of images.

    Shapes: input (N, C, H, W) or (C, H, W), weight (O, C / groups, KH, KW), bias (O,) -> (N, O, OH, OW) or (O, OH, OW),
    where OH = (H + 2 * padding - dilation * (KH - 1) - 1) // stride + 1, and OW likewise. All of the same dtype, any
    but bool; float16 and bfloat16 are added up in float32. *stride*, *padding* and *dilation* are an int or (vertical,
    horizontal); *padding* may be ``"valid"`` (none) or ``"same"`` (OH = H, stride 1; an odd rest goes below and to the
    right). *groups* splits the channels into independent convolutions.

    Raises RuntimeError for shapes, dtypes, devices or settings that do not fit, TypeError for arguments of another
    type.

    >>> import polyad
    >>> image = polyad.arange(9.0).reshape(1, 1, 3, 3)
    >>> polyad.nn.functional.conv2d(image, polyad.ones(1, 1, 2, 2))
    tensor([[[[ 8., 12.],
              [20., 24.]]]])
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@function(method=False, namespace="nn.functional")
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: str | PerAxis = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of volumes.

    Shapes: input (N, C, D, H, W) or (C, D, H, W), weight (O, C / groups, KD, KH, KW), bias (O,) -> the input's with O
    channels and OD = (D + 2 * padding - dilation * (KD - 1) - 1) // stride + 1, OH and OW likewise. Settings and errors
    as in `conv2d`.

    >>> import polyad
    >>> polyad.nn.functional.conv3d(polyad.ones(1, 1, 2, 3, 3), polyad.ones(1, 1, 2, 2, 2))
    tensor([[[[[8., 8.],
               [8., 8.]]]]])
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _transpose(
    op: str,
    count: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: Any,
    dilation: Any,
) -> Tensor:
    """Transposed convolution over *count* spatial dimensions, arguments as the user gave them."""
    _check_operands(op, count, input, weight, bias, "channels, result channels / groups")
    batch = batched(input, op, count)
    step, amount = per_axis(stride, op, "stride", count, 1), per_axis(padding, op, "padding", count)
    more = per_axis(output_padding, op, "output_padding", count)
    spacing = per_axis(dilation, op, "dilation", count, 1)
    _check_groups(op, groups)
    size, ends = [], []
    for have, extent, s, p, o, d in zip(
        batch._array.shape[2:], weight._array.shape[2:], step, amount, more, spacing, strict=True
    ):
        if o >= max(s, d):
            raise ShapeError(
                f"{op}: output_padding {more} must be smaller than stride {step} or dilation {spacing}",
                operands=_name_operands(input, weight, bias),
                fix="use less output_padding",
            )
        size.append((have - 1) * s - 2 * p + d * (extent - 1) + o + 1)
        # A result longer by whole strides is that of an input with zeros at its end.
        ends.append(o // s)
    shapes = batch._array.shape, weight._array.shape, None if bias is None else bias._array.shape
    try:
        _transposed_shape(*shapes, tuple(size), step, amount, spacing, groups)
    except ShapeError as error:
        raise _renamed(op, error, input, weight, bias) from None
    if any(ends):
        batch = _pad_constant(batch, (0, 0, 0, 0, *[side for end in ends for side in (0, end)]), 0)
    result = _convolution_transposed(batch, weight, bias, tuple(size), step, amount, spacing, groups)
    return unbatched(_arranged(result, count, batch, weight), len(input._array.shape), count)


@function(method=False, namespace="nn.functional")
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Tensor:
    """Transposed convolution of sequences: `conv_transpose2d` with one spatial dimension.

    Shapes: input (N, C, L) or (C, L), weight (C, O / groups, K), bias (O,) -> (N, O, OL) or (O, OL), where
    OL = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1.

    >>> import polyad
    >>> polyad.nn.functional.conv_transpose1d(polyad.tensor([[[1.0, 2.0]]]), polyad.ones(1, 1, 3), stride=2)
    tensor([[[1., 1., 3., 2., 2.]]])
    """
    return _transpose("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@function(method=False, namespace="nn.functional")
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Tensor:
    """Transposed convolution of images: every element of *input*, times the kernel, added to its window of the result.

    It is the gradient of `conv2d` with respect to its input, not its inverse.

    Shapes: input (N, C, H, W) or (C, H, W), weight (C, O / groups, KH, KW), bias (O,) -> (N, O, OH, OW) or (O, OH, OW),
    where OH = (H - 1) * stride - 2 * padding + dilation * (KH - 1) + output_padding + 1, and OW likewise.
    *output_padding*, less than stride or dilation, chooses among the sizes OH that `conv2d` brings to H. Dtypes and
    other settings as in `conv2d`; *padding* takes numbers only.

    Raises RuntimeError for shapes, dtypes, devices or settings that do not fit, TypeError for arguments of another
    type.

    >>> import polyad
    >>> polyad.nn.functional.conv_transpose2d(polyad.tensor([[[[1.0, 2.0]]]]), polyad.ones(1, 1, 2, 2))
    tensor([[[[1., 3., 2.],
              [1., 3., 2.]]]])
    """
    return _transpose("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@function(method=False, namespace="nn.functional")
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: PerAxis = 1,
    padding: PerAxis = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Tensor:
    """Transposed convolution of volumes: `conv_transpose2d` with three spatial dimensions.

    >>> import polyad
    >>> polyad.nn.functional.conv_transpose3d(polyad.ones(1, 1, 1, 1, 2), polyad.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 2., 1.]]]]])
    """
    return _transpose("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


# PyTorch shows these in its main namespace, too.
alias("conv1d", conv1d, namespace="")
alias("conv2d", conv2d, namespace="")
alias("conv3d", conv3d, namespace="")
alias("conv_transpose1d", conv_transpose1d, namespace="")
alias("conv_transpose2d", conv_transpose2d, namespace="")
alias("conv_transpose3d", conv_transpose3d, namespace="")
