"""Sliding windows: reading kernel sizes, strides and paddings as users give them, and the size of the result.

Convolution and pooling share this, over one to three spatial dimensions. Errors are RuntimeErrors, as PyTorch's are for
these arguments; TypeError for what is no int.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.kinds import as_ints
from ...base.shapes_and_strides import has_channels_last
from ...errors import ArgumentTypeError, ShapeError, safe_repr

if TYPE_CHECKING:
    from ...tensor import Tensor

Sizes = tuple[int, ...]
"""A number for each spatial dimension, outermost first."""

AXES = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}
"""What the spatial dimensions are called."""

BATCHES = {1: "(N, C, L)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}
IMAGES = {1: "(C, L)", 2: "(C, H, W)", 3: "(C, D, H, W)"}


def per_axis(value: Any, op: str, name: str, count: int, least: int = 0) -> Sizes:
    """An int, or a tuple of 1 or *count* ints, as *count* numbers; raises for other things and below *least*."""
    if value.__class__ is int:
        numbers = (value,) * count
    else:
        numbers = _ints(value, op, name, count)
        if len(numbers) != count:
            if len(numbers) != 1:
                raise ShapeError(
                    f"{op}: {name} {numbers} has {len(numbers)} numbers, not {'1' if count == 1 else f'1 or {count}'}",
                    fix="give a number, or a number for each spatial dimension",
                )
            numbers *= count
    if min(numbers) < least:
        raise ShapeError(f"{op}: {name} {numbers} must be at least {least}", fix=f"choose {name} >= {least}")
    return numbers


def _ints(value: Any, op: str, name: str, count: int) -> Sizes:
    found = as_ints(value if isinstance(value, (tuple, list)) else (value,))
    if found is None:
        several = {1: "a tuple of an int", 2: "a pair of ints"}.get(count, f"{count} ints")
        raise ArgumentTypeError(
            f"{op}: {name} is {safe_repr(value)}, neither an int nor {several}",
            fix=f"write {name}=1" + (f" or {name}={(1,) * count}" if count > 1 else ""),
        )
    return found


def batched(input: Tensor, op: str, count: int = 2) -> Tensor:
    """*input* with a batch dimension, (N, C, *spatial): a single image becomes a batch of 1.

    Raises RuntimeError for other ranks than *count* + 2 and *count* + 1.
    """
    shape = input._array.shape
    if len(shape) == count + 2:
        return input
    if len(shape) == count + 1:
        from ..shaping.reshape import _reshape_view

        return _reshape_view(input, (1, *shape))
    raise ShapeError(
        f"{op}: input has {len(shape)} dimensions, not {count + 2} or {count + 1}",
        operands={"input": input},
        fix=f"give {BATCHES[count]} or {IMAGES[count]}",
    )


def arranged(result: Tensor, *batches: Tensor) -> Tensor:
    """*result* (N, C, *spatial) with channels innermost in memory if any of *batches* lies so, as PyTorch has it."""
    for batch in batches:
        array = batch._array
        strides = array.strides
        if strides[1] <= strides[-1] and has_channels_last(array.shape, strides):
            rank, made = len(strides), result._array
            if made.strides[1] <= made.strides[-1] and has_channels_last(made.shape, made.strides):
                return result
            from ..memory.copying import _copy
            from ..shaping.reshape import _permute

            copied = _copy(_permute(result, (0, *range(2, rank), 1)))
            return _permute(copied, (0, rank - 1, *range(1, rank - 1)))
    return result


def unbatched(result: Tensor, ndim: int, count: int = 2) -> Tensor:
    """*result* without its batch dimension if the input, with *ndim* dimensions, had none."""
    if ndim == count + 2:
        return result
    from ..shaping.reshape import _reshape_view

    return _reshape_view(result, result._array.shape[1:])
