"""Python numbers as a kernel's arguments."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from ...base.dtypes import FLOATING, DType, float64
from ..expression import Scalar

Pack = Callable[[Any], tuple[bytes, ...]]

_FLOAT, _DOUBLE, _LONG = struct.Struct("f").pack, struct.Struct("d").pack, struct.Struct("q").pack


def _pack_float(value: float) -> bytes:
    try:
        return _FLOAT(value)
    except OverflowError:
        return _FLOAT(math.copysign(math.inf, value))


def _pack_long(value: int) -> bytes:
    value = int(value)
    return _LONG(value if -(2**63) <= value < 2**63 else (value + 2**63) % 2**64 - 2**63)


def packer(dtype: DType) -> Pack:
    """What turns a Python number, an element of *dtype*, into a kernel's arguments.

    >>> import polyad
    >>> [len(part) for part in packer(polyad.complex64)(1 + 2j)]
    [4, 4]
    """
    real = dtype.to_real()
    pack = _pack_long if real.category < FLOATING else _DOUBLE if real is float64 else _pack_float
    if not dtype.is_complex:
        return lambda value: (pack(value),)

    def both(value: Any) -> tuple[bytes, ...]:
        value = complex(value)
        return pack(value.real), pack(value.imag)

    return both


class Packing:
    """From numbers to the arguments for a kernel's *scalars*: the numbers at *places*, by default all in order.

    For the tuple that came last it has the arguments, and gives the same again.
    """

    __slots__ = ("_last", "_packers")

    def __init__(self, scalars: Sequence[Scalar], places: Sequence[int] | None = None) -> None:
        places = range(len(scalars)) if places is None else places
        self._packers = [(packer(scalar.dtype), place) for scalar, place in zip(scalars, places, strict=True)]
        self._last: tuple[Any, tuple[bytes, ...]] = (None, ())

    def __call__(self, numbers: Sequence[Any]) -> tuple[bytes, ...]:
        known, parts = self._last
        if known is numbers:
            return parts
        parts = tuple([part for pack, place in self._packers for part in pack(numbers[place])])
        if numbers.__class__ is tuple:  # which stays as it is
            self._last = numbers, parts
        return parts
