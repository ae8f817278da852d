"""Unpooling: maxima put back at the places where max pooling found them, zeros elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ....base.dtypes import int64
from ....dispatch.op import function
from ....errors import ArgumentError, ArgumentTypeError, DTypeError, IndexOutOfRange, ShapeError, safe_repr
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...creation.factories import zeros
from ...declaring.windows import Sizes, batched, per_axis, unbatched
from .geometry import check_real, finished, steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    PerAxis = int | Sequence[int]


def _wanted_size(op: str, count: int, have: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, given: Any) -> Sizes:
    """The size of the result: what the settings make of *have*, or *given* if it lies less than a stride from that."""
    usual = tuple(
        [
            (size - 1) * step + extent - 2 * amount
            for size, extent, step, amount in zip(have, kernel, stride, padding, strict=True)
        ]
    )
    if given is None:
        return usual
    if not isinstance(given, (tuple, list)) or not all(isinstance(size, int) for size in given):
        raise ArgumentTypeError(
            f"{op}: output_size is {safe_repr(given)}, not a tuple of ints", fix="give a size for each dimension"
        )
    if len(given) == count + 2:
        given = given[2:]
    if len(given) != count:
        raise ArgumentError(
            f"{op}: output_size {tuple(given)} has {len(given)} sizes, not {count} or {count + 2}",
            fix="give the spatial sizes, or the whole shape",
        )
    for size, middle, step in zip(given, usual, stride, strict=True):
        if not middle - step < size < middle + step:
            raise ArgumentError(
                f"{op}: output_size {safe_repr(tuple(given))} must lie less than stride {stride} from {usual}",
                fix="give the size of the input that was pooled",
            )
    return tuple(given)


def _unpool(
    op: str,
    count: int,
    input: Tensor,
    indices: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    output_size: Any,
) -> Tensor:
    check_tensor(input, op, "input")
    check_tensor(indices, op, "indices")
    operands = {"input": input, "indices": indices}
    kernel = per_axis(kernel_size, op, "kernel_size", count, 1)
    step = steps(op, stride, kernel)
    amount = per_axis(padding, op, "padding", count)
    if indices._type.dtype is not int64:
        raise DTypeError(f"{op}: indices is {indices.dtype.name}, not int64", operands=operands, fix="use .long()")
    if indices._array.shape != input._array.shape:
        raise ShapeError(
            f"{op}: input and indices must have one shape",
            operands=operands,
            fix="give the indices that return_indices=True gave",
        )
    batch, places = batched(input, op, count), batched(indices, op, count)
    shape = batch._array.shape
    size = _wanted_size(op, count, shape[2:], kernel, step, amount, output_size)
    if min(size) < 1:
        raise ShapeError(f"{op}: the result would have size {size}", operands=operands, fix="use less padding")
    check_real(op, input._type.dtype, floating=True)
    flat = zeros(*shape[:2], math.prod(size), dtype=batch.dtype, device=batch.device)
    try:
        result = flat.scatter(2, places.flatten(2), batch.flatten(2))
    except IndexOutOfRange as error:
        # PyTorch raises RuntimeError here.
        message = error.message.replace("scatter: index", f"{op}: indices", 1)
        raise ShapeError(message, operands=operands, fix="give output_size the size that was pooled") from None
    result = result.reshape(*shape[:2], *size)
    return finished(result, input, count) if count == 2 else unbatched(result, input.ndim, count)


@function(method=False, namespace="nn.functional")
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts the results of `max_pool1d` back at their *indices*; see `max_unpool2d`.

    Shapes: input and indices (N, C, L) or (C, L) -> the same with OL.

    >>> import polyad
    >>> from polyad.nn import functional as F
    >>> F.max_unpool1d(*F.max_pool1d(polyad.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True), 2)
    tensor([[0., 3., 2., 0.]])
    """
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


@function(method=False, namespace="nn.functional")
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts the results of `max_pool2d` back at their *indices*, with zeros elsewhere.

    Shapes: input and indices (int64) (N, C, H, W) or (C, H, W), floating point -> the same with *output_size*, or
    OH = (H - 1) * stride - 2 * padding + kernel_size, OW likewise. *output_size*, the spatial sizes or a whole shape,
    may differ from that by less than a stride. Where indices are equal, the last element stays.

    Raises RuntimeError for shapes and dtypes that do not fit and for an index outside the result, ValueError for an
    output_size that no pooling makes the input of.

    >>> import polyad
    >>> from polyad.nn import functional as F
    >>> F.max_unpool2d(polyad.tensor([[[5.0]]]), polyad.tensor([[[3]]]), 2)
    tensor([[[0., 0.],
             [0., 5.]]])
    """
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


@function(method=False, namespace="nn.functional")
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: PerAxis = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Puts the results of `max_pool3d` back at their *indices*; see `max_unpool2d`.

    Shapes: input and indices (N, C, D, H, W) or (C, D, H, W) -> the same with OD, OH and OW.

    >>> import polyad
    >>> from polyad.nn import functional as F
    >>> F.max_unpool3d(polyad.tensor([[[[5.0]]]]), polyad.tensor([[[[1]]]]), (1, 1, 2))
    tensor([[[[0., 5.]]]])
    """
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)
