"""Numbers in place of nan and the infinities."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import quiet
from .where import _ordered


@quiet
def _nan_to_num(a: Any, nan: float, posinf: float, neginf: float) -> Any:
    result = a.copy()
    if not np.isfinite(a).all():
        np.putmask(result, np.isnan(a), np.asarray(nan, a.dtype))
        np.putmask(result, np.equal(a, np.inf), np.asarray(posinf, a.dtype))
        np.putmask(result, np.equal(a, -np.inf), np.asarray(neginf, a.dtype))
    return _ordered(result, a)


KERNELS = {
    "nan_to_num": Kernel(_nan_to_num),
}
