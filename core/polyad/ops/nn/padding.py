"""Padding: more elements around a tensor, constant or copies of its own.

`pad` takes the amounts as PyTorch does, last dimension first; `_pad_constant` takes them dimension by dimension, and
`_pad_repeated` for one dimension. Negative amounts crop, so that the gradient of a constant padding by p is a padding
by -p.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.dtypes import INTEGER
from ...base.kinds import as_ints
from ...base.shapes_and_strides import Shape
from ...dispatch.forward import forward, linear_in
from ...dispatch.op import composite, function, gradient
from ...dispatch.structure import Contraction, Shaping, shaping
from ...errors import ArgumentTypeError, NotSupported, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import full, zeros
from ..declaring.whole_numbers import whole
from ..declaring.windows import arranged
from ..memory.copying import check_fits
from ..pointwise.complex_numbers import complex as join_parts
from ..shaping.joining import cat

if TYPE_CHECKING:
    from collections.abc import Sequence

    Number = bool | int | float | complex


def _padded_shape(shape: Shape, pads: tuple[int, ...], value: Any) -> Shape:
    padded = tuple(size + before + after for size, before, after in zip(shape, pads[::2], pads[1::2], strict=True))
    for dim, size in enumerate(padded):
        if size < 0 or shape[dim] + min(pads[2 * dim], 0) + min(pads[2 * dim + 1], 0) < 0:
            raise ShapeError(
                f"pad: dimension {dim} of input {shape} has {shape[dim]} elements, fewer than are cropped",
                fix="crop less",
            )
    return padded


@composite(structure=shaping, shape=_padded_shape, method=False, grad_name="ConstantPadNdBackward0")
def _pad_constant(input: Tensor, pads: tuple[int, ...], value: float) -> Tensor:
    """*value* around input: pads holds (before, after) of each dimension in turn; negative ones crop."""
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
forward(_pad_constant, lambda input_t, pads: _pad_constant(input_t, pads, 0))


# ------------------------------------------------------------------------------------------------ its own elements


def _crop_range(size: int, before: int, after: int) -> tuple[int, int]:
    """Where the part begins that negative amounts leave of a dimension, and its size."""
    return max(-before, 0), size + min(before, 0) + min(after, 0)


def _repeated_shape(input: Shape, dim: int, before: int, after: int, mode: str) -> Shape:
    return (*input[:dim], input[dim] + before + after, *input[dim + 1 :])


@composite(structure=Shaping("dim"), shape=_repeated_shape, method=False)
def _pad_repeated(input: Tensor, dim: int, before: int, after: int, mode: str) -> Tensor:
    """Dimension *dim* with elements of its own around it: reflected, its edge, or the other side's."""
    size = input._array.shape[dim]
    start, kept = _crop_range(size, before, after)
    parts = [input.narrow(dim, start, kept)]
    if before > 0:
        if mode == "reflect":
            part = input.narrow(dim, 1, before).flip(dim)
        elif mode == "replicate":
            part = _many(input.narrow(dim, 0, 1), dim, before)
        else:
            part = input.narrow(dim, start + kept - before, before)
        parts.insert(0, part)
    if after > 0:
        if mode == "reflect":
            part = input.narrow(dim, size - 1 - after, after).flip(dim)
        elif mode == "replicate":
            part = _many(input.narrow(dim, size - 1, 1), dim, after)
        else:
            part = input.narrow(dim, start, after)
        parts.append(part)
    return cat(parts, dim)


def _many(edge: Tensor, dim: int, count: int) -> Tensor:
    shape = list(edge._array.shape)
    shape[dim] = count
    return edge.expand(shape)


def _folded_shape(grad: Shape, size: int, dim: int, before: int, after: int, mode: str) -> Shape:
    return (*grad[:dim], size, *grad[dim + 1 :])


@composite(structure=Contraction("dim"), shape=_folded_shape, method=False)
def _pad_repeated_backward(grad: Tensor, size: int, dim: int, before: int, after: int, mode: str) -> Tensor:
    """What was padded around dimension *dim* of *size* added up where it came from."""
    start, kept = _crop_range(size, before, after)
    shape = _folded_shape(grad._array.shape, size, dim, before, after, mode)
    out = zeros(*shape, dtype=grad.dtype, device=grad.device)
    out.narrow(dim, start, kept).add_(grad.narrow(dim, max(before, 0), kept))
    if before > 0:
        part = grad.narrow(dim, 0, before)
        if mode == "reflect":
            out.narrow(dim, 1, before).add_(part.flip(dim))
        elif mode == "replicate":
            out.narrow(dim, 0, 1).add_(part.sum(dim, keepdim=True))
        else:
            out.narrow(dim, start + kept - before, before).add_(part)
    if after > 0:
        part = grad.narrow(dim, grad._array.shape[dim] - after, after)
        if mode == "reflect":
            out.narrow(dim, size - 1 - after, after).add_(part.flip(dim))
        elif mode == "replicate":
            out.narrow(dim, size - 1, 1).add_(part.sum(dim, keepdim=True))
        else:
            out.narrow(dim, start, after).add_(part)
    return out


gradient(
    _pad_repeated,
    input=lambda g, input_shape, dim, before, after, mode: _pad_repeated_backward(
        g, input_shape[dim], dim, before, after, mode
    ),
)
linear_in(_pad_repeated, "input")
gradient(
    _pad_repeated_backward,
    grad=lambda g, dim, before, after, mode: _pad_repeated(g, dim, before, after, mode),
)
linear_in(_pad_repeated_backward, "grad")

_MODES = ("reflect", "replicate", "circular")


