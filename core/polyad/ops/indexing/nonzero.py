"""Where the elements are that are not zero. How many there are only the data can tell, so shapes follow from it."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import int64
from ...base.shapes_and_strides import Shape, normalize_shape
from ...dispatch.op import function, primitive
from ...dispatch.promotion import to_int64
from ...dispatch.structure import columns, opaque
from ...errors import ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import arange, zeros
from ..pointwise.where import where
from ..shaping.joining import cat
from .operands import check_countable
from .unravel_index import unravel_index


def _nonzero_shape(shape: Shape) -> Shape:
    return (-1, len(shape))  # how many there are, only the data can tell


@primitive(dtype=to_int64, structure=opaque, shape=_nonzero_shape, strides=columns, method=False)
def _nonzero(input: Tensor) -> Tensor:
    """The indices of all elements that are not zero, a row an element, in row-major order."""


@function()
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The indices of all elements that are not zero: int64 (n, ndim), or with *as_tuple* a vector for each dimension.

    >>> import polyad
    >>> polyad.nonzero(polyad.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    check_countable("nonzero", check_tensor(input, "nonzero", "input"))
    if not as_tuple:
        return _nonzero(input)
    return _nonzero(input if input.ndim else input.reshape(1)).unbind(1)


@function()
def argwhere(input: Tensor) -> Tensor:
    """The indices of all elements that are not zero; see `nonzero`.

    >>> import polyad
    >>> polyad.argwhere(polyad.tensor([0, 3]))
    tensor([[1]])
    """
    check_countable("argwhere", check_tensor(input, "argwhere", "input"))
    return _nonzero(input)


@function()
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None) -> Tensor:
    """The indices of the first *size* elements that are not zero, (size, ndim); rows that are left over are filled.

    Raises RuntimeError for a negative size.

    >>> import polyad
    >>> polyad.nonzero_static(polyad.tensor([0, 3, 0]), size=2)
    tensor([[ 1],
            [-1]])
    """
    shape = check_tensor(input, "nonzero_static", "input").shape
    (size,) = normalize_shape((size,), "nonzero_static")
    if size < 0:
        raise ShapeError(f"nonzero_static: size {size} is negative", fix="pass 0 or more")
    counts = input.reshape(-1).ne(0).cumsum(0)
    # The place of the n-th such element goes to n; those of others, and what is too much, to a place behind.
    found = input.reshape(-1).ne(0) & (counts <= size)
    numbers = arange(counts.shape[0], device=input.device)
    places = zeros(size + 1, dtype=int64, device=input.device)
    places = places.scatter(0, where(found, counts - 1, size), numbers)[:size]
    columns = [place.unsqueeze(1) for place in unravel_index(places, shape)] if shape.numel() else []
    rows = cat(columns, 1) if columns else zeros(size, len(shape), dtype=int64, device=input.device)
    known = arange(size, device=input.device) < found.sum()
    result: Tensor = where(known.unsqueeze(1), rows, fill_value)
    return result
