"""Places in a flattened tensor as positions a dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.dtypes import INTEGER, int64
from ...base.shapes_and_strides import contiguous_strides, normalize_shape
from ...dispatch.op import function
from ...errors import ArgumentError, ArgumentTypeError, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


@function(method=False)
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """For places in a flattened tensor of *shape* a tensor of positions a dimension; places count modulo the size.

    Raises TypeError for indices that are no integers, ValueError for a negative size.

    >>> import polyad
    >>> polyad.unravel_index(polyad.tensor([5, 7]), (2, 4))
    (tensor([1, 1]), tensor([1, 3]))
    """
    dtype = check_tensor(indices, "unravel_index", "indices")._type.dtype
    if dtype.category != INTEGER:
        raise ArgumentTypeError(
            f"unravel_index: indices are {dtype.name}, not integers", operands={"indices": indices}, fix="use int64"
        )
    sizes = normalize_shape((shape,), "unravel_index")
    if any(size < 0 for size in sizes):
        raise ArgumentError(f"unravel_index: a size in {sizes} is negative", fix="sizes are 0 or more")
    if 0 in sizes and indices.numel():
        raise ShapeError(
            f"unravel_index: a tensor of shape {sizes} has no places",
            operands={"indices": indices},
            fix="give the shape that the places are of",
        )
    steps = contiguous_strides(sizes)
    indices = indices.to(int64)
    return tuple([
        indices.floor_divide(step).remainder(max(size, 1)) for size, step in zip(sizes, steps, strict=True)
    ])  # fmt: skip
