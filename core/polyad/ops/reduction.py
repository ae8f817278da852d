"""Reductions: many elements to few, over all or some dimensions.

Public functions take a dim, several dims or none; the primitives get them as sorted tuples counted from the front.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dispatch.op import function, gradient, primitive
from ..dispatch.promotion import summed
from ..layout import normalize_dims
from ..tensor import check_tensor
from .shape_rules import reduced

if TYPE_CHECKING:
    from ..dtypes import DType
    from ..layout import Shape
    from ..tensor import Tensor

    Dims = int | tuple[int, ...] | list[int] | None


@primitive(dtype=summed, shape=reduced)
def _sum(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The sum over *dims*; float16 and bfloat16 add up in float32."""


gradient(_sum, input=lambda g, input_shape, dims, keepdim: spread(g, input_shape, dims, keepdim))


@function()
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of all elements, or over *dim* (an int or several).

    Integers and bool add up in int64; *dtype* converts the elements first. Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.sum(polyad.tensor([[1, 2], [3, 4]]), dim=1)
    tensor([3, 7])
    """
    check_tensor(input, "sum", "input")
    if dtype is not None:
        input = input.to(dtype)
    return _sum(input, normalize_dims(dim, input.ndim, "sum"), keepdim)


def spread(gradient: Tensor, shape: Shape, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """A reduction's gradient expanded back to *shape*, as a view."""
    from .shape import _expand, _reshape_view

    if not keepdim and dims and len(dims) != len(shape):
        gradient = _reshape_view(gradient, reduced(shape, dims, True))
    return _expand(gradient, shape)


def sum_to(input: Tensor, shape: Shape) -> Tensor:
    """*input* summed over the dimensions along which *shape* was broadcast to it, or expanded to *shape* if it is smaller."""
    from .shape import _expand

    have = input._array.shape
    lead = len(have) - len(shape)
    if lead < 0:
        return _expand(input, shape)
    kept = [dim for dim in range(lead, len(have)) if shape[dim - lead] == 1 and have[dim] != 1]
    result = _sum(input, tuple(kept), True) if kept else input
    if lead:
        result = _sum(result, tuple(range(lead)), False)
    return result if result._array.shape == shape else _expand(result, shape)


