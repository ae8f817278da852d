"""Checks of the options that optimizers have in common."""

from __future__ import annotations

import math
from typing import Any

from ..arguments import check_length, check_type
from ..errors import ArgumentError, ArgumentTypeError, PolyadError, wrong_type
from ..tensor import Tensor

__all__ = ["check_betas", "check_hints", "check_number", "check_numbers", "check_pair", "number"]


class HintError(PolyadError, RuntimeError):
    """Options that contradict each other."""


def check_number(
    optimizer: str, name: str, value: Any, least: float = 0.0, below: float | None = None, most: float = math.inf
) -> None:
    """Raise unless an option is a number (or a tensor of one element) in [least, below), and at most *most*.

    Raises:
        TypeError: it is no number.
        ValueError: it is outside the range, or NaN.
    """
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if not isinstance(value, (int, float)):
        given = type(value).__name__
        raise ArgumentTypeError(
            f"{optimizer}: {name} must be a number, not {given}", operands={name: value}, fix=f"pass a float as {name}"
        )
    try:
        value = float(value)
    except OverflowError:
        raise ArgumentError(
            f"{optimizer}: {name} is too large for a float", operands={name: value}, fix=f"choose another {name}"
        ) from None
    if not least <= value <= most or (below is not None and not value < below):
        allowed = f"at least {least:g}" if below is None else f"in [{least:g}, {below:g})"
        allowed = f"between {least:g} and {most:g}" if most < math.inf else allowed
        raise ArgumentError(f"{optimizer}: {name} must be {allowed}, not {value}", fix=f"choose another {name}")


def number(value: Any) -> float:
    """An option as a float, as which a mode may know it again."""
    return value if isinstance(value, float) else float(value)


def check_hints(optimizer: str, options: dict[str, Any]) -> None:
    """Raise for the options that say how, not what, to compute, where they contradict each other or cannot be met."""
    for name in ("amsgrad", "centered", "nesterov", "maximize", "capturable", "differentiable", "foreach", "fused"):
        if not isinstance(options.get(name), (bool, int, type(None))):
            raise wrong_type(optimizer, name, options[name], "a bool")
    if options.get("fused") and options.get("foreach"):
        raise HintError(f"{optimizer}: fused and foreach cannot both be True", fix="leave both out")
    if options.get("differentiable") and options.get("fused"):
        raise HintError(f"{optimizer}: a fused step is not differentiable", fix="leave fused out")


def check_numbers(optimizer: str, options: dict[str, Any], *names: str) -> None:
    """`check_number` for each of the options *names*."""
    for name in names:
        check_number(optimizer, name, options[name])


def check_pair(optimizer: str, name: str, pair: Any, example: str) -> None:
    """Raise unless an option is a tuple or a list of two.

    Raises:
        TypeError: it is none.
        ValueError: it has another length.
    """
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
        check_type(optimizer, name, pair, (tuple, list), f"a pair of numbers: {example}")
        check_length(optimizer, name, pair, 2, f"numbers: {example}")


def check_betas(optimizer: str, betas: Any) -> None:
    """Raise unless *betas* are two numbers in [0, 1)."""
    check_pair(optimizer, "betas", betas, "(beta1, beta2), such as (0.9, 0.999)")
    for position, beta in enumerate(betas):
        check_number(optimizer, f"betas[{position}]", beta, below=1.0)
