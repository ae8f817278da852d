"""The error function, the normal distribution's functions that follow from it, and their inverses.

Everything is computed from exp(x**2) erfc(x), which a Chebyshev expansion gives for all x >= 0, and from expansions of
erf and its inverse near 0. Integers become the default floating dtype; complex tensors are refused.
"""

from __future__ import annotations

import math

from ...dispatch.forward import symmetric
from ...dispatch.op import alias, composite, gradient
from ...dispatch.promotion import not_complex, promoted_float
from ...dispatch.structure import pointwise
from ...tables.special import ERF_NEAR, ERFCX, ERFINV_NEAR, PROBIT_1, PROBIT_2, PROBIT_3, PROBIT_4
from ...tensor import Tensor
from ..declaring.half_types import in_float32
from ..pointwise.arithmetic import _add, _div, _mul, _neg, _sub
from ..pointwise.clamp import _clamp
from ..pointwise.exponential import exp, log, log1p
from ..pointwise.maximum import minimum
from ..pointwise.powers import sqrt, square
from ..pointwise.where import _where
from .series import chebyshev, gaussian

TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
ROOT_HALF = math.sqrt(0.5)
ERFCX_K = 3.75
"""The variable of the table `ERFCX` is (x - K) / (x + K)."""


def _scaled_complement(a: Tensor) -> Tensor:
    """exp(a**2) * erfc(a) for a >= 0."""
    t = _sub(1, _div(2 * ERFCX_K, _add(a, ERFCX_K)))
    return _div(_mul(chebyshev(ERFCX, t), 0.5), _add(a, 0.5))


def _erf_near(x: Tensor) -> Tensor:
    """erf(x) for abs(x) <= 1."""
    return _mul(x, chebyshev(ERF_NEAR, _mul(x, x)))


@composite(dtype=not_complex("erf", promoted_float), structure=pointwise, inplace=True)
@in_float32
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to the element.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.erf(polyad.tensor([0.0, 0.5, 2.0]))
    tensor([0.0000, 0.5205, 0.9953])
    """
    a = abs(input)
    far = _sub(1, _mul(_scaled_complement(_clamp(a, 1.0, 64.0)), gaussian(a, -1)))
    return _where(a < 1, _erf_near(input), _where(input < 0, _neg(far), far))


gradient(erf, input=lambda g, input: _mul(g, _mul(exp(_neg(square(input))), TWO_OVER_ROOT_PI)))


@composite(dtype=not_complex("erfc", promoted_float), structure=pointwise, inplace=True)
@in_float32
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(input)``, accurate where erf is near 1. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.erfc(polyad.tensor([0.0, 0.5, 2.0]))
    tensor([1.0000, 0.4795, 0.0047])
    """
    a = abs(input)
    tail = _mul(_scaled_complement(_clamp(a, 0.0, 64.0)), gaussian(a, -1))
    return _where(a < 0.5, _sub(1, _erf_near(input)), _where(input < 0, _sub(2, tail), tail))


gradient(erfc, input=lambda g, input: _mul(g, _mul(exp(_neg(square(input))), -TWO_OVER_ROOT_PI)))


@composite(dtype=not_complex("erfcx", promoted_float), structure=pointwise, namespace="special")
@in_float32
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input**2) * erfc(input)``, which does not underflow for large elements.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.erfcx(polyad.tensor([-1.0, 0.0, 100.0]))
    tensor([5.0090, 1.0000, 0.0056])
    """
    a, grown = abs(input), gaussian(input, 1)
    scaled = _scaled_complement(a)
    near = _mul(_sub(1, _erf_near(input)), grown)
    return _where(a < 0.5, near, _where(input < 0, _sub(_mul(grown, 2), scaled), scaled))


gradient(erfcx, input=lambda g, input, out: _mul(g, _sub(_mul(_mul(input, out), 2), TWO_OVER_ROOT_PI)))


@composite(dtype=not_complex("erfinv", promoted_float), structure=pointwise, inplace=True)
@in_float32
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `erf`: infinite at -1 and 1, nan outside. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.erfinv(polyad.tensor([-1.0, 0.0, 0.5]))
    tensor([  -inf, 0.0000, 0.4769])
    """
    a = abs(input)
    tail = _mul(_probit_tail(_mul(_sub(1, a), 0.5)), ROOT_HALF)
    near = _mul(input, chebyshev(ERFINV_NEAR, _mul(input, input)))
    return _where(a <= 0.5, near, _where(input < 0, _neg(tail), tail))


