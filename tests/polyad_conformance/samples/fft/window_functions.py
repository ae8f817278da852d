"""Windows to multiply a signal with."""

from __future__ import annotations

import mpmath
import numpy as np

from polyad.base.dtypes import int64

from ...sample import DTYPE, REAL_FLOATS, ErrorCase, Sample


def window(formula):
    def reference(length, periodic, *options, dtype):
        last = length if periodic else length - 1
        return np.ones(length) if length < 2 else np.array([float(formula(n / last, *options)) for n in range(length)])

    return reference


def kaiser(at, beta=12.0):
    inside = mpmath.sqrt(max(0, 1 - (2 * mpmath.mpf(at) - 1) ** 2))
    return mpmath.besseli(0, beta * inside) / mpmath.besseli(0, beta)


WINDOWS = {
    "hann_window": (lambda at: (1 - np.cos(2 * np.pi * at)) / 2, ()),
    "hamming_window": (lambda at, alpha=0.54, beta=0.46: alpha - beta * np.cos(2 * np.pi * at), (0.5, 0.4)),
    "blackman_window": (lambda at: 0.42 - 0.5 * np.cos(2 * np.pi * at) + 0.08 * np.cos(4 * np.pi * at), ()),
    "bartlett_window": (lambda at: 1 - abs(2 * at - 1), ()),
    "kaiser_window": (kaiser, (5.0,)),
}

SAMPLES = [
    Sample(
        op=op,
        name=name,
        inputs=lambda make, given=given: given,
        reference=window(formula),
        kwargs={"dtype": DTYPE},
        dtypes=REAL_FLOATS,
        # The error of an angle near a turn's end is that of the turn; values are of size 1.
        steps=8,
        magnitude=lambda *given, **kwargs: np.ones(given[0]),
    )
    for op, (formula, options) in WINDOWS.items()
    for name, given in {
        "periodic": (7, True),
        "symmetric": (8, False),
        "one point": (1, True),
        "none": (0, True),
        **({"options": (6, True, *options)} if options else {}),
    }.items()
]

ERRORS = [
    ErrorCase(op=op, name=name, call=call, raises=raises, match=rf"{op}: {match}")
    for op in WINDOWS
    for name, call, raises, match in (
        ("negative", lambda op, tensor: op(-1), RuntimeError, "window_length is -1"),
        ("integers", lambda op, tensor: op(4, dtype=int64), RuntimeError, "windows are floating point numbers"),
        ("a float length", lambda op, tensor: op(2.5), TypeError, r"window_length is float, not an int"),
    )
]
