"""The Heaviside step function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...backend.interface import Signature
from ...dispatch.forward import symmetric
from ...dispatch.op import composite, gradient
from ...dispatch.promotion import Typing, not_complex
from ...dispatch.structure import pointwise
from ...errors import DTypeError
from ...tensor import Tensor
from ..declaring.no_derivative import no_derivative
from .where import _where


def _one_dtype(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Both operands have one dtype, which is the result's."""
    dtype = types[0].dtype
    if types[1].dtype is not dtype:
        raise DTypeError(
            f"heaviside: input is {dtype.name}, values {types[1].dtype.name}: they must have one dtype",
            fix="convert one of them with .to(dtype)",
        )
    return Typing((None, None), (dtype,))


@composite(dtype=not_complex("heaviside", _one_dtype), structure=pointwise, inplace=True)
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 where *input* is negative or nan, 1 where it is positive, and the element of *values* where it is 0.

    Shapes broadcast. It has no derivative: asking for it raises NotImplementedError. Raises RuntimeError unless the
    operands have one dtype, for complex operands and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.heaviside(polyad.tensor([-2.0, 0.0, 3.0]), polyad.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _where(input == 0, values, (input > 0).to(input._type.dtype))


gradient(heaviside, **no_derivative("heaviside", "input", "values"))
symmetric(heaviside)