gradient(erfinv, input=lambda g, input: _mul(g, _mul(exp(square(erfinv(input))), 1 / TWO_OVER_ROOT_PI)))


def _probit_tail(p: Tensor) -> Tensor:
    """The y > 0 that a normal variable exceeds with probability p <= 1/4; inf for 0, nan below."""
    s = sqrt(_mul(log(p), -2))
    ratio = _where(
        s < 6,
        _where(s < 3, chebyshev(PROBIT_1, s), chebyshev(PROBIT_2, s)),
        _where(s < 14, chebyshev(PROBIT_3, s), chebyshev(PROBIT_4, s)),
    )
    return _mul(s, ratio)


@composite(dtype=not_complex("ndtr", promoted_float), structure=pointwise, namespace="special")
@in_float32
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The probability that a normal variable is less than the element. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.ndtr(polyad.tensor([-1.0, 0.0, 1.0]))
    tensor([0.1587, 0.5000, 0.8413])
    """
    a = abs(input)
    tail = _mul(_mul(_scaled_complement(_mul(_clamp(a, 0.0, 64.0), ROOT_HALF)), gaussian(a, -0.5)), 0.5)
    near = _mul(_add(_erf_near(_mul(input, ROOT_HALF)), 1), 0.5)
    return _where(a < 0.5, near, _where(input < 0, tail, _sub(1, tail)))


gradient(ndtr, input=lambda g, input: _mul(g, _mul(exp(_mul(square(input), -0.5)), TWO_OVER_ROOT_PI * ROOT_HALF / 2)))


@composite(dtype=not_complex("log_ndtr", promoted_float), structure=pointwise, namespace="special")
@in_float32
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `special.ndtr`, accurate where that underflows. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.log_ndtr(polyad.tensor([-100.0, 0.0, 1.0]))
    tensor([-5.0055e+03, -6.9315e-01, -1.7275e-01])
    """
    a = abs(input)
    low = _sub(log(_mul(_scaled_complement(_mul(a, ROOT_HALF)), 0.5)), _mul(_mul(input, input), 0.5))
    return _where(input < -1, low, log1p(_mul(erfc(_mul(input, ROOT_HALF)), -0.5)))


gradient(
    log_ndtr,
    input=lambda g, input: _mul(g, _div(TWO_OVER_ROOT_PI * ROOT_HALF, erfcx(_mul(input, -ROOT_HALF)))),
)


@composite(dtype=not_complex("ndtri", promoted_float), structure=pointwise, namespace="special")
@in_float32
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `special.ndtr`: the quantiles of a normal variable; infinite at 0 and 1, nan outside.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.ndtri(polyad.tensor([0.0, 0.5, 0.975]))
    tensor([  -inf, 0.0000, 1.9600])
    """
    centred = _mul(_sub(input, 0.5), 2)
    tail = _probit_tail(minimum(input, _sub(1, input)))
    near = _mul(_mul(centred, chebyshev(ERFINV_NEAR, _mul(centred, centred))), 1 / ROOT_HALF)
    return _where(abs(centred) <= 0.5, near, _where(input < 0.5, _neg(tail), tail))


gradient(
    ndtri,
    input=lambda g, out: _mul(g, _mul(exp(_mul(square(out), 0.5)), 1 / (TWO_OVER_ROOT_PI * ROOT_HALF / 2))),
)
symmetric(erf, erfc, erfcx, erfinv, ndtr, log_ndtr, ndtri)

alias("erf", erf, namespace="special")
alias("erfc", erfc, namespace="special")
alias("erfinv", erfinv, namespace="special")
