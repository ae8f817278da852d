"""Greatest common divisors and least common multiples of integers."""

from __future__ import annotations

from ...base.dtypes import iinfo
from ...dispatch.op import composite
from ...dispatch.promotion import integral_only
from ...dispatch.structure import as_operands, pointwise
from ...tensor import Tensor
from .arithmetic import _floor_divide, _fmod, _mul
from .where import _where


@composite(dtype=integral_only("gcd", bools=False), structure=pointwise, strides=as_operands, inplace=True)
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest common divisor; that of 0 and a number is its magnitude, that of 0 and 0 is 0.

    Shapes broadcast; dtypes promote. Raises NotImplementedError unless operands are integers, RuntimeError when shapes
    do not broadcast.

    >>> import polyad
    >>> polyad.gcd(polyad.tensor([12, 0, -9]), polyad.tensor([18, 5, 6]))
    tensor([6, 5, 3])
    """
    # Euclid's algorithm; neighbouring Fibonacci numbers take it longest, of which a bit holds 1.44.
    a, b = abs(input), abs(other)
    for _ in range(iinfo(input._type.dtype).bits * 36 // 25 + 2):
        done = b == 0
        a, b = _where(done, a, b), _where(done, 0, _fmod(a, _where(done, 1, b)))
    return abs(a)


@composite(dtype=integral_only("lcm", bools=False), structure=pointwise, strides=as_operands, inplace=True)
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least common multiple, 0 if an operand is 0; it wraps around at the end of the dtype.

    Shapes broadcast; dtypes promote. Raises NotImplementedError unless operands are integers, RuntimeError when shapes
    do not broadcast.

    >>> import polyad
    >>> polyad.lcm(polyad.tensor([4, 0, -9]), polyad.tensor([6, 5, 6]))
    tensor([12,  0, 18])
    """
    divisor = gcd(input, other)
    return _mul(_floor_divide(abs(input), _where(divisor == 0, 1, divisor)), abs(other))
