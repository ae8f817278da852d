"""Repeating whole tensors and single elements."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, int64

from ...sample import EVERYTHING, ErrorCase, Sample
from .joining import copied

SAMPLES = [
    copied("_repeat", "more dimensions", (2, 3), (2, 1, 2), reference=np.tile),
    copied("_repeat", "not at all", (2, 3), (0, 1), reference=np.tile),
    copied("tile", "", (2, 3), (2,), reference=np.tile),
    copied("tile", "more dimensions", (3,), (2, 1, 2), reference=np.tile),
    copied("repeat_interleave", "flat", (2, 3), 2, reference=np.repeat),
    copied("repeat_interleave", "dim", (2, 3), 3, 1, reference=np.repeat),
    Sample(
        op="repeat_interleave",
        name="tensor",
        inputs=lambda make: (make((4, 2)), np.array([2, 0, 1, 3])),
        kwargs={"dim": 0},
        reference=lambda x, repeats, dim: np.repeat(x, repeats, dim),
        dtypes=EVERYTHING,
        gradient=True,
        length=4,
        expand=False,
    ),
]

ERRORS = [
    ErrorCase(
        op="repeat_interleave",
        name="negative",
        call=lambda op, tensor: op(tensor(2, dtype=float32), tensor(2, dtype=int64) - 1),
        raises=RuntimeError,
        match=r"repeat_interleave: repeats must be 2 integers of 0 or more\n.*input.*\n.*repeats",
    ),
]
