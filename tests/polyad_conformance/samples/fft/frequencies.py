"""Frequencies of a transform's points."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import int64

from ...sample import DTYPE, EVERYTHING, REAL_FLOATS, ErrorCase, Sample

SAMPLES = [
    *[
        Sample(
            op=op,
            name=f"{n} points, {d} apart",
            inputs=lambda make, n=n, d=d: (n, d),
            reference=reference,
            kwargs={"dtype": DTYPE},
            dtypes=REAL_FLOATS,
            steps=2,
        )
        for op, reference in (
            (
                "fft.fftfreq",
                lambda n, d, dtype: np.array([k if k < (n + 1) // 2 else k - n for k in range(n)]) / (n * d),
            ),
            ("fft.rfftfreq", lambda n, d, dtype: np.arange(n // 2 + 1) / (n * d)),
        )
        for n, d in ((5, 1.0), (8, 0.5), (1, 2.0))
    ],
    *[
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            reference=lambda x, dim=None, sign=sign: np.roll(
                x,
                [
                    x.shape[d] // 2 if sign > 0 else -(x.shape[d] // 2)
                    for d in (range(x.ndim) if dim is None else np.atleast_1d(dim))
                ],
                range(x.ndim) if dim is None else np.atleast_1d(dim),
            ),
            kwargs=kwargs,
            dtypes=EVERYTHING,
            gradient=True,
        )
        for op, sign in (("fft.fftshift", 1), ("fft.ifftshift", -1))
        for name, shape, kwargs in (
            ("odd", (5,), {}),
            ("all", (3, 4), {}),
            ("one", (3, 5), {"dim": 1}),
            ("two", (3, 2, 5), {"dim": (0, 2)}),
        )
    ],
]

ERRORS = [
    *[
        ErrorCase(op=f"fft.{op}", name=name, call=call, raises=RuntimeError, match=match)
        for op in ("fftfreq", "rfftfreq")
        for name, call, match in (
            ("negative", lambda op, tensor: op(-1), r"n is -1, negative"),
            ("integers", lambda op, tensor: op(4, dtype=int64), r"frequencies are floating point numbers, not int64"),
        )
    ],
    *[
        ErrorCase(
            op=f"fft.{op}",
            name="dim out of range",
            call=lambda op, tensor: op(tensor(3), 1),
            raises=IndexError,
            match=rf"{op}: dim 1 is out of range",
        )
        for op in ("fftshift", "ifftshift")
    ],
]
