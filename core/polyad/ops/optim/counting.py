"""The count of steps of an optimizer that does nothing else with it."""

from __future__ import annotations

from ...tensor import Tensor
from .steps import rates


@rates("step", gives=())
def _step_count(step: Tensor) -> Tensor:
    """The step count after another step."""
    return step + 1
