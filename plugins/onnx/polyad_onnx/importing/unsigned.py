"""Arithmetic of unsigned integers of more than 8 bits, which polyad stores and does not compute with.

They are computed as int64, whose bits wrap in the same way. Order differs for numbers of 2^63 and more: those are
compared with their highest bit turned, and refused where that does not help.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import UnsupportedDType

__all__ = ["comparing", "computing"]

_UNSIGNED = frozenset((polyad.uint16, polyad.uint32, polyad.uint64))
_HIGHEST = -(1 << 63)


def computing(function: Callable[..., Tensor], ordered: bool = False, signed: bool = False) -> Callable[..., Tensor]:
    """*function*, for unsigned integers too: its result has the dtype of its first argument.

    *ordered* says that it compares numbers and gives some of them, *signed* that it gives other bits for negative
    numbers.
    """

    def call(*operands: Any) -> Tensor:
        dtype = operands[0].dtype
        if dtype not in _UNSIGNED:
            return function(*operands)
        if dtype is polyad.uint64 and ordered:
            return _turned(function(*[_turned(_signed(each)) for each in operands])).view(dtype)
        made = function(*[_small(each) if signed else _signed(each) for each in operands])
        return made.to(dtype) if dtype is not polyad.uint64 else made.view(dtype)

    return call


def comparing(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """A comparison, for unsigned integers too."""

    def call(a: Tensor, b: Tensor) -> Tensor:
        if a.dtype not in _UNSIGNED:
            return function(a, b)
        if a.dtype is polyad.uint64:
            return function(_turned(_signed(a)), _turned(_signed(b)))
        return function(_signed(a), _signed(b))

    return call


def _signed(x: Any) -> Any:
    """The same bits as int64."""
    if not isinstance(x, Tensor) or x.dtype not in _UNSIGNED:
        return x
    return x.view(polyad.int64) if x.dtype is polyad.uint64 else x.to(polyad.int64)


def _turned(x: Any) -> Any:
    return x ^ _HIGHEST if isinstance(x, Tensor) else x


def _small(x: Any) -> Any:
    """*x* as int64. Raises RuntimeError (UnsupportedDType) where a number is too large for that."""
    found = _signed(x)
    if isinstance(x, Tensor) and x.dtype is polyad.uint64 and bool((found < 0).any()):
        raise UnsupportedDType(
            "a number of uint64 is 2^63 or more, with which polyad does not divide, shift or raise to powers",
            operands={"input": x},
            fix="use int64 in the model",
        )
    return found
