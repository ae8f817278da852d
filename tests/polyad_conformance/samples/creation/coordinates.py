"""Coordinates of elements."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import float32, int32, int64

from ...sample import DTYPE, INTEGERS, ErrorCase, Sample, as_int64

SAMPLES = [
    *[
        Sample(
            op=op,
            name=f"{rows} by {columns}, {offset}",
            inputs=lambda make, given=(rows, columns, offset): given,
            reference=lambda rows, columns, offset, dtype=None, find=find: np.stack(find(rows, offset, columns)),
            kwargs={"dtype": DTYPE},
            dtypes=(int32, int64),
        )
        for op, find in (("tril_indices", np.tril_indices), ("triu_indices", np.triu_indices))
        for rows, columns, offset in ((3, 4, 0), (4, 3, 1), (3, 3, -1), (2, 0, 0), (0, 0, 0))
    ],
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
    *[
        ErrorCase(
            op=op,
            name=name,
            call=lambda op, tensor, args=args, kwargs=kwargs: op(*args, **kwargs),
            raises=RuntimeError,
            match=rf"{op}: {match}",
        )
        for op in ("tril_indices", "triu_indices")
        for name, args, kwargs, match in (
            ("negative size", (-1, 2), {}, "row -1 and col 2"),
            ("float positions", (2, 2), {"dtype": float32}, "positions are int32 or int64"),
        )
    ],
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
