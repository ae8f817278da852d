"""Distinct elements and slices."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64

from ...sample import BOOL, REAL, REAL_FLOATS, ErrorCase, Sample, as_int64, same

ALL = {"return_inverse": True, "return_counts": True}


def few_values(make, shape):
    return make.random.integers(0, 2, shape).astype(make(()).dtype)


def runs(x):
    """Where runs of equal rows begin."""
    return [at for at in range(len(x)) if at == 0 or not np.array_equal(x[at], x[at - 1])]


def summary(x, order, shape):
    """The first of equal rows of ``x[order]``, the run that each row is in, and how long the runs are."""
    begins = runs(x[order])
    inverse = np.empty(len(x), np.int64)
    for place, at in enumerate(order):
        inverse[at] = sum(begin <= place for begin in begins) - 1
    return x[order][begins], inverse.reshape(shape), np.diff([*begins, len(x)])


def distinct(x, return_inverse=False, return_counts=False, dim=None):
    rows = x.reshape(-1) if dim is None else np.moveaxis(x, dim, 0)
    order = sorted(range(len(rows)), key=lambda at: rows[at].reshape(-1).tolist())
    values, inverse, counts = summary(rows, order, x.shape if dim is None else -1)
    values = values if dim is None else np.moveaxis(values, 0, dim)
    return (values, inverse, counts) if return_counts else values


def consecutive(x, return_inverse=False, return_counts=False, dim=None):
    rows = x.reshape(-1) if dim is None else np.moveaxis(x, dim, 0)
    values, inverse, counts = summary(rows, list(range(len(rows))), x.shape if dim is None else -1)
    values = values if dim is None else np.moveaxis(values, 0, dim)
    return (values, inverse, counts) if return_counts else values


def equal_slices(make):
    """A matrix whose rows and columns come more than once, some next to each other."""
    rows = few_values(make, (3, 4))
    return rows[[0, 0, 2, 1, 2, 2]][:, [3, 1, 1, 0, 2, 3]]


SAMPLES = [
    *[
        Sample(
            op=op,
            name=name,
            inputs=inputs,
            kwargs=kwargs,
            reference=reference,
            dtypes=BOOL + REAL,
            result=(same, as_int64, as_int64) if "return_counts" in kwargs else same,
        )
        for op, reference in (("unique", distinct), ("unique_consecutive", consecutive))
        for name, inputs, kwargs in (
            ("elements", lambda make: (few_values(make, (4, 5)),), {}),
            ("elements, all told", lambda make: (few_values(make, (4, 5)),), ALL),
            ("rows", lambda make: (equal_slices(make),), ALL | {"dim": 0}),
            ("columns", lambda make: (equal_slices(make),), {"dim": 1}),
            ("no elements", lambda make: (make((0,)),), ALL),
        )
    ],
    *[
        Sample(
            op=op,
            name="nan differs from itself",
            inputs=lambda make: (np.array([1, 1, np.nan, np.nan]).astype(make(()).dtype),),
            reference=lambda x: np.array([1, np.nan, np.nan]),
            dtypes=REAL_FLOATS,
            expand=False,
        )
        for op in ("unique", "unique_consecutive")
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name=name,
            call=lambda op, tensor, shape=shape, dim=dim: op(tensor(*shape), dim=dim),
            raises=raises,
            match=match,
        )
        for op in ("unique", "unique_consecutive")
        for name, shape, dim, raises, match in (
            ("dim out of range", (2, 3), 2, IndexError, rf"{op}: dim 2 is out of range"),
            ("a dim of 0-d", (), 0, IndexError, rf"{op}: a 0-d tensor has no dimension\n.*input"),
            ("slices without elements", (3, 0), 0, RuntimeError, rf"{op}: the slices of dimension 0 have no elements"),
        )
    ],
    ErrorCase(
        op="unique",
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64)),
        raises=NotImplementedError,
        match=r"unique: complex.*\n.*input",
    ),
]
