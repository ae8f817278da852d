"""The logarithm of the gamma function and its derivatives.

Near their zeros they are expansions with the zeros taken out, beyond 8 the asymptotic series, for negative elements the
reflection formulas. Integers become the default floating dtype; complex tensors are refused.
"""

from __future__ import annotations

import math

from ...base.dtypes import BOOL
from ...dispatch.forward import symmetric
from ...dispatch.op import alias, composite, function, gradient
from ...dispatch.promotion import not_complex, promoted_float
from ...dispatch.structure import pointwise
from ...errors import ArgumentTypeError, DTypeError, OptionError, ShapeError
from ...tables.special import (
    DIGAMMA_1,
    DIGAMMA_2,
    DIGAMMA_3,
    DIGAMMA_FAR,
    DIGAMMA_ROOT,
    LGAMMA_1,
    LGAMMA_2,
    LGAMMA_3,
    STIRLING,
)
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.checks import check_int, check_least
from ..declaring.half_types import in_float32
from ..pointwise.arithmetic import _add, _div, _mul, _neg, _sub
from ..pointwise.exponential import log
from ..pointwise.rounding import _round
from ..pointwise.trigonometry import sin, tan
from ..pointwise.where import _where
from .series import beyond, chebyshev, polynomial
from .zeta import hurwitz

HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2


def _without_zeros(y: Tensor) -> Tensor:
    """log(gamma(y)) / ((y - 1) * (y - 2)) for 1/2 <= y <= 8."""
    return _where(y < 1.5, chebyshev(LGAMMA_1, y), _where(y < 3, chebyshev(LGAMMA_2, y), chebyshev(LGAMMA_3, y)))


def log_gamma_of_successor(a: Tensor) -> Tensor:
    """log(gamma(1 + a)) for 0 <= a <= 7, with a small relative error near 0 too."""
    return _mul(_without_zeros(_add(a, 1)), _mul(a, _sub(a, 1)))


def log_gamma_of_positive(a: Tensor) -> Tensor:
    """log(gamma(a)) for a >= 0."""
    small = a < 0.5
    y = _where(small, _add(a, 1), a)
    # Adding 0 leaves no -0.0 at the zeros.
    near = _add(_mul(_without_zeros(y), _mul(_where(small, a, _sub(y, 1)), _sub(y, 2))), 0.0)
    inverse = _div(1, y)
    far = _add(_mul(_sub(y, 0.5), _sub(log(y), 1)), HALF_LOG_TWO_PI - 0.5)
    far = _add(far, _mul(polynomial(STIRLING, _mul(inverse, inverse)), inverse))
    result = _where(y < 8, near, far)
    return _where(small, _sub(result, log(a)), result)


@composite(dtype=not_complex("lgamma", promoted_float), structure=pointwise, inplace=True)
@in_float32
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the magnitude of the gamma function: inf at 0 and the negative integers.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.lgamma(polyad.tensor([0.5, 1.0, 4.0]))
    tensor([0.5724, 0.0000, 1.7918])
    """
    a = abs(input)
    positive = log_gamma_of_positive(a)
    # gamma(-a) gamma(a) = -pi / (a sin(pi a)), with the sine of what is left beside the nearest integer
    sine = abs(sin(_mul(_sub(a, _round(a)), math.pi)))
    reflected = _sub(_sub(_sub(math.log(math.pi), log(a)), log(sine)), positive)
    reflected = _where(sine == 0, math.inf, reflected)  # where positive is inf, too, the difference is NaN
    return _where((input < 0) & (a < math.inf), reflected, positive)


gradient(lgamma, input=lambda g, input: _mul(g, digamma(input)))


@composite(dtype=not_complex("digamma", promoted_float), structure=pointwise, inplace=True)
@in_float32
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma`: infinite at 0, nan at the negative integers. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.digamma(polyad.tensor([0.5, 1.0, 4.0]))
    tensor([-1.9635, -0.5772,  1.2561])
    """
    negative = input < 0
    y = _where(negative, _sub(1, input), input)
    small = y < 1
    z = _where(small, _add(y, 1), y)
    near = _where(z < 2, _mul(beyond(z, DIGAMMA_ROOT), chebyshev(DIGAMMA_1, z)), chebyshev(DIGAMMA_2, z))
    inverse = _div(1, z)
    squared = _mul(inverse, inverse)
    far = _sub(_sub(log(z), _mul(inverse, 0.5)), _mul(polynomial(DIGAMMA_FAR, squared), squared))
    result = _where(z < 4, near, _where(z < 8, chebyshev(DIGAMMA_3, z), far))
    result = _where(small, _sub(result, _div(1, y)), result)
    # digamma(1 - x) - digamma(x) = pi / tan(pi x)
    rest = _sub(input, _round(input))
    reflected = _sub(result, _div(math.pi, tan(_mul(rest, math.pi))))
    return _where(negative, _where(rest == 0, math.nan, reflected), result)


