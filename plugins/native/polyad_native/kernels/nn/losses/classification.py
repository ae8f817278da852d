"""Cross entropy and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ....choosing import Call
from ....engine import SOONER, Library

_LIBRARY = Library("kernels/nn/losses/classification", flags=SOONER)


def _entropy(run: Any, out: Any, x: Any, target: Any, weight: Any, ignored: int, smoothing: float, *grad: Any) -> int:
    """How many targets count."""
    if x.ndim != 2 or weight is not None or smoothing or target.shape != x.shape[:1] or target.dtype != np.int64:
        raise Declined
    if not x.size:
        raise Declined
    counting: int = run(out, np.ascontiguousarray(x), np.ascontiguousarray(target), ignored, *grad)
    if counting <= 0:
        raise Declined
    return counting


def cross_entropy(types: Signature) -> Call | None:
    """The kernel of `cross_entropy`."""
    run = _LIBRARY.function_of("cross_entropy", types)

    def call(x: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float) -> Any:
        losses = np.empty(target.shape, x.dtype)
        counting = _entropy(run, losses, x, target, weight, ignore_index, smoothing)
        if reduction == "none":
            return losses
        total = np.add.reduce(losses)
        return np.asarray(total / counting if reduction == "mean" else total, x.dtype)

    return None if run is None else call


def cross_entropy_backward(types: Signature) -> Call | None:
    """The kernel of `cross_entropy_backward`."""
    run = _LIBRARY.function_of("cross_entropy", types)

    def call(g: Any, x: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float) -> Any:
        if g.shape != (target.shape if reduction == "none" else ()):
            raise Declined
        out = np.empty(x.shape, x.dtype)
        mean = (1,) if reduction == "mean" else ()
        _entropy(run, out, x, target, weight, ignore_index, smoothing, np.ascontiguousarray(g) if g.ndim else g, *mean)
        return out

    return None if run is None else call
