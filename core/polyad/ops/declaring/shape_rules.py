"""Shape rules: a result's shape from the operands' shapes and the parameters.

A rule is called as ``rule(*operand_shapes, *params)``; the shape of a number or an absent operand is None. It raises
ShapeError with a message that says what did not fit. Kernels are not preceded by it: it explains a kernel's failure,
and gives captured graphs their abstract values. Of pointwise ops and reductions it follows from their structure
(`polyad.dispatch.structure`).
"""

from __future__ import annotations

from typing import Any

from ...base.shapes_and_strides import Shape, broadcast_shapes
from ...errors import ShapeError


def same(shape: Shape, *rest: Any) -> Shape:
    """The first operand's shape."""
    return shape


def gemm(input: Shape, other: Shape, transpose_input: bool, transpose_other: bool) -> Shape:
    """Batched matrix product of operands of at least two dimensions."""
    rows, inner = (input[-1], input[-2]) if transpose_input else (input[-2], input[-1])
    other_inner, columns = (other[-1], other[-2]) if transpose_other else (other[-2], other[-1])
    _check_inner(input, other, inner, other_inner)
    return (*broadcast_shapes(input[:-2], other[:-2]), rows, columns)


def vector_product(input: Shape, other: Shape) -> Shape:
    """Matrix product where an operand is a vector."""
    _check_inner(input, other, input[-1], other[max(len(other) - 2, 0)])
    return (*input[:-1], *other[:-2], *(other[-1:] if len(other) > 1 else ()))


def _check_inner(input: Shape, other: Shape, inner: int, other_inner: int) -> None:
    if inner != other_inner:
        raise ShapeError(
            f"matmul: input {input} and other {other} do not agree: {inner} != {other_inner}",
            fix=f"make the last dimension of input {other_inner}"
            + (", or transpose one of them" if inner in other[-2:] or other_inner in input[-2:] else ""),
        )


CHANNELS_LAST = "the channels seem to come last: "


def channels_in_front(shape: Shape, channels: int) -> str:
    """The advice for an input (N, ..., C) where (N, C, ...) is wanted, with C *channels*; empty if it is none."""
    return to_front(len(shape), 1) if len(shape) > 2 and shape[-1] == channels != shape[1] else ""


def to_front(ndim: int, place: int) -> str:
    """The advice to bring the last of *ndim* dimensions to *place*."""
    order = ", ".join(map(str, (*range(place), ndim - 1, *range(place, ndim - 1))))
    return f"{CHANNELS_LAST}input.permute({order})"
