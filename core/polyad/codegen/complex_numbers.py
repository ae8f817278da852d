"""Ops on complex numbers, as expressions of their real and imaginary parts.

Generated code knows real numbers only: a complex value is two variables. Here every op that complex numbers have is
a function of the parts of its arguments, (re, im) pairs, that gives a pair, or a real expression where the result is
real or bool.

To add an op: its function, and its row in `LOWERED`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .expression import Expression, Literal, apply, where

Pair = tuple[Expression, Expression]


def _f(op: str) -> Callable[..., Any]:
    return lambda *arguments: apply(op, *arguments)


_abs, _exp, _log, _sqrt, _sin, _cos = _f("abs"), _f("exp"), _f("log"), _f("sqrt"), _f("sin"), _f("cos")
_sinh, _cosh, _tan, _log1p, _hypot, _atan2 = _f("sinh"), _f("cosh"), _f("tan"), _f("log1p"), _f("hypot"), _f("atan2")
_copysign, _asinh = _f("copysign"), _f("asinh")


def both(a: Expression, b: Expression) -> Expression:
    """Whether both bools are true."""
    return apply("mul", a, b)


def either(a: Expression, b: Expression) -> Expression:
    """Whether either of two bools is true."""
    return apply("add", a, b)


def _choose(condition: Expression, a: Pair, b: Pair) -> Pair:
    return where(condition, a[0], b[0]), where(condition, a[1], b[1])


def _mul(a: Pair, b: Pair) -> Pair:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _div(a: Pair, b: Pair) -> Pair:
    """Smith's division: by the larger part, so that squares do not overflow. By 0 it gives infinities."""
    zero = both(_is0(b[0]), _is0(b[1]))
    wide = _abs(b[0]) >= _abs(b[1])
    large, small = where(wide, b[0], b[1]), where(wide, b[1], b[0])
    ratio = small / where(zero, 1, large)
    scale = 1 / (large + small * ratio)
    re = where(wide, a[0] + a[1] * ratio, a[0] * ratio + a[1]) * scale
    im = where(wide, a[1] - a[0] * ratio, a[1] * ratio - a[0]) * scale
    size = _abs(b[0])
    return where(zero, a[0] / size, re), where(zero, a[1] / size, im)


def _exponential(z: Pair) -> Pair:
    size = _exp(z[0])
    real = _is0(z[1])
    # Of a real number the sine is 0 exactly, which infinity must not meet.
    return size * _cos(z[1]), where(real, z[1], size * _sin(z[1]))


def _logarithm(z: Pair) -> Pair:
    return _log(_hypot(*z)), _atan2(z[1], z[0])


def _logarithm_of_one_more(z: Pair) -> Pair:
    """Its real part is half of log1p(|1 + z|**2 - 1) where that is not close to -1 and does not overflow."""
    excess = z[0] * (z[0] + 2) + z[1] * z[1]
    near = both(both(_abs(z[0]) <= 2, _abs(z[1]) <= 2), excess > -0.5)
    far = _log(_hypot(z[0] * 0.5 + 0.5, z[1] * 0.5)) + math.log(2)
    return where(near, _log1p(where(near, excess, 0)) * 0.5, far), _atan2(z[1], z[0] + 1)


def _square_root(z: Pair) -> Pair:
    """From the half of |z| + |re|, which does not cancel; the sign of im decides the branch."""
    size = _hypot(*z)
    root = _sqrt((_abs(z[0]) + size) * 0.5)
    other = _abs(z[1]) / (root + root)
    zero = _is0(root)
    other = where(zero, 0, other)
    right = z[0] >= 0
    return where(right, root, other), _copysign(where(right, other, root), z[1])


def _times_i(z: Pair) -> Pair:
    return -z[1], z[0]


def _by_i(z: Pair) -> Pair:
    return z[1], -z[0]


def _hyperbolic_sine(z: Pair) -> Pair:
    return _sinh(z[0]) * _cos(z[1]), _cosh(z[0]) * _sin(z[1])


def _hyperbolic_cosine(z: Pair) -> Pair:
    return _cosh(z[0]) * _cos(z[1]), _sinh(z[0]) * _sin(z[1])


def _hyperbolic_tangent(z: Pair) -> Pair:
    """Kahan's: by tan(im) and sinh(re); far out it is 1 but for 4 exp(-2 |re|)."""
    t, s = _tan(z[1]), _sinh(z[0])
    b = t * t + 1
    r = _sqrt(s * s + 1)
    d = b * s * s + 1
    far = _abs(z[0]) > 20
    tail = _exp(_abs(z[0]) * -2) * 4
    unit = _copysign(where(far, 1, z[0]), z[0])
    return where(far, unit, b * r * s / d), where(far, _sin(z[1]) * _cos(z[1]) * tail, t / d)


def _inverse_hyperbolic_sine(z: Pair) -> Pair:
    """Kahan's: by the square roots of 1 + iz and 1 - iz."""
    a = _square_root((z[1] + 1, -z[0]))
    b = _square_root((1 - z[1], z[0]))
    return _asinh(a[0] * b[1] - a[1] * b[0]), _atan2(z[1], a[0] * b[0] - a[1] * b[1])


