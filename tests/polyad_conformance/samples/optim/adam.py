"""Adam, AdamW and AMSGrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import float32

from ...sample import REAL_FLOATS, always, same
from . import largest, misfit, samples, state


def adam(
    param: Any,
    grad: Any,
    first: Any,
    second: Any,
    step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    decoupled: bool,
    maximize: bool,
) -> Any:
    param, _, first, second, _, step = amsgrad(
        param, grad, first, second, 0 * second, step, lr, beta1, beta2, eps, decay, decoupled, maximize, False
    )
    return param, first, second, step


def amsgrad(
    param: Any,
    grad: Any,
    first: Any,
    second: Any,
    largest: Any,
    step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    decoupled: bool,
    maximize: bool,
    keep_largest: bool = True,
) -> Any:
    grad = -grad if maximize else grad
    if decoupled:
        param = (1 - lr * decay) * param
    else:
        grad = grad + decay * param
    step = step + 1
    first = beta1 * first + (1 - beta1) * grad
    second = beta2 * second + (1 - beta2) * grad**2
    largest = np.maximum(largest, second)
    spread = np.sqrt((largest if keep_largest else second) / (1 - beta2**step))
    param = param - lr * first / (1 - beta1**step) / (spread + eps)
    return param, grad, first, second, largest, step


def reordered(*args: Any) -> Any:
    param, _, first, second, largest, step = amsgrad(*args)
    return param, first, second, largest, step


SAMPLES = [
    *samples(
        "_adam_step",
        {
            "plain": (0.1, 0.5, 0.75, 0.01, 0.0, False, False),
            "decay": (0.1, 0.5, 0.75, 0.01, 0.5, False, True),
            "decoupled": (0.1, 0.5, 0.75, 0.01, 0.5, True, False),
            "no memory": (0.1, 0.0, 0.75, 0.01, 0.0, False, False),
        },
        lambda make, shape: state(make, shape, 1),
        reference=adam,
        dtypes=REAL_FLOATS,
        result=(same, same, same, always(float32)),
        steps=15,
        magnitude=largest,
        expand=False,
    ),
    *samples(
        "_amsgrad_step",
        {
            "plain": (0.1, 0.5, 0.75, 0.01, 0.0, False, False),
            "decay": (0.1, 0.5, 0.75, 0.01, 0.5, False, True),
            "decoupled": (0.1, 0.5, 0.75, 0.01, 0.5, True, False),
        },
        lambda make, shape: state(make, shape, 2),
        reference=reordered,
        dtypes=REAL_FLOATS,
        result=(same, same, same, same, always(float32)),
        steps=15,
        magnitude=largest,
        expand=False,
    ),
]

ERRORS = [
    misfit("_adam_step", "exp_avg", [(2, 3), (2, 3), (2,), (2, 3), ()], 0.1, 0.9, 0.99, 1e-08, 0.0, False, False),
]
