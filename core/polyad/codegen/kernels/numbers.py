"""Python numbers as a kernel's arguments."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from ...dtypes import FLOATING, DType, float64
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


def packed(packers: Sequence[Pack], numbers: Sequence[Any]) -> list[bytes]:
    """The arguments for *numbers*, each by its packer."""
    return [part for pack, number in zip(packers, numbers, strict=True) for part in pack(number)]


def packers(scalars: Sequence[Scalar]) -> list[Pack]:
    """A packer for each of a kernel's *scalars*."""
    return [packer(scalar.dtype) for scalar in scalars]
