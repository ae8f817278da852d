"""Bessel functions of orders 0 and 1, modified Bessel functions, and the Airy function Ai.

Near 0 each is an expansion with zeros, logarithms and poles taken out, further out Hankel's form with expansions in the
inverse of the argument. i0, i0e, i1 and i1e have gradients; of the others PyTorch has none, and neither has polyad:
asking for a gradient raises NotImplementedError. Integers become the default floating dtype; complex tensors are
refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from ...dispatch.forward import symmetric
from ...dispatch.op import alias, composite, gradient
from ...dispatch.promotion import not_complex, promoted_float
from ...dispatch.structure import pointwise
from ...tables.special import (
    AIRY_COSINE,
    AIRY_FAR,
    AIRY_NEAR,
    AIRY_NEGATIVE,
    AIRY_ROOT_1,
    AIRY_ROOT_2,
    AIRY_SINE,
    I0_FAR,
    I0_NEAR,
    I0_SMALL,
    I1_FAR,
    I1_NEAR,
    I1_SMALL,
    J0_NEAR,
    J0_P,
    J0_Q,
    J0_ROOT_1,
    J0_ROOT_2,
    J1_NEAR,
    J1_P,
    J1_Q,
    J1_ROOT_1,
    J1_ROOT_2,
    K0_FAR,
    K0_NEAR,
    K1_FAR,
    K1_NEAR,
    Y0_NEAR,
    Y1_NEAR,
)
from ...tensor import Tensor
from ..declaring.half_types import in_float32
from ..declaring.no_derivative import no_derivative
from ..pointwise.arithmetic import _add, _div, _mul, _neg, _sub, sgn
from ..pointwise.exponential import exp, log
from ..pointwise.maximum import maximum, minimum
from ..pointwise.powers import rsqrt, sqrt
from ..pointwise.trigonometry import cos, sin
from ..pointwise.where import _where
from .series import beyond, chebyshev

F = TypeVar("F", bound=Callable[..., Any])

SMALL, NEAR_I, NEAR_J, NEAR_AIRY, FAR_AIRY = 2.0, 8.0, 6.0, 2.0, -5.0
"""Where the expansions for small arguments end."""


def _declare(name: str) -> Callable[[F], F]:
    return composite(dtype=not_complex(name, promoted_float), structure=pointwise, namespace="special")


# ------------------------------------------------------------------------------------------ modified, first kind


def _small_i0(x: Tensor) -> Tensor:
    """I0(x) for abs(x) <= SMALL."""
    squared = _mul(x, x)
    return _add(_mul(squared, chebyshev(I0_SMALL, squared)), 1)


def _small_i1(x: Tensor) -> Tensor:
    """I1(x) for abs(x) <= SMALL."""
    return _mul(x, chebyshev(I1_SMALL, _mul(x, x)))


def _scaled_i0(a: Tensor) -> Tensor:
    """exp(-a) * I0(a) for a >= 0."""
    far = _where(a < NEAR_I, chebyshev(I0_NEAR, a), chebyshev(I0_FAR, _div(NEAR_I, a)))
    return _where(a < SMALL, _mul(_small_i0(minimum(a, SMALL)), exp(_neg(a))), _mul(far, rsqrt(a)))


def _scaled_i1(a: Tensor) -> Tensor:
    """exp(-a) * I1(a) for a >= 0."""
    far = _where(a < NEAR_I, chebyshev(I1_NEAR, a), chebyshev(I1_FAR, _div(NEAR_I, a)))
    return _where(a < SMALL, _mul(_small_i1(minimum(a, SMALL)), exp(_neg(a))), _mul(far, rsqrt(a)))


def _unscaled(scaled: Tensor, a: Tensor) -> Tensor:
    """exp(a) * scaled; in halves, since the exponential alone overflows earlier. nan for inf, as PyTorch has it."""
    half = exp(_mul(a, 0.5))
    return _mul(_mul(scaled, half), half)


def _odd(input: Tensor, of_magnitude: Tensor) -> Tensor:
    return _where(input < 0, _neg(of_magnitude), of_magnitude)


@composite(dtype=not_complex("i0", promoted_float), structure=pointwise, inplace=True)
@in_float32
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.i0(polyad.tensor([0.0, 1.0, -2.0]))
    tensor([1.0000, 1.2661, 2.2796])
    """
    a = abs(input)
    return _unscaled(_scaled_i0(a), a)


gradient(i0, input=lambda g, input: _mul(g, i1(input)))


@_declare("i0e")
@in_float32
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-abs(input)) * i0(input)``, which does not overflow. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.i0e(polyad.tensor([0.0, 1.0, 1000.0]))
    tensor([1.0000, 0.4658, 0.0126])
    """
    return _scaled_i0(abs(input))


gradient(i0e, input=lambda g, input, out: _mul(g, _sub(i1e(input), _mul(sgn(input), out))))


@_declare("i1")
@in_float32
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.i1(polyad.tensor([0.0, 1.0, -2.0]))
    tensor([ 0.0000,  0.5652, -1.5906])
    """
    a = abs(input)
    return _odd(input, _unscaled(_scaled_i1(a), a))


