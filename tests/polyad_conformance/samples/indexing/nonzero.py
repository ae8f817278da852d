"""Where elements are not zero."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING, ErrorCase, Sample, as_int64

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
]
