"""Special functions of mathematics that have no elementary closed form. Integers become the default floating dtype."""

from __future__ import annotations

import math

from ..dispatch.op import gradient, primitive
from ..dispatch.promotion import not_complex, promoted_float
from ..tensor import Tensor
from .arithmetic import _mul, _neg
from .exponential import exp
from .powers import square
from .shape_rules import same

TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


@primitive(dtype=not_complex("erf", promoted_float), shape=same, inplace=True)
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to the element.

    Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.erf(polyad.tensor([0.0, 0.5, 2.0]))
    tensor([0.0000, 0.5205, 0.9953])
    """


gradient(erf, input=lambda g, input: _mul(g, _mul(exp(_neg(square(input))), TWO_OVER_ROOT_PI)))


@primitive(dtype=not_complex("erfc", promoted_float), shape=same, inplace=True)
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(input)``, accurate where erf is near 1. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.erfc(polyad.tensor([0.0, 0.5, 2.0]))
    tensor([1.0000, 0.4795, 0.0047])
    """


gradient(erfc, input=lambda g, input: _mul(g, _mul(exp(_neg(square(input))), -TWO_OVER_ROOT_PI)))
