"""What all pooling shares: reading their settings, and the shape of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....base.shapes_and_strides import Shape, window_count
from ....errors import DTypeError, ShapeError
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...declaring.windows import AXES, Sizes, arranged, batched, per_axis, unbatched

if TYPE_CHECKING:
    from ....base.dtypes import DType


def pooled_shape(input: Shape, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Shape:
    """The result's shape; raises ShapeError where no window fits."""
    sizes = []
    for name, size, extent, step, amount, spacing in zip(
        AXES[len(kernel)], input[2:], kernel, stride, padding, dilation, strict=True
    ):
        count = window_count(size, extent, step, amount, spacing, ceil_mode)
        if count < 1:
            raise ShapeError(
                f"pooling: a window of {spacing * (extent - 1) + 1} exceeds the padded {name} {size} + 2 * {amount}",
                fix="use a larger input, more padding or a smaller kernel",
            )
        sizes.append(count)
    return (*input[:2], *sizes)


_LONGEST = 1 << 16
"""A window that reaches out of the input (which ``ceil_mode`` allows) may be so long: each of its places is walked."""


def steps(op: str, stride: Any, kernel: Sizes) -> Sizes:
    """*stride* for each spatial dimension; that of the *kernel* if it is None or empty."""
    left_out = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    return kernel if left_out else per_axis(stride, op, "stride", len(kernel), 1)


def window_arguments(
    op: str, count: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1
) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """(kernel, stride, padding, dilation), a number for each spatial dimension; stride is the kernel unless given."""
    check_tensor(input, op, "input")
    kernel = per_axis(kernel_size, op, "kernel_size", count, 1)
    step = steps(op, stride, kernel)
    amount, spacing = per_axis(padding, op, "padding", count), per_axis(dilation, op, "dilation", count, 1)
    for extent, around, apart in zip(kernel, amount, spacing, strict=True):
        if 2 * around > apart * (extent - 1) + 1:
            raise ShapeError(
                f"{op}: padding {amount} is more than half of kernel_size {kernel}",
                operands={"input": input},
                fix="use less padding, or pad the input first",
            )
    sizes = input._array.shape[-count:]
    for extent, around, size in zip(kernel, amount, sizes, strict=False):
        if extent > _LONGEST and extent > size + 2 * around:
            raise ShapeError(
                f"{op}: kernel_size {kernel} is far larger than the input {tuple(sizes)}",
                operands={"input": input},
                fix="use a window within the padded input",
            )
    return kernel, step, amount, spacing


def pool(
    op: str,
    count: int,
    input: Tensor,
    call: Callable[[Tensor], Any],
    shape: Callable[[Shape], Shape],
    volumes: bool = False,
) -> Any:
    """``call`` on the batch that *input* is, or is in; *shape* is asked first what is wrong with its shape.

    For *volumes* see `without_added_batch`.
    """
    batch = batched(input, op, count)
    try:
        shape(batch._array.shape)
    except ShapeError as error:
        message = error.message.replace("pooling:", f"{op}:", 1)
        raise ShapeError(message, operands={"input": input}, fix=error.fix) from None
    result = call(batch)
    if isinstance(result, tuple):
        return tuple([without_added_batch(tensor, input, count, volumes) for tensor in result])
    return without_added_batch(result, input, count, volumes)


def without_added_batch(result: Tensor, input: Tensor, count: int, volumes: bool = False) -> Tensor:
    """*result* without a batch dimension if *input* has none, else in memory as *input*; volumes only if *volumes*."""
    if len(input._array.shape) == count + 1:
        return unbatched(result, count + 1, count)
    return arranged(result, input) if count < 3 or volumes else result


def check_real(op: str, dtype: DType, floating: bool = False) -> None:
    """Raise DTypeError for what has no order; with *floating* for all that is no real floating dtype."""
    if dtype.is_complex or dtype.name == "bool":
        raise DTypeError(f"{op}: {dtype.name} has no order", fix="use a real dtype")
    if floating and not dtype.is_floating_point:
        raise DTypeError(f"{op}: input is {dtype.name}, not floating point", fix="convert it first: input.float()")
