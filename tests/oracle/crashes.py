"""What ends PyTorch's process or never returns, and therefore is not asked of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyad.dtypes import INTEGER, DType
from polyad_conformance.tolerance import wide

from .calls import Call, leaves

CRASHES: dict[str, tuple[str, Callable[[Call], bool]]] = {
    "linalg.ldl_solve": ("pivots of no factorization are used as addresses", lambda call: True),
    "range": ("an integer dtype makes a fraction a step of 0", lambda call: _is_integer(call)),
    "binomial": ("probabilities and counts without meaning keep it busy for ever", lambda call: not _is_binomial(call)),
    "lu_unpack": (
        "pivots outside the matrix, or too many, are followed into other memory",
        lambda call: not _are_pivots(call),
    ),
    "as_strided": ("negative sizes make a tensor that cannot be read", lambda call: _has_negative(call.args[1:2])),
    "pdist": ("no rows, whose gradient divides by their number", lambda call: call.grad and _is_empty(call)),
    "nn.functional.pdist": ("as pdist", lambda call: call.grad and _is_empty(call)),
    "linalg.eig": ("nan", lambda call: not _is_finite(call)),
    "linalg.eigvals": ("nan", lambda call: not _is_finite(call)),
}
"""By function: the reason, and which of its calls."""


def crashes(call: Call) -> bool:
    """Whether PyTorch does not survive *call*."""
    return call.path in CRASHES and CRASHES[call.path][1](call)


def _is_integer(call: Call) -> bool:
    dtypes = [call.kwargs.get("dtype"), *[given.dtype for given in call.givens()]]
    return any(isinstance(dtype, DType) and dtype.category <= INTEGER for dtype in dtypes)


def _has_negative(sizes: object) -> bool:
    return any(isinstance(size, int) and size < 0 for size in leaves(sizes))


def _is_empty(call: Call) -> bool:
    return any(0 in given.shape for given in call.givens())


def _is_binomial(call: Call) -> bool:
    givens = [wide(given.values).real for given in call.givens()]
    if len(givens) < 2:
        return False
    with np.errstate(all="ignore"):
        count, prob = givens[0], givens[1]
        return bool(((count >= 0) & (count < 1e4)).all() and ((prob >= 0) & (prob <= 1)).all())


def _are_pivots(call: Call) -> bool:
    givens = [given.values for given in call.givens()]
    if len(givens) < 2 or givens[0].ndim < 2:
        return True  # refused
    matrices, pivots = givens[0].shape, givens[1]
    fits = pivots.shape == (*matrices[:-2], min(matrices[-2:]))
    return fits and bool(((pivots >= 1) & (pivots <= matrices[-2])).all())


def _is_finite(call: Call) -> bool:
    # A refused call is not known before it is made.
    givens = call.givens()
    return bool(givens) and all(np.isfinite(wide(given.values)).all() for given in givens)


class Crash(Exception):
    """In the place of what PyTorch does not survive."""
