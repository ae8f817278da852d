"""Arithmetic of elements: operators, powers, remainders, extremes.

To add an elementwise op: declare it here with its dtype rule and gradient, add its kernel to each backend's table, and its samples
to ``polyad_conformance/samples``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dispatch.op import function, gradient, primitive
from ..dispatch.promotion import not_bool, promoted, promoted_float
from .shape_rules import broadcast

if TYPE_CHECKING:
    from ..tensor import Tensor

    Number = bool | int | float | complex


@primitive(dtype=promoted, shape=broadcast)
def _add(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input + other; of bools, their disjunction."""


gradient(_add, input=lambda g: g, other=lambda g: g)


@function(inplace=True)
def add(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input + alpha * other``, element by element.

    Shapes broadcast; dtypes promote. Raises RuntimeError when shapes do not broadcast or devices differ, TypeError for operands
    that are neither tensors nor numbers.

    >>> import polyad
    >>> polyad.add(polyad.tensor([1, 2]), polyad.tensor([10, 20]), alpha=2)
    tensor([21, 42])
    """
    return _add(input, other if alpha == 1 else _mul(other, alpha))


@primitive(dtype=not_bool("sub"), shape=broadcast)
def _sub(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input - other."""


gradient(_sub, input=lambda g: g, other=lambda g: _neg(g))


@function(inplace=True)
def sub(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """``input - alpha * other``, element by element.

    Shapes broadcast; dtypes promote. Raises RuntimeError for bool operands, shapes that do not broadcast and mixed devices.

    >>> import polyad
    >>> polyad.sub(polyad.tensor([5, 7]), 2)
    tensor([3, 5])
    """
    return _sub(input, other if alpha == 1 else _mul(other, alpha))


@primitive(dtype=promoted, shape=broadcast)
def _mul(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input * other; of bools, their conjunction."""


gradient(_mul, input=lambda g, other: _mul(g, conjugate(other)), other=lambda g, input: _mul(g, conjugate(input)))


@function(inplace=True)
def mul(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * other``, element by element.

    Shapes broadcast; dtypes promote. Raises RuntimeError when shapes do not broadcast or devices differ.

    >>> import polyad
    >>> polyad.mul(polyad.tensor([1.5, 2.0]), 2)
    tensor([3., 4.])
    """
    return _mul(input, other)


@primitive(dtype=promoted_float, shape=broadcast)
def _div(input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input / other; integers divide in the default floating dtype."""


gradient(
    _div,
    input=lambda g, other: _div(g, conjugate(other)),
    other=lambda g, input, other: _neg(_mul(g, conjugate(_div(_div(input, other), other)))),
)


@primitive(dtype=not_bool("neg"), shape=broadcast)
def _neg(input: Tensor) -> Tensor:
    """-input."""


gradient(_neg, input=lambda g: _neg(g))


def conjugate(value: Tensor | Number) -> Tensor | Number:
    """The complex conjugate; a real tensor or number itself."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, complex):
        return value.conjugate()
    return _conj(value) if value._type.dtype.is_complex else value


@primitive(shape=broadcast)
def _conj(input: Tensor) -> Tensor:
    """The complex conjugate."""


gradient(_conj, input=lambda g: _conj(g))
