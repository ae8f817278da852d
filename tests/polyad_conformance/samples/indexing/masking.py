"""Reading and writing where a mask holds."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, int64

from ...sample import EVERYTHING, ErrorCase, Sample


def filled(x, mask, value):
    return np.where(mask, np.asarray(value).astype(x.dtype), x)


def scattered(x, mask, source):
    out = np.broadcast_to(x, np.broadcast(x, mask).shape).copy()
    mask = np.broadcast_to(mask, out.shape)
    out[mask] = source.reshape(-1)[: np.count_nonzero(mask)]
    return out


SAMPLES = [
    *[
        Sample(
            op="masked_fill",
            name=name,
            inputs=lambda make, shape=shape, mask=mask: (make(shape), make.mask(mask), 1),
            reference=filled,
            dtypes=EVERYTHING,
            gradient=True,
            special=True,
        )
        for name, shape, mask in (
            ("equal shapes", (3, 4), (3, 4)),
            ("mask broadcast", (3, 4), (3, 1)),
            ("0-d", (), ()),
            ("empty", (0, 3), (3,)),
            ("1-d", (37,), (37,)),
        )
    ],
    Sample(
        op="masked_fill",
        name="value in a tensor",
        inputs=lambda make: (make((3, 4)), make.mask((3, 4)), make(())),
        reference=filled,
        dtypes=EVERYTHING,
        gradient=True,
        length=12,
    ),
    *[
        Sample(
            op="masked_select",
            name=name,
            inputs=lambda make, shape=shape, mask=mask: (make(shape), make.mask(mask)),
            reference=lambda x, mask: np.broadcast_to(x, np.broadcast(x, mask).shape)[
                np.broadcast_to(mask, np.broadcast(x, mask).shape)
            ],
            dtypes=EVERYTHING,
            gradient=True,
            length=3,
        )
        for name, shape, mask in (
            ("equal shapes", (3, 4), (3, 4)),
            ("mask broadcast", (3, 4), (4,)),
            ("input broadcast", (4,), (3, 4)),
        )
    ],
    *[
        Sample(
            op="masked_scatter",
            name=name,
            inputs=lambda make, shape=shape, mask=mask: (make(shape), make.mask(mask), make((3, 5))),
            reference=scattered,
            dtypes=EVERYTHING,
            gradient=True,
            length=3 if name == "input broadcast" else 0,
            expand=False,
        )
        for name, shape, mask in (
            ("equal shapes", (3, 4), (3, 4)),
            ("mask broadcast", (3, 4), (4,)),
            ("input broadcast", (4,), (3, 4)),
            ("empty", (0, 3), (0, 3)),
        )
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="mask that is no mask",
            call=lambda op, tensor, rest=rest: op(tensor(3), tensor(3), *rest),
            raises=RuntimeError,
            match=rf"{op}: mask is float32.*\n.*mask",
        )
        for op, rest in (("masked_fill", (0,)), ("masked_select", ()))
    ],
    *[
        ErrorCase(
            op="masked_fill",
            name=f"{value} into integers",
            call=lambda op, tensor, value=value: op(tensor(3, dtype=int64), tensor(3, dtype=bool_), value),
            raises=RuntimeError,
            match=match,
        )
        for value, match in (
            (1j, r"masked_fill: a complex number does not fit into int64"),
            (float("nan"), r"masked_fill: nan is not in \[.*\], the range of int64"),
        )
    ],
    ErrorCase(
        op="masked_scatter",
        name="too few elements",
        call=lambda op, tensor: op(tensor(3), tensor(3, dtype=bool_) == tensor(3, dtype=bool_), tensor(2)),
        raises=RuntimeError,
        match=r"masked_scatter: mask names 3 elements, source has 2\n.*mask.*\n.*source",
    ),
    ErrorCase(
        op="masked_scatter",
        name="source of another dtype",
        call=lambda op, tensor: op(tensor(3), tensor(3, dtype=bool_), tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"masked_scatter: source must have input's dtype\n.*input.*\n.*source",
    ),
    ErrorCase(
        op="masked_fill",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(3), tensor(4, dtype=bool_), 0),
        raises=RuntimeError,
        match=r"masked_fill: .*\n.*input .*\n.*mask",
    ),
]
