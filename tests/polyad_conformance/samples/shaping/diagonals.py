"""Diagonals, and matrices with a given one."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING, ErrorCase, Sample
from ..indexing.slicing import view


def diagonals(x, offset, dim1, dim2):
    rows = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], rows, rows), x.dtype)
    where = np.arange(x.shape[-1])
    out[..., where + max(-offset, 0), where + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


SAMPLES = [
    view("diagonal", "main", (3, 4), reference=np.diagonal),
    view("diagonal", "above", (3, 4), 1, reference=np.diagonal),
    view("diagonal", "below", (4, 3), -2, reference=np.diagonal),
    view("diagonal", "outside", (3, 3), 4, reference=np.diagonal),
    view("diagonal", "of other dimensions", (3, 2, 4), 0, 2, 0, reference=np.diagonal),
    Sample(
        op="diagflat",
        name="of a matrix",
        inputs=lambda make: (make((2, 3)), 1),
        reference=lambda x, offset: np.diagflat(x, offset),
        dtypes=EVERYTHING,
        gradient=True,
        length=6,
    ),
    Sample(
        op="diagflat",
        name="0-d",
        inputs=lambda make: (make(()), -1),
        reference=np.diagflat,
        dtypes=EVERYTHING,
        gradient=True,
    ),
    *[
        Sample(
            op="diag",
            name=name,
            inputs=lambda make, shape=shape, offset=offset: (make(shape), offset),
            reference=np.diag,
            dtypes=EVERYTHING,
            gradient=True,
            length=4,
        )
        for name, shape, offset in (("of a matrix", (3, 4), 1), ("from a vector", (3,), 0))
    ],
    *[
        Sample(
            op="diag_embed",
            name=name,
            inputs=lambda make, args=args: (make((2, 3)), *args),
            reference=diagonals,
            dtypes=EVERYTHING,
            gradient=True,
            length=4,
        )
        for name, args in (("main", (0, -2, -1)), ("above, in front", (1, 0, 1)), ("below", (-2, 0, 2)))
    ],
]

ERRORS = [
    ErrorCase(
        op="diagflat",
        name="a float offset",
        call=lambda op, tensor: op(tensor(4), 0.5),
        raises=TypeError,
        match=r"diagflat: offset is float, not an int",
    ),
    ErrorCase(
        op="diagonal",
        name="one dimension twice",
        call=lambda op, tensor: op(tensor(2, 3), 0, 1, -1),
        raises=RuntimeError,
        match=r"diagonal: dim1 and dim2 are both 1\n.*input",
    ),
]
