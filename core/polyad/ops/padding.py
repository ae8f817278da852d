"""Padding: more elements around a tensor, constant or made of its own.

`pad` takes the amounts as PyTorch does, last dimension first; `_pad_constant` takes them dimension by dimension.
Negative amounts crop, so that the gradient of a padding by p is a padding by -p.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dispatch.op import composite, function, gradient
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..layout import Shape
from ..tensor import Tensor, check_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _padded_shape(shape: Shape, pads: tuple[int, ...], value: Any) -> Shape:
    made = tuple(size + before + after for size, before, after in zip(shape, pads[::2], pads[1::2], strict=True))
    for dim, size in enumerate(made):
        if size < 0 or shape[dim] + min(pads[2 * dim], 0) + min(pads[2 * dim + 1], 0) < 0:
            raise ShapeError(
                f"pad: dimension {dim} of input {shape} has {shape[dim]} elements, fewer than are cropped",
                fix="crop less",
            )
    return made


@composite(shape=_padded_shape, method=False)
def _pad_constant(input: Tensor, pads: tuple[int, ...], value: float) -> Tensor:
    """*value* around input: pads holds (before, after) of each dimension in turn; negative ones crop."""
    from .creation import full

    shape, strides = input._array.shape, input.stride()
    out = full(_padded_shape(shape, pads, value), value, dtype=input.dtype, device=input.device)
    kept = tuple(
        size + min(before, 0) + min(after, 0) for size, before, after in zip(shape, pads[::2], pads[1::2], strict=True)
    )
    if 0 in kept:
        return out
    start = input.storage_offset() + sum(
        -min(before, 0) * stride for before, stride in zip(pads[::2], strides, strict=True)
    )
    into = sum(max(before, 0) * stride for before, stride in zip(pads[::2], out.stride(), strict=True))
    out.as_strided(kept, out.stride(), into).copy_(input.as_strided(kept, strides, start))
    return out


gradient(_pad_constant, input=lambda g, pads: _pad_constant(g, tuple(-amount for amount in pads), 0))


@function(method=False)
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """*input* with more elements around it.

    *pad* holds (before, after) of the last dimension, then of the one before it, and so on; negative numbers crop.
    *mode*:

        "constant"   filled with *value* (0)
        "reflect"    the input mirrored at its edge, which is not repeated; amounts below the dimension's size
        "replicate"  the edge repeated
        "circular"   the other side's elements; amounts up to the dimension's size

    Any shape and dtype. The three modes that repeat elements leave the first dimension alone, and the second too from
    four dimensions on. Raises RuntimeError for amounts that do not fit, ValueError for an unknown mode, TypeError for
    amounts that are no ints.

    >>> import polyad
    >>> x = polyad.tensor([[1, 2, 3]])
    >>> polyad.nn.functional.pad(x, (1, 2))
    tensor([[0, 1, 2, 3, 0, 0]])
    >>> polyad.nn.functional.pad(x, (2, 1), mode="reflect")
    tensor([[3, 2, 1, 2, 3, 2]])
    """
    check_tensor(input, "pad", "input")
    if not isinstance(pad, (tuple, list)) or not all(
        isinstance(amount, int) and not isinstance(amount, bool) for amount in pad
    ):
        raise ArgumentTypeError(
            f"pad: pad is {pad!r}, not a sequence of ints",
            operands={"input": input},
            fix="write (left, right) or (left, right, top, bottom)",
        )
    shape = input._array.shape
    if len(pad) % 2 or len(pad) > 2 * len(shape):
        raise ShapeError(
            f"pad: {len(pad)} amounts do not fit {len(shape)} dimensions",
            operands={"input": input},
            fix="give (before, after) for the last dimensions",
        )
    by_dim = [0, 0] * (len(shape) - len(pad) // 2)
    for position in range(len(pad) - 2, -1, -2):
        by_dim += pad[position : position + 2]
    if mode == "constant":
        try:
            _padded_shape(shape, tuple(by_dim), value)
        except ShapeError as error:
            raise ShapeError(error.message, operands={"input": input}, fix=error.fix) from None
        return _pad_constant(input, tuple(by_dim), 0 if value is None else value)
    if mode not in _SOURCES:
        raise ArgumentError(
            f"pad: mode {mode!r} is unknown",
            operands={"input": input},
            fix="use 'constant', 'reflect', 'replicate' or 'circular'",
        )
    if value is not None:
        raise ArgumentError(
            f"pad: mode {mode!r} takes no value", operands={"input": input}, fix="drop value, or use mode='constant'"
        )
    return _pad_by_index(input, by_dim, mode)


def _reflected(position: int, size: int) -> int:
    position = abs(position)
    return position if position < size else 2 * (size - 1) - position


_SOURCES: dict[str, Callable[[int, int], int]] = {
    "reflect": _reflected,
    "replicate": lambda position, size: min(max(position, 0), size - 1),
    "circular": lambda position, size: position % size,
}


def _pad_by_index(input: Tensor, by_dim: list[int], mode: str) -> Tensor:
    from .creation import tensor

    shape, source = input._array.shape, _SOURCES[mode]
    most = {"reflect": -1, "circular": 0}.get(mode)
    free = 2 if len(shape) > 3 else 1
    if any(by_dim[: 2 * free]) and len(shape) > 1:
        raise ShapeError(
            f"pad: mode {mode!r} leaves the first {free} dimension(s) of {len(shape)} alone",
            operands={"input": input},
            fix="pad the last dimensions only",
        )
    for dim, size in enumerate(shape):
        before, after = by_dim[2 * dim : 2 * dim + 2]
        if not before and not after:
            continue
        if (
            (most is not None and max(before, after) > size + most)
            or size < 1
            or size + min(before, 0) + min(after, 0) < 1
        ):
            raise ShapeError(
                f"pad: amounts ({before}, {after}) do not fit dimension {dim} of size {size} in mode {mode!r}",
                operands={"input": input},
                fix=f"use at most {size + (most or 0)}" if most is not None else "crop less",
            )
        places = [source(position, size) for position in range(-before, size + after)]
        input = input.index_select(dim, tensor(places, device=input.device))
    return input
