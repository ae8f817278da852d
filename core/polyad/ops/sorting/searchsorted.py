"""Finding values: where they would go in a sorted sequence, whether they are in a set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature
from ...base.dtypes import BOOL, COMPLEX, bool_, int32, int64
from ...base.shapes_and_strides import Shape
from ...dispatch.op import composite, function, primitive
from ...dispatch.promotion import Typing, common_dtype, comparison, not_complex
from ...dispatch.structure import opaque
from ...errors import ArgumentTypeError, DTypeError, IndexOutOfRange, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_same_device, check_tensor
from ..creation.factories import _full, tensor
from ..declaring.checks import check_choice, check_ndim
from ..declaring.shape_rules import same
from ..indexing.gather_scatter import _gather
from ..indexing.index_select import _index_select
from ..shaping.reshape import _reshape
from .sort import _sort

if TYPE_CHECKING:
    Number = bool | int | float


def _compared(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((common_dtype(types),) * 2, (int64,))


def _second(sequence: Shape, values: Shape, right: bool) -> Shape:
    return values


@primitive(dtype=not_complex("searchsorted", _compared), structure=opaque, shape=_second, method=False)
def _searchsorted(sequence: Tensor, values: Tensor, right: bool) -> Tensor:
    """How many elements of the sorted last dimension of *sequence* are smaller than each of *values* (or, with *right*,
    not larger); nan is largest.

    *sequence* is 1-d, or has the dimensions of *values* but for the last.
    """


def _search(op: str, sequence: Tensor, values: Tensor, right: bool, out_int32: bool) -> Tensor:
    result = _searchsorted(sequence, values, right)
    return result.to(int32) if out_int32 else result


def _as_values(op: str, name: str, values: Any, sequence: Tensor) -> Tensor:
    """*values* as a tensor: a number becomes a 0-d tensor on the sequence's device."""
    if isinstance(values, (bool, int, float)):
        return tensor(values, device=sequence.device)
    return check_tensor(values, op, name)


@function(method=False, also={"self": "input"})
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where each value of *input* would be inserted into the sorted last dimension of *sorted_sequence* to keep its
    order: before equal elements, or behind them with ``right=True`` (or ``side="right"``).

    The sequence is 1-d, or has the leading dimensions of input. *sorter* holds the positions that sort it (see
    `argsort`). nan counts as largest, as in `sort`. The result is int64, or int32 on demand. Raises RuntimeError when
    shapes do not fit or *side* contradicts *right*.

    >>> import polyad
    >>> polyad.searchsorted(polyad.tensor([1, 3, 5]), polyad.tensor([0, 3, 9]))
    tensor([0, 1, 3])
    """
    check_tensor(sorted_sequence, "searchsorted", "sorted_sequence")
    values = _as_values("searchsorted", "input", input, sorted_sequence)
    operands = {"sorted_sequence": sorted_sequence, "input": values}
    shape, wanted = sorted_sequence._array.shape, values._array.shape
    if not shape:
        raise ShapeError("searchsorted: sorted_sequence is 0-d", operands=operands, fix="give at least one dimension")
    if len(shape) != 1 and (len(shape) != len(wanted) or shape[:-1] != wanted[:-1]):
        raise ShapeError(
            f"searchsorted: input {wanted} has not the leading dimensions of sorted_sequence {shape}",
            operands=operands,
            fix="search a 1-d sequence, or give as many rows of values as there are sequences",
        )
    if side is not None:
        check_choice(
            "searchsorted",
            "side",
            side,
            ("left", "right"),
            ShapeError,
            operands=operands,
            fix='choose "left" or "right"',
        )
        if right and side == "left":
            raise ShapeError(
                'searchsorted: side is "left", but right is True', operands=operands, fix="give only side or only right"
            )
        right = side == "right"
    if sorter is not None:
        sorted_sequence = _sorted(sorted_sequence, check_tensor(sorter, "searchsorted", "sorter"))
    return _search("searchsorted", sorted_sequence, values, bool(right), bool(out_int32))


def _sorted(sequence: Tensor, sorter: Tensor) -> Tensor:
    """*sequence* in the order that *sorter* names."""
    operands = {"sorted_sequence": sequence, "sorter": sorter}
    if sorter._array.shape != sequence._array.shape:
        raise ShapeError(
            f"searchsorted: sorter {sorter._array.shape} has not the shape of sorted_sequence {sequence._array.shape}",
            operands=operands,
            fix="give the result of argsort",
        )
    if sorter._type.dtype is not int64:
        raise DTypeError(f"searchsorted: sorter is {sorter.dtype.name}", operands=operands, fix="convert it to int64")
    try:
        return _gather(sequence, sorter, sequence.ndim - 1)
    except IndexOutOfRange as error:
        raise ShapeError(
            "searchsorted: sorter has a position out of range", operands=operands, fix="give the result of argsort"
        ) from error


@function(method=False, also={"self": "input"})
def bucketize(
    input: Tensor | Number,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The bucket of each value: how many of the sorted *boundaries* (1-d) are smaller, or with *right* not larger.

    The result is int64, or int32 on demand. Raises RuntimeError unless boundaries is 1-d.

    >>> import polyad
    >>> polyad.bucketize(polyad.tensor([0.5, 1.0, 7.0]), polyad.tensor([0.0, 1.0, 2.0]))
    tensor([1, 1, 3])
    """
    check_tensor(boundaries, "bucketize", "boundaries")
    values = _as_values("bucketize", "input", input, boundaries)
    check_ndim(
        "bucketize",
        "boundaries",
        boundaries,
        1,
        1,
        operands={"input": values, "boundaries": boundaries},
        fix="use searchsorted for rows of boundaries",
    )
    return _search("bucketize", boundaries, values, bool(right), bool(out_int32))


