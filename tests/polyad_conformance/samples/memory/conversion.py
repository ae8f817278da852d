"""Conversions. The matrix of casts between all dtypes is in ``checks/storage.py``."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, complex64, float16, float32, float64, int32, int64
from polyad.base.memory_formats import channels_last, channels_last_3d

from ...sample import BOOL, EVERYTHING, REAL, ErrorCase, Sample, always


def to(into, dtypes, reference=lambda x, dtype: x, gradient=False):
    return Sample(
        op="to",
        name=f"to {into.name}",
        inputs=lambda make: (make((3, 5)),),
        reference=reference,
        kwargs={"dtype": into},
        dtypes=tuple(dtype for dtype in dtypes if dtype is not into),
        result=always(into),
        gradient=gradient,
        second_gradient=False,
        steps=1,
    )


SAMPLES = [
    *[
        Sample(
            op=op,
            name="channels last",
            inputs=lambda make: (make((2, 3, 4, 2)),),
            reference=lambda x, memory_format: x,
            kwargs={"memory_format": channels_last},
            dtypes=EVERYTHING,
            gradient=True,
            steps=0,
            aliasing="maybe",
        )
        for op in ("to",)
    ],
    to(float64, BOOL + REAL),
    to(float32, BOOL + REAL),
    to(float16, BOOL + REAL),
    to(bfloat16, BOOL + REAL),
    to(int64, BOOL + REAL, reference=lambda x, dtype: np.trunc(x) if x.dtype.kind == "f" else x),
    to(int32, BOOL + REAL, reference=lambda x, dtype: np.trunc(x) if x.dtype.kind == "f" else x),
    to(complex64, BOOL + REAL),
    to(BOOL[0], EVERYTHING, reference=lambda x, dtype: x != 0),
    Sample(
        op="to",
        name="wider, with a gradient",
        inputs=lambda make: (make((3, 4)),),
        reference=lambda x, dtype: x,
        kwargs={"dtype": float64},
        dtypes=(float16, bfloat16, float32),
        result=always(float64),
        gradient=True,
        steps=0,
    ),
    Sample(
        op="to",
        name="real to complex, with a gradient",
        inputs=lambda make: (make((3, 4)),),
        reference=lambda x, dtype: x + 0j,
        kwargs={"dtype": complex64},
        dtypes=(float32,),
        result=always(complex64),
        gradient=True,
        steps=0,
    ),
    Sample(
        op="to",
        name="copy",
        inputs=lambda make: (make((3, 4)),),
        reference=lambda x, copy: x,
        kwargs={"copy": True},
        dtypes=EVERYTHING,
        gradient=True,
        steps=0,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name=name,
            call=lambda op, tensor, given=given: op(tensor(2, 3), memory_format=given),
            raises=raises,
            match=match,
        )
        for op in ("to",)
        for name, given, raises, match in (
            (
                "a format of another rank",
                channels_last_3d,
                RuntimeError,
                r"channels_last_3d is for 5 dimensions, not 2",
            ),
            ("no format", "channels_last", TypeError, r"memory_format is 'channels_last', which is none"),
        )
    ],
    ErrorCase(
        op="to",
        name="no dtype",
        call=lambda op, tensor: op(tensor(2, 3), 3.5),
        raises=TypeError,
        match=r"to: 3.5 .*\n.*input",
    ),
    ErrorCase(
        op="to",
        name="unknown device",
        call=lambda op, tensor: op(tensor(2, 3), "nosuch"),
        raises=RuntimeError,
        match=r"device 'nosuch'",
    ),
]
