"""Sorting and the largest elements."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, complex64, float32, float64, int64

from ...sample import BOOL, REAL, REAL_FLOATS, ErrorCase, Sample, as_int64, same


def ordered(x, dim=-1, descending=False):
    """Stable, nan last (first if descending)."""
    if not x.ndim:
        return x, np.asarray(0)
    if not descending:
        order = np.argsort(x, axis=dim, kind="stable")
    else:
        size = x.shape[dim]
        order = np.flip(size - 1 - np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)
    return np.take_along_axis(x, order, dim), order


def largest(x, k, dim=-1, largest=True):
    values, order = ordered(x, dim, largest)
    if not x.ndim:
        return values, order
    return np.take(values, range(k), axis=dim), np.take(order, range(k), axis=dim)


def few_values(make, shape):
    """Many equal elements: the order among them is what a sort must keep."""
    return (make.random.integers(0, 3, shape)).astype(make(()).dtype)


CALLS = {
    "last dim": ((3, 5), {}),
    "first dim": ((5, 3), {"dim": 0}),
    "middle dim": ((2, 4, 3), {"dim": 1}),
    "descending": ((3, 5), {"descending": True}),
    "descending, first dim": ((5, 2), {"dim": 0, "descending": True}),
    "0-d": ((), {}),
    "empty": ((0, 3), {"dim": 0}),
}

TOPK = {
    "largest": ((3, 5), 2, {}),
    "smallest": ((3, 5), 3, {"largest": False}),
    "one": ((4, 6), 1, {}),
    "smallest one": ((4, 6), 1, {"largest": False}),
    "first dim": ((5, 3), 2, {"dim": 0}),
    "all": ((2, 4), 4, {"dim": 1}),
    "none": ((2, 4), 0, {"dim": 1}),
}

SAMPLES = [
    *[
        Sample(
            op="sort",
            name=name,
            inputs=lambda make, shape=shape: (make.distinct(shape),),
            kwargs=kwargs,
            reference=ordered,
            dtypes=REAL,
            result=(same, as_int64),
            gradient=True,
            special=True,
        )
        for name, (shape, kwargs) in CALLS.items()
    ],
    *[
        Sample(
            op="sort",
            name=f"equal elements, descending {descending}",
            inputs=lambda make: (few_values(make, (4, 17)),),
            kwargs={"descending": descending},
            reference=ordered,
            dtypes=BOOL + REAL,
            result=(same, as_int64),
        )
        for descending in (False, True)
    ],
    Sample(
        op="argsort",
        inputs=lambda make: (few_values(make, (5, 7)),),
        kwargs={"dim": 0},
        reference=lambda x, dim: ordered(x, dim)[1],
        dtypes=BOOL + REAL,
        result=as_int64,
    ),
    *[
        Sample(
            op="topk",
            name=name,
            inputs=lambda make, shape=shape, k=k: (make.distinct(shape), k),
            kwargs=kwargs,
            reference=largest,
            dtypes=REAL,
            result=(same, as_int64),
            gradient=k > 0,
            special=True,
        )
        for name, (shape, k, kwargs) in TOPK.items()
    ],
    *[
        Sample(
            op="topk",
            name=f"equal elements, {k} of them",
            inputs=lambda make, k=k: (few_values(make, (4, 9)), k),
            reference=largest,
            dtypes=REAL,
            result=(same, as_int64),
        )
        for k in (1, 5)
    ],
    *[
        Sample(
            op="topk",
            name=f"{k} of many, {name}",
            inputs=lambda make, k=k: (make.distinct((3, 700)), k),
            kwargs=kwargs,
            reference=largest,
            dtypes=(int64, bfloat16, float32, float64),
            result=(same, as_int64),
            special=True,
        )
        for k, name, kwargs in (
            (1, "smallest", {"largest": False}),
            (7, "largest", {}),
            (7, "smallest", {"largest": False}),
        )
    ],
    Sample(
        op="topk",
        name="equal elements, 5 of many",
        inputs=lambda make: (few_values(make, (4, 520)), 5),
        reference=largest,
        dtypes=(int64, float32),
        result=(same, as_int64),
    ),
    *[
        Sample(
            op="msort",
            name=name,
            inputs=lambda make, shape=shape: (make.distinct(shape),),
            reference=lambda x: np.sort(x, axis=0) if x.ndim else x,
            dtypes=BOOL + REAL if shape else REAL_FLOATS,
            gradient=True,
            special=True,
        )
        for name, shape in (("2-d", (5, 3)), ("0-d", ()), ("empty", (0, 2)))
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="dim out of range",
            call=lambda op, tensor: op(tensor(2, 3), dim=2),
            raises=IndexError,
            match=rf"{op}: dim 2 is out of range",
        )
        for op in ("sort", "argsort")
    ],
    ErrorCase(
        op="sort",
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64)),
        raises=RuntimeError,
        match=r"sort: complex",
    ),
    ErrorCase(
        op="topk",
        name="more than there are",
        call=lambda op, tensor: op(tensor(2, 3), 4),
        raises=RuntimeError,
        match=r"topk: k is 4, but dimension 1 has 3 elements\n.*input",
    ),
    ErrorCase(
        op="topk",
        name="k that is no int",
        call=lambda op, tensor: op(tensor(3, dtype=float32), 1.5),
        raises=TypeError,
        match=r"topk: k is float, not an int",
    ),
    *[
        ErrorCase(
            op=op,
            name="complex",
            call=lambda op, tensor: op(tensor(3, dtype=complex64)),
            raises=RuntimeError,
            match=r"sort: complex",
        )
        for op in ("msort", "argsort")
    ],
]
