"""Muon."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import float32

from ...sample import same
from . import largest, misfit, samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


def muon(
    param: Any,
    grad: Any,
    buffer: Any,
    rate: float,
    shrink: float,
    momentum: float,
    nesterov: bool,
    a: float,
    b: float,
    c: float,
    eps: float,
    steps: int,
) -> Any:
    buffer = momentum * buffer + (1 - momentum) * grad
    update = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
    left, values, right = np.linalg.svd(update / max(np.linalg.norm(update), eps), full_matrices=False)
    for _ in range(steps):
        values = a * values + b * values**3 + c * values**5
    return shrink * param - rate * (left * values) @ right, buffer


SAMPLES = samples(
    "_muon_step",
    {
        # The iteration computes in bfloat16: a rate this small leaves its digits where float32 has its last.
        "nesterov": (2.0**-18, 0.75, 0.5, True, 1.5, -0.5, 0.0, 1e-7, 3),
        "plain": (2.0**-18, 1.0, 0.5, False, 1.5, -0.5, 0.0, 1e-7, 2),
    },
    lambda make, shape: [make((3, 7)), make((3, 7)), make((3, 7))],
    reference=muon,
    dtypes=(float32,),
    result=(same, same),
    steps=12,
    magnitude=largest,
    expand=False,
)[:2]

ERRORS = [
    misfit("_muon_step", "grad", [(2, 3), (3,), (2, 3)], 0.1, 1.0, 0.9, True, 1.5, -0.5, 0.0, 1e-07, 2),
]
