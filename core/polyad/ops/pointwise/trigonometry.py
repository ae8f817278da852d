"""Circular and hyperbolic functions and their inverses; angles are in radians.

Integers become the default floating dtype. Outside a real function's domain the result is nan.
"""

from __future__ import annotations

import math

from ...dispatch.forward import symmetric
from ...dispatch.op import alias, composite, gradient, primitive
from ...dispatch.promotion import floating_only, not_complex, promoted_float
from ...dispatch.structure import Pointwise, pointwise
from ...tensor import Tensor
from ..declaring.half_types import in_float32
from .arithmetic import _add, _div, _mul, _neg, _sub, conjugate
from .powers import rsqrt, square
from .where import _where


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sine.

    >>> import polyad
    >>> polyad.sin(polyad.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """


gradient(sin, input=lambda g, input: _mul(g, conjugate(cos(input))))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cosine.

    >>> import polyad
    >>> polyad.cos(polyad.tensor([0.0, 1.0]))
    tensor([1.0000, 0.5403])
    """


gradient(cos, input=lambda g, input: _neg(_mul(g, conjugate(sin(input)))))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tangent.

    >>> import polyad
    >>> polyad.tan(polyad.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """


gradient(tan, input=lambda g, out: _mul(g, conjugate(_add(square(out), 1))))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse sine, in [-pi/2, pi/2].

    >>> import polyad
    >>> polyad.asin(polyad.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """


gradient(asin, input=lambda g, input: _mul(g, conjugate(rsqrt(_sub(1, square(input))))))

arcsin = alias("arcsin", asin)


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse cosine, in [0, pi].

    >>> import polyad
    >>> polyad.acos(polyad.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """


gradient(acos, input=lambda g, input: _neg(_mul(g, conjugate(rsqrt(_sub(1, square(input)))))))

arccos = alias("arccos", acos)


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse tangent, in [-pi/2, pi/2].

    >>> import polyad
    >>> polyad.atan(polyad.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """


gradient(atan, input=lambda g, input: _div(g, conjugate(_add(square(input), 1))))

arctan = alias("arctan", atan)


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic sine.

    >>> import polyad
    >>> polyad.sinh(polyad.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """


gradient(sinh, input=lambda g, input: _mul(g, conjugate(cosh(input))))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic cosine.

    >>> import polyad
    >>> polyad.cosh(polyad.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """


gradient(cosh, input=lambda g, input: _mul(g, conjugate(sinh(input))))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The hyperbolic tangent.

    >>> import polyad
    >>> polyad.tanh(polyad.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """


@composite(dtype=floating_only("tanh_backward"), structure=Pointwise(broadcasts=False), method=False)
def _tanh_backward(grad: Tensor, output: Tensor) -> Tensor:
    """grad * (1 - output**2): the gradient of `tanh` from its result."""
    return _mul(grad, conjugate(_sub(1, square(output))))


gradient(
    _tanh_backward,
    grad=lambda g, output: _mul(g, _sub(1, square(output))),
    output=lambda g, grad, output: _mul(_mul(_mul(conjugate(g), grad), conjugate(output)), -2),
)
gradient(tanh, input=lambda g, out: _tanh_backward(g, out))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic sine.

    >>> import polyad
    >>> polyad.asinh(polyad.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """


gradient(asinh, input=lambda g, input: _mul(g, conjugate(rsqrt(_add(square(input), 1)))))

arcsinh = alias("arcsinh", asinh)


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic cosine, for elements of at least 1.

    >>> import polyad
    >>> polyad.acosh(polyad.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """


gradient(acosh, input=lambda g, input: _mul(g, conjugate(_mul(rsqrt(_sub(input, 1)), rsqrt(_add(input, 1))))))

arccosh = alias("arccosh", acosh)


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse hyperbolic tangent, for elements between -1 and 1.

    >>> import polyad
    >>> polyad.atanh(polyad.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """


gradient(atanh, input=lambda g, input: _div(g, conjugate(_sub(1, square(input)))))

arctanh = alias("arctanh", atanh)


@primitive(dtype=not_complex("atan2", promoted_float), structure=pointwise, inplace=True)
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of the point (x = *other*, y = *input*), in [-pi, pi].

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.atan2(polyad.tensor([1.0, 1.0]), polyad.tensor([1.0, -1.0]))
    tensor([0.7854, 2.3562])
    """


def _of_angle(g: Tensor, side: Tensor, input: Tensor, other: Tensor) -> Tensor:
    """g * side / (input ** 2 + other ** 2); 0 at the origin, where the angle has no derivative."""
    squared = _add(square(input), square(other))
    return _where(squared == 0, 0.0, _mul(g, _div(side, squared)))


gradient(
    atan2,
    input=lambda g, input, other: _of_angle(g, other, input, other),
    other=lambda g, input, other: _neg(_of_angle(g, input, input, other)),
)

arctan2 = alias("arctan2", atan2)


@composite(dtype=not_complex("deg2rad", promoted_float), structure=pointwise, inplace=True)
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees to radians.

    >>> import polyad
    >>> polyad.deg2rad(polyad.tensor([180.0]))
    tensor([3.1416])
    """
    return _mul(input, math.pi / 180)


@composite(dtype=not_complex("rad2deg", promoted_float), structure=pointwise, inplace=True)
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians to degrees.

    >>> import polyad
    >>> polyad.rad2deg(polyad.tensor([3.0]))
    tensor([171.8873])
    """
    return _mul(input, 180 / math.pi)


@composite(dtype=promoted_float, structure=pointwise, inplace=True)
@in_float32
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi * input) / (pi * input)``, and 1 at 0.

    >>> import polyad
    >>> polyad.sinc(polyad.tensor([0.0, 0.5, 1.5]))
    tensor([ 1.0000,  0.6366, -0.2122])
    """
    angle = _mul(input, math.pi)
    zero = angle == 0
    return _where(zero, 1.0, _div(sin(angle), _where(zero, 1.0, angle)))


NEAR_0 = 0.25
"""Up to here the slope of `sinc` is a power series: its closed form loses its digits there."""

_SLOPE = [(-1) ** k * math.pi ** (2 * k) * 2 * k / math.factorial(2 * k + 1) for k in range(1, 12)]
"""Taylor coefficients of the slope, of x, x**3, ..."""


def _sinc_slope(x: Tensor) -> Tensor:
    near = abs(x) < NEAR_0
    far_x, near_x = _where(near, 1.0, x), _where(near, x, 0.0)
    square = _mul(near_x, near_x)
    series = _mul(square, _SLOPE[-1])
    for coefficient in _SLOPE[-2:0:-1]:
        series = _mul(_add(series, coefficient), square)
    angle = _mul(far_x, math.pi)
    far = _div(_sub(cos(angle), _div(sin(angle), angle)), far_x)
    return _where(near, _mul(_add(series, _SLOPE[0]), near_x), far)


gradient(sinc, input=lambda g, input: _mul(g, conjugate(_sinc_slope(input))))
symmetric(sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, atan2, sinc)
symmetric(_tanh_backward, holomorphic=False)

alias("sinc", sinc, namespace="special")
alias("tanh", tanh, namespace="nn.functional")
