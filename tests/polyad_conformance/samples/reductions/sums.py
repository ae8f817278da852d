"""Sums, means, products."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, float64, int64

from ...patterns import reduction, wide_integers
from ...sample import (
    BOOL,
    EVERYTHING,
    FLOATS,
    INTEGERS,
    REAL_FLOATS,
    ErrorCase,
    Sample,
    as_int64,
    as_sum,
)


def reduced(function):
    return lambda x, dim=None, keepdim=False: function(x, axis=dim, keepdims=keepdim)


def total(x, dim=None, keepdim=False):
    return np.sum(x, axis=dim, keepdims=keepdim, dtype=np.int64 if x.dtype.kind in "bi" else None)


def magnitudes(x, dim=None, keepdim=False):
    return np.sum(np.abs(x), axis=dim, keepdims=keepdim)


def average(x, dim=None, keepdim=False):
    total = np.sum(x, axis=dim, keepdims=keepdim)
    return total / (x.size / max(np.size(total), 1) if x.size else np.zeros(()))


def mean_magnitudes(x, dim=None, keepdim=False):
    return average(np.abs(x), dim, keepdim)


def known_total(x, dim=None, keepdim=False):
    return total(np.where(np.isnan(x), 0, x) if x.dtype.kind == "f" else x, dim, keepdim)


def known_average(x, dim=None, keepdim=False):
    with np.errstate(all="ignore"):
        return known_total(x, dim, keepdim) / np.sum(~np.isnan(x), axis=dim, keepdims=keepdim)


def near_one(make, shape):
    return make.nonzero(shape, 0.75, 1.25)


def with_zero(make, shape):
    """Products must differentiate where an element is 0."""
    values = make.nonzero(shape, 0.5, 1.5)
    values.flat[: min(values.size, 2)] = 0
    return values


def with_nan(make):
    """A column of nan, and one elsewhere."""
    values = make((3, 4))
    values[:, 2] = values[1, 0] = np.nan
    return values


SAMPLES = [
    *[
        wide_integers(op, reference, operands=1, kwargs={"dim": 1})
        for op, reference in (("sum", lambda x, dim: x.sum(dim)),)
    ],
    *reduction("sum", total, dtypes=EVERYTHING, result=as_sum, gradient=True, magnitude=magnitudes),
    Sample(
        op="sum",
        name="in another dtype",
        inputs=lambda make: (make((3, 4)),),
        kwargs={"dtype": float64},
        reference=lambda x, dtype: x.sum(dtype=np.float64),
        dtypes=BOOL + INTEGERS,
        result=lambda _: float64,
    ),
    *reduction("mean", average, dtypes=FLOATS, gradient=True, steps=3, magnitude=mean_magnitudes),
    *[
        Sample(
            op=op,
            name=name,
            inputs=lambda make, nan=nan: (with_nan(make) if nan else make((3, 4)),),
            kwargs=kwargs,
            reference=reference,
            dtypes=dtypes,
            result=as_sum,
            gradient=not nan,
            steps=3,
            length=12,
            magnitude=lambda x, dim=None, keepdim=False: np.nansum(np.abs(x)),
            expand=not nan,
        )
        for op, reference, kinds in (
            ("nansum", known_total, BOOL + INTEGERS + REAL_FLOATS),
            ("nanmean", known_average, REAL_FLOATS),
        )
        for name, kwargs, nan, dtypes in (
            ("whole", {}, False, kinds),
            ("last dim", {"dim": 1}, False, REAL_FLOATS),
            ("nan, whole", {}, True, REAL_FLOATS),
            ("nan, two dims, kept", {"dim": (0, 1), "keepdim": True}, True, REAL_FLOATS),
            ("nan, first dim", {"dim": 0}, True, REAL_FLOATS),
        )
    ],
    *reduction(
        "prod",
        lambda x, dim=None, keepdim=False: np.prod(
            x, axis=dim, keepdims=keepdim, dtype=np.int64 if x.dtype.kind in "bi" else None
        ),
        draw=near_one,
        several=False,
        dtypes=REAL_FLOATS + BOOL,
        result=as_sum,
        gradient=True,
        steps=4,
    ),
    Sample(
        op="prod",
        name="zeros among the factors",
        inputs=lambda make: (with_zero(make, (2, 4)),),
        kwargs={"dim": 1},
        reference=reduced(np.prod),
        dtypes=FLOATS,
        gradient=True,
        steps=8,
    ),
    Sample(
        op="prod",
        name="integers",
        inputs=lambda make: (make((3, 4)),),
        reference=lambda x: np.prod(x, dtype=np.int64),
        dtypes=INTEGERS,
        result=as_int64,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="dim out of range",
            call=lambda op, tensor: op(tensor(2, 3), dim=2),
            raises=IndexError,
            match=rf"{op}: dim 2 is out of range \[-2, 1\]",
        )
        for op in (
            "sum",
            "mean",
            "prod",
        )
    ],
    *[
        ErrorCase(
            op=op,
            name="a list, not a tensor",
            call=lambda op, tensor: op([1.0]),
            raises=TypeError,
            match=rf"{op}: input is list",
        )
        for op in (
            "sum",
            "mean",
            "prod",
        )
    ],
    *[
        ErrorCase(
            op=op,
            name=f"several dims, {dim}",
            call=lambda op, tensor, dim=dim: op(tensor(2, 3), dim=dim),
            raises=TypeError,
            match=rf"{op}: dim is tuple, not an int",
        )
        for op, dim in (("prod", (0, 1)),)
    ],
    *[
        ErrorCase(
            op=op,
            name="complex",
            call=lambda op, tensor: op(tensor(3, dtype=complex64)),
            raises=RuntimeError,
            match=rf"{op}: input is complex\n.*input",
        )
        for op in ("nansum", "nanmean")
    ],
    ErrorCase(
        op="nanmean",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"nanmean: input is int64\n.*input",
    ),
    ErrorCase(
        op="mean",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"mean: input is int64",
    ),
    ErrorCase(
        op="sum",
        name="a dim twice",
        call=lambda op, tensor: op(tensor(2, 3), dim=(0, -2)),
        raises=RuntimeError,
        match=r"sum: dim \(0, -2\) names a dimension twice",
    ),
]
