"""Quantiles: values between the elements that stand next to a fractional rank.

nan makes a quantile nan; `nanquantile` leaves it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...backend.interface import Signature
from ...base.dtypes import float32, float64, int64
from ...base.shapes_and_strides import Shape, normalize_dim
from ...dispatch.op import composite, function
from ...dispatch.promotion import Typing
from ...dispatch.structure import Last, Rowwise
from ...errors import ArgumentTypeError, DTypeError, OptionError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full
from ..indexing.gather_scatter import _gather
from ..indexing.slicing import _slice
from ..pointwise.where import _where
from ..shaping.joining import _cat
from ..sorting.sort import _sorted
from .any_all import check_all
from .sums import _sum

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _at_shape(shape: Shape, ranks: Shape) -> Shape:
    return (*shape[:-1], ranks[-1])


def _typed_by_lines(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None, int64), (types[0].dtype,))


@composite(dtype=_typed_by_lines, structure=Rowwise(Last(1)), shape=_at_shape, method=False)
def _at_ranks(input: Tensor, ranks: Tensor) -> Tensor:
    """What stands at *ranks* (..., m) of the sorted lines of *input* (..., n)."""
    last = input.ndim - 1
    return _gather(_sorted(input, last, False), ranks, last)


@function()
def quantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The *q*-quantiles of all elements, or along *dim*: what stands at rank q * (n - 1) of the sorted elements.

    *q* is a number in [0, 1] or a vector of them, whose dimension then comes first in the result. Between two elements
    *interpolation* decides: "linear", "lower", "higher", "midpoint" or "nearest". nan if an element is nan. float32 and
    float64. Raises RuntimeError for other dtypes, no elements, a q out of range or of another dtype.

    >>> import polyad
    >>> polyad.quantile(polyad.tensor([1.0, 2.0, 3.0, 4.0]), polyad.tensor([0.25, 0.5]))
    tensor([1.7500, 2.5000])
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@function()
def nanquantile(
    input: Tensor,
    q: float | Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """`quantile` of the elements that are not nan; nan where all are.

    >>> import polyad
    >>> polyad.nanquantile(polyad.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


def _quantile(
    op: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, skips_nan: bool
) -> Tensor:
    q = _checked_q(op, check_tensor(input, op, "input"), q)
    if interpolation not in _INTERPOLATIONS:
        raise OptionError(
            f"{op}: interpolation is {safe_repr(interpolation)}", fix=f"choose one of {', '.join(_INTERPOLATIONS)}"
        )
    ndim = input.ndim
    at = None if dim is None else normalize_dim(dim, ndim, op)
    if not input.numel():
        raise ShapeError(f"{op}: input has no elements", operands={"input": input}, fix="give at least one")
    if at is None or not ndim:
        lines, shape = input.reshape(-1), (1,) * ndim if keepdim else ()
    else:
        lines, sizes = input.movedim(at, -1), input._array.shape
        shape = (*sizes[:at], *((1,) if keepdim else ()), *sizes[at + 1 :])
    found = _at_quantiles(lines, q.reshape(-1), interpolation, skips_nan)
    if not q.ndim:
        return found.reshape(shape)
    # As PyTorch's, the result is a view in which the quantiles come first.
    return found.reshape((*shape, found._array.shape[-1])).movedim(-1, 0)


def _checked_q(op: str, input: Tensor, q: Any) -> Tensor:
    dtype = input._type.dtype
    if dtype is not float32 and dtype is not float64:
        raise DTypeError(
            f"{op}: input is {dtype.name}, not float32 or float64", operands={"input": input}, fix="convert it first"
        )
    if isinstance(q, Tensor):
        if q.ndim > 1:
            raise ShapeError(f"{op}: q has {q.ndim} dimensions", operands={"q": q}, fix="give a number or a vector")
        if q._type.dtype is not dtype:
            raise DTypeError(
                f"{op}: q must have input's dtype", operands={"input": input, "q": q}, fix="convert q first"
            )
        check_all(
            (q >= 0) & (q <= 1),
            lambda position, value: ShapeError(f"{op}: an element of q is not in [0, 1]", fix="give fractions"),
            q=q,
        )
        return q
    if isinstance(q, bool) or not isinstance(q, (int, float)):
        raise ArgumentTypeError(f"{op}: q is {type(q).__name__}, not a number or tensor", fix="give a fraction")
    if not 0 <= q <= 1:
        raise ShapeError(f"{op}: q is {q}, which is not in [0, 1]", fix="give a fraction")
    return _full((), q, dtype, input._type.device)


def _at_quantiles(lines: Tensor, q: Tensor, interpolation: str, skips_nan: bool) -> Tensor:
    """The quantiles *q* (a vector) of the last dimension, as the last dimension."""
    last = lines.ndim - 1
    size = lines._array.shape[last]
    number = _sum(lines == lines, (last,), True)
    if skips_nan:
        ranks = _where(number > 0, q * (number - 1), 0)
    else:
        # Where there is a nan the last element is taken, which is nan.
        ranks = _where(number == size, q * (size - 1), float(size - 1))
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.to(int64)
    if interpolation not in ("linear", "midpoint"):
        return _at_ranks(lines, below)
    count = below._array.shape[last]
    found = _at_ranks(lines, _cat([below, ranks.ceil().to(int64)], last))
    low, high = _slice(found, last, 0, count, 1), _slice(found, last, count, count, 1)
    return low.lerp(high, 0.5 if interpolation == "midpoint" else ranks - below)
