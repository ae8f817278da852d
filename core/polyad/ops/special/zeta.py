"""The zeta function of Hurwitz, of which the derivatives of digamma are multiples.

Ten terms are added up, the rest is given by the Euler-Maclaurin formula (DLMF 25.11.28 and 2.10.1).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...dispatch.forward import symmetric
from ...dispatch.op import composite, gradient
from ...dispatch.promotion import not_complex, promoted_float
from ...dispatch.structure import pointwise
from ...tables.special import EULER_MACLAURIN
from ...tensor import Tensor
from ..creation.factories import tensor
from ..declaring.half_types import in_float32
from ..declaring.no_derivative import no_derivative
from ..pointwise.arithmetic import _add, _div, _mul, _neg, _sub
from ..pointwise.powers import _pow
from ..pointwise.rounding import ceil, floor
from ..pointwise.where import _where
from .series import is_double

if TYPE_CHECKING:
    Number = bool | int | float | complex

TERMS = 10


def _of_positive(s: Tensor | float, q: Tensor) -> Tensor:
    """The sum of (q + k)**-s over k >= 0, for s > 1 and q > 0."""
    minus = -s
    end = _add(q, TERMS)
    power = _pow(end, minus)
    # w**-s (w / (s - 1) + 1/2 + B2/2! s/w + B4/4! s (s+1) (s+2) / w**3 + ...), the small terms first
    inverse = _div(1, end)
    term = _mul(inverse, s)
    terms = [_mul(term, EULER_MACLAURIN[0])]
    for k in range(1, len(EULER_MACLAURIN) if is_double(q) else 6):
        term = _mul(_mul(term, _mul(inverse, s + (2 * k - 1))), _mul(inverse, s + 2 * k))
        terms.append(_mul(term, EULER_MACLAURIN[k]))
    rest = terms.pop()
    while terms:
        rest = _add(rest, terms.pop())
    rest = _add(_add(rest, 0.5), _div(end, s - 1))
    # Where the power has vanished, the terms beside it may have overflowed.
    total = _where(power == 0, 0.0, _mul(power, rest))
    for k in range(TERMS - 1, -1, -1):
        total = _add(total, _pow(_add(q, k) if k else q, minus))
    return total


def hurwitz(s: Tensor | float, q: Tensor) -> Tensor:
    """The sum of (q + k)**-s over k >= 0: inf for s = 1 and at the poles q = 0, -1, ..., nan for s < 1, and for
    negative q unless s is an integer, and for -inf.

    For negative q the terms with negative q + k are a difference of two sums with positive ones.
    """
    if not isinstance(s, Tensor):
        s = tensor(s, dtype=q._type.dtype, device=q.device)
    positive = q > 0
    up = ceil(q)
    whole = up == q
    fraction = _where(positive | whole, 1.0, _sub(q, floor(q)))
    negated = _where(positive | whole, 1.0, _sub(up, q))
    above = _of_positive(s, _where(positive, q, fraction))
    below = _sub(_of_positive(s, negated), _of_positive(s, _sub(1, _where(positive, 0.0, q))))
    even = _mul(floor(_mul(s, 0.5)), 2) == s
    result = _where(positive, above, _add(above, _where(even, below, _neg(below))))
    result = _where(positive | (floor(s) == s), result, math.nan)
    result = _where((q <= 0) & whole, math.inf, result)
    result = _where(s < 1, math.nan, _where(s == 1, math.inf, result))
    return _where((q > -math.inf) & (s == s), result, math.nan)


@composite(dtype=not_complex("zeta", promoted_float), structure=pointwise, namespace="special", also={"self": "input"})
@in_float32
def zeta(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The zeta function of Hurwitz: the sum of ``(k + other) ** -input`` over k = 0, 1, 2, ...

    Shapes broadcast; dtypes promote. Of *input* < 1 it is nan, of 1 inf, and at the poles other = 0, -1, ... inf.
    Differentiable with respect to *other*; a gradient of *input* raises NotImplementedError. Raises RuntimeError for
    complex operands and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.special.zeta(polyad.tensor([2.0, 4.0]), 1)
    tensor([1.6449, 1.0823])
    """
    if isinstance(other, Tensor):
        return hurwitz(input, other)  # type: ignore[arg-type]
    assert isinstance(input, Tensor)
    return hurwitz(input, tensor(float(other.real), dtype=input._type.dtype, device=input.device))


gradient(
    zeta,
    **no_derivative("zeta", "input"),
    other=lambda g, input, other: _neg(_mul(_mul(g, input), zeta(input + 1, other))),
)
symmetric(zeta)
