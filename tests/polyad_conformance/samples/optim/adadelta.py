"""Adadelta."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...sample import REAL_FLOATS, same
from . import largest, misfit, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def adadelta(
    param: Any,
    grad: Any,
    squares: Any,
    changes: Any,
    lr: float,
    rho: float,
    eps: float,
    decay: float,
    maximize: bool,
) -> Any:
    grad = direction(param, grad, decay, maximize)
    squares = rho * squares + (1 - rho) * grad**2
    change = np.sqrt((changes + eps) / (squares + eps)) * grad
    return param - lr * change, squares, rho * changes + (1 - rho) * change**2


SAMPLES = samples(
    "_adadelta_step",
    {"plain": (0.5, 0.75, 0.01, 0.0, False), "decay": (0.5, 0.75, 0.01, 0.5, True)},
    lambda make, shape: [make(shape), make(shape), *[make.positive(shape, 0.25, 2.0) for _ in range(2)]],
    reference=adadelta,
    dtypes=REAL_FLOATS,
    result=(same, same, same),
    steps=16,
    magnitude=largest,
    expand=False,
)

ERRORS = [
    misfit("_adadelta_step", "grad", [(2, 3), (3,), (2, 3), (2, 3)], 0.1, 0.9, 0.1, 0.0, False),
]
