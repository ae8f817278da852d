"""Stochastic gradient descent, plain and with momentum."""

from __future__ import annotations

from typing import Any

from ...sample import COMPLEX, REAL_FLOATS, same
from . import largest, misfit, samples


def sgd(param: Any, grad: Any, lr: float, decay: float, maximize: bool) -> Any:
    return param - lr * ((-grad if maximize else grad) + decay * param)


def momentum(
    param: Any,
    grad: Any,
    buffer: Any,
    lr: float,
    keep: float,
    damp: float,
    decay: float,
    nesterov: bool,
    maximize: bool,
) -> Any:
    grad = (-grad if maximize else grad) + decay * param
    buffer = keep * buffer + (1 - damp) * grad
    return param - lr * (grad + keep * buffer if nesterov else buffer), buffer


SAMPLES = [
    *samples(
        "_sgd_step",
        {"plain": (0.1, 0.0, False), "decay": (0.1, 0.5, False), "maximize": (0.1, 0.5, True)},
        lambda make, shape: [make(shape), make(shape)],
        reference=sgd,
        dtypes=(*REAL_FLOATS, *COMPLEX),
        steps=5,
        magnitude=largest,
        expand=False,
    ),
    *samples(
        "_sgd_momentum_step",
        {
            "plain": (0.1, 0.9, 0.0, 0.0, False, False),
            "dampening": (0.1, 0.9, 0.5, 0.5, False, True),
            "nesterov": (0.1, 0.9, 0.0, 0.5, True, False),
        },
        lambda make, shape: [make(shape), make(shape), make(shape)],
        reference=momentum,
        dtypes=(*REAL_FLOATS, *COMPLEX),
        result=(same, same),
        steps=8,
        magnitude=largest,
        expand=False,
    ),
]

ERRORS = [
    misfit("_sgd_step", "grad", [(2, 3), (3,)], 0.1, 0.0, False),
]
