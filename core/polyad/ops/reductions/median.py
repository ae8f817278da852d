"""What stands at a rank of the sorted elements: k-th values, medians; and modes. Quantiles are in quantile.py.

nan counts as the largest element; the nan forms leave it out. Ranks are taken from a stable sort, so that of equal
elements every backend names the same.

To add a rank statistic: declare a composite over `_sort` with a named result in return_types.py; `scatter_to_chosen` is
the gradient of an element that was chosen along a dimension.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ... import return_types
from ...backend.interface import Signature
from ...base.dtypes import iinfo, int64
from ...base.shapes_and_strides import normalize_dim
from ...dispatch.forward import forward, reduction
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing, first, not_complex
from ...dispatch.structure import ALL, Reduction, row_major
from ...errors import IndexOutOfRange
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full
from ..indexing.gather_scatter import _gather
from ..indexing.index_select import _index_select
from ..indexing.slicing import _select, _slice
from ..pointwise.where import _where
from ..shaping.joining import _cat
from ..sorting.sort import _sort, _sorted, rank_in
from .cumulative import _cummax, _positions_along
from .max_min import _argmax, among_equals, gather_chosen, scatter_to_chosen
from .sums import _sum

if TYPE_CHECKING:
    from collections.abc import Callable


def _with_positions(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,), (types[0].dtype, int64))


def _select_along(op: Callable[..., Any], name: str, input: Tensor, dim: int, keepdim: bool, *first: Any) -> Any:
    """The named tuple that ``op(input, *first, dim, keepdim)`` gives, a 0-d tensor counting as one element."""
    ndim = check_tensor(input, name, "input").ndim
    at = normalize_dim(dim, ndim, name)
    named_tuple = getattr(return_types, name)
    if not ndim:
        return named_tuple(*[tensor.reshape(()) for tensor in op(input.reshape(1), *first, 0, False)])
    if not input._array.shape[at]:
        raise IndexOutOfRange(
            f"{name}: dimension {at} has no elements", operands={"input": input}, fix="reduce another dimension"
        )
    return named_tuple(*op(input, *first, at, bool(keepdim)))


# ---------------------------------------------------------------------------------------------------- ranks


@composite(
    dtype=not_complex("kthvalue", _with_positions),
    structure=Reduction("dim"),
    strides=row_major,
    outputs=("values", "indices"),
    method=False,
)
def _kthvalue(input: Tensor, k: int, dim: int, keepdim: bool) -> Any:
    """The *k*-th smallest element along *dim*, counted from 1, and where it is."""
    values, indices = _sort(input, dim, False)
    if keepdim:
        return _slice(values, dim, k - 1, 1, 1).clone(), _slice(indices, dim, k - 1, 1, 1).clone()
    return _select(values, dim, k - 1).clone(), _select(indices, dim, k - 1).clone()


gradient(_kthvalue, input=scatter_to_chosen)
forward(_kthvalue, lambda input_t, dim, keepdim, indices: (gather_chosen(input_t, dim, keepdim, indices), None))


@function()
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> return_types.kthvalue:
    """The *k*-th smallest element along *dim*, counted from 1, with where it is: (values, indices).

    Raises RuntimeError for a k that the dimension has not, IndexError for a dimension without elements.

    >>> import polyad
    >>> polyad.kthvalue(polyad.tensor([3, 1, 2]), 2).values
    tensor(2)
    """
    at = normalize_dim(dim, check_tensor(input, "kthvalue", "input").ndim, "kthvalue")
    rank = 1 if input.ndim and not input._array.shape[at] else rank_in("kthvalue", input, k, at, 1)
    result: return_types.kthvalue = _select_along(_kthvalue, "kthvalue", input, at, keepdim, rank)
    return result


@composite(dtype=not_complex("median", first), structure=Reduction(ALL), method=False)
def _median(input: Tensor) -> Tensor:
    """The lower median of all elements, nan if any is nan."""
    values = _sorted(input.reshape(-1), 0, False)
    size = values._array.shape[0]
    middle, last = _select(values, 0, (size - 1) // 2), _select(values, 0, size - 1)
    return _where(last != last, last, middle)


@composite(dtype=not_complex("nanmedian", first), structure=Reduction(ALL), method=False)
def _nanmedian(input: Tensor) -> Tensor:
    """The lower median of all elements that are not nan; nan if all are."""
    flat = input.reshape(-1)
    rank = _middle(_sum(flat == flat, (0,), True))
    return _index_select(_sorted(flat, 0, False), rank, 0).reshape(())


gradient(_median, input=among_equals)
reduction(_median)
gradient(_nanmedian, input=among_equals)
reduction(_nanmedian)


def _middle(number: Tensor) -> Tensor:
    """The rank of the lower median of *number* elements, 0 of none."""
    return _where(number > 0, (number - 1) // 2, 0)


@composite(
    dtype=not_complex("median", _with_positions),
    structure=Reduction("dim"),
    outputs=("values", "indices"),
    method=False,
)
def _median_dim(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The lower median along *dim* and where it is; the first nan if there is any."""
    size = input._array.shape[dim]
    number = _sum(input == input, (dim,), True)
    return _at_rank(input, _where(number == size, (size - 1) // 2, number), dim, keepdim)


@composite(
    dtype=not_complex("nanmedian", _with_positions),
    structure=Reduction("dim"),
    outputs=("values", "indices"),
    method=False,
)
def _nanmedian_dim(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The lower median along *dim* of what is not nan and where it is; the first nan if all are."""
    return _at_rank(input, _middle(_sum(input == input, (dim,), True)), dim, keepdim)


def _at_rank(input: Tensor, rank: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    chosen = [_gather(tensor, rank, dim) for tensor in _sort(input, dim, False)]
    values, indices = chosen if keepdim else [tensor.squeeze(dim) for tensor in chosen]
    return values, indices


gradient(_median_dim, input=scatter_to_chosen)
forward(_median_dim, lambda input_t, dim, keepdim, indices: (gather_chosen(input_t, dim, keepdim, indices), None))
gradient(_nanmedian_dim, input=scatter_to_chosen)
forward(_nanmedian_dim, lambda input_t, dim, keepdim, indices: (gather_chosen(input_t, dim, keepdim, indices), None))


def _of_nothing(input: Tensor) -> Tensor:
    """The median of no elements: nan, of integers their smallest number, as PyTorch's; floats keep a history."""
    dtype = input._type.dtype
    if dtype.is_floating_point:
        result: Tensor = input.sum() + float("nan")
        return result
    value = iinfo(dtype).min if dtype.name != "bool" else False
    return _full((), value, dtype, input._type.device)


@function()
def median(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The lower of the two middle elements: of all, or along *dim* with where it is, as (values, indices). nan if
    any is nan.

    Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.median(polyad.tensor([4, 1, 3, 2]))
    tensor(2)
    """
    if dim is not None:
        return _select_along(_median_dim, "median", input, dim, keepdim)
    return _median(input) if check_tensor(input, "median", "input").numel() else _of_nothing(input)


@function()
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """`median` of the elements that are not nan; nan where all are.

    Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.nanmedian(polyad.tensor([4.0, 1.0, float("nan")]))
    tensor(1.)
    """
    if dim is not None:
        return _select_along(_nanmedian_dim, "nanmedian", input, dim, keepdim)
    return _nanmedian(input) if check_tensor(input, "nanmedian", "input").numel() else _of_nothing(input)


# ---------------------------------------------------------------------------------------------------- mode


@composite(
    dtype=not_complex("mode", _with_positions), structure=Reduction("dim"), outputs=("values", "indices"), method=False
)
def _mode(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The smallest of the most frequent elements along *dim*, and where it is last."""
    values, indices = _sort(input, dim, False)
    size = values._array.shape[dim]
    at = _positions_along(values, dim)
    same = _slice(values, dim, 1, size - 1, 1) == _slice(values, dim, 0, size - 1, 1)
    # Where the run of equal elements began that each is in; the longest run's last element is the first to be so far
    # from its beginning.
    begins = _cat([_slice(at, dim, 0, 1, 1), _where(same, 0, _slice(at, dim, 1, size - 1, 1))], dim)
    rank = _argmax(at - _cummax(begins, dim)[0], dim, True)
    chosen = [_gather(tensor, rank, dim) for tensor in (values, indices)]
    return tuple(chosen if keepdim else [tensor.squeeze(dim) for tensor in chosen])


gradient(_mode, input=scatter_to_chosen)
forward(_mode, lambda input_t, dim, keepdim, indices: (gather_chosen(input_t, dim, keepdim, indices), None))


@function()
def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> return_types.mode:
    """The most frequent element along *dim*, the smallest of several, with where it is last: (values, indices).

    nan differs from itself. Raises IndexError for a dim out of range or without elements, RuntimeError for complex
    tensors.

    >>> import polyad
    >>> values, indices = polyad.mode(polyad.tensor([2, 1, 2, 3, 1]))
    >>> values, indices
    (tensor(1), tensor(4))
    """
    result: return_types.mode = _select_along(_mode, "mode", input, dim, keepdim)
    return result
