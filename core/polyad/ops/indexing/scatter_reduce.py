"""Elements that an index tensor sends to the same place, reduced: the op behind `scatter_reduce` and `index_reduce`.

To add a reduction: its name in `_REDUCTIONS`, what it does in `_scatter_reduce` and the gradient below it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...backend.interface import Signature
from ...base.dtypes import FLOATING, bool_, float32, int64
from ...base.shapes_and_strides import Shape, contiguous_strides
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing
from ...dispatch.structure import Indexing
from ...errors import UnsupportedDType
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _arange, _full
from ..declaring.checks import check_choice, check_dtype
from ..pointwise.arithmetic import conjugate
from ..pointwise.maximum import maximum, minimum
from ..pointwise.where import _where
from ..reductions.cumulative import _doubled
from ..shaping.flipping import _flip
from ..shaping.joining import _cat
from ..shaping.reshape import _reshape
from ..sorting.sort import _sort
from .gather_scatter import _gather, _pad_gradient, _scatter, _scatter_add, _scatter_where_indexed
from .operands import check_index
from .slicing import _slice

_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _reduced_values(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    if params["reduce"] in ("amax", "amin") and dtype.is_complex:
        raise UnsupportedDType(
            f"scatter_reduce: complex numbers have no order, so they have no {params['reduce']}",
            fix="take the real part or the absolute value first",
        )
    return Typing((None, int64, dtype), (dtype,))


def _scattered(input: Shape, index: Shape, src: Shape, dim: int, reduce: str, include_self: bool) -> Shape:
    return input


@composite(
    dtype=_reduced_values, structure=Indexing("dim", writes=True), shape=_scattered, keyed=("reduce",), method=False
)
def _scatter_reduce(input: Tensor, index: Tensor, src: Tensor, dim: int, reduce: str, include_self: bool) -> Tensor:
    """*input* with what *src* scatters to each place reduced, together with what is there if *include_self*."""
    dtype = input._type.dtype
    if dtype.category >= FLOATING and dtype.itemsize == 2:
        result = _scatter_reduce(input.to(float32), index, src.to(float32), dim, reduce, include_self)
        return result.to(dtype)
    if reduce in ("sum", "mean"):
        base = input if include_self else _scatter(input, index, 0, dim)
        total = _scatter_add(base, index, src, dim)
        if reduce == "sum":
            return total
        count = _counts(input, index, dim, include_self)
        return total / count if dtype.category >= FLOATING else total.div(count, rounding_mode="floor").to(dtype)
    return _folded(input, index, _leading(src, index._array.shape), dim, reduce, include_self)


def _counts(input: Tensor, index: Tensor, dim: int, include_self: bool) -> Tensor:
    """How many elements meet at each place, at least 1, in the dtype of *input* if that can count."""
    dtype = input._type.dtype if input._type.dtype.category >= FLOATING else int64
    ones = _full(input._array.shape, 1, dtype, input._type.device)
    base = ones if include_self else _scatter(ones, index, 0, dim)
    count = _scatter_add(base, index, _full(index._array.shape, 1, dtype, input._type.device), dim)
    return count if include_self else _where(count == 0, 1, count)


def _leading(src: Tensor, shape: Shape) -> Tensor:
    for dim, size in enumerate(shape):
        if src._array.shape[dim] != size:
            src = _slice(src, dim, 0, size, 1)
    return src


def _times(a: Tensor, b: Tensor) -> Tensor:
    return a * b


_FOLDS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"prod": _times, "amax": maximum, "amin": minimum}


def _folded(input: Tensor, index: Tensor, src: Tensor, dim: int, reduce: str, include_self: bool) -> Tensor:
    """The reductions that have no primitive: sort by place, fold the runs of equal places by doubling, and let the last
    of each run be written last.
    """
    fold = _FOLDS[reduce]
    shape, size = input._array.shape, input.numel()
    places, order = _sort(_reshape(_flatten_index(index, shape, dim), (index.numel(),)), 0, False)
    values = _gather(_reshape(src, (index.numel(),)), order, 0)

    folded, _ = _doubled((values, places), 0, _within_places(fold))
    flat = _reshape(input, (size,))
    result = _scatter(flat, places, folded, 0)
    if include_self:
        hit = _scatter(_full((size,), False, bool_, input._type.device), places, True, 0)
        result = _where(hit, fold(flat, result), flat)
    return _reshape(result, shape)


def _within_places(fold: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., tuple[Tensor, ...]]:
    """*fold* of elements with their places, which leaves what is at another place alone."""

    def combine(value: Tensor, place: Tensor, later: Tensor, later_place: Tensor) -> tuple[Tensor, Tensor]:
        return _where(place == later_place, fold(value, later), later), later_place

    return combine


def _flatten_index(index: Tensor, shape: Shape, dim: int) -> Tensor:
    """Where in a row-major tensor of *shape* each index points."""
    strides = contiguous_strides(shape)
    places = index * strides[dim]
    for at, size in enumerate(index._array.shape):
        if at != dim:
            along = _arange(0, strides[at], size, int64, index._type.device)
            places = places + _reshape(along, (size, *[1] * (index.ndim - at - 1)))
    return places


def _self_gradient(
    g: Tensor, input: Tensor, index: Tensor, src: Tensor, dim: int, reduce: str, include_self: bool, out: Tensor
) -> Tensor:
    if reduce == "mean":
        g = g / _counts(input, index, dim, include_self)
    elif reduce == "prod" and include_self:
        # The product of all others: with a 1 in the place of the element itself.
        ones = _full(input._array.shape, 1, input._type.dtype, input._type.device)
        g = g * conjugate(_scatter_reduce(ones, index, src, dim, "prod", True))
    elif reduce in ("amax", "amin"):
        g = _won(input, out) * (g / _winners(input, index, src, dim, include_self, out))
    return g if include_self else _scatter(g, index, 0, dim)


def _won(values: Tensor, extreme: Tensor) -> Tensor:
    """Where *values* are the *extreme*; a NaN is one, as it is for `max`."""
    return (values == extreme) | ((values != values) & (extreme != extreme))


def _winners(input: Tensor, index: Tensor, src: Tensor, dim: int, include_self: bool, out: Tensor) -> Tensor:
    """How many elements are the extreme at each place."""
    own = _won(input, out).to(out._type.dtype)
    if not include_self:
        own = _scatter(own, index, 0, dim)
    won = _won(_leading(src, index._array.shape), _gather(out, index, dim))
    return _scatter_add(own, index, won.to(out._type.dtype), dim)


def _src_gradient(
    g: Tensor, input: Tensor, index: Tensor, src: Tensor, dim: int, reduce: str, include_self: bool, out: Tensor
) -> Tensor:
    given = _leading(src, index._array.shape)
    if reduce == "sum":
        result = _gather(g, index, dim)
    elif reduce == "mean":
        result = _gather(g / _counts(input, index, dim, include_self), index, dim)
    elif reduce == "prod":
        result = _gather(g, index, dim) * conjugate(_product_of_others(input, index, given, dim, include_self))
    else:
        share = g / _winners(input, index, src, dim, include_self, out)
        result = _won(given, _gather(out, index, dim)) * _gather(share, index, dim)
    return _pad_gradient(result, src._array.shape)


def _product_of_others(input: Tensor, index: Tensor, src: Tensor, dim: int, include_self: bool) -> Tensor:
    """For each element of *src* the product of all others that meet at its place: of those before it in the order of
    places times those after it, computed without dividing, so that zeros are no exception.
    """
    count = index.numel()
    places, order = _sort(_reshape(_flatten_index(index, input._array.shape, dim), (count,)), 0, False)
    values = _gather(_reshape(src, (count,)), order, 0)
    before = _running_product_before(values, places)
    after = _flip(_running_product_before(_flip(values, (0,)), _flip(places, (0,))), (0,))
    others = before * after
    if include_self:
        others = others * _gather(_reshape(input, (input.numel(),)), places, 0)
    return _reshape(_scatter(others, order, others, 0), index._array.shape)


def _running_product_before(values: Tensor, places: Tensor) -> Tensor:
    """The product of the elements before each at the same place; equal places are neighbours."""
    products, _ = _doubled((values, places), 0, _within_places(_times))
    last = values._array.shape[0] - 1
    same = _slice(places, 0, 0, last, 1) == _slice(places, 0, 1, last, 1)
    first = _full((1,), 1, values._type.dtype, values._type.device)
    return _cat([first, _where(same, _slice(products, 0, 0, last, 1), 1)], 0)


gradient(_scatter_reduce, input=_self_gradient, src=_src_gradient)


def _reducing(reduce: str, include_self: bool) -> Any:
    return lambda input, index, src, dim: _scatter_reduce(input, index, src, dim, reduce, include_self)


@function(inplace=True)
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """*input* with the elements of *src* that *index* sends to the same place along *dim* reduced: *reduce* is "sum",
    "prod", "mean", "amax" or "amin".

    What is there takes part if *include_self*; places that no index names stay. Means of integers round down. Equal
    extremes share the gradient evenly. Raises IndexError for an index out of range, RuntimeError for shapes or dtypes
    that do not fit and for another reduction.

    >>> import polyad
    >>> x = polyad.tensor([1.0, 2.0, 3.0])
    >>> polyad.scatter_reduce(x, 0, polyad.tensor([0, 0, 2]), polyad.tensor([5.0, 7.0, 1.0]), "amax")
    tensor([7., 2., 3.])
    """
    at = check_index("scatter_reduce", input, dim, index)
    check_reduction("scatter_reduce", reduce, _REDUCTIONS)
    check_tensor(src, "scatter_reduce", "src")
    check_dtype("scatter_reduce", "src", src, "input", input)
    return _scatter_where_indexed("scatter_reduce", _reducing(reduce, bool(include_self)), input, at, index, src)


def check_reduction(op: str, reduce: Any, known: tuple[str, ...]) -> None:
    """Raise unless *reduce* is one of the names *known*."""
    check_choice(op, "reduce", reduce, known, fix=f"choose one of {', '.join(known)}")
