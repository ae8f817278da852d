"""RAdam."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import float32, float64

from ...sample import REAL_FLOATS, always, same
from . import largest, misfit, rate_samples, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def radam(
    param: Any,
    grad: Any,
    first: Any,
    second: Any,
    plain: Any,
    adaptive: Any,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    decoupled: bool,
    maximize: bool,
) -> Any:
    if decoupled:
        param, decay = param - lr * decay * param, 0.0
    grad = direction(param, grad, decay, maximize)
    first = beta1 * first + (1 - beta1) * grad
    second = beta2 * second + (1 - beta2) * grad**2
    return param - first * (adaptive / (np.sqrt(second) + eps) if adaptive else plain), first, second


def rates(step: Any, lr: float, beta1: float, beta2: float) -> Any:
    count = float(step) + 1
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * count * beta2**count / (1 - beta2**count)
    plain = lr / (1 - beta1**count)
    if length <= 5:
        return step + 1, np.float64(plain), np.float64(0)
    part, whole = (length - 4) * (length - 2) / length, (longest - 4) * (longest - 2) / longest
    return step + 1, np.float64(plain), plain * np.sqrt(part / whole) * np.sqrt(1 - beta2**count)


def operands(adaptive: float) -> Any:
    return lambda make, shape: [
        *[make(shape) for _ in range(3)],
        make.positive(shape, 0.25, 2.0),
        np.array(0.5, np.float32),
        np.array(adaptive, np.float32),
    ]


SAMPLES = [
    *samples(
        "_radam_step",
        {
            "rectified": (0.1, 0.5, 0.75, 0.01, 0.0, False, False),
            "decay": (0.1, 0.5, 0.75, 0.01, 0.5, False, True),
            "decoupled": (0.1, 0.5, 0.75, 0.01, 0.5, True, False),
        },
        operands(0.25),
        reference=radam,
        dtypes=REAL_FLOATS,
        result=(same, same, same),
        steps=16,
        magnitude=largest,
        expand=False,
    ),
    *samples(
        "_radam_step",
        {"plain": (0.1, 0.5, 0.75, 0.01, 0.5, False, False)},
        operands(0.0),
        reference=radam,
        dtypes=REAL_FLOATS,
        result=(same, same, same),
        steps=16,
        magnitude=largest,
        expand=False,
    )[:1],
    *rate_samples(
        "_radam_rates",
        {"slow": (0.1, 0.9, 0.999), "fast": (0.1, 0.5, 0.75), "never": (0.1, 0.5, 0.5)},
        1,
        reference=rates,
        dtypes=(float32,),
        result=(always(float32), always(float64), always(float64)),
        steps=20,
        magnitude=lambda *inputs: 2000.0,  # the longest average of squares, from which the length is subtracted
    ),
]

ERRORS = [
    misfit("_radam_step", "grad", [(2, 3), (3,), (2, 3), (2, 3), (), ()], 0.1, 0.9, 0.9, 0.1, 0.0, False, False),
]
