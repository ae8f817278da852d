"""Reducing the elements that an index tensor sends to one place."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, complex64, float32, float64, int64

from ...sample import BOOL, INTEGERS, ErrorCase, Sample

SOME = (int64, bfloat16, float32, float64)

FOLDS = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum, "add": np.add, "multiply": np.multiply}


def scatter_reduce(x, dim, index, src, reduce, include_self=True):
    groups = {}
    if include_self:
        groups = {at: [x[at]] for at in np.ndindex(*x.shape)}
    for at in np.ndindex(*index.shape):
        place = (*at[:dim], int(index[at]), *at[dim + 1 :])
        groups.setdefault(place, []).append(src[at])
    out = x.copy()
    for place, values in groups.items():
        if reduce in ("sum", "mean"):
            total = np.sum(values, dtype=bool if x.dtype == bool else None)
            integers = x.dtype.kind in "bi"
            out[place] = total if reduce == "sum" else total // len(values) if integers else total / len(values)
        else:
            out[place] = FOLDS[reduce].reduce(np.array(values, x.dtype))
    return out


def spread_index(make):
    """Positions of which some come often, some once, some never."""
    return np.array([[0, 1, 1, 3, 0], [3, 3, 3, 0, 0], [1, 2, 2, 1, 1]])


def extremes(make, shape):
    return make.distinct(shape)


def factors(make, shape):
    return make.nonzero(shape, 0.75, 1.5)


def drawn(reduce):
    return {"amax": extremes, "amin": extremes, "prod": factors}.get(reduce, lambda make, shape: make(shape))


def together(reduce):
    """Two tensors no two elements of which are equal, or whose products stay small."""

    def draw(make, first, second):
        count = int(np.prod(first))
        both = drawn(reduce)(make, (count + int(np.prod(second)),))
        return both[:count].reshape(first), both[count:].reshape(second)

    return draw


def with_zeros(make):
    """Zeros alone, and more than one at a place: the product's gradient has no quotient there."""
    kind = make(()).dtype
    return (
        np.array([[1, 0, 2, 0.5], [2, 3, 0, 1], [0, 0, 1, 1]]).astype(kind),
        1,
        spread_index(make),
        np.array([[0, 2, 2, 5, 0], [1, 1, 3, 0, 2], [4, 0, 2, 2, 2]]).astype(kind),
        "prod",
    )


SAMPLES = [
    *[
        Sample(
            op="scatter_reduce",
            name=f"{reduce}, {'with' if include_self else 'without'} self",
            inputs=lambda make, reduce=reduce: (lambda x, src: (x, 1, spread_index(make), src, reduce))(
                *together(reduce)(make, (3, 4), (3, 6))
            ),
            kwargs={"include_self": include_self},
            reference=scatter_reduce,
            dtypes=BOOL + INTEGERS + SOME[1:] if reduce in ("amax", "sum") else SOME,
            gradient=(0, 3),
            steps=6,
            length=6,
            magnitude=lambda x, dim, index, src, reduce, include_self: np.maximum(np.max(np.abs(x)) * 5.0, 8.0),
            expand=False,
        )
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include_self in (True, False)
    ],
    Sample(
        op="scatter_reduce",
        name="prod, zeros among the factors",
        inputs=with_zeros,
        reference=scatter_reduce,
        dtypes=(float32, float64),
        gradient=(0, 3),
        steps=8,
        expand=False,
    ),
    Sample(
        op="scatter_reduce",
        name="prod, complex",
        inputs=lambda make: (factors(make, (3, 4)), 1, spread_index(make), factors(make, (3, 5)), "prod"),
        reference=scatter_reduce,
        dtypes=(complex64,),
        gradient=(0, 3),
        steps=12,
        magnitude=lambda x, *rest: np.full(x.shape, 200.0),
        expand=False,
    ),
    Sample(
        op="scatter_reduce",
        name="first dim, many at one place",
        inputs=lambda make: (make.distinct((2, 3)), 0, make.index((30, 3), 2), make.distinct((30, 3)), "amin"),
        reference=scatter_reduce,
        dtypes=SOME,
        expand=False,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="another reduction",
            call=call,
            raises=RuntimeError,
            match=rf"{op}: reduce is 'median'(.*\n)*.*fix",
        )
        for op, call in (
            ("scatter_reduce", lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64), tensor(2), "median")),
        )
    ],
    ErrorCase(
        op="scatter_reduce",
        name="past the end",
        call=lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64) + 3, tensor(2), "sum"),
        raises=IndexError,
        match=r"= 3 is not in \[0, 3\)",
    ),
    *[
        ErrorCase(
            op=op,
            name="source of another dtype, reduced",
            call=lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64), tensor(2, dtype=float64), "prod"),
            raises=RuntimeError,
            match=rf"{op}: \w+ must have input's dtype\n.*input",
        )
        for op in ("scatter_reduce",)
    ],
    ErrorCase(
        op="scatter_reduce",
        name="extremes of complex numbers",
        call=lambda op, tensor: op(
            tensor(3, dtype=complex64), 0, tensor(2, dtype=int64), tensor(2, dtype=complex64), "amax"
        ),
        raises=NotImplementedError,
        match=r"scatter_reduce: complex numbers have no order",
    ),
]
