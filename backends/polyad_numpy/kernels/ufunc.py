"""Kernels that are one NumPy ufunc.

A ufunc of 0-d arrays returns a NumPy scalar, not an array; a signature without dimensions therefore gets a wrapped form, so that the
usual call pays for nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature

from .quiet import quiet_ufunc


def ufunc(function: np.ufunc, *, out: bool = True, warns: bool = True) -> Kernel:
    """The kernel of an elementwise op that *function* computes with the right semantics for every dtype.

    Say ``warns=False`` for a ufunc that sets no floating point flag (comparisons, bit operations).
    """
    call = quiet_ufunc(function, function.nin) if warns else function

    def specialize(types: Signature) -> Any:
        if any(isinstance(entry, TensorType) and not entry.zero_dim for entry in types):
            return call
        return lambda *args, **kwargs: np.asarray(call(*args, **kwargs))

    return Kernel(call, out=out, specialize=specialize)

