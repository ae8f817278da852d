"""The largest and smallest elements, and where they are."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64

from ...patterns import reduction, wide_integers
from ...sample import (
    BOOL,
    REAL,
    ErrorCase,
    Sample,
    as_int64,
    same,
)
from .sums import reduced


def distinct(make, shape):
    return make.distinct(shape)


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
            ("amax", lambda x, dim: x.max(dim)),
            ("argmax", lambda x, dim: x.argmax(dim)),
        )
    ],
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
        for op in (
            "amax",
            "max",
            "argmax",
        )
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
        for op, dim in (("aminmax", (0, 1)),)
    ],
    ErrorCase(
        op="max",
        name="keepdim without a dim",
        call=lambda op, tensor: op(tensor(2, 3), keepdim=True),
        raises=TypeError,
        match=r"max: keepdim without a dim\n.*input",
    ),
]
