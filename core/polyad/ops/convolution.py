"""Convolution: sums over sliding windows, weighted by a learnt kernel (strictly speaking, cross-correlation).

Three primitives, each of whose gradients the other two express: the result of a convolution is linear in input and in
weight.

    conv2d              sum over (c, i, j) of input[n, c, h*s + i*d - p, ...] * weight[o, c, i, j]
    conv2d_input_grad   what conv2d's gradient with respect to its input is: the transposed convolution
    conv2d_weight_grad  what conv2d's gradient with respect to its weight is

Public functions validate and normalise: inside, everything is (N, C, H, W), pairs are (vertical, horizontal), padding
is symmetric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dispatch.op import function, gradient, primitive
from ..dispatch.promotion import promoted
from ..errors import ArgumentTypeError, DTypeError, ShapeError
from ..layout import Shape
from ..tensor import Tensor, check_tensor
from .arithmetic import conjugate
from .windows import Pair, images, pair, unbatched, window_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    Pairs = int | Sequence[int]


def _conv2d_shape(
    input: Shape, weight: Shape, bias: Shape | None, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Shape:
    """The result's shape; raises ShapeError that says which sizes do not agree."""
    out_channels, each, *kernel = weight
    if groups < 1:
        raise ShapeError(f"conv2d: groups {groups} must be at least 1", fix="groups=1 is an ordinary convolution")
    if out_channels % groups:
        raise ShapeError(
            f"conv2d: weight {weight} has {out_channels} result channels, which {groups} groups do not divide",
            fix="make them a multiple of groups",
        )
    if each * groups != input[1]:
        expected = f"{each} * {groups} groups = {each * groups}" if groups > 1 else f"{each}"
        raise ShapeError(
            f"conv2d: input {input} and weight {weight} do not agree: {input[1]} channels != {expected}",
            fix=f"give input {each * groups} channels"
            + (f", or weight {input[1] // groups} in its second dimension" if input[1] % groups == 0 else ""),
        )
    if bias is not None and bias != (out_channels,):
        raise ShapeError(
            f"conv2d: bias {bias} does not fit weight {weight}: one number for each of {out_channels} result channels",
            fix=f"make bias ({out_channels},)",
        )
    spatial = []
    for name, *axis in zip(("height", "width"), input[2:], kernel, stride, padding, dilation, strict=True):
        size, extent, step, amount, spacing = axis
        if extent < 1:
            raise ShapeError(f"conv2d: weight {weight} has an empty kernel", fix="kernel sizes must be at least 1")
        if size + 2 * amount < spacing * (extent - 1) + 1:
            reach = f"kernel of {extent}" + (f" dilated to {spacing * (extent - 1) + 1}" if spacing > 1 else "")
            raise ShapeError(
                f"conv2d: the {reach} is larger than the padded {name} {size} + 2 * {amount}",
                fix="use a larger input, more padding or a smaller kernel",
            )
        spatial.append(window_count(size, extent, step, amount, spacing))
    return (input[0], out_channels, *spatial)


