"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import float32, float64

from ...sample import REAL_FLOATS, always, same
from . import largest, misfit, rate_samples, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def asgd(param: Any, grad: Any, average: Any, size: Any, share: Any, lambd: float, decay: float, maximize: bool) -> Any:
    param = param - size * (direction(param, grad, decay, maximize) + lambd * param)
    return param, (1 - share) * average + share * param


def rates(step: Any, lr: float, lambd: float, alpha: float, t0: float) -> Any:
    count = float(step) + 1
    return step + 1, np.float64(lr / (1 + lambd * lr * count) ** alpha), np.float64(1 / max(1, count - t0))


SAMPLES = [
    *samples(
        "_asgd_step",
        {"plain": (0.01, 0.0, False), "decay": (0.01, 0.5, True)},
        lambda make, shape: [*[make(shape) for _ in range(3)], np.array(0.5, np.float32), np.array(0.25, np.float32)],
        reference=asgd,
        dtypes=REAL_FLOATS,
        result=(same, same),
        steps=10,
        magnitude=largest,
        expand=False,
    ),
    *rate_samples(
        "_asgd_rates",
        {"plain": (0.1, 0.01, 0.75, 1e6), "averaging": (0.5, 0.1, 0.5, 2.0)},
        1,
        reference=rates,
        dtypes=(float32,),
        result=(always(float32), always(float64), always(float64)),
        steps=10,
    ),
]

ERRORS = [
    misfit("_asgd_step", "grad", [(2, 3), (3,), (2, 3), (), ()], 0.1, 0.0, False),
]
