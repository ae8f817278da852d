"""Reading and writing at indices that tensors hold."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import int32, int64

from ..sample import EVERYTHING, NUMBERS, ErrorCase, Sample, as_int64


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


def subscript(indices):
    return tuple(slice(None) if index is None else index for index in indices)


def index(x, indices):
    return x[subscript(indices)]


def index_put(x, indices, values, accumulate):
    out = x.copy()
    if accumulate:
        np.add.at(out, subscript(indices), values)
    else:
        out[subscript(indices)] = values
    return out


def permuted(make, count, size):
    """Distinct positions: where order does not matter."""
    return make.random.permutation(size)[:count]


def rows_and_columns(make):
    return (make((3, 4)), [make.index((5,), 3, True), make.index((5,), 4, True)])


INDEX = {
    "rows": lambda make: (make((3, 4)), [make.index((5,), 3, True)]),
    "columns": lambda make: (make((3, 4)), [None, make.index((5,), 4)]),
    "grid of rows": lambda make: (make((3, 4)), [make.index((2, 3), 3, True)]),
    "elements": rows_and_columns,
    "outer": lambda make: (make((3, 4)), [make.index((2, 1), 3), make.index((3,), 4)]),
    "apart": lambda make: (make((3, 2, 4)), [make.index((3,), 3), None, make.index((3,), 4, True)]),
    "last two": lambda make: (make((2, 3, 4)), [None, make.index((3,), 3), make.index((3,), 4)]),
    "middle, grid": lambda make: (make((2, 3, 4)), [None, make.index((2, 2), 3)]),
    "mask": lambda make: (make((3, 4)), [make.mask((3, 4))]),
    "mask of rows": lambda make: (make((3, 4)), [make.mask((3,))]),
    "mask of columns": lambda make: (make((3, 4)), [None, make.mask((4,))]),
    "mask of rows and columns": lambda make: (make((2, 3, 4)), [make.mask((2, 3))]),
    "mask and index": lambda make: (make((3, 4)), [np.array([True, False, True]), make.index((2,), 4)]),
    "0-d index": lambda make: (make((3, 4)), [make.index((), 3)]),
    "no index": lambda make: (make((3, 4)), [make.index((0,), 3)]),
    "one dimension": lambda make: (make((9,)), [make.index((3, 4), 9, True)]),
    "empty mask": lambda make: (make((3,)), [np.zeros(3, bool)]),
}

PUT = {
    "rows": lambda make: (make((3, 4)), [permuted(make, 2, 3)], make((2, 4))),
    "rows, one value each": lambda make: (make((3, 4)), [permuted(make, 2, 3)], make((2, 1))),
    "columns": lambda make: (make((3, 4)), [None, permuted(make, 2, 4) - 4], make((3, 2))),
    "elements": lambda make: (make((3, 4)), [permuted(make, 3, 3), make.index((3,), 4)], make((3,))),
    "apart": lambda make: (make((3, 2, 4)), [permuted(make, 3, 3), None, make.index((3,), 4)], make((3, 2))),
    "mask": lambda make: (make((3, 4)), [make.mask((3, 4))], make(())),
    "mask of columns": lambda make: (make((3, 4)), [None, np.array([True, False, True, False])], make((2,))),
    "last two": lambda make: (make((2, 3, 4)), [None, permuted(make, 3, 3), make.index((3,), 4)], make((2, 3))),
    "a number": lambda make: (make((3, 4)), [permuted(make, 2, 3)], 1),
    "nowhere": lambda make: (make((3, 4)), [make.index((0,), 3)], make((4,))),
}

ACCUMULATE = {
    "rows, often the same": lambda make: (make((3, 4)), [make.index((7,), 3, True)], make((7, 4))),
    "elements, often the same": lambda make: (
        make((3, 2)),
        [make.index((9,), 3), make.index((9,), 2, True)],
        make((9,)),
    ),
    "columns": lambda make: (make((2, 3)), [None, make.index((5,), 3)], make((5,))),
    "mask": lambda make: (make((3, 4)), [make.mask((3, 4))], make(())),
    "one dimension": lambda make: (make((3,)), [make.index((8,), 3)], make((8,))),
}

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
            op="nonzero",
            name=name,
            inputs=lambda make, shape=shape: (make(shape, -1, 1),),
            reference=lambda x: np.argwhere(x),
            dtypes=EVERYTHING[:6],
            result=as_int64,
        )
        for name, shape in (("2-d", (4, 5)), ("1-d", (9,)), ("empty", (0, 3)), ("3-d", (2, 3, 2)))
    ],
    Sample(
        op="argwhere",
        inputs=lambda make: (make((4, 5), -1, 1),),
        reference=np.argwhere,
        dtypes=EVERYTHING[:6],
        result=as_int64,
    ),
    *[
        Sample(
            op="_index",
            name=name,
            inputs=inputs,
            reference=index,
            dtypes=EVERYTHING,
            gradient=(0,),
            length=8,
            expand=False,
        )
        for name, inputs in INDEX.items()
    ],
    *[
        Sample(
            op="_index_put",
            name=name,
            inputs=lambda make, inputs=inputs: (*inputs(make), False),
            reference=index_put,
            dtypes=EVERYTHING,
            gradient=(0,) if name == "a number" else (0, 2),
            length=8,
            expand=False,
        )
        for name, inputs in PUT.items()
    ],
    *[
        Sample(
            op="_index_put",
            name=f"add: {name}",
            inputs=lambda make, inputs=inputs: (*inputs(make), True),
            reference=index_put,
            dtypes=NUMBERS,
            gradient=(0, 2),
            length=10,
            expand=False,
        )
        for name, inputs in ACCUMULATE.items()
    ],
    Sample(
        op="take",
        inputs=lambda make: (make((3, 4)), make.index((2, 3), 12, True)),
        reference=lambda x, where: x.reshape(-1)[where],
        dtypes=EVERYTHING,
        gradient=True,
        length=6,
    ),
    Sample(
        op="take_along_dim",
        inputs=lambda make: (make((3, 4)), make.index((1, 6), 4), 1),
        reference=lambda x, where, dim: np.take_along_axis(x, np.broadcast_to(where, (3, 6)), dim),
        dtypes=EVERYTHING,
        gradient=True,
        length=6,
    ),
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
    *[
        ErrorCase(
            op=op,
            name="a list",
            call=lambda op, tensor: op([0, 1]),
            raises=TypeError,
            match=rf"{op}: input is list",
        )
        for op in ("nonzero", "argwhere")
    ],
    refused(
        "index_select",
        "past the end",
        index=((2,), 4),
        match=r"index_select: index\[0\] = 4 is not in \[0, 4\)\n.*input",
    ),
    refused(
        "index_select", "negative", index=((2,), -1), match=r"index\[0\] = -1 is not in \[0, 4\)\n(.*\n)*.*count from 0"
    ),
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
        op="index_add",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 4), 0, tensor(2, dtype=int64) + -4, tensor(2, 4)),
        raises=IndexError,
        match=r"index_add: index\[0\] = -4 is not in \[0, 3\)",
    ),
    ErrorCase(
        op="_index",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 4), [None, tensor(2, 1, dtype=int64) + -5]),
        raises=IndexError,
        match=r"index: indices\[1\]\[0, 0\] = -5 is not in \[-4, 4\) of dimension 1",
    ),
    ErrorCase(
        op="_index_put",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 4), [tensor(2, dtype=int64) + 3], 1.0, False),
        raises=IndexError,
        match=r"index_?p?u?t?: indices\[0\]\[0\] = 3 is not in \[-3, 3\) of dimension 0",
    ),
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
]
