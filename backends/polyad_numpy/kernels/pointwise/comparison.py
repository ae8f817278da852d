"""Comparisons, and questions about single elements."""

from __future__ import annotations

import numpy as np

from ...ufunc import ufunc

KERNELS = {
    "eq": ufunc(np.equal, warns=False, to_bool=True),
    "ne": ufunc(np.not_equal, warns=False, to_bool=True),
    "lt": ufunc(np.less, warns=False, to_bool=True),
    "le": ufunc(np.less_equal, warns=False, to_bool=True),
    "gt": ufunc(np.greater, warns=False, to_bool=True),
    "ge": ufunc(np.greater_equal, warns=False, to_bool=True),
    "isnan": ufunc(np.isnan, warns=False, to_bool=True),
    "isinf": ufunc(np.isinf, warns=False, to_bool=True),
    # Up to NumPy 2.4 its isfinite writes nonsense to an out with gaps.
    "isfinite": ufunc(np.isfinite, out=False, warns=False, to_bool=True),
}
