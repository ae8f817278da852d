"""Eigenvalues and eigenvectors, through NumPy's LAPACK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.errors import LinAlgError

from ...quiet import thread
from .lapack import alone


def _converging(op: str, work: Callable[..., Any], a: Any, *options: Any) -> Any:
    try:
        return thread.run(work, a, *options)
    except np.linalg.LinAlgError as error:
        raise _failure(op, a, str(error)) from None


def _failure(op: str, a: Any, said: str) -> LinAlgError:
    return LinAlgError(
        f"{op}: the algorithm did not converge{_where(a)}",
        notes={"LAPACK said": said} if said else {},
        fix="look for nan and inf in the input (isfinite), scale it, or add a small multiple of the identity",
    )


def _where(a: Any) -> str:
    """What the message says about the first matrix of a batch that is not finite."""
    finite = np.isfinite(a).all((-2, -1))
    if finite.all():
        return ""
    if not finite.ndim:
        return ": the input has values that are not finite"
    place = [int(i) for i in np.argwhere(~finite)[0]]
    return f": batch element {place[0] if len(place) == 1 else tuple(place)} has values that are not finite"


def _symmetric(a: Any, upper: bool) -> Any:
    return np.linalg.eigh(a, "U" if upper else "L")


def _symmetric_values(a: Any, upper: bool) -> Any:
    return np.linalg.eigvalsh(a, "U" if upper else "L")


def eigh(a: Any, upper: bool) -> Any:
    if not a.size:  # NumPy goes over the batch, with nothing to do in it
        return np.empty(a.shape[:-1], a.real.dtype), np.empty(a.shape, a.dtype)
    _check_finite("eigh", a, upper)
    values, vectors = _converging("eigh", _symmetric, a, upper)
    return _numbers("eigh", values, a), vectors


def eigvalsh(a: Any, upper: bool) -> Any:
    if not a.size:
        return np.empty(a.shape[:-1], a.real.dtype)
    _check_finite("eigvalsh", a, upper)
    return _numbers("eigvalsh", _converging("eigvalsh", _symmetric_values, a, upper), a)


def _check_finite(op: str, a: Any, upper: bool) -> None:
    """Raise LinAlgError unless the triangle that is read is finite: LAPACK gives numbers all the same, sometimes."""
    if not np.isfinite(a).all() and (np.triu if upper else np.tril)(~np.isfinite(a)).any():
        raise _failure(op, a, "")


def _numbers(op: str, values: Any, a: Any) -> Any:
    """*values*, unless there is a nan, which OpenBLAS lets pass sometimes."""
    if (values != values).any():
        raise _failure(op, a, "success, with nan among the eigenvalues")
    return values


def _to_complex(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


def eig(a: Any) -> Any:
    if not a.size:
        return np.empty(a.shape[:-1], _to_complex(a.dtype)), np.empty(a.shape, _to_complex(a.dtype))
    values, vectors = _converging("eig", np.linalg.eig, a)
    complex_ = _to_complex(a.dtype)  # NumPy gives real results where all eigenvalues are real
    return values.astype(complex_, copy=False), vectors.astype(complex_, copy=False)


def eigvals(a: Any) -> Any:
    if not a.size:
        return np.empty(a.shape[:-1], _to_complex(a.dtype))
    return _converging("eigvals", np.linalg.eigvals, a).astype(_to_complex(a.dtype), copy=False)


KERNELS = {
    "linalg_eigh": Kernel(alone(eigh)),
    "linalg_eigvalsh": Kernel(alone(eigvalsh)),
    "linalg_eig": Kernel(alone(eig)),
    "linalg_eigvals": Kernel(alone(eigvals)),
}
