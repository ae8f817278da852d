"""Inner products of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .mm import _dot, _product


def dot(a: Any, b: Any) -> Any:
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError("two vectors are wanted")
    return np.asarray(_dot(a, b))


def vdot(a: Any, b: Any) -> Any:
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError("two vectors are wanted")
    return np.asarray(np.vdot(a, b))


KERNELS = {
    "dot": _product(dot),
    "vdot": _product(vdot),
}
