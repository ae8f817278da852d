"""Counts of steps."""

from __future__ import annotations

from typing import Any

from polyad.base.dtypes import float32

from ...sample import ErrorCase, same
from . import rate_samples


def direction(param: Any, grad: Any, decay: float, maximize: bool) -> Any:
    return (-grad if maximize else grad) + decay * param


SAMPLES = rate_samples(
    "_step_count",
    {"plain": ()},
    1,
    reference=lambda step: step + 1,
    dtypes=(float32,),
    result=same,
)

ERRORS: list[ErrorCase] = []
