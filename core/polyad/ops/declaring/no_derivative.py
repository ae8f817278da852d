"""Gradients that do not exist: formulas that refuse.

An op that has no derivative with respect to an operand says so when the gradient is asked for, instead of leaving that
part of a gradient out in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...errors import NotSupported


def no_derivative(op: str, *operands: str) -> dict[str, Callable[..., Any]]:
    """Formulas for `gradient` that raise NotImplementedError: ``gradient(f, **no_derivative("f", "input"))``."""
    return {operand: _refusal(op, operand) for operand in operands}


def _refusal(op: str, operand: str) -> Callable[..., Any]:
    def refuse(g: Any) -> NoReturn:
        raise NotSupported(
            f"{op}: there is no derivative with respect to {operand}",
            operands={"gradient": g},
            fix=f"detach() {operand} if its gradient does not matter",
        )

    refuse.refuses = True  # type: ignore[attr-defined]
    return refuse
