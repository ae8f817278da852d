"""Integrals by the trapezoidal rule."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, complex128, float16, float32, float64, int64

from ...sample import ErrorCase, Sample, as_float

FEW = (int64, float16, float32, float64, complex128)
PRECISE = (float64, complex128)


def trapezoids(y, x=None, dx=1, dim=-1):
    y = np.moveaxis(y, dim, -1)
    if x is not None and x.ndim > 1:
        x = np.moveaxis(x, dim, -1)
    steps = dx if x is None else np.diff(x)
    return (y[..., 1:] + y[..., :-1]) / 2 * steps


def trapezoid(y, x=None, dx=1, dim=-1):
    return trapezoids(y, x, dx, dim).sum(-1)


def cumulative(y, x=None, dx=1, dim=-1):
    return np.moveaxis(np.cumsum(trapezoids(y, x, dx, dim), -1), -1, dim)


INTEGRALS = {
    "last dim": (((3, 9),), {}),
    "first dim, a step": (((4, 3),), {"dim": 0, "dx": 0.5}),
    "coordinates": (((2, 5), (5,)), {}),
    "coordinates of the first dim": (((4, 2), (4,)), {"dim": 0}),
    "coordinates of each sample": (((2, 3, 4), (3, 4)), {}),
    "one sample": (((3, 1),), {}),
}


def integral(op, reference, name, shapes, kwargs):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(shapes[0]), *[make(shape) for shape in shapes[1:]]),
        kwargs=kwargs,
        reference=reference,
        dtypes=FEW if not kwargs else PRECISE,
        result=as_float,
        gradient=True,
        steps=6,
        length=9,
    )


SAMPLES = [
    *[integral("trapezoid", trapezoid, name, *given) for name, given in INTEGRALS.items()],
    *[integral("cumulative_trapezoid", cumulative, name, *given) for name, given in INTEGRALS.items()],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name=name,
            call=call,
            raises=raises,
            match=f"{op}: {match}",
        )
        for op in ("trapezoid", "cumulative_trapezoid")
        for name, call, raises, match in (
            ("bool", lambda op, tensor: op(tensor(3, dtype=bool_)), RuntimeError, r"y is bool\n.*y"),
            ("0-d", lambda op, tensor: op(tensor()), IndexError, r"y is 0-d"),
            (
                "coordinates",
                lambda op, tensor: op(tensor(2, 3), tensor(2)),
                RuntimeError,
                r"x has 2 elements for 3 samples\n.*y .*\n.*x",
            ),
            ("x and dx", lambda op, tensor: op(tensor(3), tensor(3), dx=2), TypeError, r"both x and dx"),
        )
    ],
]
