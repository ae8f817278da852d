"""RMSprop."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...sample import REAL_FLOATS, same
from . import misfit, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def rmsprop(param: Any, grad: Any, squares: Any, lr: float, alpha: float, eps: float, *last: Any) -> Any:
    param, squares, _, _ = full(param, grad, squares, None, None, lr, alpha, eps, 0.0, *last)
    return param, squares


def with_momentum(param: Any, grad: Any, squares: Any, buffer: Any, *options: Any) -> Any:
    param, squares, _, buffer = full(param, grad, squares, None, buffer, *options)
    return param, squares, buffer


def centered(param: Any, grad: Any, squares: Any, mean: Any, lr: float, alpha: float, eps: float, *last: Any) -> Any:
    return full(param, grad, squares, mean, None, lr, alpha, eps, 0.0, *last)[:3]


def full(
    param: Any,
    grad: Any,
    squares: Any,
    mean: Any,
    buffer: Any,
    lr: float,
    alpha: float,
    eps: float,
    momentum: float,
    decay: float,
    maximize: bool,
) -> Any:
    grad = direction(param, grad, decay, maximize)
    squares = alpha * squares + (1 - alpha) * grad**2
    variance = squares
    if mean is not None:
        mean = alpha * mean + (1 - alpha) * grad
        variance = squares - mean**2
    step = grad / (np.sqrt(variance) + eps)
    if buffer is not None:
        step = buffer = momentum * buffer + step
    return param - lr * step, squares, mean, buffer


def operands(more: int) -> Any:
    # Averages of squares of at least 4 stay above the squares of averages of numbers below 1.
    return lambda make, shape: [
        make(shape),
        make(shape),
        make.positive(shape, 4.0, 5.0),
        *[
            make(
                shape,
            )
            for _ in range(more)
        ],
    ]


PLAIN = {"plain": (0.1, 0.75, 0.01, 0.0, False), "decay": (0.1, 0.75, 0.01, 0.5, True)}
MOMENTUM = {"plain": (0.1, 0.75, 0.01, 0.5, 0.0, False), "decay": (0.1, 0.75, 0.01, 0.5, 0.5, True)}
FIELDS: dict[str, Any] = {"dtypes": REAL_FLOATS, "steps": 20, "magnitude": lambda *inputs: 16.0, "expand": False}

SAMPLES = [
    *samples("_rmsprop_step", PLAIN, operands(0), reference=rmsprop, result=(same,) * 2, **FIELDS),
    *samples("_rmsprop_momentum_step", MOMENTUM, operands(1), reference=with_momentum, result=(same,) * 3, **FIELDS),
    *samples("_rmsprop_centered_step", PLAIN, operands(1), reference=centered, result=(same,) * 3, **FIELDS),
    *samples("_rmsprop_centered_momentum_step", MOMENTUM, operands(2), reference=full, result=(same,) * 4, **FIELDS),
]

ERRORS = [
    misfit("_rmsprop_step", "grad", [(2, 3), (3,), (2, 3)], 0.1, 0.9, 0.1, 0.0, False),
]
