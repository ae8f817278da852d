"""Whether elements are zero."""

from __future__ import annotations

import numpy as np

from ...patterns import reduction
from ...sample import BOOL, EVERYTHING, ErrorCase, Sample, as_bool, as_int64


def reduced(function):
    return lambda x, dim=None, keepdim=False: function(x, axis=dim, keepdims=keepdim)


SAMPLES = [
    *reduction("any", reduced(np.any), dtypes=EVERYTHING[2:] + BOOL, result=as_bool, length=False),
    *reduction("all", reduced(np.all), dtypes=EVERYTHING[2:] + BOOL, result=as_bool, length=False),
    *[
        Sample(
            op="count_nonzero",
            name=name,
            inputs=lambda make: (make((2, 3, 4)),),
            kwargs=kwargs,
            reference=lambda x, dim=None: np.asarray(np.count_nonzero(x, axis=dim)),
            dtypes=EVERYTHING,
            result=as_int64,
        )
        for name, kwargs in (("whole", {}), ("one dim", {"dim": 1}), ("two dims", {"dim": (0, -1)}))
    ],
    *[
        Sample(
            op=op,
            name="of no dimension: each by itself",
            inputs=lambda make: (make((2, 3), -1, 1),),
            kwargs={"dim": ()},
            reference=lambda x, dim: x != 0,
            dtypes=EVERYTHING[2:] + BOOL,
            result=as_bool,
        )
        for op in ("any", "all")
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="dim out of range",
            call=lambda op, tensor: op(tensor(2, 3), dim=2),
            raises=IndexError,
            match=rf"{op}: dim 2 is out of range \[-2, 1\]",
        )
        for op in ("any", "all", "count_nonzero")
    ],
    *[
        ErrorCase(
            op=op,
            name="a list, not a tensor",
            call=lambda op, tensor: op([1.0]),
            raises=TypeError,
            match=rf"{op}: input is list",
        )
        for op in ("any", "all")
    ],
]
