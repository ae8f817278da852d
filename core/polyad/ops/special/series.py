"""What special functions are evaluated with: Chebyshev expansions and polynomials.

Invariant: arguments are float32 or float64 tensors, and a series clamps its variable to its interval, so that a branch
that `_where` discards makes no infinity of its own. NaN passes through.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import float64
from ...tables.special import Series
from ...tensor import Tensor
from ..pointwise.arithmetic import _add, _mul, _sub
from ..pointwise.clamp import _clamp
from ..pointwise.exponential import exp
from ..pointwise.rounding import _round


def is_double(x: Tensor) -> bool:
    """Whether *x* wants the terms that float64 needs."""
    return x._type.dtype is float64


def chebyshev(series: Series, x: Tensor) -> Tensor:
    """The sum of *series* at *x*, by Clenshaw's recurrence (Mathematics of Computation 9 (1955), 118-120)."""
    terms = series.coefficients if is_double(x) else series.coefficients[: series.single]
    half = (series.high - series.low) / 2
    t = _mul(_sub(_clamp(x, series.low, series.high), series.low + half), 1 / half)
    twice = _mul(t, 2)
    later: Tensor | None = None
    latest: Tensor | float = terms[-1]
    for term in terms[-2:0:-1]:
        step = _add(_mul(twice, latest), term)
        latest, later = step if later is None else _sub(step, later), latest
    result = _add(_mul(t, latest), terms[0])
    return result if later is None else _sub(result, later)


def polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    """c[0] + c[1] x + c[2] x**2 + ... by Horner's rule."""
    result = _add(_mul(x, coefficients[-1]), coefficients[-2])
    for coefficient in coefficients[-3::-1]:
        result = _add(_mul(result, x), coefficient)
    return result


def beyond(x: Tensor, root: tuple[float, float, float]) -> Tensor:
    """x - root, with the root in parts: right to the last bits where x is near it."""
    return _sub(_sub(_sub(x, root[0]), root[1]), root[2])


def gaussian(x: Tensor, factor: float) -> Tensor:
    """exp(factor * x**2) for a factor of 1, -1 or -1/2, which does not suffer from the rounding of x**2.

    x is split into a part of few bits, of which the square is exact, and a rest.
    """
    x = _clamp(x, -64.0, 64.0)
    rough = _mul(_round(_mul(x, 16)), 1 / 16)
    rest = _mul(_sub(x, rough), _add(x, rough))
    return _mul(exp(_mul(_mul(rough, rough), factor)), exp(_mul(rest, factor)))
