"""Triangles of matrices, and where their elements are."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, int32, int64

from ...sample import DTYPE, ErrorCase, Sample
from .joining import copied

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
        copied(op, f"{name}, diagonal {diagonal}", shape, diagonal, reference=reference)
        for op, reference in (("tril", np.tril), ("triu", np.triu))
        for name, shape, diagonal in (
            ("matrix", (3, 4), 0),
            ("batch", (2, 3, 3), 1),
            ("tall", (4, 2), -1),
            ("wide", (2, 4), 5),
        )
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
        op="tril",
        name="a vector",
        call=lambda op, tensor: op(tensor(3)),
        raises=RuntimeError,
        match=r"tril: input needs two dimensions.*\n.*input",
    ),
]
