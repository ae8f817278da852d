"""Activations."""

from __future__ import annotations

import math
from typing import Any

from ..registry import translates


@translates("relu")
def relu(to: Any, input: Any) -> Any:
    """What is positive."""
    return to.op("Relu", input)


@translates("softmax")
def softmax(to: Any, input: Any, dim: int) -> Any:
    """Shares of the exponentials along a dimension."""
    return to.op("Softmax", input, axis=dim)


@translates("log_softmax")
def log_softmax(to: Any, input: Any, dim: int) -> Any:
    """The logarithms of such shares."""
    return to.op("LogSoftmax", input, axis=dim)


@translates("gelu", since=20)
def gelu(to: Any, input: Any, approximate: str) -> Any:
    """The input times the normal distribution's share below it."""
    return to.op("Gelu", input, approximate=approximate)


@translates("gelu", when=lambda input, approximate: approximate == "none")
def gelu_of_erf(to: Any, input: Any, approximate: str) -> Any:
    """The same by the error function."""
    dtype = to.result.dtype
    inner = to.op("Erf", to.op("Div", input, to.constant(math.sqrt(2), dtype)))
    half = to.op("Mul", input, to.constant(0.5, dtype))
    return to.op("Mul", half, to.op("Add", inner, to.constant(1, dtype)))
