"""Rprop."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...sample import REAL_FLOATS, same
from . import largest, misfit, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def rprop(
    param: Any,
    grad: Any,
    before: Any,
    size: Any,
    shrink: float,
    grow: float,
    least: float,
    most: float,
    maximize: bool,
) -> Any:
    grad = -grad if maximize else grad
    same_way, turned = grad * before > 0, grad * before < 0
    size = np.clip(size * np.where(same_way, grow, np.where(turned, shrink, 1.0)), least, most)
    grad = np.where(turned, 0.0, grad)
    return param - np.sign(grad) * size, grad, size


SAMPLES = samples(
    "_rprop_step",
    {"plain": (0.5, 1.25, 0.3, 1.75, False), "maximize": (0.25, 1.5, 0.01, 50.0, True)},
    lambda make, shape: [make(shape), make.nonzero(shape), make.nonzero(shape), make.positive(shape, 0.25, 2.0)],
    reference=rprop,
    dtypes=REAL_FLOATS,
    result=(same, same, same),
    steps=6,
    magnitude=largest,
    expand=False,
)

ERRORS = [
    misfit("_rprop_step", "grad", [(2, 3), (3,), (2, 3), (2, 3)], 0.5, 1.2, 0.1, 50.0, False),
]
