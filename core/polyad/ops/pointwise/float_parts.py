"""Signs, exponents and neighbours of floating point numbers.

Integers become the default floating dtype where a result is a float; complex tensors are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ... import return_types
from ...backend.interface import Signature
from ...base.dtypes import BOOL, FLOATING, bfloat16, finfo, float16, float32, float64, int16, int32, int64
from ...dispatch.forward import symmetric
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing, floating_only, not_complex, promoted_float, to_bool
from ...dispatch.structure import pointwise
from ...errors import DTypeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import full_like
from ..declaring.half_types import in_float32
from ..shaping.reshape import view
from .arithmetic import _add, _div, _mul, _neg, _no_slope, _sub
from .clamp import _clamp
from .exponential import LN2, log2
from .powers import _pow
from .rounding import floor
from .where import _where

if TYPE_CHECKING:
    Number = bool | int | float | complex

_BITS = {float16: int16, bfloat16: int16, float32: int32, float64: int64}
"""The integers that have the order of each floating dtype's magnitudes."""


@composite(dtype=not_complex("signbit", to_bool), structure=pointwise)
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element has a minus sign; -0.0 has it too. Raises NotImplementedError for complex tensors.

    >>> import polyad
    >>> polyad.signbit(polyad.tensor([1.0, -0.0, -2.0]))
    tensor([False,  True,  True])
    """
    dtype = input._type.dtype
    if dtype.category == BOOL:
        return full_like(input, False)
    negative = input < 0
    if dtype.category < FLOATING:
        return negative
    return negative | ((input == 0) & (_div(1, input) < 0))


@composite(dtype=not_complex("copysign", promoted_float), structure=pointwise, inplace=True)
def copysign(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The magnitude of *input* with the sign of *other*, which may be that of -0.0.

    Shapes broadcast; dtypes promote. Raises NotImplementedError for complex operands, RuntimeError when shapes do not
    broadcast.

    >>> import polyad
    >>> polyad.copysign(polyad.tensor([1.0, -2.0]), polyad.tensor([-0.0, 3.0]))
    tensor([-1.,  2.])
    """
    magnitude = abs(input)
    if isinstance(other, Tensor):
        return _where(signbit(other), _neg(magnitude), magnitude)
    assert not isinstance(other, complex)  # the dtype rule has refused it
    return _neg(magnitude) if math.copysign(1.0, other) < 0 else magnitude


gradient(
    copysign,
    input=lambda g, input, out: _mul(g, _where(input == 0, 0.0, _div(out, input))),
    other=_no_slope,
)


@composite(dtype=not_complex("nextafter", floating_only("nextafter")), structure=pointwise, inplace=True)
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number of the dtype after *input* in the direction of *other*; other itself where they are equal.

    Shapes broadcast; dtypes promote. Raises NotImplementedError for integer and complex operands, RuntimeError when
    shapes do not broadcast.

    >>> import polyad
    >>> polyad.nextafter(polyad.tensor([1.0]), polyad.tensor([2.0])) - 1 == polyad.finfo(polyad.float32).eps
    tensor([True])
    """
    dtype = input._type.dtype
    bits = view(input, dtype=_BITS[dtype])
    grows = (other > input) == (input > 0)
    moved = view(_where(grows, _add(bits, 1), _sub(bits, 1)), dtype=dtype)
    smallest = finfo(dtype).smallest_normal * finfo(dtype).eps
    result = _where(input == 0, _where(other < 0, -smallest, full_like(moved, smallest)), moved)
    result = _where(input == other, other, result)
    return _where((input == input) & (other == other), result, math.nan)


gradient(nextafter, input=lambda g, input, other: _where(input == other, 0.0, g), other=_no_slope)


@composite(dtype=not_complex("ldexp", promoted_float), structure=pointwise)
@in_float32
def _ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2**other."""
    # In up to three powers, since 2**other may be infinite or 0 where the product is not; the first is small unless
    # other is extreme, so that a subnormal result is rounded once.
    limit = 1022.0 if input._type.dtype is float64 else 126.0
    nearest = _clamp(other, -limit, limit)
    rest = _sub(other, nearest)
    further = _clamp(rest, -limit, limit)
    scaled = _mul(_mul(input, _pow(2.0, _sub(rest, further))), _pow(2.0, further))
    return _mul(scaled, _pow(2.0, nearest))


