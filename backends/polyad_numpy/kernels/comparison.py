"""Comparisons, and questions about single elements."""

from __future__ import annotations

import numpy as np

from .ufunc import ufunc

KERNELS = {
    "eq": ufunc(np.equal, warns=False),
    "ne": ufunc(np.not_equal, warns=False),
    "lt": ufunc(np.less, warns=False),
    "le": ufunc(np.less_equal, warns=False),
    "gt": ufunc(np.greater, warns=False),
    "ge": ufunc(np.greater_equal, warns=False),
    "isnan": ufunc(np.isnan, warns=False),
    "isinf": ufunc(np.isinf, warns=False),
    "isfinite": ufunc(np.isfinite, warns=False),
}
