"""Integrals of sampled functions by the trapezoidal rule."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import BOOL
from ...base.shapes_and_strides import normalize_dim
from ...dispatch.op import alias, function
from ...errors import ArgumentTypeError, DTypeError, IndexOutOfRange, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full
from ..indexing.slicing import _select, _slice
from ..pointwise.arithmetic import _add, _div, _mul, _sub
from ..shaping.reshape import _reshape
from .cumulative import _cumsum
from .sums import _sum


def _sample_distances(op: str, y: Tensor, x: Tensor | None, dx: Any, dim: int) -> tuple[int, Any]:
    """The dim counted from the front, and the distances of neighbouring samples: a tensor or a number."""
    check_tensor(y, op, "y")
    operands = {"y": y} if x is None else {"y": y, "x": check_tensor(x, op, "x")}
    if x is not None and dx is not None:
        raise ArgumentTypeError(f"{op}: both x and dx are given", operands=operands, fix="give only x or only dx")
    if not y.ndim:
        raise IndexOutOfRange(f"{op}: y is 0-d, it has no dimension {dim}", operands=operands, fix="give samples")
    at = normalize_dim(dim, y.ndim, op)
    if not y._array.shape[at]:
        return at, 1
    for name, tensor in operands.items():
        if tensor._type.dtype.category == BOOL:
            raise DTypeError(f"{op}: {name} is bool", operands=operands, fix="convert it to an integer or float dtype")
    if x is None:
        if dx is not None and (isinstance(dx, (bool, complex)) or not isinstance(dx, (int, float))):
            raise DTypeError(
                f"{op}: dx is {safe_repr(dx)}, not a real number", operands=operands, fix="pass an int or a float"
            )
        return at, 1 if dx is None else dx
    size = y._array.shape[at]
    if x.ndim == 1:
        if x._array.shape[0] != size:
            raise ShapeError(
                f"{op}: x has {x._array.shape[0]} elements for {size} samples",
                operands=operands,
                fix=f"give an x for each sample along dimension {at} of y",
            )
        x = _reshape(x, (1,) * at + (size,) + (1,) * (y.ndim - at - 1))
    elif x.ndim < y.ndim:
        x = _reshape(x, (1,) * (y.ndim - x.ndim) + x._array.shape)
    count = x._array.shape[at] if at < x.ndim else 0
    if not count:
        raise ShapeError(f"{op}: x has no elements along dimension {at}", operands=operands, fix="give coordinates")
    return at, _sub(_slice(x, at, 1, count - 1, 1), _slice(x, at, 0, count - 1, 1))


def _pair_sums(y: Tensor, dim: int) -> Tensor:
    """The sums of neighbours along *dim*."""
    size = y._array.shape[dim]
    return _add(_slice(y, dim, 1, size - 1, 1), _slice(y, dim, 0, size - 1, 1))


@function(method=False)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integral along *dim* of a function sampled as *y*, by the trapezoidal rule.

    The samples lie at *x* (1-d, or broadcast with y) or *dx* (1 by default) apart. Integers give the default dtype.
    Raises RuntimeError for bool and for an x that does not fit, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.trapezoid(polyad.tensor([1.0, 5.0, 10.0]))
    tensor(10.5000)
    """
    at, step = _sample_distances("trapezoid", y, x, dx, dim)
    shape = y._array.shape
    size = shape[at]
    if not size:
        return _full((*shape[:at], *shape[at + 1 :]), 0, y._type.dtype, y._type.device)
    if isinstance(step, Tensor):
        return _div(_sum(_mul(_pair_sums(y, at), step), (at,), False), 2)
    if size == 1:
        return _mul(_mul(_select(y, at, 0), 0), 0.5 * step)
    # Every sample counts in two trapezoids, but for the first and the last.
    ends = _add(_select(y, at, 0), _select(y, at, size - 1))
    return _mul(_sub(_sum(y, (at,), False), _mul(ends, 0.5)), step)


trapz = alias("trapz", trapezoid)


@function(method=False)
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integrals of a sampled function from its first sample to each later sample along *dim*; see `trapezoid`.

    The result has one element less along *dim*.

    >>> import polyad
    >>> polyad.cumulative_trapezoid(polyad.tensor([1.0, 5.0, 10.0]))
    tensor([ 3.0000, 10.5000])
    """
    at, step = _sample_distances("cumulative_trapezoid", y, x, dx, dim)
    if not y._array.shape[at]:
        return _mul(y, 0.5)
    sums = _pair_sums(y, at)
    if isinstance(step, Tensor):
        return _div(_cumsum(_mul(sums, step), at), 2)
    return _mul(_cumsum(sums, at), 0.5 * step)
