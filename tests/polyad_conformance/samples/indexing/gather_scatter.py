"""Single elements at indices along a dimension: gather, scatter, scatter_add."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, complex64, float64, int32, int64

from ...sample import EVERYTHING, NUMBERS, ErrorCase, Sample
from .scatter_reduce import factors, scatter_reduce, spread_index


def along(shape, dim, index):
    """The subscript of the elements that gather and scatter mean."""
    grid = list(np.ogrid[tuple(slice(size) for size in index.shape)])
    grid[dim] = index
    return tuple(grid)


def gather(x, dim, index):
    return x[along(x.shape, dim, index)]


def scatter(x, dim, index, src):
    out = x.copy()
    if isinstance(src, np.ndarray):
        src = src[tuple(slice(size) for size in index.shape)]
    out[along(x.shape, dim, index)] = src
    return out


def scatter_add(x, dim, index, src):
    out = x.copy()
    np.add.at(out, along(x.shape, dim, index), src[tuple(slice(size) for size in index.shape)])
    return out


def refused(op, name, *, index, match, call=None):
    """An index tensor with one wrong element, named with its place and range."""
    return ErrorCase(
        op=op,
        name=name,
        call=call or (lambda op, tensor: op(tensor(3, 4), 1, tensor(*index[0], dtype=int64) + index[1])),
        raises=IndexError,
        match=match,
    )


SAMPLES = [
    *[
        Sample(
            op="gather",
            name=name,
            inputs=lambda make, shape=shape, dim=dim, want=want: (make(shape), dim, make.index(want, shape[dim])),
            reference=gather,
            dtypes=EVERYTHING,
            gradient=True,
            special=True,
            length=want[dim],
        )
        for name, shape, dim, want in (
            ("last dim", (3, 4), 1, (3, 6)),
            ("first dim", (3, 4), 0, (2, 4)),
            ("smaller index", (3, 4), 1, (2, 3)),
            ("middle", (2, 3, 4), 1, (2, 2, 4)),
            ("1-d", (5,), 0, (9,)),
            ("empty", (3, 4), 1, (0, 2)),
        )
    ],
    *[
        Sample(
            op="scatter",
            name=name,
            inputs=lambda make, want=want, src=src: (
                make((3, 4)),
                1,
                np.stack([make.random.permutation(4)[: want[1]] for _ in range(want[0])]),
                1 if src is None else make(src),
            ),
            reference=scatter,
            dtypes=EVERYTHING,
            gradient=(0,) if src is None else (0, 3),
            expand=False,
        )
        for name, want, src in (
            ("tensor", (3, 2), (3, 2)),
            ("larger source", (2, 3), (3, 4)),
            ("number", (3, 2), None),
        )
    ],
    *[
        Sample(
            op="scatter_add",
            name=name,
            inputs=lambda make, shape=shape, dim=dim, want=want, src=src: (
                make(shape),
                dim,
                make.index(want, shape[dim]),
                make(src),
            ),
            reference=scatter_add,
            dtypes=NUMBERS,
            gradient=True,
            length=want[dim] + 1,
        )
        for name, shape, dim, want, src in (
            ("last dim", (3, 4), 1, (3, 6), (3, 6)),
            ("first dim", (3, 4), 0, (5, 4), (5, 4)),
            ("larger source", (3, 4), 1, (2, 6), (3, 7)),
            ("1-d", (3,), 0, (9,), (9,)),
        )
    ],
    *[
        Sample(
            op="scatter",
            name=f"reduce {reduce}, {'a number' if src is None else 'tensor'}",
            inputs=lambda make, src=src: (factors(make, (3, 4)), 1, spread_index(make), src or factors(make, (3, 5))),
            kwargs={"reduce": reduce},
            reference=lambda x, dim, index, src, reduce: scatter_reduce(
                x, dim, index, np.broadcast_to(src, index.shape), "sum" if reduce == "add" else "prod"
            ),
            dtypes=(int32, bfloat16, float64, complex64),
            gradient=(0,) if src else (0, 3),
            steps=4,
            length=6,
            magnitude=lambda x, dim, index, src, reduce: np.full(x.shape, 40.0),
            expand=False,
        )
        for reduce in ("add", "multiply")
        for src in (None, 2)
    ],
]

ERRORS = [
    refused(
        "gather", "past the end", index=((3, 2), 7), match=r"gather: index\[0, 0\] = 7 is not in \[0, 4\)\n.*input"
    ),
    refused("gather", "negative", index=((3, 2), -1), match=r"gather: index\[0, 0\] = -1 is not in \[0, 4\)"),
    *[
        ErrorCase(
            op=op,
            name="past the end",
            call=lambda op, tensor: op(tensor(3, 4), 1, tensor(3, 2, dtype=int64) + 4, tensor(3, 2)),
            raises=IndexError,
            match=rf"{op}: index\[0, 0\] = 4 is not in \[0, 4\)\n.*input",
        )
        for op in ("scatter", "scatter_add")
    ],
    ErrorCase(
        op="gather",
        name="index of other rank",
        call=lambda op, tensor: op(tensor(3, 4), 1, tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"gather: the numbers of dimensions differ\n.*input.*\n.*index",
    ),
    ErrorCase(
        op="gather",
        name="index larger elsewhere",
        call=lambda op, tensor: op(tensor(3, 4), 1, tensor(4, 2, dtype=int64)),
        raises=RuntimeError,
        match=r"gather: index is larger than input in dimension 0: 4 > 3",
    ),
    ErrorCase(
        op="scatter_add",
        name="source of another dtype",
        call=lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64), tensor(2, dtype=int32)),
        raises=RuntimeError,
        match=r"scatter_add: src must have input's dtype\n.*input.*\n.*src",
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
            ("scatter", lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64), tensor(2), reduce="median")),
        )
    ],
    *[
        ErrorCase(
            op=op,
            name="past the end, as RuntimeError",
            call=lambda op, tensor, rest=rest: op(tensor(3), 0, tensor(2, dtype=int64) + 3, *rest),
            raises=RuntimeError,
            match=rf"{op}: index\[0\] = 3 is not in \[0, 3\)\n.*input",
        )
        for op, rest in (("gather", ()), ("scatter", (1.0,)))
    ],
]
