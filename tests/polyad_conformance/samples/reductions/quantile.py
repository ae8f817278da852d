"""Quantiles."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, float64, int64

from ...sample import ErrorCase, Sample
from .median import with_nan


def quantiles(skips_nan):
    def of(line, q, interpolation):
        line = np.sort(line)
        if np.isnan(line).any():
            line = line[~np.isnan(line)] if skips_nan else line[-1:]
        if not line.size:
            return np.nan
        rank = q * (line.size - 1)
        low, high = line[int(np.floor(rank))], line[int(np.ceil(rank))]
        part = rank - np.floor(rank)
        return {
            "linear": low if low == high else (1 - part) * low + part * high,
            "lower": low,
            "higher": high,
            "midpoint": low if low == high else (low + high) / 2,
            "nearest": line[int(np.round(rank))],
        }[interpolation]

    def reference(x, q, dim=None, keepdim=False, interpolation="linear"):
        lines = x.reshape(-1) if dim is None or not x.ndim else x
        axis = 0 if dim is None or not x.ndim else dim
        made = [
            np.apply_along_axis(lambda line, one=one: of(line, one, interpolation), axis, lines) for one in np.ravel(q)
        ]
        if keepdim:
            made = [one.reshape((1,) * x.ndim) if dim is None else np.expand_dims(one, axis) for one in made]
        return np.stack(made) if np.ndim(q) else made[0]

    return reference


SAMPLES = [
    *[
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape, q=q: (
                make.distinct(shape),
                np.asarray(q, make(()).dtype) if isinstance(q, list) else q,
            ),
            kwargs=kwargs,
            reference=quantiles(op == "nanquantile"),
            dtypes=(float32, float64),
            gradient=(0,),
            steps=8,
            magnitude=lambda x, *rest, **kwargs: np.max(np.abs(x)),
            expand=False,
        )
        for op in ("quantile", "nanquantile")
        for name, shape, q, kwargs in (
            ("whole", (3, 4), 0.3, {}),
            ("vector", (2, 5), [0.0, 0.35, 1.0], {"dim": 1}),
            ("kept", (4, 3), 0.75, {"dim": 0, "keepdim": True}),
            ("vector, whole, kept", (2, 3), [0.1], {"keepdim": True}),
            ("0-d", (), 0.5, {"dim": 0}),
        )
    ],
    *[
        Sample(
            op="quantile",
            name=interpolation,
            inputs=lambda make: (make.distinct((2, 6)), np.asarray([0.125, 0.5, 0.75], make(()).dtype)),
            kwargs={"dim": 1, "interpolation": interpolation},
            reference=quantiles(False),
            dtypes=(float32, float64),
            gradient=(0,),
            steps=8,
            expand=False,
        )
        for interpolation in ("lower", "higher", "midpoint", "nearest")
    ],
    *[
        Sample(
            op=op,
            name="nan among them",
            inputs=lambda make: (with_nan(make), np.asarray([0.25, 0.5], make(()).dtype)),
            kwargs={"dim": 1},
            reference=quantiles(op == "nanquantile"),
            dtypes=(float32, float64),
            steps=8,
            expand=False,
        )
        for op in ("quantile", "nanquantile")
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="dim out of range",
            call=lambda op, tensor, args=args: op(tensor(2, 3), *args, dim=2),
            raises=IndexError,
            match=rf"{op}: dim 2 is out of range",
        )
        for op, args in (("quantile", (0.5,)),)
    ],
    *[
        ErrorCase(
            op="quantile",
            name=name,
            call=call,
            raises=RuntimeError,
            match=match,
        )
        for name, call, match in (
            ("more than all", lambda op, tensor: op(tensor(3), 1.5), r"quantile: q is 1\.5"),
            ("an element of q below 0", lambda op, tensor: op(tensor(3), tensor(2) - 2), r"q is not in.*\n.*q"),
            ("a matrix of q", lambda op, tensor: op(tensor(3), tensor(2, 2)), r"q has 2 dimensions\n.*q"),
            ("q of another dtype", lambda op, tensor: op(tensor(3), tensor(2, dtype=float64)), r"dtype\n.*input"),
            ("integers", lambda op, tensor: op(tensor(3, dtype=int64), 0.5), r"input is int64"),
            ("of nothing", lambda op, tensor: op(tensor(0), 0.5), r"input has no elements\n.*input"),
            ("another rule", lambda op, tensor: op(tensor(3), 0.5, interpolation="cubic"), r"'cubic'(.*\n)*.*midpoint"),
        )
    ],
    ErrorCase(
        op="nanquantile",
        name="q in words",
        call=lambda op, tensor: op(tensor(3), "half"),
        raises=TypeError,
        match=r"nanquantile: q is str",
    ),
]
