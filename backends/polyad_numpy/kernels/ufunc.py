"""Kernels that are one NumPy ufunc.

A ufunc of 0-d arrays returns a NumPy scalar, not an array; a signature without dimensions therefore gets a wrapped form, and all
others the bare ufunc, so that the usual call pays for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature


def ufunc(function: Callable[..., Any], *, out: bool = True) -> Kernel:
    """The kernel of an elementwise op that *function* computes with NumPy's semantics for every dtype."""

    def specialize(types: Signature) -> Callable[..., Any]:
        if any(isinstance(entry, TensorType) and not entry.zero_dim for entry in types):
            return function
        return lambda *args, **kwargs: np.asarray(function(*args, **kwargs))

    return Kernel(function, out=out, specialize=specialize)
