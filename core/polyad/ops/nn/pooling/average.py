"""The mean of each window, and the power means that follow from it.

The gradient of average pooling is linear in the arriving gradient, and `avg_pool` is the gradient of its own backward
op.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ....base.dtypes import int64
from ....base.shapes_and_strides import Shape
from ....dispatch.forward import linear_in
from ....dispatch.op import alias, function, gradient, primitive
from ....dispatch.promotion import Typing, first
from ....dispatch.structure import Contraction
from ....errors import ArgumentTypeError, DivisionByZero, DTypeError, ShapeError, safe_repr
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...declaring.windows import Sizes
from .geometry import pool, pooled_shape, window_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....backend.interface import Signature

    PerAxis = int | Sequence[int]


def _averaged_shape(
    input: Shape,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Shape:
    return pooled_shape(input, kernel, stride, padding, (1,) * len(kernel), ceil_mode)


def _spread_shape(grad: Shape, size: Sizes, *params: Any) -> Shape:
    return (*grad[:2], *size)


def _averaged(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    if not dtype.is_floating_point and dtype is not int64:
        raise DTypeError(
            f"avg_pool: input is {dtype.name}, not floating point or int64", fix="convert it first: input.float()"
        )
    return first(types, params)


def _by_results(result: Shape, input: Shape, kernel: Sizes, *rest: Any) -> int:
    return math.prod(result) * math.prod(kernel)


def _by_gradients(result: Shape, grad: Shape, size: Sizes, kernel: Sizes, *rest: Any) -> int:
    return math.prod(grad) * math.prod(kernel)


@primitive(
    dtype=_averaged,
    structure=Contraction(products=_by_results),
    shape=_averaged_shape,
    method=False,
    grad_name="AvgPoolBackward0",
)
def _avg_pool(
    input: Tensor,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """The sum of each window divided by *divisor*, or its number of elements: padding too with *count_include_pad*.

    Integers are divided towards zero.
    """


@primitive(dtype=first, structure=Contraction(products=_by_gradients), shape=_spread_shape, method=False)
def _avg_pool_backward(
    grad: Tensor,
    size: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """Each element of grad, divided as its window was, added to every element of its window: (N, C, *size)."""


gradient(
    _avg_pool,
    input=lambda g, input_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor: _avg_pool_backward(
        g, input_shape[2:], kernel, stride, padding, ceil_mode, count_include_pad, divisor
    ),
)
linear_in(_avg_pool, "input")
gradient(
    _avg_pool_backward,
    grad=lambda g, kernel, stride, padding, ceil_mode, count_include_pad, divisor: _avg_pool(
        g, kernel, stride, padding, ceil_mode, count_include_pad, divisor
    ),
)
linear_in(_avg_pool_backward, "grad")


def _pool_mean(
    op: str,
    count: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: Any,
    count_include_pad: Any,
    divisor: Any,
) -> Tensor:
    kernel, step, amount, ones = window_arguments(op, count, input, kernel_size, stride, padding)
    dtype = input._type.dtype
    if not dtype.is_floating_point and dtype is not int64:
        raise DTypeError(
            f"{op}: input is {dtype.name}, not floating point or int64",
            operands={"input": input},
            fix="convert it first: input.float()",
        )
    if divisor is not None and (not isinstance(divisor, int) or divisor == 0):
        error = ShapeError if divisor == 0 else ArgumentTypeError
        raise error(
            f"{op}: divisor_override is {safe_repr(divisor)}, not an int other than 0",
            operands={"input": input},
            fix="leave it out or use a number",
        )
    above = bool(ceil_mode)
    result: Tensor = pool(
        op,
        count,
        input,
        lambda batch: _avg_pool(batch, kernel, step, amount, above, bool(count_include_pad), divisor),
        lambda shape: pooled_shape(shape, kernel, step, amount, ones, above),
    )
    return result


@function(method=False, namespace="nn.functional")
def avg_pool1d(
    input: Tensor,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of a sequence: `avg_pool2d` with one spatial dimension and no divisor.

    Shapes: input (N, C, L) or (C, L) -> the same with OL.

    >>> import polyad
    >>> polyad.nn.functional.avg_pool1d(polyad.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[2., 1.]])
    """
    return _pool_mean("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@function(method=False, namespace="nn.functional")
def avg_pool2d(
    input: Tensor,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window.

    Shapes: as `max_pool2d` without dilation; floating point, or int64, whose means are rounded towards zero. The zeros
    of the padding count as elements unless *count_include_pad* is False; *divisor_override* replaces the number of
    elements.

    Raises RuntimeError for sizes and dtypes that do not fit and for a divisor of 0, TypeError for settings that are no
    ints.

    >>> import polyad
    >>> polyad.nn.functional.avg_pool2d(polyad.arange(16.0).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """
    return _pool_mean(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@function(method=False, namespace="nn.functional")
def avg_pool3d(
    input: Tensor,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window of a volume: `avg_pool2d` with three spatial dimensions.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with OD, OH and OW.

    >>> import polyad
    >>> polyad.nn.functional.avg_pool3d(polyad.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    return _pool_mean(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


# ------------------------------------------------------------------------------------------------ power means


def _pool_powers(
    op: str, count: int, input: Tensor, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: Any
) -> Tensor:
    check_tensor(input, op, "input")
    if isinstance(norm_type, bool) or not isinstance(norm_type, (int, float)) or norm_type == 0:
        error = DivisionByZero if norm_type == 0 else ArgumentTypeError
        raise error(
            f"{op}: norm_type is {safe_repr(norm_type)}, not a number other than 0",
            operands={"input": input},
            fix="use 2",
        )
    kernel, step, amount, _ = window_arguments(op, count, input, kernel_size, stride, 0)
    power = float(norm_type)
    means = _pool_mean(op, count, input.pow(power), kernel, step, amount, ceil_mode, True, None)
    elements = 1
    for extent in kernel:
        elements *= extent
    # The sign outside keeps the gradient of an empty window's root at zero, where the root's own is infinite.
    return (means.sign() * means.abs().relu()).mul(elements).pow(1 / power)


@function(method=False, namespace="nn.functional")
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of each window of a sequence: `lp_pool2d` with one spatial dimension.

    Shapes: input (N, C, L) or (C, L) -> the same with OL.

    >>> import polyad
    >>> polyad.nn.functional.lp_pool1d(polyad.tensor([[3.0, 4.0, 0.0, 2.0]]), 2, 2)
    tensor([[5., 2.]])
    """
    return _pool_powers("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


@function(method=False, namespace="nn.functional")
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False
) -> Tensor:
    """The root of the sum of powers *norm_type* of each window: sum(x ** p) ** (1 / p), without absolute values.

    Shapes: as `avg_pool2d` without padding. Raises ZeroDivisionError for a norm_type of 0, else as
    `avg_pool2d`.

    >>> import polyad
    >>> polyad.nn.functional.lp_pool2d(polyad.tensor([[[3.0, 0.0], [0.0, 4.0]]]), 2, 2)
    tensor([[[5.]]])
    """
    return _pool_powers("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


@function(method=False, namespace="nn.functional")
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of each window of a volume: `lp_pool2d` with three spatial dimensions.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with OD, OH and OW.

    >>> import polyad
    >>> polyad.nn.functional.lp_pool3d(polyad.ones(1, 2, 2, 1), 2, (2, 2, 1))
    tensor([[[[2.]]]])
    """
    return _pool_powers("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)


# PyTorch shows these in its main namespace, too.
alias("avg_pool1d", avg_pool1d, namespace="")
