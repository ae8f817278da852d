"""`cupy.linalg`: NumPy's functions, put off like kernels."""

from __future__ import annotations

import numpy as np

from . import simulation
from .arrays import library_queue, ndarray


def _later(function, a, *results):
    """Write what ``function(a)`` gives to *results* when the stream comes to it."""
    simulation.wanted("libcusolver.so.11", ImportError)
    given, to = a._host(), [result._host() for result in results]

    def work():
        for place, value in zip(to, function(given), strict=True):
            place[...] = value

    library_queue().put(work)
    return results


def eigh(a, UPLO="L"):
    values = ndarray(a.shape[:-1], a.dtype.char.lower())
    return _later(lambda x: np.linalg.eigh(x, UPLO), a, values, ndarray(a.shape, a.dtype))


def svd(a, full_matrices=True, compute_uv=True):
    rows, columns = a.shape
    n = min(rows, columns)
    u = ndarray((rows, rows if full_matrices else n), a.dtype)
    values = ndarray((n,), a.dtype.char.lower())
    vh = ndarray((columns if full_matrices else n, columns), a.dtype)

    def decomposed(x):
        if not np.isfinite(x).all():
            return (np.full(to.shape, np.nan) for to in (u, values, vh))
        return np.linalg.svd(x, full_matrices)

    return _later(decomposed, a, u, values, vh)
