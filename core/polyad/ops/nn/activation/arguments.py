"""What activations have in common: their dtype rules, numbers as arguments, and ``inplace``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....dispatch.inplace import inplace as write_over
from ....dispatch.promotion import floating_only, not_bool, not_complex
from ....errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....tensor import Tensor


def real(op: str) -> Any:
    """The dtype rule of an op of floating point numbers."""
    return not_complex(op, floating_only(op))


def ordered(op: str) -> Any:
    """The dtype rule of an op of integers and floating point numbers."""
    return not_bool(op, not_complex(op))


def number(op: str, name: str, value: Any) -> float:
    """*value* if it is a number; raises TypeError, naming the argument."""
    if not isinstance(value, (int, float)):
        raise ArgumentTypeError(
            f"{op}: {name} is {type(value).__name__}, not a number", operands={name: value}, fix="pass a float"
        )
    return value


def call_or_write(name: str, call: Callable[..., Tensor], input: Tensor, inplace: bool, *params: Any) -> Tensor:
    """``call(input, *params)``, written into *input* if *inplace*."""
    return write_over(name + "_", call, None, input, *params) if inplace else call(input, *params)
