"""Branches and loops that depend on data."""

from __future__ import annotations

import numpy as np

from ..sample import NUMBERS, ErrorCase, Sample

SAMPLES = [
    *[
        Sample(
            op="cond",
            name=name,
            inputs=lambda make, shape=shape: (make.mask(()), make(shape), make(shape)),
            call=lambda op, pred, x, y: op(pred, lambda x, y: x * y, lambda x, y: x + y, (x, y)),
            reference=lambda pred, x, y: x * y if pred else x + y,
            dtypes=NUMBERS,
            gradient=(1, 2),
        )
        for name, shape in (("matrix", (3, 5)), ("0-d", ()), ("empty", (0, 3)))
    ],
    Sample(
        op="while_loop",
        inputs=lambda make: (np.zeros((), np.int64), make((3, 5)), make((5,))),
        call=lambda op, n, x, y: op(lambda n, x: n < 3, lambda n, x: (n + 1, x + y), (n, x))[1],
        reference=lambda n, x, y: x + 3 * y,
        gradient=(1, 2),
        steps=4,
    ),
]

ERRORS = [
    ErrorCase(
        op="cond",
        name="a condition of two numbers",
        call=lambda op, tensor: op(tensor(2), lambda: tensor(2), lambda: tensor(2)),
        raises=RuntimeError,
        match=r"pred is no bool of one element\n.*pred .*\(2,\)",
    ),
    ErrorCase(
        op="while_loop",
        name="a condition of two numbers",
        call=lambda op, tensor: op(lambda x: x, lambda x: (x,), (tensor(2),)),
        raises=RuntimeError,
        match="cond_fn's result is no bool of one element",
    ),
]
