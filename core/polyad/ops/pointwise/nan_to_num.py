"""Numbers in place of nan and the infinities."""

from __future__ import annotations

import math

from ...base.dtypes import finfo
from ...dispatch.forward import symmetric
from ...dispatch.op import composite, function, gradient
from ...dispatch.structure import pointwise
from ...errors import ArgumentTypeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .complex_numbers import _complex
from .where import _where


@composite(structure=pointwise, method=False)
def _nan_to_num(input: Tensor, nan: float, posinf: float, neginf: float) -> Tensor:
    """input with other numbers for nan and the infinities; floating."""
    result = _where(input != input, nan, input)
    result = _where(input == math.inf, posinf, result)
    return _where(input == -math.inf, neginf, result)


gradient(_nan_to_num, input=lambda g, input: _where(abs(input) < math.inf, g, 0))
symmetric(_nan_to_num)


@function(inplace=True)
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """nan replaced by *nan* (0), inf by *posinf* (the dtype's largest number) and -inf by *neginf* (its smallest).

    Of complex tensors real and imaginary parts apart.

    >>> import polyad
    >>> polyad.nan_to_num(polyad.tensor([float("nan"), 1.0, float("inf")]), posinf=9.0)
    tensor([0., 1., 9.])
    """
    dtype = check_tensor(input, "nan_to_num", "input")._type.dtype
    for name, value in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if value is not None and not isinstance(value, (int, float)):
            raise ArgumentTypeError(f"nan_to_num: {name} is {type(value).__name__}, not a number", fix="give a number")
    if dtype.is_complex:
        real, imag = [nan_to_num(part, nan, posinf, neginf) for part in (input.real, input.imag)]
        return _complex(real, imag)
    if not dtype.is_floating_point:
        return input.clone()
    largest = finfo(dtype).max
    return _nan_to_num(
        input,
        0.0 if nan is None else nan,
        largest if posinf is None else posinf,
        -largest if neginf is None else neginf,
    )