gradient(digamma, input=lambda g, input: _mul(g, _polygamma(input, 1)))


@composite(dtype=not_complex("polygamma", promoted_float), structure=pointwise)
@in_float32
def _polygamma(input: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma, n >= 1: (-1)**(n+1) n! zeta(n + 1, input)."""
    # In two factors: the factorial alone may be infinite where the product is not.
    scale = math.exp(math.lgamma(n + 1) / 2) if n > 20 else math.sqrt(math.factorial(n))
    if n <= 20:
        result = _mul(hurwitz(float(n + 1), input), float(math.factorial(n)))
    else:
        result = _mul(_mul(hurwitz(float(n + 1), input), scale), scale)
    return result if n % 2 else _neg(result)


gradient(_polygamma, input=lambda g, input, n: _mul(g, _polygamma(input, n + 1)))
symmetric(lgamma, digamma, _polygamma)


@function(method=False)
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The *n*-th derivative of `digamma`. The method is ``input.polygamma(n)``.

    Raises RuntimeError for a negative *n* and for complex tensors, TypeError for an *n* that is no int.

    >>> import polyad
    >>> polyad.polygamma(1, polyad.tensor([1.0, 0.5]))
    tensor([1.6449, 4.9348])
    """
    if not isinstance(n, int):
        raise ArgumentTypeError(
            f"polygamma: n is {type(n).__name__}, not an int", fix="pass the order of the derivative"
        )
    check_tensor(input, "polygamma", "input")
    if isinstance(n, bool):
        raise ArgumentTypeError(f"polygamma: n is {n}, not an int", operands={"input": input}, fix="pass an int")
    if n < 0:
        raise ShapeError(
            f"polygamma: n is {n}: there are no negative derivatives", operands={"input": input}, fix="use n >= 0"
        )
    return digamma(input) if n == 0 else _polygamma(input, int(n))


def _polygamma_method(input: Tensor, n: int) -> Tensor:
    """The *n*-th derivative of `digamma`, as `polyad.polygamma` with the arguments exchanged.

    >>> import polyad
    >>> polyad.tensor([1.0, 0.5]).polygamma(1)
    tensor([1.6449, 4.9348])
    """
    return polygamma(n, check_tensor(input, "polygamma", "input"))


_polygamma_method.__name__ = "polygamma"
function(inplace=True, namespace="Tensor")(_polygamma_method)


@function(inplace=True)
def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension *p* >= 1:
    ``p (p - 1) / 4 log(pi) + sum(lgamma(input - j / 2) for j in range(p))``.

    Raises RuntimeError for a *p* below 1 and for bool and complex tensors, TypeError for a *p* that is no int.

    >>> import polyad
    >>> polyad.mvlgamma(polyad.tensor([2.0, 3.5]), 2)
    tensor([0.4516, 2.4665])
    """
    if check_tensor(input, "mvlgamma", "input")._type.dtype.category == BOOL:
        raise DTypeError("mvlgamma: input is bool", operands={"input": input}, fix="convert it to a floating dtype")
    check_int("mvlgamma", "p", p, fix="pass the dimension")
    check_least("mvlgamma", "p", p, 1, operands={"input": input}, fix="pass the dimension")
    if p > 1 << 16:
        raise OptionError(f"mvlgamma: p is {p}, of which each is a term", fix=f"pass a dimension up to {1 << 16}")
    return _add(sum_of_lgamma(input, p), p * (p - 1) / 4 * math.log(math.pi)).contiguous()


def sum_of_lgamma(input: Tensor, p: int) -> Tensor:
    """lgamma(input) + lgamma(input - 1/2) + ..., p of them."""
    result = lgamma(input)
    for j in range(1, p):
        result = _add(result, lgamma(_sub(input, j / 2)))
    return result


psi = alias("psi", digamma, namespace="special")
gammaln = alias("gammaln", lgamma, namespace="special")
multigammaln = alias("multigammaln", mvlgamma, namespace="special")
alias("digamma", digamma, namespace="special")
alias("polygamma", polygamma, namespace="special")
