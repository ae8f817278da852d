"""Huge and tiny numbers: results that have a place in the dtype, on whose way something overflows or is lost.

Every primitive that works on each element by itself is given the extremes of its dtype, in all pairs: near the largest
and the smallest number, near the largest whose square or whose exponential fits, and a few between. The reference
computes them in float64, and says itself what overflows. Composites are made of primitives, and overflow as these do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import DType, finfo
from polyad.dispatch.structure import Pointwise
from polyad.interop.numpy import numpy_dtype

from ..calls import Target, draw
from ..layouts import contiguous
from ..sample import COMPLEX, FLOATS, Sample
from .lengths import is_long, length_dtypes, op_of
from .values import check_call


def extremes(dtype: DType) -> np.ndarray:
    """The numbers; complex ones have them in both parts, but for 0, which has no quotient."""
    limits = finfo(dtype)
    root, power = limits.max**0.5, float(np.log(limits.max))
    if dtype in COMPLEX:
        parts = np.array([limits.max / 4, 2 * root, 1.0, limits.smallest_normal**0.5 / 2])
        return (parts[:, None] + 1j * parts).reshape(-1).astype(numpy_dtype(dtype))
    sizes = [limits.max / 2, 2 * root, root / 2, power + 0.3, power - 0.5, 1e4, 300.0, 40.0, 2.0**-30]
    sizes += [limits.smallest_normal**0.5, limits.smallest_normal * 4]
    values = np.array([sign * size for size in sizes for sign in (1, -1)]).astype(numpy_dtype(dtype))
    return values[(values != 0) & np.isfinite(values)]


def extreme_dtypes(sample: Sample) -> tuple[DType, ...]:
    """Floating and complex dtypes, for the sample of a primitive that `lengths` makes longer."""
    op = op_of(sample)
    if op is None or op.kind != "primitive" or not isinstance(op.structure, Pointwise):
        return ()
    return tuple(dtype for dtype in length_dtypes(sample) if dtype in FLOATS)


def _pairs(args: tuple[Any, ...], dtype: DType) -> tuple[Any, ...]:
    """*args* with all pairs (triples, ...) of extremes in their floating arrays; other arrays are repeated."""
    places = [i for i, one in enumerate(args) if is_long(one) and one.dtype == numpy_dtype(dtype)]
    values = extremes(dtype)
    grid = np.stack(np.meshgrid(*[values] * len(places))).reshape(len(places), -1)
    planted = iter(grid)
    return tuple(
        next(planted) if i in places else np.resize(one, grid.shape[1]) if is_long(one) else one
        for i, one in enumerate(args)
    )


def check_extremes(sample: Sample, dtype: DType, target: Target) -> None:
    """All pairs of extremes."""
    args = _pairs(draw(sample, dtype, target.seed), dtype)
    check_call(sample, dtype, target, args, (contiguous,), f"{sample.label} {dtype.name} of extremes")
