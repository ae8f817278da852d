"""The larger or smaller of two operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...fused import fused
from ...ufunc import ufunc
from .where import choose, keep


def _share(grad: Any, loses: Any, ties: Any) -> Any:
    if ties.any():
        grad = choose(ties, np.multiply(grad, 0.5), grad)
    return keep(grad, np.logical_not(loses), np.zeros((), grad.dtype))


KERNELS = {
    "maximum": ufunc(np.maximum, warns=False),
    "minimum": ufunc(np.minimum, warns=False),
    "fmax": ufunc(np.fmax, warns=False),
    "fmin": ufunc(np.fmin, warns=False),
    "share": fused(_share, integers=True),
}
