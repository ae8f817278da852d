"""Places in a flattened tensor."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import int64

from ...sample import INTEGERS, ErrorCase, Sample, as_int64

SAMPLES = [
    *[
        Sample(
            op="unravel_index",
            name=name,
            inputs=lambda make, count=count, shape=shape: (make(count, 0, 23), shape),
            reference=lambda places, shape: tuple(np.unravel_index(places.astype(np.int64), shape)),
            dtypes=INTEGERS,
            result=(as_int64,) * len(shape),
        )
        for name, count, shape in (("3-d", (7,), (2, 3, 4)), ("0-d places", (), (4, 6)), ("2-d places", (3, 2), (24,)))
    ],
]

ERRORS = [
    ErrorCase(
        op="unravel_index",
        name="float",
        call=lambda op, tensor: op(tensor(3), (2, 2)),
        raises=TypeError,
        match=r"unravel_index: indices are float32.*\n.*indices",
    ),
    ErrorCase(
        op="unravel_index",
        name="negative size",
        call=lambda op, tensor: op(tensor(3, dtype=int64), (2, -2)),
        raises=ValueError,
        match=r"unravel_index: a size in \(2, -2\) is negative",
    ),
    ErrorCase(
        op="unravel_index",
        name="no places",
        call=lambda op, tensor: op(tensor(3, dtype=int64), (2, 0)),
        raises=RuntimeError,
        match=r"unravel_index: a tensor of shape \(2, 0\) has no places",
    ),
]
