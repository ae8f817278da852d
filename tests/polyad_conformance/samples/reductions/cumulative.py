"""Running sums, products, extremes and sums of exponentials."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, float64, int64

from ...sample import (
    BOOL,
    COMPLEX,
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


def running(function):
    def reference(x, dim, dtype=None):
        if not x.ndim:
            return x
        return function(x, axis=dim, dtype=np.int64 if x.dtype.kind in "bi" else None)

    return reference


def magnitude(x, dim):
    return np.cumsum(np.abs(x), axis=dim) if x.ndim else np.abs(x)


SHAPES = {
    "last": ((3, 5), -1),
    "first": ((5, 3), 0),
    "middle": ((2, 4, 3), 1),
    "0-d": ((), 0),
    "empty": ((0, 3), 0),
    "long": ((2, 65), 1),
}


def running_extreme(best):
    """The extreme up to each element, nan from the first on, and where it is last."""

    def reference(x, dim):
        if not x.ndim:
            return x, np.asarray(0)
        values = best.accumulate(x, axis=dim)
        met = (x == values) | np.isnan(x)
        shape = [-1 if at == dim % x.ndim else 1 for at in range(x.ndim)]
        places = np.where(met, np.arange(x.shape[dim]).reshape(shape), 0)
        return values, np.maximum.accumulate(places, axis=dim)

    return reference


def running_log_sum(x, dim):
    if not x.ndim:
        return x
    with np.errstate(all="ignore"):
        if not np.iscomplexobj(x):
            return np.logaddexp.accumulate(x, axis=dim)
        top = np.max(x.real, axis=dim, keepdims=True, initial=-1e3, where=np.isfinite(x.real))
        return np.log(np.cumsum(np.exp(x - top), axis=dim)) + top


def few_values(make, shape):
    return make.random.integers(0, 3, shape).astype(make(()).dtype)


SAMPLES = [
    *[
        Sample(
            op="cumsum",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs={"dim": dim},
            reference=running(np.cumsum),
            dtypes=EVERYTHING,
            result=as_sum,
            gradient=True,
            length=max(shape, default=1),
            magnitude=magnitude,
            special=True,
        )
        for name, (shape, dim) in SHAPES.items()
    ],
    Sample(
        op="cumsum",
        name="in another dtype",
        inputs=lambda make: (make((3, 5)),),
        kwargs={"dim": 1, "dtype": float64},
        reference=lambda x, dim, dtype: np.cumsum(x, axis=dim, dtype=np.float64),
        dtypes=BOOL + INTEGERS,
        result=lambda _: float64,
    ),
    *[
        Sample(
            op="cumprod",
            name=name,
            inputs=lambda make, shape=shape: (make.nonzero(shape, 0.8, 1.2),),
            kwargs={"dim": dim},
            reference=running(np.cumprod),
            dtypes=FLOATS + BOOL,
            result=as_sum,
            gradient=True,
            steps=12,
            length=max(shape, default=1),
        )
        for name, (shape, dim) in SHAPES.items()
        if name != "long"
    ],
    Sample(
        op="cumprod",
        name="zeros among the factors",
        inputs=lambda make: (np.array([[1.5, 0, 2, -1], [0, 3, 0, 2], [1, 2, -1.25, 0]]).astype(make(()).dtype),),
        kwargs={"dim": 1},
        reference=running(np.cumprod),
        dtypes=REAL_FLOATS,
        gradient=True,
        steps=8,
    ),
    *[
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape, drawn=drawn: (make.distinct(shape) if drawn else few_values(make, shape),),
            kwargs={"dim": dim},
            reference=running_extreme(best),
            dtypes=dtypes,
            result=(same, as_int64),
            gradient=drawn,
            special=drawn,
        )
        for op, best in (("cummax", np.maximum), ("cummin", np.minimum))
        for name, shape, dim, dtypes, drawn in (
            ("last", (3, 5), -1, REAL, True),
            ("first", (5, 3), 0, REAL_FLOATS, True),
            ("0-d", (), 0, REAL_FLOATS, True),
            ("empty", (0, 3), 0, REAL_FLOATS, True),
            ("equal elements", (2, 17), 1, BOOL + REAL, False),
        )
    ],
    *[
        Sample(
            op="logcumsumexp",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs={"dim": dim},
            reference=running_log_sum,
            dtypes=REAL_FLOATS,
            gradient=True,
            steps=8,
            length=max(shape, default=1),
            magnitude=lambda x, dim: np.maximum(np.abs(x), 4),
        )
        for name, (shape, dim) in SHAPES.items()
    ],
    Sample(
        op="logcumsumexp",
        name="complex",
        inputs=lambda make: (make((2, 5), -0.5, 0.5),),
        kwargs={"dim": 1},
        reference=running_log_sum,
        dtypes=COMPLEX,
        gradient=True,
        steps=16,
        length=5,
        magnitude=lambda x, dim: np.full(x.shape, 4.0),
    ),
    Sample(
        op="logcumsumexp",
        name="large, small and infinite",
        inputs=lambda make: (np.array([[-np.inf, 800, 800, -800], [-800, -800, np.inf, 0]]).astype(make(()).dtype),),
        kwargs={"dim": 1},
        reference=lambda x, dim: np.array(
            [[-np.inf, 800, 800 + np.log(2), 800 + np.log(2)], [-800, -800 + np.log(2), np.inf, np.inf]]
        ),
        dtypes=REAL_FLOATS,
        steps=4,
        expand=False,
    ),
]

ERRORS = [
    ErrorCase(
        op=op,
        name="dim out of range",
        call=lambda op, tensor: op(tensor(2, 3), 2),
        raises=IndexError,
        match=rf"{op}: dim 2 is out of range \[-2, 1\]",
    )
    for op in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")
] + [
    ErrorCase(
        op=op,
        name=dtype.name,
        call=lambda op, tensor, dtype=dtype: op(tensor(3, dtype=dtype), 0),
        raises=NotImplementedError,
        match=match,
    )
    for op, dtype, match in (
        ("cummax", complex64, r"cummax: complex"),
        ("cummin", complex64, r"cummin: complex"),
        ("logcumsumexp", int64, r"logcumsumexp: input is int64"),
    )
]
