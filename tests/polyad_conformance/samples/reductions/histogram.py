"""Counts by bins."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, float16, float32, float64, int8, int64, uint8

from ...sample import REAL_FLOATS, ErrorCase, Sample, always, as_int64, same

WIDE = (float32, float64)


def bins_of(x, edges):
    """The bin of each element, -1 for none; the last bin includes its right edge."""
    found = np.full(x.shape, -1)
    for at in range(len(edges) - 1):
        last = at == len(edges) - 2
        inside = (x >= edges[at]) & ((x <= edges[at + 1]) if last else (x < edges[at + 1]))
        found[inside] = at
    return found


def edges_of(x, bins, low, high):
    if low == high and x.size:
        low, high = x.min(), x.max()
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1)


def histc(x, bins=100, min=0, max=0):
    found = bins_of(x, edges_of(x, bins, min, max))
    return np.array([(found == at).sum() for at in range(bins)], float)


def summed(found, weight, bins):
    return np.array([weight[found == at].sum() for at in range(bins)], float)


def histogram(x, bins, range=(0, 0), density=False):
    edges = edges_of(x, bins, *range) if isinstance(bins, int) else bins
    hist = summed(bins_of(x, edges), np.ones(x.shape), len(edges) - 1)
    return (hist / hist.sum() / np.diff(edges) if density else hist), edges


def histogramdd(x, bins, range=None):
    points = x.reshape(-1, x.shape[-1])
    count = points.shape[1]
    bins = [bins] * count if isinstance(bins, int) else bins
    edges = [
        edges_of(points[:, at], bins[at], *(range[2 * at : 2 * at + 2] if range else (0, 0)))
        if isinstance(bins[at], int)
        else bins[at]
        for at in np.arange(count)
    ]
    places = np.stack([bins_of(points[:, at], edges[at]) for at in np.arange(count)], 1)
    hist = np.zeros([len(one) - 1 for one in edges])
    for place in places[(places >= 0).all(1)]:
        hist[tuple(place)] += 1
    return hist, *edges


def spaced(make, shape):
    """Multiples of 1/4 moved off all edges that the samples have."""
    return np.asarray(make.random.integers(-8, 8, shape) * 0.25 + 0.125).astype(make(()).dtype)


SAMPLES = [
    *[
        Sample(
            op="bincount",
            name=name,
            inputs=lambda make, size=size: (make((size,), 0, 6),),
            kwargs=kwargs,
            reference=lambda x, minlength=0: np.array(
                [(x == at).sum() for at in range(max(minlength, x.max(initial=-1) + 1))], int
            ),
            dtypes=(uint8, int8, int64),
            result=as_int64,
        )
        for name, size, kwargs in (("", 20, {}), ("minlength", 5, {"minlength": 9}), ("nothing", 0, {"minlength": 2}))
    ],
    *[
        Sample(
            op="bincount",
            name=f"{name} weights",
            inputs=lambda make, dtype=dtype: (make((20,), 0, 6), make.of(dtype)((20,))),
            reference=lambda x, weights: summed(x, weights, x.max() + 1),
            magnitude=lambda x, weights: np.abs(weights).sum(),
            dtypes=(int64,),
            result=always(result),
            length=20,
        )
        for name, dtype, result in (
            ("float32", float32, float32),
            ("float64", float64, float64),
            ("float16", float16, float64),
            ("integer", int8, float64),
        )
    ],
    *[
        Sample(
            op="histc",
            name=name,
            inputs=lambda make, shape=shape: (spaced(make, shape),),
            kwargs=kwargs,
            reference=histc,
            dtypes=REAL_FLOATS if name == "a range" else WIDE,
        )
        for name, shape, kwargs in (
            ("a range", (5, 9), {"bins": 4, "min": -2, "max": 2}),
            ("values outside", (20,), {"bins": 3, "min": 0, "max": 1.5}),
            ("from smallest to largest", (3, 3), {"bins": 1}),
            ("nothing", (0,), {"bins": 3}),
            ("0-d", (), {"bins": 3}),
        )
    ],
    Sample(
        op="histc",
        name="nan and infinity in a range",
        inputs=lambda make: (np.array([np.nan, 0.5, np.inf, -np.inf, 0.5, 2.0]).astype(make(()).dtype),),
        kwargs={"bins": 2, "min": 0, "max": 2},
        reference=histc,
        dtypes=REAL_FLOATS,
        expand=False,
    ),
    *[
        Sample(
            op="histogram",
            name=name,
            inputs=lambda make, bins=bins: (
                spaced(make, (5, 5)),
                bins if isinstance(bins, int) else np.array(bins).astype(make(()).dtype),
            ),
            kwargs=kwargs,
            reference=histogram,
            dtypes=(float16, bfloat16, float32, float64) if name == "edges" else WIDE,
            result=(same, same),
            steps=6,
        )
        for name, bins, kwargs in (
            ("a range", 4, {"range": (-2.0, 2.0)}),
            ("density", 4, {"range": (-1.0, 2.0), "density": True}),
            ("edges", [-1.0, 0.0, 0.5, 4.0], {}),
            ("edges, density", [-1.0, 0.0, 0.5, 4.0], {"density": True}),
            ("one bin", 1, {}),
        )
    ],
    *[
        Sample(
            op="histogramdd",
            name=name,
            inputs=lambda make, bins=bins: (
                spaced(make, (3, 7, 2)),
                [np.array(one).astype(make(()).dtype) for one in bins]
                if isinstance(bins, list) and isinstance(bins[0], list)
                else bins,
            ),
            kwargs=kwargs,
            reference=histogramdd,
            dtypes=WIDE,
            result=(same, same, same),
            steps=4,
            expand=False,
            aliasing="maybe",
        )
        for name, bins, kwargs in (
            ("one number", 2, {"range": (-2.0, 2.0, -1.0, 1.0)}),
            ("numbers", [2, 4], {"range": (-2.0, 2.0, -2.0, 2.0)}),
            ("edges", [[-1.0, 0.0, 2.0], [-2.0, 1.5]], {}),
        )
    ],
]

ERRORS = [
    *[
        ErrorCase(op="bincount", name=name, call=call, raises=RuntimeError, match=f"bincount: {match}")
        for name, call, match in (
            ("a float", lambda op, tensor: op(tensor(3)), r"input is float32\n.*input"),
            ("a matrix", lambda op, tensor: op(tensor(2, 2, dtype=int64)), r"input has 2 dimensions"),
            ("negative", lambda op, tensor: op(tensor(2, dtype=int64) - 5), r"input has negative elements\n.*input"),
            ("minlength", lambda op, tensor: op(tensor(2, dtype=int64), minlength=-1), r"minlength is -1"),
            ("weights", lambda op, tensor: op(tensor(2, dtype=int64), tensor(3)), r"weights has not the shape"),
        )
    ],
    *[
        ErrorCase(op="histc", name=name, call=call, raises=raises, match=f"histc: {match}")
        for name, call, raises, match in (
            ("integers", lambda op, tensor: op(tensor(3, dtype=int64)), NotImplementedError, r"input is int64"),
            ("no bins", lambda op, tensor: op(tensor(3), bins=0), RuntimeError, r"bins is 0, not in \[1, .*\n.*input"),
            ("float bins", lambda op, tensor: op(tensor(3), bins=2.0), TypeError, r"bins is float, not an int"),
            ("a range", lambda op, tensor: op(tensor(3), min=2, max=1), RuntimeError, r"the range begins at 2"),
            ("infinite", lambda op, tensor: op(tensor(3), max=float("inf")), RuntimeError, r"the range .* not finite"),
        )
    ],
    *[
        ErrorCase(op="histogram", name=name, call=call, raises=RuntimeError, match=f"histogram: {match}")
        for name, call, match in (
            ("one edge", lambda op, tensor: op(tensor(3), tensor(1)), r"the edges of dimension 0 have shape \(1,\)"),
            ("edges of another dtype", lambda op, tensor: op(tensor(3), tensor(3, dtype=float16)), r".*same dtype"),
            ("range", lambda op, tensor: op(tensor(3), 2, range=(1.0,)), r"range is \(1\.0,\)"),
            ("weight", lambda op, tensor: op(tensor(3), 2, weight=tensor(2)), r"weight \(2,\) has not the shape"),
        )
    ],
    *[
        ErrorCase(op="histogramdd", name=name, call=call, raises=RuntimeError, match=f"histogramdd: {match}")
        for name, call, match in (
            ("a vector", lambda op, tensor: op(tensor(3), 2), r"input has fewer than two dimensions\n.*input"),
            ("bins", lambda op, tensor: op(tensor(3, 2), [2]), r"there are bins for 1 dimensions, values have 2"),
        )
    ],
]
