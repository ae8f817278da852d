"""Derivatives of sampled functions: differences of neighbours (`diff`) and slopes at the samples (`gradient`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.dtypes import BOOL, FLOATING, get_default_dtype, uint8
from ...base.shapes_and_strides import normalize_dim
from ...dispatch.op import function
from ...errors import ArgumentTypeError, DTypeError, ShapeError, wrong_type
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.checks import check_choice, check_distinct, check_int, check_least
from ..indexing.slicing import _slice
from ..pointwise.arithmetic import _add, _div, _mul, _sub
from ..pointwise.comparison import ne
from ..shaping.joining import _cat
from ..shaping.reshape import _reshape


@function()
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along *dim*, taken *n* times, after joining *prepend* and *append* to the input.

    Of bool, whether neighbours differ. Raises RuntimeError for a 0-d input, a negative n or tensors that cannot be
    joined, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.diff(polyad.tensor([1, 4, 9, 16]))
    tensor([3, 5, 7])
    """
    given = {"prepend": prepend, "input": check_tensor(input, "diff", "input"), "append": append}
    parts = {name: check_tensor(part, "diff", name) for name, part in given.items() if part is not None}
    if not input.ndim:
        raise ShapeError("diff: input is 0-d", operands=parts, fix="give at least one dimension")
    at = normalize_dim(dim, input.ndim, "diff")
    check_int("diff", "n", n, operands=parts)
    check_least("diff", "n", n, 0, operands=parts, fix="choose n of 0 or more")
    shape = input._array.shape
    for name, part in parts.items():
        have = part._array.shape
        if len(have) != len(shape) or (*have[:at], *have[at + 1 :]) != (*shape[:at], *shape[at + 1 :]):
            raise ShapeError(
                f"diff: {name} {have} cannot be joined to input {shape} along dimension {at}",
                operands=parts,
                fix="give it the sizes of input in all other dimensions",
            )
    if not n:
        return input.clone()
    joined = input if len(parts) == 1 else _cat(list(parts.values()), at)
    n = min(n, joined._array.shape[at])
    if not n:
        return joined.clone()
    minus = ne if joined._type.dtype.category == BOOL else _sub
    for _ in range(n):
        size = joined._array.shape[at]
        joined = minus(_slice(joined, at, 1, size - 1, 1), _slice(joined, at, 0, size - 1, 1))
    return joined


def _spacings(spacing: Any, dims: tuple[int, ...], input: Tensor) -> list[Any]:
    """What is between samples along each of *dims*: a number, or a 1-d tensor of coordinates."""
    operands = {"input": input}
    if isinstance(spacing, Tensor):
        raise ArgumentTypeError(
            "gradient: spacing is a tensor", operands=operands, fix="give a number, or a list with a tensor a dimension"
        )
    for step in spacing if isinstance(spacing, (tuple, list)) else (spacing,):
        if not isinstance(step, (int, float, complex, Tensor)):
            raise wrong_type("gradient", "spacing", step, "a number, or a list of numbers or tensors")
    if not isinstance(spacing, (tuple, list)):
        return [spacing] * len(dims)
    if len(spacing) != len(dims):
        raise ShapeError(
            f"gradient: spacing has {len(spacing)} entries for {len(dims)} dimensions",
            operands=operands,
            fix="give a number, or an entry for each of dim",
        )
    for step, dim in zip(spacing, dims, strict=True):
        if isinstance(step, Tensor) and step._array.shape != (input._array.shape[dim],):
            raise ShapeError(
                f"gradient: the coordinates of dimension {dim} have shape {step._array.shape}",
                operands=operands,
                fix=f"give {input._array.shape[dim]} coordinates in a 1-d tensor",
            )
    return list(spacing)


