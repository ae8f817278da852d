"""Pooling: one number from each window of an image.

Canonical form: input (N, C, H, W); kernel, stride, padding and dilation are (vertical, horizontal). Of equal maxima the
first in row-major order is taken, and the last NaN if there is one.

The gradients of average pooling are linear in the arriving gradient, and `avg_pool2d` is the gradient of its own
backward op; max pooling's choose elements by the indices that `max_pool2d_with_indices` gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dispatch.op import composite, function, gradient, primitive
from ..dispatch.promotion import Typing, first, floating_only
from ..dtypes import BOOL, int64
from ..errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from ..layout import Shape
from ..tensor import Tensor, check_tensor
from .creation import zeros
from .windows import Pair, images, pair, unbatched, window_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..backend.interface import Signature

    Pairs = int | Sequence[int]


def _pooled_shape(input: Shape, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool) -> Shape:
    sizes = []
    for name, size, extent, step, amount, spacing in zip(
        ("height", "width"), input[2:], kernel, stride, padding, dilation, strict=True
    ):
        count = window_count(size, extent, step, amount, spacing, ceil_mode)
        if count < 1:
            raise ShapeError(
                f"pooling: a window of {spacing * (extent - 1) + 1} exceeds the padded {name} {size} + 2 * {amount}",
                fix="use a larger input, more padding or a smaller kernel",
            )
        sizes.append(count)
    return (*input[:2], *sizes)


def _pooled_twice(input: Shape, *params: Any) -> tuple[Shape, Shape]:
    shape = _pooled_shape(input, *params)
    return shape, shape


def _averaged_shape(
    input: Shape,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Shape:
    return _pooled_shape(input, kernel, stride, padding, (1, 1), ceil_mode)


def _spread_shape(grad: Shape, size: Pair, *params: Any) -> Shape:
    return (*grad[:2], *size)


def _ordered(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    if dtype.is_complex or dtype.category == BOOL:
        raise DTypeError(f"max_pool2d: {dtype.name} has no order", fix="use a real dtype")
    return Typing((None,) * len(types), (dtype,))


def _ordered_with_indices(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,), (*_ordered(types, params).outputs, int64))


# ------------------------------------------------------------------------------------------------ the largest element


@primitive(
    dtype=_ordered_with_indices,
    shape=_pooled_twice,
    outputs=("out", "indices"),
    method=False,
    grad_name="MaxPool2DWithIndicesBackward0",
)
def _max_pool2d_with_indices(
    input: Tensor, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool
) -> tuple[Tensor, Tensor]:
    """The largest element of each window and its place in the flattened image; padding is never chosen."""


def _placed(g: Tensor, indices: Tensor, shape: Shape) -> Tensor:
    """Each element of *g* at its index in an image of *shape*, added up."""
    images, channels, height, width = shape
    flat = zeros(images, channels, height * width, dtype=g.dtype, device=g.device)
    return flat.scatter_add(2, indices.flatten(2), g.flatten(2)).reshape(shape)


gradient(_max_pool2d_with_indices, input=lambda grads, indices, input_shape: _placed(grads[0], indices, input_shape))


@composite(dtype=_ordered, shape=_pooled_shape, method=False, grad_name="MaxPool2DBackward0")
def _max_pool2d(input: Tensor, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool) -> Tensor:
    """The largest element of each window."""
    return _max_pool2d_with_indices(input, kernel, stride, padding, dilation, ceil_mode)[0]


def _second_shape(grad: Shape, input: Shape, *rest: Any) -> Shape:
    return input


@composite(dtype=first, shape=_second_shape, method=False)
def _max_pool2d_backward(
    grad: Tensor,
    input: Tensor,
    output: Tensor,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
) -> Tensor:
    """Each element of grad at the place in input where its window's maximum, in output, was found."""
    indices = _max_pool2d_with_indices(input, kernel, stride, padding, dilation, ceil_mode)[1]
    return _placed(grad, indices, tuple(input.shape))


def _chosen(
    g: Tensor,
    input: Tensor,
    grad_shape: Shape,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    ceil_mode: bool,
) -> Tensor:
    indices = _max_pool2d_with_indices(input.detach(), kernel, stride, padding, dilation, ceil_mode)[1]
    return g.flatten(2).gather(2, indices.flatten(2)).reshape(grad_shape)


gradient(_max_pool2d_backward, grad=_chosen)
gradient(
    _max_pool2d,
    input=lambda g, input, out, kernel, stride, padding, dilation, ceil_mode: _max_pool2d_backward(
        g, input.detach(), out.detach(), kernel, stride, padding, dilation, ceil_mode
    ),
)


def _window_arguments(
    op: str, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1
) -> tuple[Pair, Pair, Pair, Pair]:
    check_tensor(input, op, "input")
    kernel = pair(kernel_size, op, "kernel_size", 1)
    step = kernel if stride is None or stride == () or stride == [] else pair(stride, op, "stride", 1)
    amount, spacing = pair(padding, op, "padding"), pair(dilation, op, "dilation", 1)
    for extent, around, apart in zip(kernel, amount, spacing, strict=True):
        if 2 * around > apart * (extent - 1) + 1:
            raise ShapeError(
                f"{op}: padding {amount} is more than half of kernel_size {kernel}",
                operands={"input": input},
                fix="use less padding, or pad the input first",
            )
    return kernel, step, amount, spacing


def _explain(op: str, error: ShapeError, input: Tensor) -> ShapeError:
    return ShapeError(error.message.replace("pooling:", f"{op}:", 1), operands={"input": input}, fix=error.fix)