def _over(numerator: Tensor, input: Tensor, limit: float) -> Tensor:
    """numerator / input, and *limit* where input is 0."""
    zero = input == 0
    return _where(zero, limit, _div(numerator, _where(zero, 1.0, input)))


gradient(i1, input=lambda g, input, out: _mul(g, _sub(i0(input), _over(out, input, 0.5))))


@_declare("i1e")
@in_float32
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-abs(input)) * i1(input)``, which does not overflow. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.i1e(polyad.tensor([0.0, 1.0, 1000.0]))
    tensor([0.0000, 0.2079, 0.0126])
    """
    return _odd(input, _scaled_i1(abs(input)))


gradient(
    i1e,
    input=lambda g, input, out: _mul(g, _sub(_sub(i0e(input), _mul(sgn(input), out)), _over(out, input, 0.5))),
)
symmetric(i0, i0e, i1, i1e)


@_declare("modified_bessel_i0")
@in_float32
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`i0` under another name, without its gradient. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.modified_bessel_i0(polyad.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
    return i0(input)


@_declare("modified_bessel_i1")
@in_float32
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`special.i1` under another name, without its gradient. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.modified_bessel_i1(polyad.tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """
    return i1(input)


# ----------------------------------------------------------------------------------------- modified, second kind


def _k0(x: Tensor, scaled: bool) -> Tensor:
    y = minimum(x, SMALL)
    squared = _mul(y, y)
    near = _sub(chebyshev(K0_NEAR, squared), _mul(log(_mul(y, 0.5)), _small_i0(y)))
    far = _mul(chebyshev(K0_FAR, _div(SMALL, x)), rsqrt(x))
    return _either(x, near, far, scaled)


def _k1(x: Tensor, scaled: bool) -> Tensor:
    y = minimum(x, SMALL)
    squared = _mul(y, y)
    near = _mul(log(_mul(y, 0.5)), _small_i1(y))
    near = _add(_where(y == 0, 0.0, near), _div(chebyshev(K1_NEAR, squared), y))
    far = _mul(chebyshev(K1_FAR, _div(SMALL, x)), rsqrt(x))
    # The pole is that of 1 / abs(x), and there is nothing left of 0.
    return _where(x == 0, math.inf, _where(x < 0, math.nan, _either(x, near, far, scaled)))


def _either(x: Tensor, near: Tensor, far: Tensor, scaled: bool) -> Tensor:
    if scaled:
        near = _mul(near, exp(minimum(x, SMALL)))
    else:
        # In halves: the exponential alone vanishes earlier.
        half = exp(_mul(x, -0.5))
        far = _mul(_mul(far, half), half)
    return _where(x <= SMALL, near, far)


@_declare("modified_bessel_k0")
@in_float32
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0: inf at 0, nan for negative elements.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.modified_bessel_k0(polyad.tensor([0.0, 1.0, 2.0]))
    tensor([   inf, 0.4210, 0.1139])
    """
    return _k0(input, False)


@_declare("scaled_modified_bessel_k0")
@in_float32
def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(x) * modified_bessel_k0(x)``, which does not underflow. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.scaled_modified_bessel_k0(polyad.tensor([1.0, 1000.0]))
    tensor([1.1445, 0.0396])
    """
    return _k0(x, True)


@_declare("modified_bessel_k1")
@in_float32
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1: inf at 0, nan for negative elements.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.modified_bessel_k1(polyad.tensor([0.0, 1.0, 2.0]))
    tensor([   inf, 0.6019, 0.1399])
    """
    return _k1(input, False)


@_declare("scaled_modified_bessel_k1")
@in_float32
def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(x) * modified_bessel_k1(x)``, which does not underflow. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.scaled_modified_bessel_k1(polyad.tensor([1.0, 1000.0]))
    tensor([1.6362, 0.0396])
    """
    return _k1(x, True)


# ----------------------------------------------------------------------------------------- first and second kind


