"""Parts of complex numbers.

`real` and `imag` are copies, where PyTorch's are views: to change a part in place, build the number anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..backend.interface import Signature
from ..dispatch.op import composite, function, gradient, primitive
from ..dispatch.promotion import Typing, promoted_float
from ..errors import DTypeError
from ..tensor import Tensor, check_tensor
from .arithmetic import _mul
from .selection import _where
from .shape_rules import same
from .trigonometry import atan2


def _part(types: Signature, params: Mapping[str, Any]) -> Typing:
    """The floating dtype of a complex dtype's parts."""
    return Typing((None,), (types[0].dtype.to_real(),))


@primitive(dtype=_part, shape=same)
def _real(input: Tensor) -> Tensor:
    """The real parts."""


@primitive(dtype=_part, shape=same)
def _imag(input: Tensor) -> Tensor:
    """The imaginary parts."""


gradient(_real, input=lambda g: g)
gradient(_imag, input=lambda g: _mul(g, 1j))


@function(method=False)
def real(input: Tensor) -> Tensor:
    """The real parts of complex elements, as a copy; a real tensor itself. The property is ``input.real``.

    >>> import polyad
    >>> polyad.real(polyad.tensor([1 + 2j]))
    tensor([1.])
    """
    return _real(input) if check_tensor(input, "real", "input")._type.dtype.is_complex else input


@function(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a copy. The property is ``input.imag``. Raises RuntimeError for a real tensor.

    >>> import polyad
    >>> polyad.imag(polyad.tensor([1 + 2j]))
    tensor([2.])
    """
    if not check_tensor(input, "imag", "input")._type.dtype.is_complex:
        raise DTypeError(
            "imag: a real tensor has no imaginary parts", operands={"input": input}, fix="use zeros_like(input)"
        )
    return _imag(input)


def _angle(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = promoted_float(types, params).outputs[0]
    return Typing((dtype,), (dtype.to_real(),))


@composite(dtype=_angle, shape=same)
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of each element in the complex plane, in radians: 0 or pi for a real one, nan for nan.

    >>> import polyad
    >>> polyad.angle(polyad.tensor([1j, -1 + 0j]))
    tensor([1.5708, 3.1416])
    """
    if input._type.dtype.is_complex:
        return atan2(_imag(input), _real(input))
    return _where(input < 0, math.pi, _where(input == input, 0.0, input))


PROPERTIES = {"real": real, "imag": imag}
"""What is a property of Tensor."""
