"""The incomplete gamma functions P (`igamma`) and Q (`igammac`), P + Q = 1.

In each of four regions P or Q is computed with a small relative error, and the other is 1 minus it:

    a >= 20, x near a          Temme's uniform expansion (DLMF 8.12)                        the smaller
    x > a + 1, x > 1.5         a continued fraction for Q (DLMF 8.9.2)                      Q
    a < 1, x <= 1.5            for Q what is left of Gamma(a) (DLMF 8.7.3)                  Q
    elsewhere                  the power series of P (DLMF 8.11.4)                          P

The numbers of terms are those that the borders of the regions need.
"""

from __future__ import annotations

import math

from ...dispatch.forward import symmetric
from ...dispatch.op import alias, composite, gradient
from ...dispatch.promotion import floating_only, not_complex
from ...dispatch.structure import pointwise
from ...tables.special import LOG1P_REST, STIRLING, TEMME
from ...tensor import Tensor
from ..creation.factories import full_like
from ..declaring.half_types import in_float32
from ..declaring.no_derivative import no_derivative
from ..pointwise.arithmetic import _add, _div, _mul, _neg, _sub
from ..pointwise.clamp import _clamp
from ..pointwise.exponential import exp, expm1, log
from ..pointwise.maximum import maximum, minimum
from ..pointwise.powers import _pow, rsqrt, sqrt
from ..pointwise.where import _where
from .error_functions import _scaled_complement
from .gamma import lgamma, log_gamma_of_positive, log_gamma_of_successor
from .series import chebyshev, is_double, polynomial

LARGE_A = 20.0
TEMME_LOW, TEMME_HIGH = 0.31, 2.35
"""The bounds of x / a for the uniform expansion; its tables are for abs(eta) <= 1."""

SERIES_TERMS, FRACTION_TERMS, REST_TERMS = (54, 34), (60, 20), (18, 11)
"""Numbers of terms, in float64 and float32."""


def _excess(a: Tensor, x: Tensor) -> Tensor:
    """x / a - 1 - log(x / a), accurate where x is near a."""
    d = _div(_sub(x, a), a)
    near = _mul(_mul(d, d), chebyshev(LOG1P_REST, d))
    return _where((d > -0.5) & (d < 1), near, _sub(d, log(_div(x, a))))


def _density(a: Tensor, x: Tensor, excess: Tensor) -> Tensor:
    """x**a exp(-x) / gamma(a + 1)."""
    inverse = _div(1, maximum(a, 8.0))
    far = _mul(rsqrt(_mul(a, 2 * math.pi)), exp(_neg(_mul(a, excess))))
    far = _mul(far, exp(_neg(_mul(polynomial(STIRLING, _mul(inverse, inverse)), inverse))))
    small = minimum(a, 8.0)
    bounded = minimum(x, 1400.0 if is_double(x) else 170.0)
    half = exp(_mul(bounded, -0.5))
    near = _mul(_mul(_pow(bounded, small), half), half)
    near = _mul(near, exp(_neg(log_gamma_of_positive(_add(small, 1)))))
    return _where(a < 8, near, far)


def _lower_series(a: Tensor, x: Tensor, terms: int) -> Tensor:
    """1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ..., from its end."""
    result = _add(_div(x, _add(a, terms)), 1)
    for n in range(terms - 1, 0, -1):
        result = _add(_mul(result, _div(x, _add(a, n))), 1)
    return result


