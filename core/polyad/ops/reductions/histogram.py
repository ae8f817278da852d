"""Counting values by bins: bincount, histc, histogram, histogramdd.

All of them come down to a position for each element and a ``bincount``. A value lies in bin i if
``edges[i] <= value < edges[i + 1]``; the last bin includes its right edge; what lies outside, and nan, is not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ... import return_types
from ...backend.interface import Signature, TensorType
from ...base.dtypes import INTEGER, DType, float32, float64, int64
from ...base.shapes_and_strides import Shape
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing, to_int64
from ...dispatch.structure import opaque
from ...errors import ShapeError, UnsupportedDType, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor, has_data
from ..creation.factories import _arange, _full
from ..declaring.checks import check_floating, check_int, check_least, check_ndim
from ..declaring.no_derivative import no_derivative
from ..declaring.shape_rules import same
from ..indexing.gather_scatter import _scatter_add
from ..indexing.index_select import _index_select
from ..indexing.slicing import _select, _slice
from ..pointwise.arithmetic import _add, _div, _mul, _sub
from ..pointwise.where import _where
from ..products.mm import check_same_dtype
from ..shaping.reshape import _reshape
from ..sorting.searchsorted import _searchsorted
from .max_min import _amax, _amin
from .sums import _sum

_MOST_DIMS = 64
"""What a tensor can have, by NumPy's arrays."""

# ---------------------------------------------------------------------------------------------------- counts


