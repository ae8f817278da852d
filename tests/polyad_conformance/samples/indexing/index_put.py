"""``x[i, j]`` with index tensors and masks: reading, writing, adding."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import int64

from ...sample import EVERYTHING, NUMBERS, ErrorCase, Sample


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
    "mask of the middle, one value": lambda make: (
        make((2, 3, 4)),
        [None, np.array([True, False, True])],
        make((1, 1)),
    ),
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
    *[
        Sample(
            op="_counted_index",
            name=name,
            inputs=lambda make, shape=shape, size=size: (make.random.integers(-size, size, shape), size, -size, 0, 0),
            reference=lambda index, size, *_: np.where(index < 0, index + size, index),
            dtypes=(int64,),
            expand=False,
        )
        for name, shape, size in (("few", (3, 4), 3), ("many", (7, 5, 3), 1 << 40), ("one", (), 2))
    ],
    Sample(
        op="index_put",
        inputs=lambda make: (make((3, 4)), [np.array([2, 0])], make((4,))),
        reference=lambda x, indices, values: index_put(x, indices, values, False),
        dtypes=EVERYTHING,
        gradient=(0, 2),
        length=2,
        expand=False,
    ),
]

ERRORS = [
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
        op="_index_put",
        name="before the beginning of the second, in whose place there are others",
        call=lambda op, tensor: op(
            tensor(3, 4), [tensor(2, dtype=int64), tensor(2, 2, dtype=int64) - 5], tensor(2, 2), False
        ),
        raises=IndexError,
        match=r"index_?p?u?t?: indices\[1\]\[0, 0\] = -5 is not in \[-4, 4\) of dimension 1",
    ),
    ErrorCase(
        op="index_put",
        name="an index by itself",
        call=lambda op, tensor: op(tensor(3), tensor(2, dtype=int64), tensor(2)),
        raises=TypeError,
        match=r"index_put: indices is Tensor, not a tuple",
    ),
    ErrorCase(
        op="index_put",
        name="index tensors that do not broadcast",
        call=lambda op, tensor: op(tensor(3, 4), (tensor(2, dtype=int64), tensor(3, dtype=int64)), tensor(1)),
        raises=IndexError,
        match=r"index_put: the index tensors \(2,\), \(3,\) do not broadcast\n.*input",
    ),
]
