"""Reductions: sums, extremes, truth."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import complex64, float64, int64

from ...patterns import reduction, wide_integers
from ...sample import (
    BOOL,
    EVERYTHING,
    FLOATS,
    INTEGERS,
    REAL,
    REAL_FLOATS,
    ErrorCase,
    Sample,
    as_int64,
    as_sum,
    same,
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


def distinct(make, shape):
    return make.distinct(shape)


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


def extreme_and_position(best, where):
    def reference(x, dim, keepdim=False):
        if not x.ndim:
            return x, np.asarray(0)
        return best(x, axis=dim, keepdims=keepdim), where(x, axis=dim, keepdims=keepdim)

    return reference


def pair(op, best, where):
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (make.distinct(shape),),
            kwargs=kwargs,
            reference=extreme_and_position(best, where),
            dtypes=REAL,
            result=(same, as_int64),
            gradient=True,
            special=True,
        )
        for name, shape, kwargs in (
            ("with positions", (3, 4), {"dim": 1}),
            ("with positions, first dim", (4, 3, 2), {"dim": 0}),
            ("with positions, kept", (2, 5, 3), {"dim": -2, "keepdim": True}),
            ("with positions, 0-d", (), {"dim": 0}),
            ("with positions, 1-d", (9,), {"dim": 0}),
            ("with positions, no rows", (0, 3), {"dim": 1}),
        )
    ]


def ties(make):
    return (np.array([[3, 1, 3, 3], [0, 0, 0, 0], [1, 2, 2, 1]]).astype(make(()).dtype),)


SAMPLES = [
    *[
        wide_integers(op, reference, operands=1, kwargs={"dim": 1})
        for op, reference in (
            ("sum", lambda x, dim: x.sum(dim)),
            ("amax", lambda x, dim: x.max(dim)),
            ("argmax", lambda x, dim: x.argmax(dim)),
        )
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
    *reduction(
        "amax", reduced(np.max), draw=distinct, dtypes=REAL, gradient=True, empty=False, length=False, special=True
    ),
    *reduction(
        "amin", reduced(np.min), draw=distinct, dtypes=REAL, gradient=True, empty=False, length=False, special=True
    ),
    *[
        Sample(
            op=op, name="bool", inputs=lambda make: (make((3, 4)),), kwargs={"dim": 1}, reference=reference, dtypes=BOOL
        )
        for op, reference in (("amax", reduced(np.any)), ("amin", reduced(np.all)))
    ],
    *[
        Sample(
            op=op,
            name="whole",
            inputs=lambda make, shape=shape: (make.distinct(shape),),
            reference=reference,
            dtypes=REAL,
            gradient=True,
            special=True,
        )
        for op, reference, shape in (("max", np.max, (3, 4)), ("min", np.min, (2, 3, 2)))
    ],
    *pair("max", np.max, np.argmax),
    *pair("min", np.min, np.argmin),
    *[
        Sample(
            op=op,
            name="ties: the first",
            inputs=ties,
            kwargs={"dim": 1},
            reference=lambda x, dim, where=where: where(x, axis=dim),
            dtypes=REAL,
            result=as_int64,
        )
        for op, where in (("argmax", np.argmax), ("argmin", np.argmin))
    ],
    *[
        sample
        for op, where in (("argmax", np.argmax), ("argmin", np.argmin))
        for sample in reduction(
            op,
            lambda x, dim=None, keepdim=False, where=where: (
                where(x, axis=dim, keepdims=keepdim) if x.ndim else np.asarray(0)
            ),
            draw=distinct,
            dtypes=REAL,
            result=as_int64,
            several=False,
            empty=False,
            length=False,
        )
    ],
    Sample(
        op="aminmax",
        inputs=lambda make: (make.distinct((3, 4)),),
        kwargs={"dim": 0},
        reference=lambda x, dim: (x.min(dim), x.max(dim)),
        dtypes=REAL,
        result=(same, same),
        gradient=True,
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
            "amax",
            "amin",
            "max",
            "min",
            "argmax",
            "argmin",
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
        for op in ("sum", "mean", "prod", "amax", "max", "argmax")
    ],
    *[
        ErrorCase(
            op=op,
            name="no elements",
            call=lambda op, tensor: op(tensor(0, 3), dim=0),
            raises=IndexError,
            match=rf"{op}.*: dimension 0 has no elements.*\n.*input",
        )
        for op in ("amax", "amin", "max", "min", "argmax", "argmin")
    ],
    *[
        ErrorCase(
            op=op,
            name="complex",
            call=lambda op, tensor: op(tensor(3, dtype=complex64), dim=0),
            raises=RuntimeError,
            match=rf"{op}: complex",
        )
        for op in ("amax", "amin", "max", "min", "argmax", "argmin")
    ],
    *[
        ErrorCase(
            op=op,
            name="of nothing, whole",
            call=lambda op, tensor: op(tensor(0, 3)),
            raises=RuntimeError,
            match=rf"{op}: a tensor without elements has no extreme\n.*input",
        )
        for op in ("amax", "amin", "max", "min", "aminmax")
    ],
    *[
        ErrorCase(
            op=op,
            name=f"several dims, {dim}",
            call=lambda op, tensor, dim=dim: op(tensor(2, 3), dim=dim),
            raises=TypeError,
            match=rf"{op}: dim is tuple, not an int",
        )
        for op, dim in (("prod", (0, 1)), ("aminmax", (0, 1)))
    ],
    ErrorCase(
        op="max",
        name="keepdim without a dim",
        call=lambda op, tensor: op(tensor(2, 3), keepdim=True),
        raises=TypeError,
        match=r"max: keepdim without a dim\n.*input",
    ),
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
