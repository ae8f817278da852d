"""Numbers for integer tensors: PyTorch drops their fractions, and refuses what has no integer at all."""

from __future__ import annotations

import math

from ...errors import OptionError


def whole(op: str, name: str, value: float) -> int:
    """*value*, the parameter *name* of *op*, without its fraction; raises RuntimeError for nan and infinities."""
    if not math.isfinite(value):
        raise OptionError(
            f"{op}: {name} is {value}, which no integer tensor can hold",
            fix="pass a finite number, or convert the tensors to floats",
        )
    return int(value)
