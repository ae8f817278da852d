"""Adagrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import float32, float64

from ...sample import REAL_FLOATS, always, same
from . import largest, misfit, rate_samples, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def adagrad(param: Any, grad: Any, squares: Any, rate: Any, eps: float, decay: float, maximize: bool) -> Any:
    grad = direction(param, grad, decay, maximize)
    squares = squares + grad**2
    return param - rate * grad / (np.sqrt(squares) + eps), squares


def rates(step: Any, lr: float, lr_decay: float) -> Any:
    return step + 1, np.float64(lr / (1 + step * lr_decay))


SAMPLES = [
    *samples(
        "_adagrad_step",
        {"plain": (0.01, 0.0, False), "decay": (0.01, 0.5, True)},
        lambda make, shape: [make(shape), make(shape), make.positive(shape, 0.25, 2.0), np.array(0.5, np.float32)],
        reference=adagrad,
        dtypes=REAL_FLOATS,
        result=(same, same),
        steps=12,
        magnitude=largest,
        expand=False,
    ),
    *rate_samples(
        "_adagrad_rates",
        {"plain": (0.1, 0.0), "decay": (0.1, 0.5)},
        1,
        reference=rates,
        dtypes=(float32,),
        result=(always(float32), always(float64)),
        steps=6,
    ),
]

ERRORS = [
    misfit("_adagrad_step", "grad", [(2, 3), (3,), (2, 3), ()], 0.1, 0.0, False),
]
