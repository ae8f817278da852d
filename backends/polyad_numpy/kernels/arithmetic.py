"""Arithmetic of elements."""

from __future__ import annotations

import numpy as np

from .ufunc import ufunc

KERNELS = {
    "add": ufunc(np.add),
    "sub": ufunc(np.subtract),
    "mul": ufunc(np.multiply),
    "div": ufunc(np.true_divide),
    "neg": ufunc(np.negative),
    "conj": ufunc(np.conjugate),
}