def _waves(a: Tensor, p: Tensor, q: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """sqrt(2 / (pi a)) * (p * cosine - q / a * sine), Hankel's form (DLMF 10.17.3)."""
    return _mul(_sub(_mul(p, cosine), _mul(_div(q, a), sine)), _mul(rsqrt(a), math.sqrt(1 / math.pi)))


def _hankel(a: Tensor, order: int, second: bool) -> Tensor:
    """J or, if *second*, Y of the order at a >= NEAR_J. The root of 2 goes into cosine and sine of the phase."""
    a = maximum(a, NEAR_J)
    inverse = _div(NEAR_J, a)
    squared = _mul(inverse, inverse)
    p, q = (chebyshev(table, squared) for table in ((J0_P, J0_Q), (J1_P, J1_Q))[order])
    sine, cosine = sin(a), cos(a)
    # The phase is a - pi / 4, or a - 3 pi / 4: its cosine and sine are sums of those of a.
    total, gap = _add(sine, cosine), _sub(sine, cosine)
    turned_cosine, turned_sine = (total, gap) if order == 0 else (gap, _neg(total))
    if second:
        # p * sine + q / a * cosine
        return _waves(a, p, q, turned_sine, _neg(turned_cosine))
    return _waves(a, p, q, turned_cosine, turned_sine)


def _near_j(a: Tensor, order: int) -> Tensor:
    """J of the order at 0 <= a <= NEAR_J."""
    first, second = ((J0_ROOT_1, J0_ROOT_2), (J1_ROOT_1, J1_ROOT_2))[order]
    result = chebyshev((J0_NEAR, J1_NEAR)[order], _mul(a, a))
    for root in (first, second):
        result = _mul(result, _mul(beyond(a, root), _add(a, sum(root))))
    return _mul(result, a) if order else result


@_declare("bessel_j0")
@in_float32
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.bessel_j0(polyad.tensor([0.0, 1.0, 10.0]))
    tensor([ 1.0000,  0.7652, -0.2459])
    """
    a = abs(input)
    return _where(a < NEAR_J, _near_j(minimum(a, NEAR_J), 0), _hankel(a, 0, False))


@_declare("bessel_j1")
@in_float32
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.bessel_j1(polyad.tensor([0.0, 1.0, 10.0]))
    tensor([0.0000, 0.4401, 0.0435])
    """
    a = abs(input)
    return _odd(input, _where(a < NEAR_J, _near_j(minimum(a, NEAR_J), 1), _hankel(a, 1, False)))


@_declare("bessel_y0")
@in_float32
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0: -inf at 0, nan for negative elements.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.bessel_y0(polyad.tensor([0.0, 1.0, 10.0]))
    tensor([  -inf, 0.0883, 0.0557])
    """
    a = minimum(input, NEAR_J)
    near = _add(chebyshev(Y0_NEAR, _mul(a, a)), _mul(_mul(log(a), _near_j(a, 0)), 2 / math.pi))
    return _where(input < NEAR_J, near, _hankel(input, 0, True))


@_declare("bessel_y1")
@in_float32
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1: -inf at 0, nan for negative elements.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.bessel_y1(polyad.tensor([0.0, 1.0, 10.0]))
    tensor([   -inf, -0.7812,  0.2490])
    """
    a = minimum(input, NEAR_J)
    logarithmic = _mul(_mul(log(a), _near_j(a, 1)), 2 / math.pi)
    near = _sub(_add(_mul(a, chebyshev(Y1_NEAR, _mul(a, a))), logarithmic), _div(2 / math.pi, a))
    return _where(input == 0, -math.inf, _where(input < NEAR_J, near, _hankel(input, 1, True)))


@_declare("spherical_bessel_j0")
@in_float32
def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The spherical Bessel function of the first kind of order 0: ``sin(x) / x``, 1 at 0 and 0 at infinity.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.spherical_bessel_j0(polyad.tensor([0.0, 1.0, 10.0]))
    tensor([ 1.0000,  0.8415, -0.0544])
    """
    return _where(abs(x) == math.inf, 0.0, _over(sin(x), x, 1.0))


# ---------------------------------------------------------------------------------------------------------- Airy


@_declare("airy_ai")
@in_float32
def airy_ai(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Airy function Ai, nan for infinity. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.airy_ai(polyad.tensor([-2.0, 0.0, 1.0]))
    tensor([0.2274, 0.3550, 0.1353])
    """
    a = abs(x)
    fourth = rsqrt(sqrt(a))
    zeta = _mul(_mul(a, sqrt(a)), 2 / 3)
    inverse = _div(1, zeta)
    decayed = _mul(_mul(chebyshev(AIRY_FAR, inverse), fourth), exp(_neg(zeta)))
    decayed = _where(a == math.inf, math.nan, decayed)  # as PyTorch has it
    near = _mul(chebyshev(AIRY_NEAR, x), exp(_neg(minimum(a, NEAR_AIRY))))
    between = chebyshev(AIRY_NEGATIVE, x)
    for root in (AIRY_ROOT_1, AIRY_ROOT_2):
        between = _mul(between, beyond(maximum(x, FAR_AIRY), root))
    sine, cosine = sin(zeta), cos(zeta)
    squared = _mul(inverse, inverse)
    waves = _sub(
        _mul(chebyshev(AIRY_SINE, squared), _add(sine, cosine)),
        _mul(_mul(chebyshev(AIRY_COSINE, squared), inverse), _sub(cosine, sine)),
    )
    waves = _mul(_mul(waves, fourth), math.sqrt(0.5))
    return _where(x < 0, _where(x < FAR_AIRY, waves, between), _where(x < NEAR_AIRY, near, decayed))


for _function in (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
):
    _operand = "x" if _function.__name__.startswith(("airy", "scaled", "spherical")) else "input"
    gradient(_function, **no_derivative(_function.__name__, _operand))

alias("i0", i0, namespace="special")
