"""Sorting, largest elements, medians."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import complex64, float32

from ..sample import BOOL, REAL, REAL_FLOATS, ErrorCase, Sample, as_int64, same


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


def ranked(x, k, dim=-1, keepdim=False):
    values, order = ordered(x, dim)
    chosen = [np.take(one, [k - 1], axis=dim) if x.ndim else one for one in (values, order)]
    return tuple(chosen if keepdim or not x.ndim else [one.squeeze(dim) for one in chosen])


def middle(x, dim=None, keepdim=False):
    if dim is None:
        flat = np.sort(x.reshape(-1))
        return np.nan if np.isnan(x).any() else flat[(flat.size - 1) // 2]
    values, order = ranked(x, (x.shape[dim] + 1) // 2 if x.ndim else 1, dim, True)
    if x.ndim and x.dtype.kind == "f":
        bad = np.isnan(x).any(axis=dim, keepdims=True)
        values, order = np.where(bad, np.nan, values), np.where(bad, np.isnan(x).argmax(axis=dim, keepdims=True), order)
    return tuple(one if keepdim or not x.ndim else one.squeeze(dim) for one in (values, order))


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
            op="kthvalue",
            name=name,
            inputs=lambda make, shape=shape: (make.distinct(shape), 2),
            kwargs=kwargs,
            reference=ranked,
            dtypes=REAL,
            result=(same, as_int64),
            gradient=True,
        )
        for name, shape, kwargs in (("last dim", (3, 5), {}), ("kept", (4, 3), {"dim": 0, "keepdim": True}))
    ],
    *[
        Sample(
            op="median",
            name=f"whole, {size} elements",
            inputs=lambda make, size=size: (make.distinct((size,)),),
            reference=middle,
            dtypes=REAL,
            gradient=True,
            special=True,
        )
        for size in (1, 4, 5)
    ],
    *[
        Sample(
            op="median",
            name=name,
            inputs=lambda make, shape=shape: (make.distinct(shape),),
            kwargs=kwargs,
            reference=middle,
            dtypes=REAL,
            result=(same, as_int64),
            gradient=True,
            special=True,
        )
        for name, shape, kwargs in (("last dim", (3, 4), {"dim": 1}), ("kept", (5, 2), {"dim": 0, "keepdim": True}))
    ],
    Sample(
        op="unique",
        inputs=lambda make: (few_values(make, (4, 5)),),
        kwargs={"return_inverse": True, "return_counts": True},
        reference=lambda x, return_inverse, return_counts: tuple(
            one.reshape(x.shape) if position == 1 else one
            for position, one in enumerate(np.unique(x, return_inverse=True, return_counts=True))
        ),
        dtypes=BOOL + REAL,
        result=(same, as_int64, as_int64),
    ),
    Sample(
        op="unique",
        name="nan differs from itself",
        inputs=lambda make: (np.array([np.nan, 1, np.nan, 1]).astype(make(()).dtype),),
        reference=lambda x: np.unique(x, equal_nan=False),
        dtypes=REAL_FLOATS,
        expand=False,
    ),
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
        for op in ("sort", "median")
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
        op="kthvalue",
        name="counted from 0",
        call=lambda op, tensor: op(tensor(3), 0),
        raises=RuntimeError,
        match=r"kthvalue: k is 0.*\n.*input",
    ),
    ErrorCase(
        op="topk",
        name="k that is no int",
        call=lambda op, tensor: op(tensor(3, dtype=float32), 1.5),
        raises=TypeError,
        match=r"topk: k is 1\.5",
    ),
    ErrorCase(
        op="unique",
        name="a dim",
        call=lambda op, tensor: op(tensor(3), dim=0),
        raises=NotImplementedError,
        match=r"unique: dim is not supported",
    ),
]
