"""Losses of numbers that would make many arrays on their way."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....fused import fused


def _gaussian_nll(a: Any, target: Any, var: Any, eps: float) -> Any:
    held = np.asarray(np.clip(var, np.asarray(eps, var.dtype), np.asarray(np.inf, var.dtype)))
    loss = np.subtract(a, target)
    if loss.shape != np.broadcast_shapes(loss.shape, held.shape):
        loss = np.multiply(loss, loss) / held
    else:
        np.multiply(loss, loss, loss)
        np.true_divide(loss, held, loss)
    np.add(loss, np.log(held, held), loss)
    return np.multiply(loss, 0.5, loss)


KERNELS = {"gaussian_nll": fused(_gaussian_nll)}
