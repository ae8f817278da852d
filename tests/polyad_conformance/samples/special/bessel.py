"""Bessel functions and the Airy function."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from polyad.base.dtypes import complex64

from ...precise import few, precise, spans
from ...sample import ErrorCase

BOTH_ENDS = {math.inf: math.nan, -math.inf: math.nan}
FAR = {math.inf: 0.0, -math.inf: 0.0}
SECOND = {0.0: -math.inf, **BOTH_ENDS}
DECAYING = {0.0: math.inf, math.inf: 0.0, -math.inf: math.nan}

REFERENCES = {
    "i0": precise(lambda x: mpmath.besseli(0, x), BOTH_ENDS),
    "special.i0e": precise(lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), FAR),
    "special.i1": precise(lambda x: mpmath.besseli(1, x), BOTH_ENDS),
    "special.i1e": precise(lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), FAR),
    "special.modified_bessel_i0": precise(lambda x: mpmath.besseli(0, x), BOTH_ENDS),
    "special.modified_bessel_i1": precise(lambda x: mpmath.besseli(1, x), BOTH_ENDS),
    "special.modified_bessel_k0": precise(lambda x: mpmath.besselk(0, x), DECAYING),
    "special.modified_bessel_k1": precise(lambda x: mpmath.besselk(1, x), DECAYING),
    "special.scaled_modified_bessel_k0": precise(lambda x: mpmath.besselk(0, x) * mpmath.exp(x), DECAYING),
    "special.scaled_modified_bessel_k1": precise(lambda x: mpmath.besselk(1, x) * mpmath.exp(x), DECAYING),
    "special.bessel_j0": precise(lambda x: mpmath.besselj(0, x), BOTH_ENDS),
    "special.bessel_j1": precise(lambda x: mpmath.besselj(1, x), BOTH_ENDS),
    "special.bessel_y0": precise(lambda x: mpmath.bessely(0, x), SECOND),
    "special.bessel_y1": precise(lambda x: mpmath.bessely(1, x), SECOND),
    "special.airy_ai": precise(mpmath.airyai, BOTH_ENDS),
    "special.spherical_bessel_j0": precise(lambda x: mpmath.sin(x) / x, {0.0: 1.0, **FAR}),
}
HAVE_GRADIENT = ("i0", "special.i0e", "special.i1", "special.i1e")
POSITIVE = ("_y", "_k")
"""Functions that are nan for negative elements."""


def positive(make, shape):
    return make.positive(shape)


def anywhere(make, shape):
    return make(shape)


def of_waves(op):
    """The errors of a function that oscillates are relative to its amplitude, and grow with the phase."""
    reference = REFERENCES[op]
    return lambda x: np.maximum(np.abs(reference(x)), np.minimum(1, 1 / np.sqrt(np.abs(x) + 1e-300)))


SAMPLES = [
    *[
        sample
        for op, reference in REFERENCES.items()
        for sample in few(
            op,
            reference,
            draw=positive if any(part in op for part in POSITIVE) else anywhere,
            gradient=op in HAVE_GRADIENT,
            steps=12,
            magnitude=of_waves(op) if "bessel_j" in op or "bessel_y" in op or "airy" in op else None,
        )
    ],
    *[
        sample
        for op in ("i0", "special.i0e", "special.i1", "special.i1e")
        for sample in spans(op, REFERENCES[op], 14, to_40=(1.5, 40))
    ],
    *[sample for op in REFERENCES if "_k" in op for sample in spans(op, REFERENCES[op], 14, to_30=(0.01, 30))],
    *[
        sample
        for order in "01"
        for op in (f"special.bessel_j{order}", f"special.bessel_y{order}")
        for sample in spans(op, REFERENCES[op], 20, to_8=(0.1, 8, of_waves(op)), to_40=(5, 40, of_waves(op)))
    ],
    *spans(
        "special.airy_ai",
        REFERENCES["special.airy_ai"],
        20,
        decaying=(0, 8),
        waves=(-20, 0, lambda x: np.abs(x) ** 1.25 + 1),
    ),
    *spans("special.spherical_bessel_j0", REFERENCES["special.spherical_bessel_j0"], 10, far_out=(5, 50)),
]

ERRORS = [
    ErrorCase(
        op=op,
        name="complex",
        call=lambda op, tensor: op(tensor(3, dtype=complex64)),
        raises=NotImplementedError,
        match=rf"{op.rpartition('.')[2]}: complex",
    )
    for op in REFERENCES
]
