"""Singular values, through NumPy's LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from .eigenvalues import _converging, _failure
from .lapack import alone


def _decomposed(op: str, a: Any, *options: bool) -> Any:
    if not np.isfinite(a).all():  # LAPACK never ends at some of these, and is silent about others
        raise _failure(op, a, "")
    return _converging(op, np.linalg.svd, a, *options)


def svd(a: Any, full_matrices: bool) -> Any:
    if not a.size:  # NumPy goes over the batch, with nothing to do in it
        return _of_nothing(a, full_matrices)
    return tuple(_decomposed("svd", a, full_matrices))


def _of_nothing(a: Any, full_matrices: bool) -> Any:
    rows, columns = a.shape[-2:]
    values = np.zeros((*a.shape[:-2], min(rows, columns)), a.real.dtype)
    left, right = (rows, columns) if full_matrices else (min(rows, columns),) * 2
    u, vh = np.zeros((*a.shape[:-2], rows, left), a.dtype), np.zeros((*a.shape[:-2], right, columns), a.dtype)
    for square in (u, vh):
        if square.size:
            np.einsum("...ii->...i", square)[...] = 1
    return u, values, vh


def svdvals(a: Any) -> Any:
    if not a.size:
        return _of_nothing(a, False)[1]
    return _decomposed("svdvals", a, False, False)


KERNELS = {
    "linalg_svd": Kernel(alone(svd)),
    "linalg_svdvals": Kernel(alone(svdvals)),
}
