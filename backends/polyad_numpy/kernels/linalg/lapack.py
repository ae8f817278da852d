"""LAPACK and BLAS routines by name and dtype, through SciPy, and batches of matrices.

NumPy's own linear algebra takes batches but is slow to start on a small matrix, and lacks triangular, LU and other
factorizations. So a kernel calls LAPACK for a lone matrix and NumPy, where it has the function, for a batch; `batched`
is for what NumPy lacks. SciPy is imported when the first routine is asked for.

LAPACK works in column-major memory, and so do results: the strides are those that PyTorch's results have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...workers import know_scipys_blas, one_thread

F = TypeVar("F", bound=Callable[..., Any])

ALONE = range(33, 512)
"""Sizes of matrices for which LAPACK's threads cost more than they bring; below, it starts none."""

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
_REAL_NAMES = {"heevd": "syevd", "hetrf": "sytrf", "hetrs": "sytrs", "ungqr": "orgqr", "unmqr": "ormqr"}
_routines: dict[tuple[str, str], Callable[..., Any]] = {}


def routine(name: str, dtype: Any) -> Any:
    """The routine called *name* in LAPACK's and BLAS's complex naming ("getrf", "ungqr") for arrays of *dtype*."""
    found = _routines.get((name, dtype.char))
    if found is None:
        from scipy.linalg import _flapack, blas, lapack

        if not _routines:
            know_scipys_blas(_flapack.__file__)
        letter = _LETTERS[dtype.char]
        full = letter + (_REAL_NAMES.get(name, name) if letter in "sd" else name)
        found = getattr(lapack, full, None) or getattr(blas, full)
        _routines[name, dtype.char] = found
    return found


def alone(kernel: F) -> F:
    """*kernel*, in one thread where its first operand's matrices have such a size that it is faster."""

    @functools.wraps(kernel)
    def call(a: Any, *rest: Any) -> Any:
        if max(a.shape[-2:]) not in ALONE:
            return kernel(a, *rest)
        with one_thread():
            return kernel(a, *rest)

    return call  # type: ignore[return-value]


def by_columns(kernel: F) -> F:
    """*kernel* with results that are matrices in column-major memory, also where a batch was NumPy's work."""

    @functools.wraps(kernel)
    def call(a: Any, *rest: Any) -> Any:
        results = kernel(a, *rest)
        several = results.__class__ is tuple
        if a.ndim == 2 and (results[0] if several else results).flags.f_contiguous:
            return results  # LAPACK's own; no other result is a matrix unless this is one
        rank = max(a.ndim, *[arg.ndim for arg in rest if isinstance(arg, np.ndarray)], 0)
        if several:
            return tuple([_by_columns(one) if one.ndim == rank else one for one in results])
        return _by_columns(results) if results.ndim == rank else results

    return call  # type: ignore[return-value]


def _by_columns(matrices: Any) -> Any:
    turned = matrices.swapaxes(-1, -2)
    return matrices if turned.flags.c_contiguous else turned.copy().swapaxes(-1, -2)


def column_major(shape: Sequence[int], dtype: Any) -> Any:
    """New memory for a batch of matrices, each in column-major order."""
    return np.empty((*shape[:-2], shape[-1], shape[-2]), dtype).swapaxes(-1, -2)


def batched(
    work: Callable[..., tuple[Any, ...]], operands: Sequence[Any], cores: Sequence[int], results: Sequence[Any]
) -> tuple[Any, ...]:
    """``work`` on each matrix of a batch: *cores* counts the dimensions of each operand that are no batch, *results*
    are (shape, dtype) of a single matrix's results. The operands' batches broadcast.
    """
    if all(operand.ndim == core for operand, core in zip(operands, cores, strict=True)):
        return work(*operands)
    batch = np.broadcast_shapes(*[a.shape[: a.ndim - core] for a, core in zip(operands, cores, strict=True)])
    spread = [np.broadcast_to(a, (*batch, *a.shape[a.ndim - core :])) for a, core in zip(operands, cores, strict=True)]
    arrays = tuple(
        column_major((*batch, *shape), dtype) if len(shape) >= 2 else np.empty((*batch, *shape), dtype)
        for shape, dtype in results
    )
    if not any(array.size for array in arrays):
        return arrays  # the batch may be long all the same
    for place in np.ndindex(batch):
        for into, value in zip(arrays, work(*[a[place] for a in spread]), strict=True):
            into[place] = value
    return arrays


def batch_size(array: Any, core: int = 2) -> int:
    """How many matrices there are."""
    count = 1
    for size in array.shape[: array.ndim - core]:
        count *= size
    return count
