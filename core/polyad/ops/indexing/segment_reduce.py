"""Segments, which lie one behind the other along a dimension, each reduced to one element."""

from __future__ import annotations

from ...base.dtypes import FLOATING, int32, int64
from ...dispatch.op import function
from ...errors import ArgumentError, DTypeError, NotSupported, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import arange, full
from ..pointwise.where import where
from ..reductions.any_all import check_all
from ..shaping.joining import cat
from ..sorting.searchsorted import searchsorted
from .scatter_reduce import check_reduction, scatter_reduce

_REDUCTIONS = {
    "sum": "sum",
    "mean": "sum",
    "prod": "prod",
    "max": "amax",
    "amax": "amax",
    "min": "amin",
    "amin": "amin",
}
_OF_NOTHING = {"sum": 0.0, "mean": float("nan"), "prod": 1.0, "amax": float("-inf"), "amin": float("inf")}


@function(method=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Each segment of *data* along *axis* reduced to one element: *reduce* is "sum", "mean", "prod", "max" or "min".

    Shapes: data (..., N, *), where N is the size along *axis*; the *lengths* of the S segments (..., S), or where they
    begin and the last ends, *offsets* (..., S + 1), of int32 or int64 -> (..., S, *). *initial* takes part in each
    segment, in a mean without being counted. Of an empty segment the result is *initial*, else 0, NaN, 1, -inf or inf.
    Equal extremes share the gradient evenly.

    Raises RuntimeError for shapes and dtypes that do not fit, for another reduction and, unless *unsafe*, for lengths
    that do not add up to N.

    >>> import polyad
    >>> x = polyad.tensor([1.0, 2.0, 3.0])
    >>> polyad.segment_reduce(x, "max", lengths=polyad.tensor([2, 1]))
    tensor([2., 3.])
    """
    if indices is not None:
        raise NotSupported("segment_reduce: segments are not given by indices", fix="use scatter_reduce")
    if check_tensor(data, "segment_reduce", "data").dtype.category < FLOATING or data.dtype.is_complex:
        raise DTypeError(
            f"segment_reduce: there is no {data.dtype.name} for it", operands={"data": data}, fix="convert to float32"
        )
    check_reduction("segment_reduce", reduce, tuple(_REDUCTIONS))
    offsets = _offsets(data, lengths, offsets, axis, unsafe)
    at, count = offsets.ndim - 1, offsets.shape[-1] - 1
    places = arange(data.shape[at], device=data.device).expand(data.shape[: at + 1])
    # The number of offsets up to a place is that of its segment, counted from 1; 0 and count + 1 lie outside of all.
    segments = searchsorted(offsets, places, right=True).reshape(*places.shape, *[1] * (data.ndim - at - 1))
    size = (*data.shape[:at], count + 2, *data.shape[at + 1 :])
    kind = _REDUCTIONS[reduce]
    empty = _OF_NOTHING["mean" if reduce == "mean" else kind] if initial is None else initial
    start = full(size, 0.0 if reduce == "mean" and initial is None else empty, dtype=data.dtype, device=data.device)
    result: Tensor = scatter_reduce(
        start, at, segments.expand(data.shape), data, kind, include_self=initial is not None
    )
    result = result.narrow(at, 1, count)
    if reduce != "mean":
        return result
    sizes = offsets.diff(dim=-1).reshape(*offsets.shape[:-1], count, *[1] * (data.ndim - at - 1))
    return where(sizes > 0, result / sizes.clamp(min=1), empty)  # type: ignore[no-any-return]


_segment_reduce = segment_reduce  # as libraries name it


def _offsets(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool) -> Tensor:
    """Where segments begin and the last ends, checked."""
    name, given = ("lengths", lengths) if offsets is None else ("offsets", offsets)
    if given is None:
        raise ArgumentError("segment_reduce: no segments were given", fix="pass lengths= or offsets=")
    operands = {"data": data, name: check_tensor(given, "segment_reduce", name)}
    if given.dtype not in (int32, int64):
        raise DTypeError(f"segment_reduce: {name} are not int32 or int64", operands=operands, fix="convert to int64")
    at = axis + data.ndim if axis < 0 else axis
    if given.ndim != at + 1 or given.ndim > data.ndim or given.shape[:-1] != data.shape[:at]:
        raise ShapeError(
            f"segment_reduce: {name} do not fit data along axis {axis}",
            operands=operands,
            fix=f"give {name} of shape (*data.shape[:axis], number)",
        )
    if offsets is not None:
        return offsets
    ends = given.cumsum(-1)
    if not unsafe:
        size = data.shape[at]

        def unlike(position: tuple[int, ...], value: int) -> ShapeError:
            return ShapeError(
                f"segment_reduce: lengths are not 0 or more that add up to the size along axis {axis}, {size}",
                fix="give those, or offsets",
            )

        check_all((given >= 0).all(-1) & (ends.narrow(-1, -1, 1).squeeze(-1) == size), unlike, **operands)
    return cat([ends.new_zeros(*ends.shape[:-1], 1), ends], -1)
