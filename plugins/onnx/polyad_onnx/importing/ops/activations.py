"""Activations, and the softmax family."""

from __future__ import annotations

from typing import Any

import polyad
import polyad.nn.functional as F
from polyad import Tensor

from ..operators import Compute, Node, operator
from .arithmetic import bounded

__all__: list[str] = []


@operator("Relu")
def relu(node: Node) -> Compute:
    return F.relu


@operator("LeakyRelu")
def leaky_relu(node: Node) -> Compute:
    slope = node.number("alpha", 0.01)
    return lambda x: F.leaky_relu(x, slope)


@operator("PRelu")
def prelu(node: Node) -> Compute:
    def call(x: Tensor, slope: Tensor) -> Tensor:
        if node.version < 7 and slope.ndim == 1 and slope.shape[0] > 1:
            slope = slope.reshape(-1, *[1] * (x.ndim - 2))
        return polyad.where(x < 0, x * slope, x)

    return call


@operator("Elu")
def elu(node: Node) -> Compute:
    alpha = node.number("alpha", 1.0)
    return lambda x: F.elu(x, alpha)


@operator("Celu")
def celu(node: Node) -> Compute:
    alpha = node.number("alpha", 1.0)
    return lambda x: F.celu(x, alpha)


@operator("Selu")
def selu(node: Node) -> Compute:
    alpha = node.number("alpha", 1.67326319217681884765625)
    gamma = node.number("gamma", 1.05070102214813232421875)
    return lambda x: gamma * F.elu(x, alpha)


@operator("Gelu")
def gelu(node: Node) -> Compute:
    how = node.choice("approximate", "none", "none", "tanh")
    return lambda x: F.gelu(x, approximate=how)


@operator("Mish")
def mish(node: Node) -> Compute:
    return F.mish


@operator("Softplus")
def softplus(node: Node) -> Compute:
    return F.softplus


@operator("Softsign")
def softsign(node: Node) -> Compute:
    return F.softsign


@operator("HardSigmoid")
def hard_sigmoid(node: Node) -> Compute:
    alpha, beta = node.number("alpha", 0.2), node.number("beta", 0.5)
    return lambda x: bounded(x * alpha + beta, 0, 1)


@operator("HardSwish")
def hard_swish(node: Node) -> Compute:
    return F.hardswish


@operator("ThresholdedRelu")
def thresholded_relu(node: Node) -> Compute:
    alpha = node.number("alpha", 1.0)
    return lambda x: F.threshold(x, alpha, 0.0)


@operator("Shrink")
def shrink(node: Node) -> Compute:
    bias, edge = node.number("bias", 0.0), node.number("lambd", 0.5)

    def call(x: Tensor) -> Tensor:
        made = polyad.where(x < -edge, x + bias, polyad.where(x > edge, x - bias, 0))
        return made.to(x.dtype)

    return call


def _along(node: Node, function: Any) -> Compute:
    """Before operator set 13, all dimensions from the axis on were one."""
    if node.version >= 13:
        axis = node.integer("axis", -1)
        return lambda x: function(x, axis)
    axis = node.integer("axis", 1)

    def call(x: Tensor) -> Tensor:
        if axis in (-1, x.ndim - 1):
            return function(x, -1)
        first = axis % x.ndim
        return function(x.flatten(first), first).reshape(x.shape)

    return call


@operator("Softmax")
def softmax(node: Node) -> Compute:
    return _along(node, F.softmax)


@operator("LogSoftmax")
def log_softmax(node: Node) -> Compute:
    return _along(node, F.log_softmax)
