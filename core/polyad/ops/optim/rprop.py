"""Resilient propagation (Riedmiller and Braun 1993)."""

from __future__ import annotations

from ...tensor import Tensor
from ..pointwise.where import where
from .steps import step


@step("param", "prev", "step_size")
def _rprop_step(
    param: Tensor,
    grad: Tensor,
    prev: Tensor,
    step_size: Tensor,
    shrink: float,
    grow: float,
    smallest: float,
    largest: float,
    maximize: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """A step by the gradient's sign, of a size that grows while the sign stays and shrinks where it changes."""
    if maximize:
        grad = -grad
    agreement = (grad * prev).sign()
    factor = where(agreement > 0, grow, where(agreement < 0, shrink, where(agreement == 0, 1.0, agreement)))
    step_size = (step_size * factor).clamp(smallest, largest)
    grad = where(agreement < 0, 0.0, grad)
    return param - grad.sign() * step_size, grad, step_size
