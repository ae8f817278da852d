"""The larger or smaller of two operands, element by element. Reductions of these names are in reductions/max_min.py.

nan wins in `maximum` and `minimum`, as in PyTorch; `fmax` and `fmin` prefer the other operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dispatch.forward import symmetric
from ...dispatch.op import composite, gradient, primitive
from ...dispatch.promotion import not_complex
from ...dispatch.structure import as_operands, pointwise
from ...tensor import Tensor
from .where import _where

if TYPE_CHECKING:
    Number = bool | int | float | complex


@composite(structure=pointwise, method=False)
def _share(grad: Tensor, loses: Tensor, ties: Tensor) -> Tensor:
    """The gradient of the extreme for an operand: nothing where it loses, half where both are equal."""
    return _where(loses, 0, _where(ties, grad * 0.5, grad))


gradient(_share, grad=lambda g, loses, ties: _share(g, loses, ties))


@primitive(dtype=not_complex("maximum"), structure=pointwise)
def maximum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The larger of each pair of elements, nan if either is nan. Equal elements share the gradient.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.maximum(polyad.tensor([1, 5]), polyad.tensor([3, 2]))
    tensor([3, 5])
    """


gradient(
    maximum,
    input=lambda g, input, other: _share(g, input < other, input == other),
    other=lambda g, input, other: _share(g, other < input, input == other),
)


@primitive(dtype=not_complex("minimum"), structure=pointwise)
def minimum(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The smaller of each pair of elements, nan if either is nan. Equal elements share the gradient.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.minimum(polyad.tensor([1, 5]), polyad.tensor([3, 2]))
    tensor([1, 2])
    """


gradient(
    minimum,
    input=lambda g, input, other: _share(g, input > other, input == other),
    other=lambda g, input, other: _share(g, other > input, input == other),
)


@composite(dtype=not_complex("fmax"), structure=pointwise, strides=as_operands)
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`maximum`, but of a number and nan the number.

    >>> import polyad
    >>> polyad.fmax(polyad.tensor([1.0, float("nan")]), polyad.tensor([float("nan"), 2.0]))
    tensor([1., 2.])
    """
    return _where((input >= other) | (other != other), input, other)


gradient(
    fmax,
    input=lambda g, input, other: _where((input >= other) | (other != other), g, 0),
    other=lambda g, input, other: _where((input >= other) | (other != other), 0, g),
)


@composite(dtype=not_complex("fmin"), structure=pointwise, strides=as_operands)
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`minimum`, but of a number and nan the number.

    >>> import polyad
    >>> polyad.fmin(polyad.tensor([1.0, float("nan")]), polyad.tensor([float("nan"), 2.0]))
    tensor([1., 2.])
    """
    return _where((input <= other) | (other != other), input, other)


gradient(
    fmin,
    input=lambda g, input, other: _where((input <= other) | (other != other), g, 0),
    other=lambda g, input, other: _where((input <= other) | (other != other), 0, g),
)
symmetric(_share, maximum, minimum, fmax, fmin)
