"""NAdam."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import float32, float64

from ...sample import REAL_FLOATS, always, same
from . import largest, misfit, rate_samples, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def nadam(
    param: Any,
    grad: Any,
    first: Any,
    second: Any,
    grad_rate: Any,
    average_rate: Any,
    root: Any,
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
    spread = np.sqrt(second) / root + eps
    return param - grad_rate * grad / spread - average_rate * first / spread, first, second


def rates(step: Any, product: Any, lr: float, beta1: float, beta2: float, momentum_decay: float) -> Any:
    count = float(step) + 1
    now, after = (beta1 * (1 - 0.96 ** (at * momentum_decay) / 2) for at in (count, count + 1))
    product = np.float32(product * now)
    return (
        step + 1,
        product,
        np.float64(lr * (1 - now) / (1 - float(product))),
        np.float64(lr * after / (1 - float(product) * after)),
        np.sqrt(1 - beta2**count),
    )


SAMPLES = [
    *samples(
        "_nadam_step",
        {
            "plain": (0.1, 0.5, 0.75, 0.01, 0.0, False, False),
            "decay": (0.1, 0.5, 0.75, 0.01, 0.5, False, True),
            "decoupled": (0.1, 0.5, 0.75, 0.01, 0.5, True, False),
        },
        lambda make, shape: [
            *[make(shape) for _ in range(3)],
            make.positive(shape, 0.25, 2.0),
            *[np.array(rate, np.float32) for rate in (0.25, 0.5, 0.75)],
        ],
        reference=nadam,
        dtypes=REAL_FLOATS,
        result=(same, same, same),
        steps=18,
        magnitude=largest,
        expand=False,
    ),
    *rate_samples(
        "_nadam_rates",
        {"plain": (0.1, 0.9, 0.99, 0.004), "faster": (0.1, 0.5, 0.75, 0.1)},
        2,
        reference=rates,
        dtypes=(float32,),
        result=(*(always(float32),) * 2, *(always(float64),) * 3),
        steps=12,
    ),
]

ERRORS = [
    misfit("_nadam_step", "grad", [(2, 3), (3,), (2, 3), (2, 3), (), (), ()], 0.1, 0.9, 0.9, 0.1, 0.0, False, False),
]
