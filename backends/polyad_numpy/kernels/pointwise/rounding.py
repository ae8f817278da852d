"""Rounding to whole numbers. Integers stay as they are: NumPy's floor, ceil and trunc know that, its rint does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...fused import fused
from ...ufunc import elementwise, ufunc


def _round(a: Any, out: Any = None) -> Any:
    return np.rint(a, out) if a.dtype.kind not in "iu" else np.positive(a, out)


def _frac(a: Any) -> Any:
    result = np.trunc(a)
    return np.subtract(a, result, result)


KERNELS = {
    "floor": ufunc(np.floor),
    "ceil": ufunc(np.ceil),
    "trunc": ufunc(np.trunc),
    "round": elementwise(_round, 1),
    "frac": fused(_frac),
}
