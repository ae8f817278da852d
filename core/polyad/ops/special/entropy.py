"""Products with a logarithm, which are 0 where the other factor is. Integers become the default floating dtype."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...dispatch.forward import symmetric
from ...dispatch.op import composite, gradient
from ...dispatch.promotion import not_complex, promoted_float
from ...dispatch.structure import pointwise
from ...tensor import Tensor
from ..pointwise.arithmetic import _add, _div, _mul, _neg, _sub
from ..pointwise.exponential import log, log1p
from ..pointwise.where import _where

if TYPE_CHECKING:
    Number = bool | int | float | complex


@composite(dtype=not_complex("entr", promoted_float), structure=pointwise, namespace="special")
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``-input * log(input)``, 0 at 0 and -inf for negative elements. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.special.entr(polyad.tensor([-1.0, 0.0, 0.5]))
    tensor([  -inf, 0.0000, 0.3466])
    """
    positive = _neg(_mul(input, log(input)))
    return _where(input < 0, -math.inf, _where(input == 0, 0.0, positive))


gradient(entr, input=lambda g, input: _mul(g, _sub(-1, log(input))))


@composite(
    dtype=not_complex("xlog1py", promoted_float), structure=pointwise, namespace="special", also={"self": "input"}
)
def xlog1py(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log1p(other)``, and 0 where input is 0, unless other is nan.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and shapes that do not broadcast.

    >>> import polyad
    >>> polyad.special.xlog1py(polyad.tensor([0.0, 2.0]), polyad.tensor([-1.0, 1e-3]))
    tensor([0.0000, 0.0020])
    """
    if isinstance(other, Tensor):
        return _where((input == 0) & (other == other), 0.0, _mul(input, log1p(other)))
    # The dtype rule has refused complex numbers, and of two numbers dispatch has turned the first into a tensor.
    assert isinstance(input, Tensor)
    assert not isinstance(other, complex)
    product = _mul(input, math.log1p(other) if other > -1 else -math.inf if other == -1 else math.nan)
    return product if other != other else _where(input == 0, 0.0, product)


def _grad_input(g: Tensor, input: Tensor, other: Tensor | Number) -> Tensor:
    # A gradient of 0 stays 0 where the logarithm is infinite or nan.
    return _where((input == 0) & (other <= -1), 0.0, xlog1py(g, other))  # type: ignore[operator]


gradient(xlog1py, input=_grad_input, other=lambda g, input, other: _div(_mul(g, input), _add(other, 1)))
symmetric(entr, xlog1py)
