"""Elements by flat position, and along a dimension."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float64, int64

from ...sample import EVERYTHING, NUMBERS, ErrorCase, Sample
from .index_put import index_put

SAMPLES = [
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
    Sample(
        op="take",
        inputs=lambda make: (make((3, 4)), make.index((2, 3), 12, True)),
        reference=lambda x, where: x.reshape(-1)[where],
        dtypes=EVERYTHING,
        gradient=True,
        length=6,
    ),
    Sample(
        op="take",
        name="one element",
        inputs=lambda make: (make((5,)), np.array(-2)),
        reference=lambda x, where: x.reshape(-1)[where],
        dtypes=EVERYTHING,
        gradient=True,
    ),
    *[
        Sample(
            op="put",
            name=name,
            inputs=lambda make, places=places: (make((3, 4)), np.array(places), make(np.shape(places))),
            kwargs={"accumulate": accumulate},
            reference=lambda x, where, source, accumulate: index_put(
                x.reshape(-1), [where], source, accumulate
            ).reshape(x.shape),
            dtypes=NUMBERS,
            gradient=True,
            length=3,
            expand=False,
        )
        for name, places, accumulate in (
            ("written", [[0, -1], [5, 7]], False),
            ("added, often the same", [0, -1, 0, 11], True),
            ("nowhere", np.zeros((0, 2), np.int64), False),
        )
    ],
]

ERRORS = [
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
    ErrorCase(
        op="take",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 4), tensor(2, dtype=int64) + 12),
        raises=IndexError,
        match=r"\[0\] = 12 is not in \[-12, 12\)",
    ),
    ErrorCase(
        op="take",
        name="index that is no integer",
        call=lambda op, tensor: op(tensor(3), tensor(2)),
        raises=RuntimeError,
        match=r"take: index is float32",
    ),
    ErrorCase(
        op="put",
        name="past the end",
        call=lambda op, tensor: op(tensor(3, 4), tensor(2, dtype=int64) - 13, tensor(2)),
        raises=IndexError,
        match=r"\[0\] = -13 is not in \[-12, 12\)",
    ),
    ErrorCase(
        op="put",
        name="too few elements",
        call=lambda op, tensor: op(tensor(3, 4), tensor(2, dtype=int64), tensor(1)),
        raises=IndexError,
        match=r"put: source has 1 elements, index 2\n.*index.*\n.*source",
    ),
    ErrorCase(
        op="put",
        name="source of another dtype",
        call=lambda op, tensor: op(tensor(3), tensor(2, dtype=int64), tensor(2, dtype=float64)),
        raises=RuntimeError,
        match=r"put: source must have input's dtype\n.*input.*\n.*source",
    ),
]
