"""Searching and indexing functions."""

from __future__ import annotations

from .. import functions
from ..base.shapes_and_strides import normalize_dim
from ..errors import ArgumentError
from ..tensor import Tensor
from .data_types import promoted
from .elementwise import Operand
from .statistics import sum


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The position of the first largest element along *axis*, or in the flattened tensor."""
    return functions.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The position of the first smallest element along *axis*, or in the flattened tensor."""
    return functions.argmin(x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor:
    """How many elements are not zero, over *axis* or all dimensions."""
    return sum(x != 0, axis=axis, keepdims=keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The positions of the elements that are not zero, a tensor for each dimension.

    Raises ValueError for a 0-d tensor.
    """
    if not x.ndim:
        raise ArgumentError("nonzero: a 0-d tensor has no positions", operands={"x": x}, fix="reshape it to (1,)")
    return tuple(functions.nonzero(x, as_tuple=True))


def searchsorted(
    x1: Tensor, x2: Tensor | int | float, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Where in the sorted *x1* (or ``x1[sorter]``) the elements of *x2* belong."""
    x1, x2 = promoted(x1, x2)
    return functions.searchsorted(x1, x2, side=side, sorter=sorter)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The elements at *indices* along *axis*, which a tensor of one dimension may leave out; -1 is the last element.

    Raises ValueError if *axis* is missing.
    """
    if axis is None:
        if x.ndim != 1:
            raise ArgumentError("take: axis is missing", operands={"x": x}, fix="pass one of its dimensions")
        axis = 0
    taken: Tensor = x[(*(slice(None),) * normalize_dim(axis, x.ndim, "take"), indices)]
    return taken


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements at *indices* along *axis*, other dimensions broadcast."""
    return functions.take_along_dim(x, indices, axis)


def where(condition: Tensor, x1: Operand, x2: Operand, /) -> Tensor:
    """The elements of *x1* where *condition* is true, else of *x2*."""
    x1, x2 = promoted(x1, x2)
    chosen: Tensor = functions.where(condition, x1, x2)
    return chosen
