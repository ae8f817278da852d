"""Vectors looked up by number, and numbers as unit vectors."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import float32, int64

from ..sample import FLOATS, ErrorCase, Sample, as_int64

SAMPLES = [
    *[
        Sample(
            op="embedding",
            name=name,
            inputs=lambda make, shape=shape: (make.index(shape, 5), make((5, 3))),
            reference=lambda where, weight: weight[where],
            dtypes=FLOATS,
            gradient=True,
            length=12,
            expand=False,
        )
        for name, shape in (("vector", (7,)), ("batch", (2, 6)), ("0-d", ()), ("nothing", (0,)))
    ],
    Sample(
        op="one_hot",
        inputs=lambda make: (make.index((2, 3), 4), 4),
        reference=lambda where, count: np.eye(count, dtype=np.int64)[where],
        dtypes=(int64,),
        result=as_int64,
    ),
    Sample(
        op="one_hot",
        name="classes counted",
        inputs=lambda make: (np.array([2, 0, 1]),),
        reference=lambda where: np.eye(3, dtype=np.int64)[where],
        dtypes=(int64,),
        result=as_int64,
        expand=False,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op="embedding",
            name=name,
            call=lambda op, tensor, value=value: op(tensor(2, 3, dtype=int64) + value, tensor(5, 2)),
            raises=IndexError,
            match=rf"embedding: input\[0, 0\] = {value} is not in \[0, 5\)\n(.*\n)*.*weight",
        )
        for name, value in (("past the end", 5), ("negative", -1))
    ],
    ErrorCase(
        op="embedding",
        name="input that is no integer",
        call=lambda op, tensor: op(tensor(2, dtype=float32), tensor(5, 2)),
        raises=RuntimeError,
        match=r"embedding: input is float32",
    ),
    ErrorCase(
        op="one_hot",
        name="a class that is not there",
        call=lambda op, tensor: op(tensor(2, dtype=int64) + 3, 3),
        raises=IndexError,
        match=r"one_hot: tensor\[0\] = 3 is not in \[0, 3\)",
    ),
]
