"""Adamax."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import float32, float64

from ...sample import REAL_FLOATS, always, same
from . import largest, misfit, rate_samples, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def adamax(
    param: Any,
    grad: Any,
    first: Any,
    most: Any,
    rate: Any,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    maximize: bool,
) -> Any:
    grad = direction(param, grad, decay, maximize)
    first = beta1 * first + (1 - beta1) * grad
    most = np.maximum(beta2 * most, np.abs(grad) + eps)
    return param - rate * first / most, first, most


def rates(step: Any, lr: float, beta1: float) -> Any:
    return step + 1, np.float64(lr / (1 - beta1 ** (float(step) + 1)))


SAMPLES = [
    *samples(
        "_adamax_step",
        {"plain": (0.5, 0.75, 0.01, 0.0, False), "decay": (0.5, 0.75, 0.01, 0.5, True)},
        lambda make, shape: [
            *[make(shape) for _ in range(3)],
            make.positive(shape, 0.5, 2.0),
            np.array(0.5, np.float32),
        ],
        reference=adamax,
        dtypes=REAL_FLOATS,
        result=(same, same, same),
        steps=12,
        magnitude=largest,
        expand=False,
    ),
    *rate_samples(
        "_adamax_rates",
        {"plain": (0.1, 0.9), "no memory": (0.1, 0.0)},
        1,
        reference=rates,
        dtypes=(float32,),
        result=(always(float32), always(float64)),
        steps=10,
    ),
]

ERRORS = [
    misfit("_adamax_step", "grad", [(2, 3), (3,), (2, 3), (2, 3), ()], 0.9, 0.9, 0.1, 0.0, False),
]