gradient(
    _ldexp,
    input=lambda g, other: _ldexp(g, other),
    other=lambda g, out: _mul(g, _mul(out, LN2)),
)


@function(inplace=True)
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * 2 ** other``, which may be finite where the power alone is not.

    Shapes broadcast; dtypes promote, integers become the default floating dtype. Raises RuntimeError when shapes do not
    broadcast.

    >>> import polyad
    >>> polyad.ldexp(polyad.tensor([1.0, 3.0]), polyad.tensor([3, -1]))
    tensor([8.0000, 1.5000])
    """
    check_tensor(input, "ldexp", "input")
    check_tensor(other, "ldexp", "other")
    if input._type.dtype.is_complex or other._type.dtype.is_complex:
        return _mul(input, _pow(2.0, other))
    return _ldexp(input, other)


def _parts(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    if not dtype.is_floating_point:
        raise DTypeError(
            f"frexp: input is {dtype.name}, which has no exponent", fix="convert it to a floating dtype first"
        )
    return Typing((None,), (dtype, int32))


@composite(dtype=_parts, structure=pointwise, outputs=("mantissa", "exponent"), method=False)
def _frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """input = mantissa * 2**exponent with 1/2 <= abs(mantissa) < 1; zeros, infinities and nan have exponent 0."""
    dtype = input._type.dtype
    x = input.to(float32) if dtype in (float16, bfloat16) else input
    limits = finfo(x._type.dtype)
    digits = round(-math.log2(limits.eps)) + 1
    whole = (abs(x) > 0) & (abs(x) < math.inf)
    small = abs(x) < limits.smallest_normal
    normal = _where(whole, _where(small, _mul(x, 2.0**digits), x), 1.0)
    # The logarithm may be rounded up to a whole number, or down below 1: then the mantissa tells.
    exponent = _add(floor(log2(abs(normal))), 1)
    mantissa = _ldexp(normal, _neg(exponent))
    large, low = abs(mantissa) >= 1, abs(mantissa) < 0.5
    mantissa = _where(large, _mul(mantissa, 0.5), _where(low, _mul(mantissa, 2), mantissa))
    exponent = _add(exponent, _sub(large.to(x._type.dtype), low.to(x._type.dtype)))
    exponent = _sub(exponent, _where(small, float(digits), full_like(exponent, 0.0)))
    return _where(whole, mantissa, x).to(dtype), _where(whole, exponent, 0.0).to(int32)


gradient(_frexp, input=lambda grads, exponent: None if grads[0] is None else _ldexp(grads[0], _neg(exponent)))
symmetric(copysign, nextafter, _ldexp)


@function()
def frexp(input: Tensor, *, out: Any = None) -> return_types.frexp:
    """Each element as ``mantissa * 2 ** exponent`` with a mantissa between 1/2 and 1 (or their negatives), as a named
    tuple of a tensor of input's dtype and a tensor of int32.

    Zeros, infinities and nan are their own mantissa, with exponent 0. Raises RuntimeError unless input is floating
    point.

    >>> import polyad
    >>> mantissa, exponent = polyad.frexp(polyad.tensor([1.0, 6.0, -0.125]))
    >>> mantissa, exponent
    (tensor([ 0.5000,  0.7500, -0.5000]), tensor([ 1,  3, -2], dtype=polyad.int32))
    """
    return return_types.frexp(*_frexp(check_tensor(input, "frexp", "input")))
