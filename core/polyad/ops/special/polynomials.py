"""Orthogonal polynomials by their three-term recurrences (DLMF 18.9).

The degree *n* is a number or a tensor, of which fractions are dropped; of a negative degree the polynomial is 0. As
many steps are taken as the largest degree needs, which is therefore read from the device if *n* is a tensor. Chebyshev
polynomials of high degree are cosines and sines inside their interval.

PyTorch has no gradients of these, and neither has polyad: asking for a gradient raises NotImplementedError. Integers
become the default floating dtype; complex tensors are refused.

The functions are a table. To add a polynomial: its polynomial of degree 1, its step, and a row below that hands them to
`_polynomial`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ...dispatch.op import composite, gradient
from ...dispatch.promotion import not_complex, promoted_float
from ...dispatch.structure import pointwise
from ...errors import OptionError
from ...tables.special import HERMITE_LIMIT, HIGH_DEGREE, HIGHEST_DEGREE
from ...tensor import Tensor
from ..creation.factories import full_like, tensor
from ..declaring.half_types import in_float32
from ..declaring.named import named
from ..declaring.no_derivative import no_derivative
from ..pointwise.arithmetic import _add, _div, _mul, _sub
from ..pointwise.clamp import _clamp
from ..pointwise.rounding import trunc
from ..pointwise.trigonometry import acos, cos, sin
from ..pointwise.where import _where
from ..shaping.reshape import broadcast_tensors
from .series import is_double

if TYPE_CHECKING:
    Number = bool | int | float | complex

Step = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""``step(k, x, p_k, p_(k-1))`` is p_(k+1)."""

Values = Callable[[Any, Any], Tensor]
"""``values(x, n)`` of the polynomial of degree n at x."""


def _polynomial(
    x: Tensor | Number,
    n: Tensor | Number,
    first: Callable[[Tensor], Tensor],
    step: Step,
    by_angle: Callable[[Tensor, Tensor], Tensor] | None = None,
    to_angle: Callable[[Tensor], Tensor] = lambda x: x,
) -> Tensor:
    """The polynomial of degree *n* at *x*; inside (-1, 1) of *to_angle* that of a high degree is
    ``by_angle(angle, n)``.
    """
    if isinstance(n, Tensor) and n._array.shape:
        return _of_degrees(_as_tensor(x, n), n, first, step, by_angle, to_angle)
    degree = n.item() if isinstance(n, Tensor) else n
    x = _as_tensor(x, n)  # type: ignore[arg-type]
    assert not isinstance(degree, complex)
    if not math.isfinite(degree):
        return full_like(x, math.nan)
    degree = int(degree)
    if degree < 0:
        return full_like(x, 0.0)
    _check_degree(degree)
    low, high = full_like(x, 1.0), first(x)
    if degree == 0:
        return low
    for k in range(1, degree):
        low, high = high, step(k, x, high, low)
    if by_angle is None or degree <= HIGH_DEGREE:
        return high
    angle = acos(_clamp(to_angle(x), -1.0, 1.0))
    return _where(abs(to_angle(x)) < 1, by_angle(angle, full_like(x, float(degree))), high)


def _of_degrees(
    x: Tensor,
    n: Tensor,
    first: Callable[[Tensor], Tensor],
    step: Step,
    by_angle: Callable[[Tensor, Tensor], Tensor] | None,
    to_angle: Callable[[Tensor], Tensor],
) -> Tensor:
    """As `_polynomial`, for a tensor of degrees."""
    x, n = broadcast_tensors(x, n)
    degrees = trunc(n)
    low, high = full_like(x, 1.0), first(x)
    result = _where(degrees == 0, low, _where(degrees == 1, high, 0.0))
    left = (degrees > 1) & (degrees < math.inf)
    if by_angle is not None:
        inside = left & (degrees > HIGH_DEGREE) & (abs(to_angle(x)) < 1)
        angle = acos(_clamp(to_angle(x), -1.0, 1.0))
        result = _where(inside, by_angle(angle, degrees), result)
        left = left & ~inside
    largest = int(_where(left, degrees, 0.0).max().item()) if x.numel() else 0
    _check_degree(largest)
    for k in range(1, largest):
        low, high = high, step(k, x, high, low)
        result = _where(left & (degrees == k + 1), high, result)
    return _where((degrees == degrees) & (abs(degrees) != math.inf), result, math.nan)


