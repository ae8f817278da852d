"""Activations."""

from __future__ import annotations

import math
from typing import Any

from ..registry import translates
from .arithmetic import number


@translates("relu")
def relu(to: Any, input: Any) -> Any:
    """What is positive."""
    return to.op("Relu", input)


@translates("softmax", when=lambda input, dim: bool(input.shape))
def softmax(to: Any, input: Any, dim: int) -> Any:
    """Shares of the exponentials along a dimension."""
    return to.op("Softmax", input, axis=dim)


@translates("log_softmax", when=lambda input, dim: bool(input.shape))
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
    inner = to.op("Erf", to.op("Div", input, number(to, math.sqrt(2))))
    return to.op("Mul", to.op("Mul", input, number(to, 0.5)), to.op("Add", inner, number(to, 1)))


@translates("leaky_relu")
def leaky_relu(to: Any, input: Any, negative_slope: float) -> Any:
    """The input, and a part of it where it is negative."""
    return to.op("LeakyRelu", input, alpha=negative_slope)


@translates("prelu")
def prelu(to: Any, input: Any, weight: Any) -> Any:
    """The same with a part that is learnt."""
    return to.op("PRelu", input, weight)


@translates("elu")
def elu(to: Any, input: Any, alpha: float, scale: float, input_scale: float) -> Any:
    """The input, and an exponential where it is negative."""
    if scale == 1 and input_scale == 1:
        return to.op("Elu", input, alpha=alpha)
    if input_scale == 1:
        return to.op("Selu", input, alpha=alpha, gamma=scale)
    # Elu(input_scale * x) is input_scale * x where that is positive.
    inner = to.op("Elu", to.op("Mul", input, number(to, input_scale)), alpha=alpha * input_scale)
    return to.op("Mul", inner, number(to, scale / input_scale))


@translates("softplus", when=lambda input, beta, threshold: beta * threshold >= 15 or threshold >= 15)
def softplus(to: Any, input: Any, beta: float, threshold: float) -> Any:
    """log(1 + exp(x)), which is x where x is larger than a threshold of this size."""
    if beta == 1:
        return to.op("Softplus", input)
    return to.op("Div", to.op("Softplus", to.op("Mul", input, number(to, beta))), number(to, beta))


@translates("log_sigmoid")
def log_sigmoid(to: Any, input: Any) -> Any:
    """The logarithm of the sigmoid."""
    return to.op("Neg", to.op("Softplus", to.op("Neg", input)))


@translates("silu")
def silu(to: Any, input: Any) -> Any:
    """The input times its sigmoid."""
    return to.op("Mul", input, to.op("Sigmoid", input))


@translates("mish", since=18)
def mish(to: Any, input: Any) -> Any:
    """The input times tanh of its softplus."""
    return to.op("Mish", input)


@translates("hardsigmoid")
def hardsigmoid(to: Any, input: Any) -> Any:
    """A line of slope 1/6 between 0 and 1."""
    return to.op("HardSigmoid", input, alpha=1 / 6, beta=0.5)


@translates("hardswish")
def hardswish(to: Any, input: Any) -> Any:
    """The input times that line."""
    return to.op("HardSwish", input)