def _input_grad_shape(
    grad: Shape, weight: Shape, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Shape:
    return (grad[0], weight[1] * groups, *size)


def _weight_grad_shape(
    grad: Shape, input: Shape, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Shape:
    return (grad[1], input[1] // groups, *kernel)


@primitive(dtype=promoted, shape=_conv2d_shape, grad_name="ConvolutionBackward0")
def _conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    """Convolution of (N, C, H, W) with (O, C / groups, KH, KW), plus a number for each result channel."""


@primitive(dtype=promoted, shape=_input_grad_shape)
def _conv2d_input_grad(
    grad: Tensor, weight: Tensor, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    """Every element of grad (N, O, OH, OW) spread over its window by weight, added up on (N, C, *size)."""


@primitive(dtype=promoted, shape=_weight_grad_shape)
def _conv2d_weight_grad(
    grad: Tensor, input: Tensor, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    """Input (N, C, H, W) correlated with grad (N, O, OH, OW) at the places of the kernel: (O, C / groups, *kernel)."""


def _bias_grad(g: Tensor) -> Tensor:
    from .reduction import _sum

    return _sum(g, (0, 2, 3), False)


gradient(
    _conv2d,
    input=lambda g, weight, input_shape, stride, padding, dilation, groups: _conv2d_input_grad(
        g, conjugate(weight), input_shape[2:], stride, padding, dilation, groups
    ),
    weight=lambda g, input, weight_shape, stride, padding, dilation, groups: _conv2d_weight_grad(
        g, conjugate(input), weight_shape[2:], stride, padding, dilation, groups
    ),
    bias=_bias_grad,
)
gradient(
    _conv2d_input_grad,
    grad=lambda g, weight, stride, padding, dilation, groups: _conv2d(
        g, conjugate(weight), None, stride, padding, dilation, groups
    ),
    weight=lambda g, grad, weight_shape, stride, padding, dilation, groups: _conv2d_weight_grad(
        conjugate(grad), g, weight_shape[2:], stride, padding, dilation, groups
    ),
)
gradient(
    _conv2d_weight_grad,
    grad=lambda g, input, stride, padding, dilation, groups: _conv2d(
        conjugate(input), g, None, stride, padding, dilation, groups
    ),
    input=lambda g, grad, input_shape, stride, padding, dilation, groups: _conv2d_input_grad(
        conjugate(grad), g, input_shape[2:], stride, padding, dilation, groups
    ),
)


def _same_padding(op: str, kernel: tuple[int, ...], stride: Pair, dilation: Pair) -> tuple[Pair, Pair]:
    """For ``padding="same"``: symmetric padding, and what more is needed below and to the right."""
    if stride != (1, 1):
        raise ShapeError(f"{op}: padding='same' needs a stride of 1, not {stride}", fix="give the padding as numbers")
    total = [spacing * (extent - 1) for spacing, extent in zip(dilation, kernel, strict=True)]
    return (total[0] // 2, total[1] // 2), (total[0] % 2, total[1] % 2)


def _check_operands(op: str, input: Any, weight: Any, bias: Any) -> None:
    check_tensor(input, op, "input")
    check_tensor(weight, op, "weight")
    if bias is not None:
        check_tensor(bias, op, "bias")
    dtype = input._type.dtype
    if weight._type.dtype is not dtype or (bias is not None and bias._type.dtype is not dtype):
        raise DTypeError(
            f"{op}: input, weight and bias must have one dtype",
            operands=_named(input, weight, bias),
            fix=f"convert the input: input.to({weight._type.dtype})",
        )


def _named(input: Tensor, weight: Tensor, bias: Tensor | None) -> dict[str, Tensor]:
    operands = {"input": input, "weight": weight, "bias": bias}
    return {name: value for name, value in operands.items() if value is not None}


def _convolve(
    op: str, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Any, dilation: Pair, groups: int
) -> Tensor:
    """Validated convolution of (N, C, H, W)."""
    if groups.__class__ is not int:
        raise ArgumentTypeError(f"{op}: groups is {groups!r}, not an int", fix="pass an int")
    if isinstance(padding, str):
        if padding == "valid":
            amount = (0, 0)
        elif padding == "same":
            amount, more = _same_padding(op, weight._array.shape[2:], stride, dilation)
            if more != (0, 0):
                from .padding import _pad_constant

                input = _pad_constant(input, (0, 0, 0, 0, 0, more[0], 0, more[1]), 0)
        else:
            raise ShapeError(f"{op}: padding {padding!r} is unknown", fix="use 'same', 'valid' or numbers")
    else:
        amount = padding
    try:
        _conv2d_shape(
            input._array.shape,
            weight._array.shape,
            None if bias is None else bias._array.shape,
            stride,
            amount,
            dilation,
            groups,
        )
    except ShapeError as error:
        raise ShapeError(
            error.message.replace("conv2d:", f"{op}:", 1), operands=_named(input, weight, bias), fix=error.fix
        ) from None
    return _conv2d(input, weight, bias, stride, amount, dilation, groups)


@function(method=False)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pairs = 1,
    padding: str | Pairs = 0,
    dilation: Pairs = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of images.

    Shapes: input (N, C, H, W) or (C, H, W), weight (O, C / groups, KH, KW), bias (O,) -> (N, O, OH, OW) or (O, OH, OW),
    where OH = (H + 2 * padding - dilation * (KH - 1) - 1) // stride + 1, and OW likewise. All of one dtype. *stride*,
    *padding* and *dilation* are an int or (vertical, horizontal); *padding* may be ``"valid"`` (none) or ``"same"`` (OH
    = H, stride 1; an odd rest goes below and to the right). *groups* splits the channels into independent convolutions.

    Raises RuntimeError for shapes, dtypes, devices or settings that do not fit, TypeError for arguments of another
    type.

    >>> import polyad
    >>> image = polyad.arange(9.0).reshape(1, 1, 3, 3)
    >>> polyad.nn.functional.conv2d(image, polyad.ones(1, 1, 2, 2))
    tensor([[[[ 8., 12.],
              [20., 24.]]]])
    """
    _check_operands("conv2d", input, weight, bias)
    if len(weight._array.shape) != 4:
        raise ShapeError(
            "conv2d: weight must have 4 dimensions",
            operands=_named(input, weight, bias),
            fix="give (result channels, channels / groups, kernel height, kernel width)",
        )
    if not isinstance(padding, str):
        padding = pair(padding, "conv2d", "padding")
    batch = images(input, "conv2d")
    out = _convolve(
        "conv2d",
        batch,
        weight,
        bias,
        pair(stride, "conv2d", "stride", 1),
        padding,
        pair(dilation, "conv2d", "dilation", 1),
        groups,
    )
    return unbatched(out, len(input._array.shape))


@function(method=False)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pairs = 1,
    padding: str | Pairs = 0,
    dilation: Pairs = 1,
    groups: int = 1,
) -> Tensor:
    """Convolution of sequences.

    Shapes: input (N, C, L) or (C, L), weight (O, C / groups, K), bias (O,) -> (N, O, OL) or (O, OL), where
    OL = (L + 2 * padding - dilation * (K - 1) - 1) // stride + 1. Settings and errors as in `conv2d`.

    >>> import polyad
    >>> polyad.nn.functional.conv1d(polyad.arange(4.0).reshape(1, 1, 4), polyad.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
    from .shape import _reshape_view

    _check_operands("conv1d", input, weight, bias)
    shape, kernel = input._array.shape, weight._array.shape
    if len(kernel) != 3 or len(shape) not in (2, 3):
        raise ShapeError(
            f"conv1d: input has {len(shape)} dimensions and weight {len(kernel)}, not 3 (or 2) and 3",
            operands=_named(input, weight, bias),
            fix="give input (N, C, L) or (C, L) and weight (result channels, channels / groups, kernel length)",
        )
    step, spacing = _single(stride, "stride", 1), _single(dilation, "dilation", 1)
    amount = padding if isinstance(padding, str) else (0, _single(padding, "padding", 0)[1])
    rows = _reshape_view(input, (*((1,) if len(shape) == 2 else ()), *shape[:-1], 1, shape[-1]))
    out = _convolve(
        "conv1d",
        rows,
        _reshape_view(weight, (*kernel[:2], 1, kernel[2])),
        bias,
        (1, step[1]),
        amount,
        (1, spacing[1]),
        groups,
    )
    made = out._array.shape
    return _reshape_view(out, (*(made[:1] if len(shape) == 3 else ()), made[1], made[3]))


def _single(value: Any, name: str, least: int) -> Pair:
    if isinstance(value, (tuple, list)) and len(value) != 1:
        raise ShapeError(f"conv1d: {name} {tuple(value)} has {len(value)} numbers, not 1", fix="give one number")
    return pair(value, "conv1d", name, least)