def _check_degree(degree: int) -> None:
    if degree > HIGHEST_DEGREE:
        raise OptionError(
            f"orthogonal polynomials: the degree {degree} is above {HIGHEST_DEGREE}", fix="give a degree up to that"
        )


def _as_tensor(x: Tensor | Number, like: Tensor) -> Tensor:
    return x if isinstance(x, Tensor) else tensor(x, dtype=like._type.dtype, device=like.device)


# ------------------------------------------------------------------------------------------ recurrences and angles


def _chebyshev_step(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return _sub(_mul(_mul(x, 2), p), before)


def _shifted_step(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return _sub(_mul(_mul(_shifted(x), 2), p), before)


def _shifted(x: Tensor) -> Tensor:
    return _sub(_mul(x, 2), 1)


def _angle_t(angle: Tensor, n: Tensor) -> Tensor:
    return cos(_mul(angle, n))


def _angle_u(angle: Tensor, n: Tensor) -> Tensor:
    return _div(sin(_mul(angle, _add(n, 1))), sin(angle))


def _angle_v(angle: Tensor, n: Tensor) -> Tensor:
    return _div(cos(_mul(angle, _add(n, 0.5))), cos(_mul(angle, 0.5)))


def _angle_w(angle: Tensor, n: Tensor) -> Tensor:
    return _div(sin(_mul(angle, _add(n, 0.5))), sin(_mul(angle, 0.5)))


def _identity(x: Tensor) -> Tensor:
    return x


def _hermite_h_step(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return _sub(_mul(_mul(x, 2), p), _mul(before, 2 * k))


def _hermite_he_step(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return _sub(_mul(x, p), _mul(before, k))


def _laguerre_step(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return _div(_sub(_mul(_sub(2 * k + 1, x), p), _mul(before, k)), k + 1)


def _legendre_step(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return _div(_sub(_mul(_mul(x, 2 * k + 1), p), _mul(before, k)), k + 1)


_CHEBYSHEV: dict[str, tuple[Callable[[Tensor], Tensor], Any]] = {
    "t": (_identity, _angle_t),
    "u": (lambda x: _mul(x, 2), _angle_u),
    "v": (lambda x: _sub(_mul(x, 2), 1), _angle_v),
    "w": (lambda x: _add(_mul(x, 2), 1), _angle_w),
}
"""By the letter of a family of Chebyshev polynomials: that of degree 1, and that of any degree from the angle."""


def _chebyshev(letter: str) -> Values:
    first, angle = _CHEBYSHEV[letter]
    return lambda x, n: _polynomial(x, n, first, _chebyshev_step, angle)


def _shifted_chebyshev(letter: str) -> Values:
    first, angle = _CHEBYSHEV[letter]
    return lambda x, n: _polynomial(x, n, lambda y: first(_shifted(y)), _shifted_step, angle, _shifted)


def _recurrence(first: Callable[[Tensor], Tensor], step: Step) -> Values:
    return lambda x, n: _polynomial(x, n, first, step)


def _hermite(first: Callable[[Tensor], Tensor], step: Step) -> Values:
    return lambda x, n: _limited(x, n, lambda n: _polynomial(x, n, first, step))


def _limited(x: Tensor | Number, n: Tensor | Number, result: Callable[[Any], Tensor]) -> Tensor:
    """``result(n)``, and nan where n is beyond what Hermite polynomials can be computed for."""
    like = x if isinstance(x, Tensor) else n
    assert isinstance(like, Tensor)
    limit = HERMITE_LIMIT[is_double(like)]
    if isinstance(n, Tensor):
        return _where(n < limit + 1, result(_clamp(n, None, float(limit))), math.nan)
    assert not isinstance(n, complex)
    return full_like(like, math.nan) if n >= limit + 1 else result(n)


# -------------------------------------------------------------------------------------------------- public functions


class Polynomial(Protocol):
    """An orthogonal polynomial of degree *n* at *x*."""

    def __call__(self, x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor: ...


_DOC = """{what}.

Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

>>> import polyad
>>> polyad.special.{name}(polyad.tensor([0.0, 0.5, 2.0]), 3)
{example}
"""


def _declare_polynomial(name: str, values: Values, what: str, example: str) -> Polynomial:
    def definition(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
        return values(x, n)

    rule = not_complex(name, promoted_float)
    body = in_float32(named(definition, name, _DOC.format(what=what, name=name, example=example)))
    declared = composite(dtype=rule, structure=pointwise, namespace="special")(body)
    gradient(declared, **no_derivative(name, "x", "n"))
    return declared


chebyshev_polynomial_t = _declare_polynomial(
    "chebyshev_polynomial_t", _chebyshev("t"),
    "The Chebyshev polynomial of the first kind", "tensor([-0., -1., 26.])",
)  # fmt: skip
chebyshev_polynomial_u = _declare_polynomial(
    "chebyshev_polynomial_u", _chebyshev("u"),
    "The Chebyshev polynomial of the second kind", "tensor([-0., -1., 56.])",
)  # fmt: skip
chebyshev_polynomial_v = _declare_polynomial(
    "chebyshev_polynomial_v", _chebyshev("v"),
    "The Chebyshev polynomial of the third kind", "tensor([ 1., -1., 41.])",
)  # fmt: skip
chebyshev_polynomial_w = _declare_polynomial(
    "chebyshev_polynomial_w", _chebyshev("w"),
    "The Chebyshev polynomial of the fourth kind", "tensor([-1., -1., 71.])",
)  # fmt: skip
shifted_chebyshev_polynomial_t = _declare_polynomial(
    "shifted_chebyshev_polynomial_t", _shifted_chebyshev("t"),
    "The shifted Chebyshev polynomial of the first kind (that of 2 x - 1)", "tensor([-1., -0., 99.])",
)  # fmt: skip
shifted_chebyshev_polynomial_u = _declare_polynomial(
    "shifted_chebyshev_polynomial_u", _shifted_chebyshev("u"),
    "The shifted Chebyshev polynomial of the second kind (that of 2 x - 1)", "tensor([ -4.,  -0., 204.])",
)  # fmt: skip
shifted_chebyshev_polynomial_v = _declare_polynomial(
    "shifted_chebyshev_polynomial_v", _shifted_chebyshev("v"),
    "The shifted Chebyshev polynomial of the third kind (that of 2 x - 1)", "tensor([ -7.,   1., 169.])",
)  # fmt: skip
shifted_chebyshev_polynomial_w = _declare_polynomial(
    "shifted_chebyshev_polynomial_w", _shifted_chebyshev("w"),
    "The shifted Chebyshev polynomial of the fourth kind (that of 2 x - 1)", "tensor([ -1.,  -1., 239.])",
)  # fmt: skip
hermite_polynomial_h = _declare_polynomial(
    "hermite_polynomial_h", _hermite(lambda x: _mul(x, 2), _hermite_h_step),
    "The Hermite polynomial as physicists have it; nan for degrees above 128 (float32) or 512 (float64)",
    "tensor([-0., -5., 40.])",
)  # fmt: skip
hermite_polynomial_he = _declare_polynomial(
    "hermite_polynomial_he", _hermite(_identity, _hermite_he_step),
    "The Hermite polynomial as statisticians have it; nan for degrees above 128 (float32) or 512 (float64)",
    "tensor([-0.0000, -1.3750,  2.0000])",
)  # fmt: skip
laguerre_polynomial_l = _declare_polynomial(
    "laguerre_polynomial_l", _recurrence(lambda x: _sub(1, x), _laguerre_step),
    "The Laguerre polynomial", "tensor([ 1.0000, -0.1458, -0.3333])",
)  # fmt: skip
legendre_polynomial_p = _declare_polynomial(
    "legendre_polynomial_p", _recurrence(_identity, _legendre_step),
    "The Legendre polynomial", "tensor([-0.0000, -0.4375, 17.0000])",
)  # fmt: skip
