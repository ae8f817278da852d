"""Python numbers beside float16 and bfloat16.

A number is converted as an operand of its op would be, by the casts that the op's dtype rule names: to the tensor's
dtype. Otherwise ``x == 0.3`` would be False for the bfloat16 that 0.3 was rounded to. Kernels may compute in float32,
so the number is rounded before they see it. Products and quotients, whose rules name no cast for their numbers
(`polyad.dispatch.promotion.exact_numbers`), take them in float32, as PyTorch does.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

from ..backend.interface import Signature
from ..base.dtypes import DType, bfloat16, float16

Places = tuple[tuple[int, Callable[[Any], Any]], ...]
"""Positions of numbers, with what rounds each."""

_FLOAT, _HALF, _BITS = struct.Struct("f"), struct.Struct("e"), struct.Struct("I")


def to_round(types: Signature, casts: tuple[DType | None, ...]) -> Places:
    """The numbers of a signature that must be rounded to a half type."""
    return tuple(
        [
            (place, _ROUNDING[cast])
            for place, (entry, cast) in enumerate(zip(types, casts, strict=True))
            if cast in _ROUNDING and entry in (int, float)
        ]
    )


def rounded(values: tuple[Any, ...], places: Places) -> list[Any]:
    """*values* with the numbers at *places* rounded."""
    found = list(values)
    for place, rounding in places:
        found[place] = rounding(found[place])
    return found


def rounding_first(kernel: Callable[..., Any], places: Places) -> Callable[..., Any]:
    """*kernel*, called with the numbers at *places* rounded."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return kernel(*rounded(args, places), **kwargs)

    return call


def _through_float32(number: Any, pack: Callable[[float], bytes], unpack: Callable[[bytes], tuple[Any, ...]]) -> Any:
    number = float(number)  # an int that no float holds is refused, as beside other dtypes
    try:
        return unpack(pack(number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def _kept(rounding: Callable[[float], float]) -> Callable[[float], float]:
    """*rounding*, with its last results kept. Zeros of both signs would be one key, and are what they are."""
    known = lru_cache(256)(rounding)

    @wraps(rounding)
    def of_number(number: float) -> float:
        return known(number) if number else float(number)

    return of_number


@_kept
def to_float16(number: float) -> float:
    """The float16 to which a conversion by way of float32 rounds *number*.

    >>> to_float16(0.1), to_float16(1e6)
    (0.0999755859375, inf)
    """
    return _through_float32(_through_float32(number, _FLOAT.pack, _FLOAT.unpack), _HALF.pack, _HALF.unpack)  # type: ignore[no-any-return]


@_kept
def to_bfloat16(number: float) -> float:
    """The bfloat16 to which a conversion by way of float32 rounds *number*.

    >>> to_bfloat16(0.3), to_bfloat16(257)
    (0.30078125, 256.0)
    """
    single = _through_float32(number, _FLOAT.pack, _FLOAT.unpack)
    if not math.isfinite(single):
        return single  # type: ignore[no-any-return]
    (bits,) = _BITS.unpack(_FLOAT.pack(single))
    # The upper half of the bits, to the nearest, of two equally near to the even one.
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return _FLOAT.unpack(_BITS.pack(bits))[0]  # type: ignore[no-any-return]


_ROUNDING: dict[DType | None, Callable[[Any], Any]] = {float16: to_float16, bfloat16: to_bfloat16}