# ---------------------------------------------------------------------------------------------------- membership


def _ordered_comparison(types: Signature, params: Mapping[str, Any]) -> Typing:
    typing = comparison(types, params)
    dtype = typing.casts[0]
    assert dtype is not None
    if dtype.category in (BOOL, COMPLEX):
        raise DTypeError(f"isin: the operands are {dtype.name}", fix="convert them to an integer or float dtype")
    return typing


@composite(dtype=_ordered_comparison, structure=opaque, shape=same, method=False)
def _isin(elements: Tensor, test_elements: Tensor, assume_unique: bool) -> Tensor:
    """Whether each of *elements* equals any of *test_elements* (of any shape)."""
    size, shape = test_elements.numel(), elements._array.shape
    if not size:
        return _full(shape, False, bool_, elements._type.device)
    sorted_, _ = _sort(_reshape(test_elements, (size,)), 0, False)
    values = _reshape(elements, (elements.numel(),))
    place = _searchsorted(sorted_, values, False).clamp(max=size - 1)
    return _reshape(_index_select(sorted_, place, 0) == values, shape)


@function(method=False, also={"element": "elements", "test_element": "test_elements"})
def isin(
    elements: Tensor | Number,
    test_elements: Tensor | Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Whether each of *elements* is among *test_elements*; with *invert*, whether it is not. nan equals nothing.

    *assume_unique* says that neither has an element twice. The result is bool, of the shape of elements. Raises
    RuntimeError for bool and complex tensors, TypeError if neither is a tensor.

    >>> import polyad
    >>> polyad.isin(polyad.tensor([1, 2, 3]), polyad.tensor([3, 1]))
    tensor([ True, False,  True])
    """
    given = {"elements": elements, "test_elements": test_elements}
    tensors = [value for value in given.values() if isinstance(value, Tensor)]
    if not tensors:
        raise ArgumentTypeError(
            f"isin: elements is {type(elements).__name__} and test_elements is {type(test_elements).__name__}: "
            "neither is a tensor",
            operands=given,
            fix="wrap them in polyad.tensor(...)",
        )
    first, second = (_as_values("isin", name, value, tensors[0]) for name, value in given.items())
    check_same_device("isin", elements=first, test_elements=second)
    result = _isin(first, second, bool(assume_unique))
    return result.logical_not() if invert else result