@function(method=False, namespace="nn.functional")
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """*input* with more elements around it.

    *pad* holds (before, after) of the last dimension, then of that before it, and so on; negative numbers crop.
    *mode*:

        "constant"   filled with *value* (0)
        "reflect"    the input mirrored at its edge, which is not repeated; amounts below the dimension's size
        "replicate"  the edge repeated
        "circular"   the other side's elements; amounts up to the dimension's size

    Any shape and dtype. The three modes that repeat elements take amounts for the last 1, 2 or 3 dimensions of
    an input with 1 or 2 dimensions more. Raises RuntimeError for amounts that do not fit and for a value with these
    modes, NotImplementedError for an unknown mode, TypeError for amounts that are no ints.

    >>> import polyad
    >>> x = polyad.tensor([[1, 2, 3]])
    >>> polyad.nn.functional.pad(x, (1, 2))
    tensor([[0, 1, 2, 3, 0, 0]])
    >>> polyad.nn.functional.pad(x, (2, 1), mode="reflect")
    tensor([[3, 2, 1, 2, 3, 2]])
    """
    check_tensor(input, "pad", "input")
    amounts = as_ints(pad) if isinstance(pad, (tuple, list)) else None
    if amounts is None:
        raise ArgumentTypeError(
            f"pad: pad is {safe_repr(pad)}, not a sequence of ints",
            operands={"input": input},
            fix="write (left, right) or (left, right, top, bottom)",
        )
    shape = input._array.shape
    if len(amounts) % 2 or len(amounts) > 2 * len(shape):
        raise ShapeError(
            f"pad: {len(amounts)} amounts do not fit {len(shape)} dimensions",
            operands={"input": input},
            fix="give (before, after) for the last dimensions",
        )
    by_dim = [0, 0] * (len(shape) - len(amounts) // 2)
    for position in range(len(amounts) - 2, -1, -2):
        by_dim += amounts[position : position + 2]
    if mode == "constant":
        try:
            _padded_shape(shape, tuple(by_dim), value)
        except ShapeError as error:
            raise ShapeError(error.message, operands={"input": input}, fix=error.fix) from None
        # Padding by 0 is the same call as padding by more: a graph for all sizes pads to a multiple.
        if max(by_dim, default=0) <= 0 and (min(by_dim, default=0) < 0 or not by_dim):
            return _cropped(input, by_dim)
        if isinstance(value, float) and input._type.dtype.category == INTEGER:
            value = whole("pad", "value", value)
        if value:
            check_fits("pad", value, input._type.dtype)
        result = _pad_constant(input, tuple(by_dim), 0 if value is None else value)
        return arranged(result, input) if len(shape) > 3 or (len(shape) == 3 and not any(by_dim)) else result
    if mode not in _MODES:
        raise NotSupported(
            f"pad: mode {safe_repr(mode)} is unknown",
            operands={"input": input},
            fix="use 'constant', 'reflect', 'replicate' or 'circular'",
        )
    if value is not None and value != 0:
        raise ShapeError(
            f"pad: mode {safe_repr(mode)} takes no value",
            operands={"input": input},
            fix="drop value, or use mode='constant'",
        )
    return _pad_dimensions(input, len(amounts) // 2, by_dim, mode)


def _cropped(input: Tensor, by_dim: list[int]) -> Tensor:
    """What negative amounts leave, in memory as the input."""
    for dim, size in enumerate(input._array.shape):
        start, kept = _crop_range(size, *by_dim[2 * dim : 2 * dim + 2])
        if kept != size:
            input = input.narrow(dim, start, kept)
    return input.clone()


def _pad_dimensions(input: Tensor, count: int, by_dim: list[int], mode: str) -> Tensor:
    """*input* padded along its last *count* dimensions by elements of its own."""
    shape = input._array.shape
    if count not in (1, 2, 3) or len(shape) not in (count + 1, count + 2):
        raise NotSupported(
            f"pad: mode {safe_repr(mode)} takes amounts for the last 1, 2 or 3 dimensions of an input with 1 or 2 "
            f"dimensions more, not for {count} of {len(shape)}",
            operands={"input": input},
            fix="reshape the input, or use mode='constant'",
        )
    most = {"reflect": -1, "circular": 0}.get(mode)
    result = input
    for dim in range(len(shape) - count, len(shape)):
        before, after = by_dim[2 * dim : 2 * dim + 2]
        size, (_, kept) = shape[dim], _crop_range(shape[dim], before, after)
        limit = (kept if mode == "circular" else size) + (most or 0)
        wraps = most is not None and max(before, after) > limit
        if wraps or size < 1 or size + before + after < 1 or kept < int(mode != "replicate"):
            raise ShapeError(
                f"pad: amounts ({before}, {after}) do not fit dimension {dim} of size {size} in mode {safe_repr(mode)}",
                operands={"input": input},
                fix=f"use at most {limit}" if wraps else "crop less",
            )
        if before or after:
            result = _pad_repeated(result, dim, before, after, mode)
    if result is input:
        return result.clone()
    return result if mode == "circular" or len(shape) < 4 else arranged(result, input)


_pad = pad


@function(method=False)
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: complex = 0) -> Tensor:
    """`polyad.nn.functional.pad` with a constant, which may be complex where *input* is.

    >>> import polyad
    >>> polyad.constant_pad_nd(polyad.tensor([1, 2]), (1, 0), 7)
    tensor([7, 1, 2])
    """
    if isinstance(value, complex) and check_tensor(input, "constant_pad_nd", "input").is_complex():
        real, imag = _pad(input.real, pad, "constant", value.real), _pad(input.imag, pad, "constant", value.imag)
        return join_parts(real, imag)
    return _pad(input, pad, "constant", value)  # type: ignore[arg-type]
