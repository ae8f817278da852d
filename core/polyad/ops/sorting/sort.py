"""Sorting and the largest elements. Medians are in reductions/median.py.

Sorting is always stable and counts nan as the largest element, in both directions, so results are the same on every
backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import return_types
from ...backend.interface import Signature
from ...base.dtypes import int64
from ...base.shapes_and_strides import Shape, normalize_dim
from ...dispatch.forward import forward
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import Typing, first, not_complex
from ...dispatch.structure import Rowwise, as_operands, row_major
from ...errors import ArgumentTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.shape_rules import same
from ..indexing.gather_scatter import _gather
from ..indexing.slicing import _slice
from ..reductions.max_min import scatter_to_chosen


def _with_positions(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,), (types[0].dtype, int64))


def _both(shape: Shape, dim: int, descending: bool) -> tuple[Shape, Shape]:
    return shape, shape


@primitive(
    dtype=not_complex("sort", _with_positions),
    structure=Rowwise("dim"),
    strides=as_operands,
    shape=_both,
    outputs=("values", "indices"),
    method=False,
)
def _sort(input: Tensor, dim: int, descending: bool) -> Any:
    """The elements in order along *dim* and where each was; equal ones keep their order, nan is largest."""


gradient(_sort, input=lambda g, input_shape, dim, indices: scatter_to_chosen(g, input_shape, dim, True, indices))
forward(_sort, lambda input_t, dim, indices: (_gather(input_t, indices, dim), None))


@composite(dtype=not_complex("sort", first), structure=Rowwise("dim"), strides=as_operands, shape=same, method=False)
def _sorted(input: Tensor, dim: int, descending: bool) -> Tensor:
    """The elements in order along *dim*; nan is largest."""
    values: Tensor = _sort(input, dim, descending)[0]
    return values


@function()
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = False, *, out: Any = None
) -> Any:
    """The elements in order along *dim*, with where each was: a named tuple (values, indices).

    Always stable, whatever *stable* says; nan is larger than any number. Raises IndexError for a dim out of range,
    RuntimeError for complex tensors.

    >>> import polyad
    >>> values, indices = polyad.sort(polyad.tensor([3, 1, 2]), descending=True)
    >>> values, indices
    (tensor([3, 2, 1]), tensor([0, 2, 1]))
    """
    check_tensor(input, "sort", "input")
    at = normalize_dim(dim, input.ndim, "sort")
    if input.ndim:
        return return_types.sort(*_sort(input, at, bool(descending)))
    values, indices = _sort(input.reshape(1), 0, bool(descending))
    return return_types.sort(values.reshape(()), indices.reshape(()))


@function()
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The positions that put the elements in order along *dim*; see `sort`.

    >>> import polyad
    >>> polyad.argsort(polyad.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    at = normalize_dim(dim, check_tensor(input, "argsort", "input").ndim, "argsort")
    indices: Tensor = sort(input, at, descending).indices
    return indices


@function()
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along the first dimension: ``sort(input, 0).values``.

    >>> import polyad
    >>> polyad.msort(polyad.tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
    """
    check_tensor(input, "msort", "input")
    return _sorted(input, 0, False) if input.ndim else input.clone()


def _topk_shape(shape: Shape, k: int, dim: int, largest: bool) -> tuple[Shape, Shape]:
    result = (*shape[:dim], k, *shape[dim + 1 :])
    return result, result


@composite(
    dtype=not_complex("topk", _with_positions),
    structure=Rowwise("dim"),
    strides=row_major,
    shape=_topk_shape,
    outputs=("values", "indices"),
    method=False,
)
def _topk(input: Tensor, k: int, dim: int, largest: bool) -> Any:
    """The *k* largest or smallest elements along *dim* in order, and where they are; the first of equal ones."""
    values, indices = _sort(input, dim, largest)
    return _slice(values, dim, 0, k, 1).clone(), _slice(indices, dim, 0, k, 1).clone()


gradient(_topk, input=lambda g, input_shape, dim, indices: scatter_to_chosen(g, input_shape, dim, True, indices))
forward(_topk, lambda input_t, dim, indices: (_gather(input_t, indices, dim), None))


@function()
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """The *k* largest (or smallest) elements along *dim*, always in order, with where they are: (values, indices).

    Of equal elements the first are taken; nan is largest. Raises RuntimeError for a k that the dimension has not.

    >>> import polyad
    >>> polyad.topk(polyad.tensor([1, 4, 3]), 2).indices
    tensor([1, 2])
    """
    check_tensor(input, "topk", "input")
    at = normalize_dim(dim, input.ndim, "topk")
    count = rank_in("topk", input, k, at, 0)
    if input.ndim:
        return return_types.topk(*_topk(input, count, at, bool(largest)))
    values, indices = _topk(input.reshape(1), 1, 0, bool(largest))  # PyTorch too gives the only element for k = 0
    return return_types.topk(values.reshape(()), indices.reshape(()))


def rank_in(op: str, input: Tensor, k: Any, dim: int, least: int) -> int:
    """*k* as an int between *least* and the size of *dim*."""
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise ArgumentTypeError(f"{op}: k is {safe_repr(k)}, not an int", operands={"input": input}, fix="pass an int")
    size = input._array.shape[dim] if input.ndim else 1
    count = int(k.__index__())
    if not least <= count <= size:
        raise ShapeError(
            f"{op}: k is {count}, but dimension {dim} has {size} elements",
            operands={"input": input},
            fix=f"choose k in [{least}, {size}]",
        )
    return count
