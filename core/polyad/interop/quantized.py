"""Blocks of quantised numbers, as GGUF files hold them, as float32.

    https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h       the blocks
    https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c       what their numbers mean

A block holds 32 or 256 numbers as small integers, with scales (and minima) as halves; `FORMATS` says how many numbers a
block has, how many bytes, and what computes them. To add a format, add a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .numpy import from_numpy

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["FORMATS", "dequantized"]

Array = np.ndarray[Any, Any]
AT_ONCE = 1 << 14
"""Blocks computed together, so that what is between takes little memory."""


def dequantized(data: Any, name: str) -> Tensor:
    """The numbers of *data*, whole blocks of the format *name*, as a 1-d tensor of float32."""
    numbers, size, compute = FORMATS[name]
    blocks = np.frombuffer(data, np.uint8).reshape(-1, size)
    result = np.empty((len(blocks), numbers), np.float32)
    with np.errstate(all="ignore"):
        for begin in range(0, len(blocks), AT_ONCE):
            result[begin : begin + AT_ONCE] = compute(blocks[begin : begin + AT_ONCE])
    return from_numpy(result.reshape(-1))


def _half(blocks: Array, at: int) -> Array:
    return np.ascontiguousarray(blocks[:, at : at + 2]).view(np.float16).astype(np.float32)


def _nibbles(packed: Array) -> Array:
    """Low halves of all bytes, then high halves."""
    return np.concatenate((packed & 15, packed >> 4), axis=1)


def _fifth_bits(blocks: Array, at: int) -> Array:
    """A fifth bit for each of 32 numbers, as 16 or 0."""
    return np.unpackbits(blocks[:, at : at + 4], axis=1, bitorder="little") << 4


def _q4_0(blocks: Array) -> Array:
    return _half(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _q4_1(blocks: Array) -> Array:
    return _half(blocks, 0) * _nibbles(blocks[:, 4:]) + _half(blocks, 2)


def _q5_0(blocks: Array) -> Array:
    return _half(blocks, 0) * ((_nibbles(blocks[:, 6:]) | _fifth_bits(blocks, 2)).astype(np.float32) - 16)


def _q5_1(blocks: Array) -> Array:
    return _half(blocks, 0) * (_nibbles(blocks[:, 8:]) | _fifth_bits(blocks, 4)) + _half(blocks, 2)


def _q8_0(blocks: Array) -> Array:
    return _half(blocks, 0) * blocks[:, 2:].view(np.int8)


def _two_bits(packed: Array) -> Array:
    """Two-bit numbers of 64 bytes: of each 32 bytes the lowest bits of all, then the next."""
    halves = packed.reshape(-1, 2, 1, 32)
    return ((halves >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)) & 3).reshape(-1, 256)


def _by_groups(values: Array, scales: Array) -> Array:
    """Each group of numbers times its scale."""
    count = scales.shape[1]
    result: Array = (values.reshape(len(values), count, -1) * scales[:, :, None]).reshape(len(values), -1)
    return result


def _q2_k(blocks: Array) -> Array:
    scales = blocks[:, :16]
    values = _by_groups(_two_bits(blocks[:, 16:80]).astype(np.float32), _half(blocks, 80) * (scales & 15))
    result: Array = values - np.repeat(_half(blocks, 82) * (scales >> 4), 16, axis=1)
    return result


def _q3_k(blocks: Array) -> Array:
    packed = blocks[:, 96:108].astype(np.uint8)
    low = np.concatenate((packed[:, :8] & 15, packed[:, :8] >> 4), axis=1)
    high = np.concatenate([(packed[:, 8:] >> shift) & 3 for shift in (0, 2, 4, 6)], axis=1)
    scales = (low | (high << 4)).astype(np.float32) - 32
    masks = np.unpackbits(blocks[:, :32, None], axis=2, bitorder="little")
    absent = 4 - 4 * masks.transpose(0, 2, 1).reshape(-1, 256).astype(np.float32)
    values = _two_bits(blocks[:, 32:96]).astype(np.float32) - absent
    return _by_groups(values, _half(blocks, 108) * scales)


def _scales_and_minima(packed: Array) -> tuple[Array, Array]:
    """Eight scales and eight minima of six bits each, in twelve bytes."""
    first, second, high = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate((first & 63, (high & 15) | (first >> 6 << 4)), axis=1)
    minima = np.concatenate((second & 63, (high >> 4) | (second >> 6 << 4)), axis=1)
    return scales, minima


def _four_bits(packed: Array) -> Array:
    """Four-bit numbers of 128 bytes: of each 32 bytes the low halves, then the high halves."""
    groups = packed.reshape(-1, 4, 1, 32)
    return ((groups >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1)) & 15).reshape(-1, 256)


def _q4_k(blocks: Array) -> Array:
    scales, minima = _scales_and_minima(blocks[:, 4:16])
    values = _by_groups(_four_bits(blocks[:, 16:]).astype(np.float32), _half(blocks, 0) * scales)
    result: Array = values - np.repeat(_half(blocks, 2) * minima, 32, axis=1)
    return result


def _q5_k(blocks: Array) -> Array:
    scales, minima = _scales_and_minima(blocks[:, 4:16])
    fifth = np.unpackbits(blocks[:, 16:48, None], axis=2, bitorder="little").transpose(0, 2, 1).reshape(-1, 256) << 4
    values = _by_groups((_four_bits(blocks[:, 48:]) | fifth).astype(np.float32), _half(blocks, 0) * scales)
    result: Array = values - np.repeat(_half(blocks, 2) * minima, 32, axis=1)
    return result


def _q6_k(blocks: Array) -> Array:
    low = blocks[:, :128].reshape(-1, 2, 1, 64) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1) & 15
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1) & 3
    values = (low.reshape(-1, 256) | (high.reshape(-1, 256) << 4)).astype(np.float32) - 32
    return _by_groups(values, _half(blocks, 208) * blocks[:, 192:208].view(np.int8))


FORMATS: dict[str, tuple[int, int, Callable[[Array], Array]]] = {
    "Q4_0": (32, 18, _q4_0),
    "Q4_1": (32, 20, _q4_1),
    "Q5_0": (32, 22, _q5_0),
    "Q5_1": (32, 24, _q5_1),
    "Q8_0": (32, 34, _q8_0),
    "Q2_K": (256, 84, _q2_k),
    "Q3_K": (256, 110, _q3_k),
    "Q4_K": (256, 144, _q4_k),
    "Q5_K": (256, 176, _q5_k),
    "Q6_K": (256, 210, _q6_k),
}
"""By name: numbers in a block, bytes of a block, and what computes the numbers of blocks."""
