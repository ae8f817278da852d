"""Orthogonal polynomials by their three-term recurrences (DLMF 18.9).

The degree *n* is a number or a tensor, of which fractions are dropped; of a negative degree the polynomial is 0. As
many steps are taken as the largest degree needs, which is therefore read from the device if *n* is a tensor. Chebyshev
polynomials of high degree are cosines and sines inside their interval.

PyTorch has no gradients of these, and neither has polyad: asking for a gradient raises NotImplementedError. Integers
become the default floating dtype; complex tensors are refused.

To add a polynomial: its polynomial of degree 1, its step, and a public function below that hands them to `_polynomial`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ...dispatch.op import composite, gradient
from ...dispatch.promotion import not_complex, promoted_float
from ...dispatch.structure import pointwise
from ...errors import OptionError
from ...tables.special import HERMITE_LIMIT, HIGH_DEGREE, HIGHEST_DEGREE
from ...tensor import Tensor
from ..creation.factories import full_like, tensor
from ..declaring.half_types import in_float32
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

F = TypeVar("F", bound=Callable[..., Any])
Step = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""``step(k, x, p_k, p_(k-1))`` is p_(k+1)."""


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


def _chebyshev(letter: str, x: Tensor | Number, n: Tensor | Number) -> Tensor:
    first, angle = _CHEBYSHEV[letter]
    return _polynomial(x, n, first, _chebyshev_step, angle)


def _shifted_chebyshev(letter: str, x: Tensor | Number, n: Tensor | Number) -> Tensor:
    first, angle = _CHEBYSHEV[letter]
    return _polynomial(x, n, lambda y: first(_shifted(y)), _shifted_step, angle, _shifted)


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


def _declare(name: str) -> Callable[[F], F]:
    return composite(dtype=not_complex(name, promoted_float), structure=pointwise, namespace="special")


@_declare("chebyshev_polynomial_t")
@in_float32
def chebyshev_polynomial_t(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the first kind.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.chebyshev_polynomial_t(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([-0., -1., 26.])
    """
    return _chebyshev("t", x, n)


@_declare("chebyshev_polynomial_u")
@in_float32
def chebyshev_polynomial_u(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the second kind.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.chebyshev_polynomial_u(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([-0., -1., 56.])
    """
    return _chebyshev("u", x, n)


@_declare("chebyshev_polynomial_v")
@in_float32
def chebyshev_polynomial_v(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the third kind.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.chebyshev_polynomial_v(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([ 1., -1., 41.])
    """
    return _chebyshev("v", x, n)


@_declare("chebyshev_polynomial_w")
@in_float32
def chebyshev_polynomial_w(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the fourth kind.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.chebyshev_polynomial_w(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([-1., -1., 71.])
    """
    return _chebyshev("w", x, n)


@_declare("shifted_chebyshev_polynomial_t")
@in_float32
def shifted_chebyshev_polynomial_t(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the first kind (that of 2 x - 1).

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.shifted_chebyshev_polynomial_t(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([-1., -0., 99.])
    """
    return _shifted_chebyshev("t", x, n)


@_declare("shifted_chebyshev_polynomial_u")
@in_float32
def shifted_chebyshev_polynomial_u(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the second kind (that of 2 x - 1).

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.shifted_chebyshev_polynomial_u(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([ -4.,  -0., 204.])
    """
    return _shifted_chebyshev("u", x, n)


@_declare("shifted_chebyshev_polynomial_v")
@in_float32
def shifted_chebyshev_polynomial_v(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the third kind (that of 2 x - 1).

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.shifted_chebyshev_polynomial_v(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([ -7.,   1., 169.])
    """
    return _shifted_chebyshev("v", x, n)


@_declare("shifted_chebyshev_polynomial_w")
@in_float32
def shifted_chebyshev_polynomial_w(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The shifted Chebyshev polynomial of the fourth kind (that of 2 x - 1).

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.shifted_chebyshev_polynomial_w(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([ -1.,  -1., 239.])
    """
    return _shifted_chebyshev("w", x, n)


@_declare("hermite_polynomial_h")
@in_float32
def hermite_polynomial_h(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Hermite polynomial as physicists have it; nan for degrees above 128 (float32) or 512 (float64).

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.hermite_polynomial_h(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([-0., -5., 40.])
    """
    return _limited(x, n, lambda n: _polynomial(x, n, lambda y: _mul(y, 2), _hermite_h_step))


@_declare("hermite_polynomial_he")
@in_float32
def hermite_polynomial_he(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Hermite polynomial as statisticians have it; nan for degrees above 128 (float32) or 512 (float64).

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.hermite_polynomial_he(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([-0.0000, -1.3750,  2.0000])
    """
    return _limited(x, n, lambda n: _polynomial(x, n, _identity, _hermite_he_step))


@_declare("laguerre_polynomial_l")
@in_float32
def laguerre_polynomial_l(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Laguerre polynomial.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.laguerre_polynomial_l(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([ 1.0000, -0.1458, -0.3333])
    """
    return _polynomial(x, n, lambda y: _sub(1, y), _laguerre_step)


@_declare("legendre_polynomial_p")
@in_float32
def legendre_polynomial_p(x: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The Legendre polynomial.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.legendre_polynomial_p(polyad.tensor([0.0, 0.5, 2.0]), 3)
    tensor([-0.0000, -0.4375, 17.0000])
    """
    return _polynomial(x, n, _identity, _legendre_step)


for _function in (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
):
    gradient(_function, **no_derivative(_function.__name__, "x", "n"))
