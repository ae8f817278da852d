"""Logarithms of gamma distributed numbers, from which gamma, beta, Dirichlet and kindred samples are made.

The logarithm is drawn, because the number itself is too small for any dtype where the shape parameter is: half of the
samples at 0.001 are below 1e-300, and a Dirichlet sample is made of their ratios.

Drawn by rejection (G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM Transactions on
Mathematical Software 26, 2000), with ``X(a) = X(a + 1) exp(-E / a)`` for a below 1, E exponentially distributed.

The derivative is that of the quantile at a fixed probability (M. Figurnov, S. Mohamed and A. Mnih, "Implicit
reparameterization gradients", NeurIPS 2018): minus the derivative of P(a, x) with respect to a over the density. With
``t = x exp(-u)`` below the sample, or ``t = x exp(u)`` above it, the density at x cancels and there remains the
integral of a positive function that decays at least as a normal density does; Gauss and Legendre's rule of 40 nodes
leaves an error of 1e-12.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from ...base.dtypes import float64
from ...base.shapes_and_strides import Shape
from ...dispatch.op import composite, gradient
from ...dispatch.structure import pointwise, random, row_major
from ...random.generator import Generator
from ...tensor import Tensor
from ..declaring.no_derivative import no_derivative
from ..pointwise.exponential import exp, expm1, log, log1p
from ..pointwise.maximum import maximum, minimum
from ..pointwise.powers import sqrt
from ..pointwise.where import _where
from ..special.gamma import digamma
from .poisson import _accepted
from .sampling import _exponential, _normal, _uniform

NODES = 40
DECAYED = 38.0
"""exp(-38) is below what float64 resolves."""


def _same_shape(input: Shape, *rest: Any) -> Shape:
    return input


@composite(structure=random, strides=row_major, shape=_same_shape, method=False)
def _log_gamma(input: Tensor, generator: Generator) -> Tensor:
    """The logarithms of gamma distributed numbers of shape parameters *input* (float64, above 0) and rate 1."""
    shape, device, a = tuple(input.shape), input.device, input
    d = _where(a < 1, a + 1, a) - 1 / 3
    c = (d * 9).rsqrt()

    def attempt() -> tuple[Tensor, Tensor]:
        x = _normal(shape, 0.0, 1.0, generator, float64, device)
        u = _uniform(shape, 0.0, 1.0, generator, float64, device)
        root = c * x + 1
        log_v = log(maximum(root, 1e-300)) * 3
        return log_v, (root > 0) & (log(u) < x * x * 0.5 + d - d * exp(log_v) + d * log_v)

    drawn = log(d) + _accepted(attempt, (a > 0) & (a < math.inf))
    lowered = _exponential(shape, 1.0, generator, float64, device) / a
    return _where(a < 1, drawn - lowered, drawn)


@lru_cache(1)
def _legendre() -> tuple[tuple[float, float], ...]:
    """Nodes and weights of Gauss and Legendre's rule on [0, 1], by Newton's method."""
    rule = []
    for i in range(NODES):
        x = math.cos(math.pi * (i + 0.75) / (NODES + 0.5))
        for _ in range(6):
            before, value = 1.0, x
            for n in range(2, NODES + 1):
                before, value = value, ((2 * n - 1) * x * value - (n - 1) * before) / n
            slope = NODES * (x * value - before) / (x * x - 1)
            x -= value / slope
        rule.append(((x + 1) / 2, 1 / ((1 - x * x) * slope * slope)))
    return tuple(rule)


@composite(structure=pointwise, method=False)
def _log_gamma_slope(input: Tensor, drawn: Tensor) -> Tensor:
    """The derivative of *drawn* = log(X) with respect to the shape parameter *input*, at a fixed probability.

    Below 1 the shape is raised, unless x is above it: P(a, x) = P(a + 1, x) + x**a exp(-x) / gamma(a + 1).
    """
    a, x = input, exp(drawn)
    small = a < 1
    raised = _where(small, a + 1, a)
    above = x > raised
    b = _where(above, a, raised)
    side = _where(above, 1.0, b * 0 - 1)
    # Where x and b differ, the first order of the exponent bounds the integral; where they do not, the second does.
    y = DECAYED / _where(above, x, b)
    far = sqrt(y * 2)
    width = _where(above, minimum(far, log1p(y * 2 + 2)), far + y)
    width = minimum(width, DECAYED / maximum((x - b).abs(), 1e-300))
    level = (drawn - digamma(b)) * side
    total = b * 0
    for node, weight in _legendre():
        u = width * node
        t = u * side
        total = total + exp(b * t - x * expm1(t)) * (level + u) * weight
    slope = total * width
    return _where(small & ~above, (x * slope - level * side) / a, slope)


gradient(_log_gamma, input=lambda g, input, out: g * _log_gamma_slope(input, out))
gradient(_log_gamma_slope, **no_derivative("rsample of a gamma distribution, differentiated twice", "input", "drawn"))
