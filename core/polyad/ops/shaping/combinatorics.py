"""Choices of elements, each choice a row: Cartesian products and combinations."""

from __future__ import annotations

import math
from typing import Any

from ...base.dtypes import int64
from ...base.shapes_and_strides import Shape
from ...dispatch.op import composite, function
from ...dispatch.structure import shaping
from ...errors import OutOfMemory, ShapeError
from ...tensor import Tensor
from ..creation.factories import _arange, _full
from ..declaring.checks import check_int, check_least
from ..indexing.index_select import _index_add, _index_select
from ..indexing.slicing import _slice
from ..pointwise.arithmetic import _add, _sub
from ..products.mm import check_rank, check_same_dtype
from ..reductions.cumulative import _cumsum
from .joining import _cat, _name_tensors, _stack
from .reshape import _expand, _reshape, _unsqueeze


@function(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All choices of an element from each vector, as rows, in the order of ``itertools.product``.

    A single vector comes back as it is. Raises RuntimeError for other than 1-d tensors, or two dtypes.

    >>> import polyad
    >>> polyad.cartesian_prod(polyad.tensor([1, 2]), polyad.tensor([5, 6]))
    tensor([[1, 5],
            [1, 6],
            [2, 5],
            [2, 6]])
    """
    operands = _name_tensors("cartesian_prod", tensors)
    if not operands:
        raise ShapeError("cartesian_prod: there is no tensor", fix="give at least one vector")
    check_rank("cartesian_prod", 1, **operands)
    check_same_dtype("cartesian_prod", **operands)
    if len(tensors) == 1:
        return operands["tensors[0]"]
    shape = tuple([tensor._array.shape[0] for tensor in tensors])
    count = len(shape)
    grids = [
        _expand(_reshape(tensor, (1,) * at + (shape[at],) + (1,) * (count - 1 - at)), shape)
        for at, tensor in enumerate(tensors)
    ]
    total = 1
    for size in shape:
        total *= size
    return _reshape(_stack(grids, count), (total, count))


def _count_combinations(size: int, r: int, replace: bool) -> int:
    """How many choices there are; 2**64 for at least so many, which would take long to count."""
    among = size + r - 1 if replace else size
    return 2**64 if min(r, among - r) >= 64 else math.comb(max(among, 0), r)


def _combinations_shape(input: Shape, r: int, replace: bool) -> Shape:
    return (_count_combinations(input[0], r, replace), r)


@composite(structure=shaping, shape=_combinations_shape, method=False)
def _combinations(input: Tensor, r: int, replace: bool) -> Tensor:
    """The choices of *r* > 0 elements of a vector, as rows."""
    positions = _list_positions(input._array.shape[0], r, replace, input._type.device)
    return _reshape(_index_select(input, _reshape(positions, (positions.numel(),)), 0), positions._array.shape)


@function()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The rows are all choices of *r* elements of a vector, in the order of ``itertools.combinations``.

    *with_replacement* lets an element be chosen again. Raises RuntimeError unless *input* is 1-d and r is 0 or more.

    >>> import polyad
    >>> polyad.combinations(polyad.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    check_rank("combinations", 1, input=input)
    check_int("combinations", "r", r, operands={"input": input})
    check_least("combinations", "r", r, 0, operands={"input": input}, fix="choose r of 0 or more")
    type_ = input._type
    if r == 0:
        return _full((0,), 0, type_.dtype, type_.device)
    total, most = _combinations_shape((input._array.shape[0],), r, bool(with_replacement))
    if total * most >= 2**60:
        raise OutOfMemory(
            f"combinations: there is no memory for so many rows of {most:,} elements",
            operands={"input": input},
            fix="choose fewer elements",
        )
    # What does not fit into memory, or is nothing, is known before it is built column by column.
    result: Tensor = input.new_empty((total, most))
    return _combinations(input, r, bool(with_replacement)) if total else result


def _list_positions(size: int, r: int, replace: bool, device: Any) -> Tensor:
    """The rows of positions, in order, that rise (or do not fall, with *replace*).

    Built column by column: a row that ends with position p is continued by each position behind p (or by p, too) that
    leaves enough positions for the columns to come. Each column is kept as it was when it was the last, with the row
    that each of its entries continues; the rows are read off from the last column back to the first.
    """
    gap = 0 if replace else 1
    bound = size - (r - 1) * gap
    last = _arange(0, 1, bound, int64, device)
    columns, continued = [last], []
    for length in range(2, r + 1):
        bound += gap
        total = _count_combinations(bound, length, replace)
        counts = _sub(bound - gap, last)
        ends = _cumsum(counts, 0)
        # Where the continuations of a row end, those of the next begin: summed up, these marks number the rows.
        marks = _index_add(_full((total + 1,), 0, int64, device), ends, _full(last._array.shape, 1, int64, device), 0)
        parents = _slice(_cumsum(marks, 0), 0, 0, total, 1)
        first = _add(_sub(_add(last, gap), ends), counts)
        last = _add(_arange(0, 1, total, int64, device), _index_select(first, parents, 0))
        columns.append(last)
        continued.append(parents)
    taken = [columns.pop()]
    rows = None
    while columns:
        parents = continued.pop()
        rows = parents if rows is None else _index_select(parents, rows, 0)
        taken.append(_index_select(columns.pop(), rows, 0))
    return _cat([_unsqueeze(column, 1) for column in reversed(taken)], 1)
