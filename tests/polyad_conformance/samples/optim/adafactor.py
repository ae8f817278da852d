"""Adafactor."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import float32

from ...sample import REAL_FLOATS, always, same
from . import largest, misfit, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def adafactor(param: Any, grad: Any, rows: Any, columns: Any, step: Any, *options: Any) -> Any:
    lr, power, eps1, eps2, clip, decay, maximize = options
    grad, count = -grad if maximize else grad, float(step) + 1
    share = count**power
    rows = (1 - share) * rows + share * np.mean(grad**2, -1, keepdims=True)
    columns = (1 - share) * columns + share * np.mean(grad**2, -2, keepdims=True)
    estimate = rows * columns / np.maximum(np.mean(rows, -2, keepdims=True), eps1)
    return descend(param, grad, estimate, count, lr, eps1, eps2, clip, decay), rows, columns, step + 1


def of_vectors(param: Any, grad: Any, squares: Any, step: Any, *options: Any) -> Any:
    lr, power, eps1, eps2, clip, decay, maximize = options
    grad, count = -grad if maximize else grad, float(step) + 1
    squares = (1 - count**power) * squares + count**power * grad**2
    return descend(param, grad, squares, count, lr, eps1, eps2, clip, decay), squares, step + 1


def descend(
    param: Any,
    grad: Any,
    estimate: Any,
    count: float,
    lr: float,
    eps1: float,
    eps2: float,
    clip: float,
    decay: float,
) -> Any:
    update = grad / np.sqrt(np.maximum(estimate, eps1**2))
    rate = max(eps2, np.sqrt(np.mean(param**2))) * min(lr, count**-0.5)
    return param * (1 - lr * decay) - rate * update / max(1.0, np.sqrt(np.mean(update**2)) / clip)


OPTIONS = {"plain": (0.1, -0.75, 0.01, 0.5, 1.0, 0.0, False), "decay": (0.1, -0.5, 0.01, 0.001, 2.0, 0.5, True)}
FIELDS: dict[str, Any] = {"dtypes": REAL_FLOATS, "steps": 60, "magnitude": largest, "expand": False}

SAMPLES = [
    *samples(
        "_adafactor_step",
        OPTIONS,
        lambda make, shape: [
            make((3, 7)),
            make((3, 7)),
            make.positive((3, 1), 0.25, 2.0),
            make.positive((1, 7), 0.25, 2.0),
            np.array(3.0, np.float32),
        ],
        reference=adafactor,
        result=(same, same, same, always(float32)),
        **FIELDS,
    )[:2],
    *samples(
        "_adafactor_vector_step",
        OPTIONS,
        lambda make, shape: [make((7,)), make((7,)), make.positive((7,), 0.25, 2.0), np.array(3.0, np.float32)],
        reference=of_vectors,
        result=(same, same, always(float32)),
        **FIELDS,
    )[:2],
]

ERRORS = [
    misfit("_adafactor_vector_step", "grad", [(2, 3), (3,), (2, 3), ()], 0.1, -0.8, 0.1, 0.1, 1.0, 0.0, False),
]
