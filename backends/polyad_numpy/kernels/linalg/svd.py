"""Singular values, through NumPy's LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from .eigenvalues import _converging
from .lapack import alone


def svd(a: Any, full_matrices: bool) -> Any:
    return tuple(_converging("svd", np.linalg.svd, a, full_matrices))


def svdvals(a: Any) -> Any:
    return _converging("svdvals", np.linalg.svd, a, False, False)


KERNELS = {
    "linalg_svd": Kernel(alone(svd)),
    "linalg_svdvals": Kernel(alone(svdvals)),
}