def _counted(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Counts are int64; sums of weights float32 if the weights are, else float64."""
    weights = types[1]
    if not isinstance(weights, TensorType):
        return Typing((int64, None), (int64,))
    dtype = float32 if weights.dtype is float32 else float64
    return Typing((int64, dtype), (dtype,))


def _count_shape(input: Shape, weights: Shape | None, size: int) -> Shape:
    return (size,)


@composite(dtype=_counted, structure=opaque, shape=_count_shape, method=False)
def _bincount(input: Tensor, weights: Tensor | None, size: int) -> Tensor:
    """How often each of 0 to *size* - 1 is in *input* (1-d), or the sums of *weights* there."""
    type_ = input._type
    if weights is None:
        weights = _full(input._array.shape, 1, int64, type_.device)
    return _scatter_add(_full((size,), 0, weights._type.dtype, type_.device), input, weights, 0)


@composite(structure=opaque, shape=same, method=False)
def _bincount_of(counts: Tensor, weights: Tensor) -> Tensor:
    """The counts, which have no derivative with respect to the weights that they add up."""
    return counts


@composite(structure=opaque, shape=same, method=False)
def _histogram_of(result: Tensor, input: Tensor) -> Tensor:
    """A histogram's counts or edges, which have no derivative with respect to the counted values."""
    return result


gradient(_bincount_of, **no_derivative("bincount", "weights"))
gradient(_histogram_of, **no_derivative("histogram", "input"))


@function()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 to the largest is in *input*, or the sums of *weights* at each.

    *input* is 1-d and integer, without negative elements; the result has at least *minlength* elements. It is int64;
    sums of weights are float32 if the weights are, else float64. Raises RuntimeError for other inputs, or weights of
    another shape.

    >>> import polyad
    >>> polyad.bincount(polyad.tensor([1, 0, 1, 3]))
    tensor([1, 2, 0, 1])
    """
    operands = {"input": check_tensor(input, "bincount", "input")}
    if weights is not None:
        operands["weights"] = check_tensor(weights, "bincount", "weights")
    dtype = input._type.dtype
    if dtype.category != INTEGER:
        raise UnsupportedDType(
            f"bincount: input is {dtype.name}", operands=operands, fix="convert it to an integer dtype"
        )
    check_ndim("bincount", "input", input, 1, 1, operands=operands, fix="flatten it")
    check_int("bincount", "minlength", minlength)
    check_least("bincount", "minlength", minlength, 0, operands=operands, fix="choose 0 or more")
    if weights is not None and weights._array.shape != input._array.shape:
        raise ShapeError(
            "bincount: weights has not the shape of input", operands=operands, fix="give a weight for each element"
        )
    size = minlength
    if input._array.shape[0]:
        if dtype.is_signed and _amin(input, (0,), False).item() < 0:
            raise ShapeError("bincount: input has negative elements", operands=operands, fix="shift or drop them")
        size = max(size, int(_amax(input, (0,), False).item()) + 1)
    else:
        weights = None  # nothing is counted, in int64 as in PyTorch
    if weights is None:
        return _bincount(input, None, size)
    return _bincount_of(_bincount(input, weights.detach(), size), weights)


# ---------------------------------------------------------------------------------------------------- even bins


def _even_position(x: Tensor, bins: int, low: float, high: float) -> Tensor:
    """The bin of each element in *bins* bins of equal width, *bins* for what lies outside."""
    inside = (x >= low) & (x <= high)
    place = _where(inside, _div(_mul(_sub(x, low), bins), high - low), bins).to(int64)
    # In a range that is narrower than the numbers are exact, the place is nan or infinite.
    return _where(inside & ((place >= bins) | (place < 0)), bins - 1, place)


def _histc_shape(input: Shape, bins: int, low: float, high: float) -> Shape:
    return (bins,)


def _floating(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    check_floating("histc", "input", dtype, UnsupportedDType, fix="convert it to a floating point dtype: x.float()")
    return Typing((None,), (dtype,))


@composite(dtype=_floating, structure=opaque, shape=_histc_shape, method=False)
def _histc(input: Tensor, bins: int, low: float, high: float) -> Tensor:
    """The counts of *input* in *bins* bins of equal width from *low* to *high*."""
    place = _even_position(_reshape(input, (input.numel(),)), bins, low, high)
    return _slice(_bincount(place, None, bins + 1), 0, 0, bins, 1).to(input._type.dtype)


@function()
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements are in each of *bins* bins of equal width from *min* to *max*.

    If these are equal, the bins reach from the smallest element to the largest. Counts have the input's dtype. Raises
    RuntimeError unless bins is positive, min < max, both finite, and the input floating.

    >>> import polyad
    >>> polyad.histc(polyad.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    operands = {"input": check_tensor(input, "histc", "input")}
    count = _check_bins("histc", bins, operands)
    check_floating(
        "histc", "input", input._type.dtype, UnsupportedDType, operands=operands, fix="convert it: x.float()"
    )
    low, high = float(min), float(max)
    if low == high and input.numel():
        low, high = _extent(input.detach())
    low, high = _widened("histc", low, high, operands)
    return _histc(input.detach(), count, low, high)


def _check_bins(op: str, bins: Any, operands: Mapping[str, Any]) -> int:
    count = check_int(op, "bins", bins, operands=operands)
    if not 0 < bins < 2**62:
        raise ShapeError(
            f"{op}: bins is {bins}, not in [1, 2**62)", operands=operands, fix="ask for 1 bin or more, and fewer"
        )
    return count


def _extent(x: Tensor) -> tuple[float, float]:
    if not has_data(x):
        return 0.0, 1.0  # any range has as many bins
    return float(_amin(x, _dims(x), False).item()), float(_amax(x, _dims(x), False).item())


def _widened(op: str, low: float, high: float, operands: Mapping[str, Any]) -> tuple[float, float]:
    """The range of bins: a range of a single value is widened by 1/2 to both sides."""
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ShapeError(
            f"{op}: the range [{low}, {high}] is not finite",
            operands=operands,
            fix="give a range; nan and infinity in the input are then not counted",
        )
    if low > high:
        raise ShapeError(f"{op}: the range begins at {low} and ends at {high}", operands=operands, fix="exchange them")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


# ---------------------------------------------------------------------------------------------------- any bins


def _edges(low: float, high: float, bins: int, dtype: DType, device: Any) -> Tensor:
    """The edges of *bins* bins of equal width, counted from the nearer end so that both ends are exact."""
    index = _arange(0, 1, bins + 1, dtype, device)
    step = (high - low) / bins
    up, down = _add(_mul(index, step), low), _sub(high, _mul(_sub(bins, index), step))
    return _where(index < (bins + 1) / 2, up, down)


def _find_bins(x: Tensor, edges: Tensor, even: tuple[float, float] | None) -> Tensor:
    """The bin of each element between *edges*, the number of bins for what lies outside; *even* bins have a range."""
    bins = edges._array.shape[0] - 1
    first, last = _select(edges, 0, 0), _select(edges, 0, bins)
    inside = (x >= first) & (x <= last)
    if even is None:
        place = _sub(_searchsorted(edges, x, True), 1)
        place = _where(x == last, bins - 1, place)
    else:
        guess = _even_position(x, bins, *even)
        # Division may miss by one bin where an element is within rounding of an edge; the edges decide.
        at = guess.clamp(max=bins - 1)
        above = (x >= _index_select(edges, _add(at, 1), 0)) & (at < bins - 1)
        below = x < _index_select(edges, at, 0)
        place = _sub(_add(at, above), below.to(int64))
    return _where(inside, place, bins)


def _counts_shape(input: Shape, edges: Shape, low: float, high: float, even: bool) -> Shape:
    return (edges[0] - 1,)


@composite(dtype=to_int64, structure=opaque, shape=_counts_shape, method=False)
def _bin_counts(input: Tensor, edges: Tensor, low: float, high: float, even: bool) -> Tensor:
    """How many elements (1-d) are in each bin between *edges*; *even* says that these are evenly spaced from *low* to
    *high*.
    """
    bins = edges._array.shape[0] - 1
    place = _find_bins(input, edges, (low, high) if even else None)
    return _slice(_bincount(place, None, bins + 1), 0, 0, bins, 1).clone()


def _bins_of(
    op: str, columns: Sequence[Tensor], bins: Any, range: Any, operands: Mapping[str, Any]
) -> list[tuple[Tensor, tuple[float, float] | None]]:
    """The edges for each column of values, with the range if they are even."""
    count = len(columns)
    if range is not None and (not isinstance(range, (tuple, list)) or len(range) != 2 * count):
        raise ShapeError(
            f"{op}: range is {safe_repr(range)}",
            operands=operands,
            fix=f"give {2 * count} numbers: a minimum and a maximum for each of {count} dimensions",
        )
    if len(bins) != count:
        raise ShapeError(
            f"{op}: there are bins for {len(bins)} dimensions, values have {count}",
            operands=operands,
            fix="give a number of bins, or edges, for each dimension",
        )
    result: list[tuple[Tensor, tuple[float, float] | None]] = []
    for place, (x, given) in enumerate(zip(columns, bins, strict=True)):
        if isinstance(given, Tensor):
            if given.ndim != 1 or given._array.shape[0] < 2:
                raise ShapeError(
                    f"{op}: the edges of dimension {place} have shape {given._array.shape}",
                    operands=operands,
                    fix="give at least two edges in one dimension",
                )
            check_same_dtype(op, input=x, bins=given)
            result.append((given, None))
            continue
        number = _check_bins(op, given, operands)
        if range is not None:
            low, high = float(range[2 * place]), float(range[2 * place + 1])
        else:
            low, high = _extent(x) if x.numel() else (0.0, 1.0)
        even = _widened(op, low, high, operands)
        result.append((_edges(*even, number, x._type.dtype, x._type.device), even))
    return result


def _histogram(
    op: str,
    input: Tensor,
    columns: Sequence[Tensor],
    bins: Any,
    range: Any,
    weight: Tensor | None,
    density: bool,
    operands: Mapping[str, Any],
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The counts (or sums of weights) of points given by column, and the edges of bins in each dimension."""
    dtype = input._type.dtype
    if not columns:
        raise ShapeError(f"{op}: input has no dimensions to count over", operands=operands, fix="give points")
    grid = _bins_of(op, columns, bins, range, operands)
    shape = tuple([edges._array.shape[0] - 1 for edges, _ in grid])
    if len(columns) == 1 and weight is None:
        edges, even = grid[0]
        hist = _bin_counts(columns[0], edges, *(even or (0.0, 0.0)), even is not None).to(dtype)
    else:
        hist = _reshape(_counts_of_points(columns, grid, shape, weight), shape).to(dtype)
    if density:
        hist = _div(hist, _sum(hist, _dims(hist), False))
        for at, (edges, _) in enumerate(grid):
            width = _sub(_slice(edges, 0, 1, shape[at], 1), _slice(edges, 0, 0, shape[at], 1))
            hist = _div(hist, _reshape(width, (shape[at],) + (1,) * (len(shape) - 1 - at)))
    bin_edges = [edges if even is None else _histogram_of(edges, input) for edges, even in grid]
    return _histogram_of(hist, input), tuple(bin_edges)


def _counts_of_points(
    columns: Sequence[Tensor],
    grid: Sequence[tuple[Tensor, tuple[float, float] | None]],
    shape: Shape,
    weight: Tensor | None,
) -> Tensor:
    """The flat counts of points in a grid of *shape*: the bins of all dimensions joined into a single index."""
    total = math.prod(shape)
    place, outside = None, None
    for x, (edges, even), size in zip(columns, grid, shape, strict=True):
        found = _find_bins(x, edges, even)
        missed = found == size
        place = found if place is None else place * size + found
        outside = missed if outside is None else outside | missed
    assert place is not None
    assert outside is not None
    weights = None if weight is None else _reshape(weight.detach(), (weight.numel(),))
    return _slice(_bincount(_where(outside, total, place), weights, total + 1), 0, 0, total, 1)


def _dims(tensor: Tensor) -> tuple[int, ...]:
    return tuple(range(tensor.ndim))


def _check_counted(op: str, input: Tensor, weight: Tensor | None, points: Shape) -> dict[str, Any]:
    operands: dict[str, Any] = {"input": check_tensor(input, op, "input")}
    if weight is not None:
        operands["weight"] = check_tensor(weight, op, "weight")
    dtype = input._type.dtype
    check_floating(op, "input", dtype, UnsupportedDType, operands=operands, fix="convert it: input.float()")
    if weight is not None:
        check_same_dtype(op, input=input, weight=weight)
        if weight._array.shape != points:
            raise ShapeError(
                f"{op}: weight {weight._array.shape} has not the shape {points}",
                operands=operands,
                fix="give a weight for each counted value",
            )
    return operands


@function()
def histogram(
    input: Tensor,
    bins: int | Tensor = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """How many elements are in each bin, with the bins' edges: a named tuple (hist, bin_edges).

    *bins* is a number of bins of equal width, from the smallest element to the largest or over *range*, or a tensor of
    rising edges. *weight* gives each element a weight; *density* scales so that the integral is 1. Values outside, and
    nan, are not counted. There is no gradient: asking for it raises NotImplementedError. Raises RuntimeError for a
    range that is empty or not finite, edges or weights of another dtype or shape, and other than floating inputs.

    >>> import polyad
    >>> hist, edges = polyad.histogram(polyad.tensor([1.0, 2.0, 1.0]), bins=2, range=(0, 4))
    >>> hist, edges
    (tensor([2., 1.]), tensor([0., 2., 4.]))
    """
    shape = check_tensor(input, "histogram", "input")._array.shape
    operands = _check_counted("histogram", input, weight, shape)
    flat = _reshape(input.detach(), (input.numel(),))
    hist, (edges,) = _histogram("histogram", input, [flat], [bins], range, weight, density, operands)
    return return_types.histogram(hist, _histogram_of(edges, input) if edges is bins else edges)


@function(method=False)
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int] | Sequence[Tensor],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """The histogram of points in several dimensions, the last of *input*: a named tuple (hist, bin_edges).

    *bins* is a number for all dimensions, a list of numbers or a list of edges; *range* has a minimum and a maximum for
    each. The rest is as for `histogram`; bin_edges is a tuple, in which given edges come back themselves.

    >>> import polyad
    >>> points = polyad.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    >>> polyad.histogramdd(points, bins=[2, 2]).hist
    tensor([[1., 0.],
            [1., 1.]])
    """
    shape = check_tensor(input, "histogramdd", "input")._array.shape
    if len(shape) < 2:
        raise ShapeError(
            "histogramdd: input has fewer than two dimensions", operands={"input": input}, fix="unsqueeze it"
        )
    if shape[-1] > _MOST_DIMS:
        raise ShapeError(
            f"histogramdd: a histogram of {shape[-1]:,} dimensions, the last of input, is asked for",
            operands={"input": input},
            fix=f"give points of at most {_MOST_DIMS} coordinates",
        )
    operands = _check_counted("histogramdd", input, weight, shape[:-1])
    points = _reshape(input.detach(), (math.prod(shape[:-1]), shape[-1]))
    columns = [column.contiguous() for column in points.unbind(1)]
    listed = list(bins) if isinstance(bins, (tuple, list)) else [bins] * shape[-1]
    hist, edges = _histogram("histogramdd", input, columns, listed, range, weight, density, operands)
    return return_types.histogramdd(hist, edges)
