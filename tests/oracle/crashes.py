"""What ends PyTorch's process, and therefore is not asked of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyad.dtypes import INTEGER, DType
from polyad_conformance.tolerance import wide

from .calls import Call

CRASHES: dict[str, tuple[str, Callable[[Call], bool]]] = {
    "linalg.ldl_solve": ("pivots of no factorization are used as addresses", lambda call: True),
    "range": ("an integer dtype makes a fraction a step of 0", lambda call: _is_integer(call)),
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


def _is_finite(call: Call) -> bool:
    # A refused call is not known before it is made.
    givens = call.givens()
    return bool(givens) and all(np.isfinite(wide(given.values)).all() for given in givens)


class Crash(Exception):
    """In the place of what PyTorch does not survive."""
