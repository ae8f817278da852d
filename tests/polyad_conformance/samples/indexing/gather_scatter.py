"""Single elements at indices along a dimension: gather, scatter, and scatter with a reduction."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import bfloat16, complex64, float32, float64, int32, int64

from ...sample import BOOL, EVERYTHING, INTEGERS, NUMBERS, ErrorCase, Sample

SOME = (int64, bfloat16, float32, float64)


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


def index_reduce(x, dim, index, source, reduce, include_self=True):
    shape = [1] * x.ndim
    shape[dim] = -1
    return scatter_reduce(x, dim, np.broadcast_to(index.reshape(shape), source.shape), source, reduce, include_self)


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
    Sample(
        op="take_along_dim",
        inputs=lambda make: (make((3, 4)), make.index((1, 6), 4, True), 1),
        reference=lambda x, where, dim: np.take_along_axis(x, np.broadcast_to(where, (3, 6)), dim),
        dtypes=EVERYTHING,
        gradient=True,
        length=6,
    ),
    Sample(
        op="take_along_dim",
        name="flattened",
        inputs=lambda make: (make((3, 4)), np.array([0, 11, 5])),
        reference=lambda x, where: x.reshape(-1)[where],
        dtypes=NUMBERS,
        gradient=True,
    ),
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


def refused(op, name, *, index, match, call=None):
    """An index tensor with one wrong element, named with its place and range."""
    return ErrorCase(
        op=op,
        name=name,
        call=call or (lambda op, tensor: op(tensor(3, 4), 1, tensor(*index[0], dtype=int64) + index[1])),
        raises=IndexError,
        match=match,
    )


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
            ("scatter_reduce", lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64), tensor(2), "median")),
            ("index_reduce", lambda op, tensor: op(tensor(3), 0, tensor(2, dtype=int64), tensor(2), "median")),
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
        for op in ("scatter_reduce", "index_reduce")
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
    ErrorCase(
        op="index_reduce",
        name="source of another shape",
        call=lambda op, tensor: op(tensor(3, 4), 0, tensor(2, dtype=int64), tensor(2, 3), "prod"),
        raises=RuntimeError,
        match=r"index_reduce: source is \(2, 3\), not \(2, 4\)\n.*input",
    ),
    ErrorCase(
        op="take_along_dim",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 4), tensor(3, 1, dtype=int64) + 4, 1),
        raises=IndexError,
        match=r"index\[0, 0\] = 4 is not in \[0, 4\)",
    ),
    ErrorCase(
        op="take_along_dim",
        name="index of other rank",
        call=lambda op, tensor: op(tensor(3, 4), tensor(3, dtype=int64), 1),
        raises=RuntimeError,
        match=r"take_along_dim: the numbers of dimensions differ\n.*input.*\n.*indices",
    ),
]