@function(method=False)
def gradient(
    input: Tensor, *, spacing: Any = None, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The derivatives of a sampled function along each of *dim* (all by default): central differences of second order
    inside, one-sided differences of *edge_order* 1 or 2 at both ends.

    *spacing* is the distance of samples, 1 by default, a list of distances by dimension, or a list of tensors with the
    coordinates. Integers give the default dtype. Raises RuntimeError for bool and uint8, too few samples, or a spacing
    that does not fit; IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.gradient(polyad.tensor([1.0, 4.0, 9.0, 16.0]))
    (tensor([3., 4., 6., 7.]),)
    """
    check_tensor(input, "gradient", "input")
    operands = {"input": input}
    if input._type.dtype.category == BOOL or input._type.dtype is uint8:
        raise DTypeError(
            f"gradient: input is {input.dtype.name}", operands=operands, fix="convert it to a signed or float dtype"
        )
    check_choice("gradient", "edge_order", edge_order, (1, 2), ShapeError, operands=operands, fix="choose 1 or 2")
    if dim is None:
        dims = tuple(range(input.ndim))
    else:
        given = dim if isinstance(dim, (tuple, list)) else (dim,)
        dims = tuple([normalize_dim(at, input.ndim, "gradient") for at in given])
    check_distinct("gradient", dims, dims, operands)
    steps = _spacings(1 if spacing is None else spacing, dims, input)
    for at in dims:
        if not input.ndim or input._array.shape[at] <= edge_order:
            raise ShapeError(
                f"gradient: dimension {at} has fewer than {edge_order + 1} samples",
                operands=operands,
                fix="give at least edge_order + 1 samples",
            )
    wide = input if input._type.dtype.category >= FLOATING else input.to(get_default_dtype())
    return tuple(
        [
            _slopes(wide, at, step, edge_order)
            if isinstance(step, Tensor)
            else _even_slopes(wide, at, step, edge_order)
            for at, step in zip(dims, steps, strict=True)
        ]
    )


def _even_slopes(f: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    size = f._array.shape[dim]

    def at(place: int) -> Tensor:
        return _slice(f, dim, place % size, 1, 1)

    inside = _div(_sub(_slice(f, dim, 2, size - 2, 1), _slice(f, dim, 0, size - 2, 1)), 2 * step)
    if edge_order == 1:
        first, last = _div(_sub(at(1), at(0)), step), _div(_sub(at(-1), at(-2)), step)
    else:
        # The parabola through the three outermost samples.
        first = _div(_sub(_mul(at(1), 4), _add(_mul(at(0), 3), at(2))), 2 * step)
        last = _div(_sub(_add(_mul(at(-1), 3), at(-3)), _mul(at(-2), 4)), 2 * step)
    return _cat([first, inside, last], dim)


def _slopes(f: Tensor, dim: int, x: Tensor, edge_order: int) -> Tensor:
    """Finite differences at uneven coordinates: the slope, at each sample, of the parabola through it and its
    neighbours.
    """
    size = f._array.shape[dim]
    if x._type.dtype.category < FLOATING:  # whose differences may wrap around
        x = x.to(get_default_dtype())
    x = _reshape(x, (size,) + (1,) * (f.ndim - dim - 1))
    steps = _sub(_slice(x, 0, 1, size - 1, 1), _slice(x, 0, 0, size - 1, 1))
    rises = _sub(_slice(f, dim, 1, size - 1, 1), _slice(f, dim, 0, size - 1, 1))
    before, after = _slice(steps, 0, 0, size - 2, 1), _slice(steps, 0, 1, size - 2, 1)
    width = _add(before, after)
    inside = _add(
        _mul(_slice(rises, dim, 0, size - 2, 1), _div(_div(after, before), width)),
        _mul(_slice(rises, dim, 1, size - 2, 1), _div(_div(before, after), width)),
    )

    def slope(place: int) -> Tensor:
        """The slope of the chord from sample *place* to the next."""
        return _div(_slice(rises, dim, place, 1, 1), _slice(steps, 0, place, 1, 1))

    first, last = slope(0), slope(size - 2)
    if edge_order == 2:
        # How the slopes of the two outermost chords differ, over their width, is the parabola's curvature.
        first_curve = _div(_sub(slope(1), first), _slice(width, 0, 0, 1, 1))
        last_curve = _div(_sub(last, slope(size - 3)), _slice(width, 0, size - 3, 1, 1))
        first = _sub(first, _mul(first_curve, _slice(steps, 0, 0, 1, 1)))
        last = _add(last, _mul(last_curve, _slice(steps, 0, size - 2, 1, 1)))
    return _cat([first, inside, last], dim)