@function(method=False)
def max_pool2d(
    input: Tensor,
    kernel_size: Pairs,
    stride: Pairs | None = None,
    padding: Pairs = 0,
    dilation: Pairs = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window.

    Shapes: input (N, C, H, W) or (C, H, W) of a real dtype -> the same with
    OH = (H + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1, rounded down, or up with *ceil_mode* as long
    as the window starts inside; OW likewise. *stride* is *kernel_size* unless given. With *return_indices* the result
    is (maxima, int64 places in the flattened image). NaN wins over every number.

    Raises RuntimeError for sizes that do not fit, TypeError for settings that are no ints.

    >>> import polyad
    >>> polyad.nn.functional.max_pool2d(polyad.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    arguments = (*_window_arguments("max_pool2d", input, kernel_size, stride, padding, dilation), bool(ceil_mode))
    batch, ndim = images(input, "max_pool2d"), input.ndim
    try:
        _pooled_shape(batch._array.shape, *arguments)
    except ShapeError as error:
        raise _explain("max_pool2d", error, input) from None
    if return_indices:
        out, indices = _max_pool2d_with_indices(batch, *arguments)
        return unbatched(out, ndim), unbatched(indices, ndim)
    return unbatched(_max_pool2d(batch, *arguments), ndim)


# ------------------------------------------------------------------------------------------------ the mean


@primitive(
    dtype=floating_only("avg_pool2d", first), shape=_averaged_shape, method=False, grad_name="AvgPool2DBackward0"
)
def _avg_pool2d(
    input: Tensor,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """The sum of each window divided by *divisor*, or its number of elements: padding too with *count_include_pad*."""


@primitive(dtype=first, shape=_spread_shape, method=False)
def _avg_pool2d_backward(
    grad: Tensor,
    size: Pair,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """Each element of grad, divided as its window was, added to every element of its window: (N, C, *size)."""


gradient(
    _avg_pool2d,
    input=lambda g, input_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor: _avg_pool2d_backward(
        g, input_shape[2:], kernel, stride, padding, ceil_mode, count_include_pad, divisor
    ),
)
gradient(
    _avg_pool2d_backward,
    grad=lambda g, kernel, stride, padding, ceil_mode, count_include_pad, divisor: _avg_pool2d(
        g, kernel, stride, padding, ceil_mode, count_include_pad, divisor
    ),
)


@function(method=False)
def avg_pool2d(
    input: Tensor,
    kernel_size: Pairs,
    stride: Pairs | None = None,
    padding: Pairs = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window.

    Shapes: as `max_pool2d` without dilation; floating point only. The zeros of the padding count as elements unless
    *count_include_pad* is False; *divisor_override* replaces the number of elements.

    Raises RuntimeError for sizes and dtypes that do not fit, ValueError for a divisor of 0, TypeError for settings that
    are no ints.

    >>> import polyad
    >>> polyad.nn.functional.avg_pool2d(polyad.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """
    kernel, step, amount, _ = _window_arguments("avg_pool2d", input, kernel_size, stride, padding)
    if divisor_override is not None and (not isinstance(divisor_override, int) or divisor_override == 0):
        raise ArgumentError(
            f"avg_pool2d: divisor_override is {divisor_override!r}, not an int other than 0",
            operands={"input": input},
            fix="leave it out or use a number",
        )
    batch = images(input, "avg_pool2d")
    try:
        _pooled_shape(batch._array.shape, kernel, step, amount, (1, 1), bool(ceil_mode))
    except ShapeError as error:
        raise _explain("avg_pool2d", error, input) from None
    return unbatched(
        _avg_pool2d(batch, kernel, step, amount, bool(ceil_mode), bool(count_include_pad), divisor_override), input.ndim
    )


@function(method=False)
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows chosen so that the result has *output_size*.

    Window i of n covers [i * H // n, ceil((i + 1) * H / n)).

    Shapes: input (N, C, H, W) or (C, H, W), floating point -> the same with the sizes (OH, OW) of *output_size*; None
    keeps a size.

    Raises RuntimeError for negative sizes, TypeError for sizes that are no ints.

    >>> import polyad
    >>> polyad.nn.functional.adaptive_avg_pool2d(polyad.arange(6.0).reshape(1, 2, 3), (1, 2))
    tensor([[[2., 3.]]])
    """
    check_tensor(input, "adaptive_avg_pool2d", "input")
    batch = images(input, "adaptive_avg_pool2d")
    size = batch._array.shape[2:]
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    if len(given) != 2 or not all(one is None or (isinstance(one, int) and not isinstance(one, bool)) for one in given):
        raise ArgumentTypeError(
            f"adaptive_avg_pool2d: output_size is {output_size!r}, neither an int nor a pair",
            operands={"input": input},
            fix="write (height, width)",
        )
    wanted = tuple([have if want is None else want for have, want in zip(size, given, strict=True)])
    if min(wanted) < 0 or min(size) < 1:
        raise ShapeError(
            f"adaptive_avg_pool2d: {size} cannot be averaged to {wanted}",
            operands={"input": input},
            fix="give sizes of at least 0, and an input that is not empty",
        )
    if 0 in wanted:
        return zeros(*input.shape[:-2], *wanted, dtype=input.dtype, device=input.device)
    if all(have % want == 0 for have, want in zip(size, wanted, strict=True)):
        kernel = (size[0] // wanted[0], size[1] // wanted[1])
        return unbatched(_avg_pool2d(batch, kernel, kernel, (0, 0), False, True, None), input.ndim)
    from .joining import cat

    for dim, want in ((2, wanted[0]), (3, wanted[1])):
        have = batch._array.shape[dim]
        if have != want:
            edges = [(part * have // want, -(-(part + 1) * have // want)) for part in range(want)]
            batch = cat([batch.narrow(dim, start, end - start).mean(dim, keepdim=True) for start, end in edges], dim)
    return unbatched(batch, input.ndim)