def _upper_fraction(a: Tensor, x: Tensor, terms: int) -> Tensor:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))), from its end."""
    start = _sub(x, a)
    result = _add(start, 2 * terms + 1)
    for n in range(terms, 0, -1):
        result = _add(start, _sub(2 * n - 1, _div(_mul(_sub(n, a), n), result)))
    return _div(1, result)


def _upper_rest(a: Tensor, x: Tensor, terms: int) -> Tensor:
    """Q for small a and x: 1 - x**a / gamma(1 + a) (1 + a sum((-x)**n / (n! (a + n)))), without the difference."""
    exponent = _sub(_mul(a, log(x)), log_gamma_of_successor(a))
    total = None
    for n in range(terms, 0, -1):
        # sum over n of (-x)**n / (n! (a + n)), with the factors -x / n taken out step by step
        term = _div(1, _add(a, n))
        total = _mul(term if total is None else _add(term, total), _mul(x, -1 / n))
    assert total is not None
    return _neg(_add(expm1(exponent), _mul(exp(exponent), _mul(total, a))))


def _uniform(a: Tensor, excess: Tensor, above: Tensor) -> Tensor:
    """The smaller of P (for x < a) and Q (for x > a, where *above*)."""
    half_square = _mul(a, excess)
    eta = sqrt(_mul(excess, 2))
    eta = _where(above, eta, _neg(eta))
    inverse = _div(1, a)
    rows = TEMME if is_double(a) else TEMME[:6]
    total = chebyshev(rows[-1], eta)
    for row in rows[-2::-1]:
        total = _add(_mul(total, inverse), chebyshev(row, eta))
    correction = _mul(total, rsqrt(_mul(a, 2 * math.pi)))
    correction = _where(above, correction, _neg(correction))
    return _mul(exp(_neg(half_square)), _add(_mul(_scaled_complement(sqrt(half_square)), 0.5), correction))


def _incomplete(a: Tensor, x: Tensor, upper: bool) -> Tensor:
    """P or, if *upper*, Q."""
    counts = [pair[not is_double(x)] for pair in (SERIES_TERMS, FRACTION_TERMS, REST_TERMS)]
    valid = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    b, y = _where(valid, a, 1.0), _where(valid, x, 1.0)
    ratio = _div(y, b)
    excess = _excess(b, y)
    uniform = (b >= LARGE_A) & (ratio > TEMME_LOW) & (ratio < TEMME_HIGH)
    fraction = (y > _add(b, 1)) & (y > 1.5)
    series = (b >= 1) | (y > 1.5) if upper else y == y
    density = _density(b, y, excess)

    above = y > b
    smaller = _uniform(maximum(b, LARGE_A), _clamp(excess, 0.0, 0.5), above)
    q = _mul(_mul(density, b), _upper_fraction(_where(fraction, b, 1.0), _where(fraction, y, 3.0), counts[1]))
    p = _mul(density, _lower_series(b, _where(fraction | uniform, 1.0, y), counts[0]))
    if upper:
        rest = _upper_rest(minimum(b, 1.0), minimum(y, 1.5), counts[2])
        result = _where(uniform, _where(above, smaller, _sub(1, smaller)), _where(series, _sub(1, p), rest))
        result = _where(fraction & ~uniform, q, result)
    else:
        result = _where(uniform, _where(above, _sub(1, smaller), smaller), p)
        result = _where(fraction & ~uniform, _sub(1, q), result)
    # The borders: of two zeros or two infinities nothing is known.
    low, high = (1.0, 0.0) if upper else (0.0, 1.0)
    edge = _where((x == 0) | (a == math.inf), low, full_like(b, high))
    edge = _where(((x == 0) & (a == 0)) | ((x == math.inf) & (a == math.inf)), math.nan, edge)
    edge = _where((a >= 0) & (x >= 0), edge, math.nan)
    return _where(valid, result, edge)


def _density_of(input: Tensor, other: Tensor) -> Tensor:
    """The derivative of P with respect to x: x**(a - 1) exp(-x) / gamma(a)."""
    return exp(_sub(_sub(_mul(_sub(input, 1), log(other)), other), lgamma(input)))


@composite(dtype=not_complex("igamma", floating_only("igamma")), structure=pointwise, inplace=True)
@in_float32
def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower incomplete gamma function, regularised: the integral of ``t**(input - 1) exp(-t)`` from 0 to *other*,
    divided by ``gamma(input)``.

    Shapes broadcast; dtypes promote. nan unless both operands are 0 or more. Differentiable with respect to *other*; a
    gradient of *input* raises NotImplementedError. Raises RuntimeError for integer and complex operands, and when
    shapes do not broadcast.

    >>> import polyad
    >>> polyad.igamma(polyad.tensor([1.0, 4.0]), polyad.tensor([1.0, 2.0]))
    tensor([0.6321, 0.1429])
    """
    return _incomplete(input, other, False)


gradient(
    igamma,
    **no_derivative("igamma", "input"),
    other=lambda g, input, other: _mul(g, _density_of(input, other)),
)


@composite(dtype=not_complex("igammac", floating_only("igammac")), structure=pointwise, inplace=True)
@in_float32
def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The upper incomplete gamma function, regularised: ``1 - igamma(input, other)``, accurate where that is near 1.

    Shapes broadcast; dtypes promote. nan unless both operands are 0 or more. Differentiable with respect to *other*; a
    gradient of *input* raises NotImplementedError. Raises RuntimeError for integer and complex operands, and when
    shapes do not broadcast.

    >>> import polyad
    >>> polyad.igammac(polyad.tensor([1.0, 4.0]), polyad.tensor([1.0, 2.0]))
    tensor([0.3679, 0.8571])
    """
    return _incomplete(input, other, True)


gradient(
    igammac,
    **no_derivative("igammac", "input"),
    other=lambda g, input, other: _neg(_mul(g, _density_of(input, other))),
)
symmetric(igamma, igammac)

gammainc = alias("gammainc", igamma, namespace="special")
gammaincc = alias("gammaincc", igammac, namespace="special")