def _inverse_cosine(z: Pair) -> Pair:
    a = _square_root((1 - z[0], -z[1]))
    b = _square_root((z[0] + 1, z[1]))
    return _atan2(a[0], b[0]) * 2, _asinh(b[0] * a[1] - b[1] * a[0])


def _inverse_hyperbolic_cosine(z: Pair) -> Pair:
    a = _square_root((z[0] - 1, z[1]))
    b = _square_root((z[0] + 1, z[1]))
    return _asinh(a[0] * b[0] + a[1] * b[1]), _atan2(a[1], b[0]) * 2


def _inverse_hyperbolic_tangent(z: Pair) -> Pair:
    """Half of log(1 + z) - log(1 - z): its real part as a log1p of a positive number, its imaginary part as the sum
    of two angles of the same sign, so that nothing cancels.
    """
    size = _abs(z[0])
    # So close to 1 or -1 the distance's square may be no number; the logarithm of a quotient is then a difference.
    distance = _hypot(1 - size, z[1])
    far = _log1p(size * 4 / ((1 - size) * (1 - size) + z[1] * z[1]))
    re = where(distance < 1e-9, _log(size * 4) - _log(distance) * 2, far) * 0.25
    im = (_atan2(z[1], z[0] + 1) + _atan2(z[1], 1 - z[0])) * 0.5
    return _copysign(re, z[0]), im


def _power(a: Pair, b: Pair) -> Pair:
    """exp(b log a); to the 0 it is 1, and 0 to anything else 0."""
    zero, none = both(_is0(a[0]), _is0(a[1])), both(_is0(b[0]), _is0(b[1]))
    power = _exponential(_mul(b, _logarithm(_choose(zero, (_one(a), _none(a)), a))))
    return _choose(none, (_one(a), _none(a)), _choose(zero, (_none(a), _none(a)), power))


def _is0(x: Expression) -> Expression:
    return apply("eq", x, Literal(0, x.dtype))


def _one(z: Pair) -> Expression:
    return Literal(1.0, z[0].dtype)


def _none(z: Pair) -> Expression:
    return Literal(0.0, z[0].dtype)


def _by(function: Callable[[Pair], Pair], before: Callable[[Pair], Pair], after: Callable[[Pair], Pair]) -> Any:
    return lambda z: after(function(before(z)))


def _scaled(function: Callable[[Pair], Pair], factor: float) -> Any:
    return lambda z: tuple(part * factor for part in function(z))


LOWERED: dict[str, Callable[..., Pair | Expression]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[0], a[1] - b[1]),
    "mul": _mul,
    "div": _div,
    "neg": lambda z: (-z[0], -z[1]),
    "conj": lambda z: (z[0], -z[1]),
    "abs": lambda z: _hypot(*z),
    "eq": lambda a, b: both(apply("eq", a[0], b[0]), apply("eq", a[1], b[1])),
    "ne": lambda a, b: either(apply("ne", a[0], b[0]), apply("ne", a[1], b[1])),
    "logical_not": lambda z: both(_is0(z[0]), _is0(z[1])),
    "isnan": lambda z: either(apply("isnan", z[0]), apply("isnan", z[1])),
    "isinf": lambda z: either(apply("isinf", z[0]), apply("isinf", z[1])),
    "isfinite": lambda z: both(apply("isfinite", z[0]), apply("isfinite", z[1])),
    "exp": _exponential,
    "exp2": lambda z: _exponential((z[0] * math.log(2), z[1] * math.log(2))),
    "expm1": lambda z: (
        apply("expm1", z[0]) * _cos(z[1]) - _sin(z[1] * 0.5) * _sin(z[1] * 0.5) * 2,
        _exp(z[0]) * _sin(z[1]),
    ),
    "log": _logarithm,
    "log2": _scaled(_logarithm, 1 / math.log(2)),
    "log10": _scaled(_logarithm, 1 / math.log(10)),
    "log1p": _logarithm_of_one_more,
    "sqrt": _square_root,
    "pow": _power,
    "sinh": _hyperbolic_sine,
    "cosh": _hyperbolic_cosine,
    "tanh": _hyperbolic_tangent,
    "sin": _by(_hyperbolic_sine, _times_i, _by_i),
    "cos": lambda z: _hyperbolic_cosine(_times_i(z)),
    "tan": _by(_hyperbolic_tangent, _times_i, _by_i),
    "asinh": _inverse_hyperbolic_sine,
    "asin": _by(_inverse_hyperbolic_sine, _times_i, _by_i),
    "acos": _inverse_cosine,
    "acosh": _inverse_hyperbolic_cosine,
    "atanh": _inverse_hyperbolic_tangent,
    "atan": _by(_inverse_hyperbolic_tangent, _times_i, _by_i),
}
"""By op: from each argument's parts to the result's."""
