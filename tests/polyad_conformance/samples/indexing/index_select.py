"""Slices of one dimension at indices that a vector holds."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float64, int64

from ...sample import EVERYTHING, NUMBERS, ErrorCase, Sample
from .scatter_reduce import SOME, scatter_reduce, together


def index_select(x, dim, index):
    return np.take(x, index, axis=dim)


def index_add(x, dim, index, source, alpha=1):
    out = np.moveaxis(x.copy(), dim, 0)
    np.add.at(out, index, alpha * np.moveaxis(source, dim, 0))
    return np.moveaxis(out, 0, dim)


def index_copy(x, dim, index, source):
    out = np.moveaxis(x.copy(), dim, 0)
    out[index] = np.moveaxis(source, dim, 0)
    return np.moveaxis(out, 0, dim)


def permuted(make, count, size):
    """Distinct positions: where order does not matter."""
    return make.random.permutation(size)[:count]


def refused(op, name, *, index, match, call=None):
    """An index tensor with one wrong element, named with its place and range."""
    return ErrorCase(
        op=op,
        name=name,
        call=call or (lambda op, tensor: op(tensor(3, 4), 1, tensor(*index[0], dtype=int64) + index[1])),
        raises=IndexError,
        match=match,
    )


def index_reduce(x, dim, index, source, reduce, include_self=True):
    shape = [1] * x.ndim
    shape[dim] = -1
    return scatter_reduce(x, dim, np.broadcast_to(index.reshape(shape), source.shape), source, reduce, include_self)


SAMPLES = [
    *[
        Sample(
            op="index_select",
            name=name,
            inputs=lambda make, shape=shape, dim=dim, count=count: (
                make(shape),
                dim,
                make.index((count,), shape[dim] if shape else 1),
            ),
            reference=index_select,
            dtypes=EVERYTHING,
            gradient=True,
            special=True,
            expand=False,
        )
        for name, shape, dim, count in (
            ("rows", (3, 4), 0, 5),
            ("columns", (3, 4), 1, 2),
            ("middle", (2, 3, 4), 1, 4),
            ("nothing", (3, 4), 0, 0),
            ("1-d", (9,), 0, 17),
        )
    ],
    *[
        Sample(
            op="index_add",
            name=name,
            inputs=lambda make, shape=shape, dim=dim, count=count: (
                make(shape),
                dim,
                make.index((count,), shape[dim]),
                make((*shape[:dim], count, *shape[dim + 1 :])),
            ),
            reference=index_add,
            dtypes=NUMBERS,
            gradient=True,
            length=count + 1,
        )
        for name, shape, dim, count in (
            ("rows", (3, 4), 0, 7),
            ("columns", (3, 4), 1, 2),
            ("middle", (2, 3, 4), 1, 5),
            ("1-d", (3,), 0, 9),
            ("nothing", (3, 4), 0, 0),
        )
    ],
    Sample(
        op="index_add",
        name="alpha",
        inputs=lambda make: (make((3, 4)), 0, make.index((2,), 3), make((2, 4))),
        kwargs={"alpha": 2},
        reference=index_add,
        dtypes=NUMBERS,
        gradient=True,
        steps=3,
        length=3,
    ),
    Sample(
        op="index_fill",
        name="value in a tensor, at a position named twice",
        inputs=lambda make: (make((3, 4)), 1, np.array([2, 0, 2]), make(())),
        reference=lambda x, dim, index, value: index_copy(x, dim, index, np.full((3, 3), value, x.dtype)),
        dtypes=NUMBERS,
        gradient=True,
        length=8,
        expand=False,
    ),
    Sample(
        op="index_copy",
        inputs=lambda make: (make((4, 3)), 0, permuted(make, 2, 4), make((2, 3))),
        reference=index_copy,
        dtypes=EVERYTHING,
        gradient=True,
        expand=False,
    ),
    Sample(
        op="index_fill",
        inputs=lambda make: (make((3, 4)), 1, permuted(make, 2, 4), 1),
        reference=lambda x, dim, index, value: index_copy(x, dim, index, np.full((3, 2), value, x.dtype)),
        dtypes=EVERYTHING,
        gradient=True,
    ),
    Sample(
        op="index_fill",
        name="value in a tensor, counted from the end",
        inputs=lambda make: (make((3, 4)), 0, np.array([-1, 0]), make(())),
        reference=lambda x, dim, index, value: index_copy(x, dim, index, np.full((2, 4), value, x.dtype)),
        dtypes=NUMBERS,
        gradient=True,
        length=8,
        expand=False,
    ),
    Sample(
        op="index_copy",
        name="nothing",
        inputs=lambda make: (make((4, 3)), 1, np.zeros(0, np.int64), make((4, 0))),
        reference=lambda x, dim, index, source: x,
        dtypes=NUMBERS,
        gradient=(0,),
        expand=False,
    ),
    *[
        Sample(
            op="index_reduce",
            name=f"{reduce}, {'with' if include_self else 'without'} self",
            inputs=lambda make, reduce=reduce, dim=dim: (
                lambda x, source: (x, dim, np.array([2, 0, 2, 2]), source, reduce)
            )(*together(reduce)(make, (3, 2) if dim == 0 else (2, 3), (4, 2) if dim == 0 else (2, 4))),
            kwargs={"include_self": include_self},
            reference=index_reduce,
            dtypes=SOME,
            gradient=(0, 3),
            steps=6,
            length=6,
            magnitude=lambda x, dim, index, source, reduce, include_self: np.maximum(np.max(np.abs(x)) * 5.0, 8.0),
            expand=False,
        )
        for reduce, include_self, dim in (
            ("prod", True, 0),
            ("mean", True, 1),
            ("mean", False, 0),
            ("amax", False, 1),
            ("amin", True, 0),
        )
    ],
]

ERRORS = [
    refused(
        "index_select",
        "past the end",
        index=((2,), 4),
        match=r"index_select: index\[0\] = 4 is not in \[0, 4\)\n.*input",
    ),
    refused(
        "index_select", "negative", index=((2,), -1), match=r"index\[0\] = -1 is not in \[0, 4\)\n(.*\n)*.*count from 0"
    ),
    ErrorCase(
        op="index_add",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 4), 0, tensor(2, dtype=int64) + -4, tensor(2, 4)),
        raises=IndexError,
        match=r"index_add: index\[0\] = -4 is not in \[0, 3\)",
    ),
    ErrorCase(
        op="index_select",
        name="index that is no integer",
        call=lambda op, tensor: op(tensor(3), 0, tensor(2)),
        raises=RuntimeError,
        match=r"index_select: index is float32",
    ),
    ErrorCase(
        op="index_add",
        name="source of another shape",
        call=lambda op, tensor: op(tensor(3, 4), 0, tensor(2, dtype=int64), tensor(2, 3)),
        raises=RuntimeError,
        match=r"index_add: source is \(2, 3\), not \(2, 4\)",
    ),
    ErrorCase(
        op="index_add",
        name="a fraction of integers",
        call=lambda op, tensor: op(
            tensor(3, dtype=int64), 0, tensor(1, dtype=int64), tensor(1, dtype=int64), alpha=0.5
        ),
        raises=RuntimeError,
        match=r"index_add: alpha is 0\.5, input int64",
    ),
    *[
        ErrorCase(
            op=op,
            name="source of another dtype",
            call=lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64), tensor(2, dtype=int64)),
            raises=RuntimeError,
            match=rf"{op}: source must have input's dtype\n.*input.*\n.*source",
        )
        for op in ("index_add", "index_copy")
    ],
    ErrorCase(
        op="index_copy",
        name="source of other rank",
        call=lambda op, tensor: op(tensor(3, 4), 0, tensor(1, dtype=int64), tensor(4)),
        raises=IndexError,
        match=r"index_copy: source has 1 dimensions, input 2\n.*input.*\n.*source",
    ),
    ErrorCase(
        op="index_fill",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 4), 0, tensor(1, dtype=int64) + 3, 1),
        raises=IndexError,
        match=r"\[0\] = 3 is not in \[-3, 3\)",
    ),
    ErrorCase(
        op="index_fill",
        name="a vector of values",
        call=lambda op, tensor: op(tensor(3), 0, tensor(1, dtype=int64), tensor(1)),
        raises=RuntimeError,
        match=r"index_fill: value has 1 dimensions\n.*value",
    ),
    *[
        ErrorCase(
            op=op,
            name="another reduction",
            call=call,
            raises=RuntimeError,
            match=rf"{op}: reduce is 'median'(.*\n)*.*fix",
        )
        for op, call in (
            ("index_reduce", lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64), tensor(2), "median")),
        )
    ],
    *[
        ErrorCase(
            op=op,
            name="source of another dtype, reduced",
            call=lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64), tensor(2, dtype=float64), "prod"),
            raises=RuntimeError,
            match=rf"{op}: \w+ must have input's dtype\n.*input",
        )
        for op in ("index_reduce",)
    ],
    ErrorCase(
        op="index_reduce",
        name="source of another shape",
        call=lambda op, tensor: op(tensor(3, 4), 0, tensor(2, dtype=int64), tensor(2, 3), "prod"),
        raises=RuntimeError,
        match=r"index_reduce: source is \(2, 3\), not \(2, 4\)\n.*input",
    ),
]
