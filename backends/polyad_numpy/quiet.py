"""Arithmetic without NumPy's floating point warnings, which PyTorch's users do not expect from ``x / 0`` or ``log(0)``.

``np.errstate`` around each call would cost more than a small op, and ``np.seterr`` would silence the user's own NumPy
code. NumPy keeps its error state in a context variable, so each thread gets a `contextvars.Context` in which it is
off, and kernels run in that: about 0.1 microseconds a call.
"""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


class _QuietContext(threading.local):
    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


thread = _QuietContext()
"""``thread.run(function, *args)`` is a call with the warnings off, for the call inside a kernel that needs it."""


def quiet(kernel: F) -> F:
    """*kernel* with floating point warnings off.

    Do not call a quiet kernel from another quiet kernel: a context is entered once at a time.
    """

    @functools.wraps(kernel)
    def call(*args: Any) -> Any:
        return thread.run(kernel, *args)

    return call  # type: ignore[return-value]


def quiet_ufunc(function: Callable[..., Any], operands: int) -> Callable[..., Any]:
    """As `quiet`, for a ufunc of one, two or three operands, without the cost of packing arguments."""
    if operands == 1:
        return lambda a, out=None: thread.run(function, a, out)
    if operands == 2:
        return lambda a, b, out=None: thread.run(function, a, b, out=out)
    return lambda a, b, c, out=None: thread.run(function, a, b, c, out)
