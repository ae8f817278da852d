"""Where elements are not zero."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING, ErrorCase, Sample, as_int64


def first_places(x, size, fill_value=-1):
    places = np.argwhere(x)[:size]
    return np.concatenate([places, np.full((size - len(places), x.ndim), fill_value)])


SAMPLES = [
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
            op="nonzero_static",
            name=name,
            inputs=lambda make, shape=shape: (make(shape, -1, 1),),
            reference=first_places,
            kwargs={"size": size, **settings},
            dtypes=EVERYTHING[:6],
            result=as_int64,
        )
        for name, shape, size, settings in (
            ("fewer", (4, 5), 2, {}),
            ("more", (2, 3), 9, {}),
            ("filled", (5,), 7, {"fill_value": 3}),
            ("none", (2, 2), 0, {}),
            ("0-d", (), 2, {}),
        )
    ],
]

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
    ErrorCase(
        op="nonzero_static",
        name="negative size",
        call=lambda op, tensor: op(tensor(2), size=-1),
        raises=RuntimeError,
        match=r"nonzero_static: size -1 is negative",
    ),
]
