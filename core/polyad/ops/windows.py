"""Sliding windows: reading kernel sizes, strides and paddings as users give them, and the size of the result.

Convolution and pooling share this. Errors are RuntimeErrors, as PyTorch's are for these arguments; TypeError for what
is no int.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ArgumentTypeError, ShapeError

if TYPE_CHECKING:
    from ..tensor import Tensor

Pair = tuple[int, int]


def pair(value: Any, op: str, name: str, least: int = 0) -> Pair:
    """An int, or one or two of them, as (vertical, horizontal); raises for other things and below *least*."""
    if value.__class__ is int:
        made = (value, value)
    else:
        if not isinstance(value, (tuple, list)) or not all(
            isinstance(one, int) and not isinstance(one, bool) for one in value
        ):
            raise ArgumentTypeError(
                f"{op}: {name} is {value!r}, neither an int nor a pair of ints", fix=f"write {name}=1 or {name}=(1, 1)"
            )
        if len(value) not in (1, 2):
            raise ShapeError(
                f"{op}: {name} {tuple(value)} has {len(value)} numbers, not 1 or 2",
                fix="give one number, or one for each spatial dimension",
            )
        made = (value[0], value[-1])
    if made[0] < least or made[1] < least:
        raise ShapeError(f"{op}: {name} {made} must be at least {least}", fix=f"choose {name} >= {least}")
    return made


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool = False) -> int:
    """How many windows fit along one dimension; with *ceil_mode* one more that starts inside may reach out."""
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return free // stride + 1
    count = -(-free // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count


def images(input: Tensor, op: str) -> Tensor:
    """*input* as (N, C, H, W): a single image (C, H, W) becomes a batch of one. Raises RuntimeError for other ranks."""
    from .shape import _reshape_view

    shape = input._array.shape
    if len(shape) == 4:
        return input
    if len(shape) == 3:
        return _reshape_view(input, (1, *shape))
    raise ShapeError(
        f"{op}: input has {len(shape)} dimensions, not 4 or 3",
        operands={"input": input},
        fix="give (N, C, H, W) or (C, H, W)",
    )


def unbatched(result: Tensor, ndim: int) -> Tensor:
    """*result* without its batch dimension if the input, with *ndim* dimensions, had none."""
    from .shape import _reshape_view

    return result if ndim == 4 else _reshape_view(result, result._array.shape[1:])
