"""Philox, and random numbers of all distributions from its words, by the contract in `polyad.random.philox`.

Blocks are computed a stretch at a time, small enough for the cache. The hundred NumPy calls that this takes cost more
than a small draw's words, so a program that draws a little again and again gets them from a stretch computed ahead, and
so it does normal numbers: both follow from seed and offset alone, whenever they are computed.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.errors import ShapeError
from polyad.interop.numpy import numpy_dtype
from polyad.random.philox import KEY_STEPS, MULTIPLIERS, ONE_WORD_RANGE, ROUNDS

from ...quiet import thread
from ...workers import spread

_STRETCH = 1 << 14
"""Blocks computed at once: rows of 128 KiB."""

_SMALL = 1 << 12
"""Up to so many blocks, a draw that goes on where the last draw ended has a stretch computed ahead."""

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FIRST, _SECOND = map(np.uint64, MULTIPLIERS)


Words = Callable[[int, int, int], Any]
"""Computes the words of so many blocks from a block on, of a seed."""


class _Ahead:
    """Rows of four words, or of four numbers made of them, that small draws get where one goes on after the other."""

    def __init__(self, compute: Words) -> None:
        self.compute, self.rows, self.begin = compute, np.empty((0, 4), np.uint32), (0, 0)

    def draw(self, seed: int, block: int, blocks: int) -> Any:
        """The rows of *blocks*, which the caller may write over."""
        if blocks > _SMALL:
            return self.compute(seed, block, blocks)
        scratch = _scratch
        goes_on, scratch.expected = scratch.expected == (seed, block), (seed, block + blocks)
        at = block - self.begin[1]
        if self.begin[0] != seed or not 0 <= at <= len(self.rows) - blocks:
            if not goes_on:
                return self.compute(seed, block, blocks)
            # Eight times as much as the last time: a loader's sample, whose seed is its own, draws few numbers.
            used = len(self.rows) if self.begin[0] == seed and 0 <= at <= len(self.rows) else 0
            size = min(max(8 * used, 8 * blocks, 32), _STRETCH)
            self.rows, self.begin, at = self.compute(seed, block, size), (seed, block), 0
        return self.rows[at : at + blocks].copy()


class _Scratch(threading.local):
    """Each thread's rows for a stretch: to allocate them anew would cost as much as a round."""

    def __init__(self) -> None:
        self.rows = np.empty((6, _STRETCH), np.uint64)
        self.numbers = np.arange(_STRETCH, dtype=np.uint64)
        self.ahead = {
            "words": _Ahead(lambda seed, block, blocks: _words(seed, block, blocks)),
            "uniform": _Ahead(_uniform_numbers),
            "normal": _Ahead(_normal_numbers),
        }
        self.expected = (-1, -1)


def _words_by_numpy(seed: int, block: int, blocks: int) -> Any:
    """The words of up to `_STRETCH` blocks from number *block* on: uint32 (blocks, 4)."""
    a, b, c, d, low, high = _scratch.rows[:, :blocks]
    # Every value is below 2**32, in rows of 64 bits that hold its product with a multiplier.
    np.add(_scratch.numbers[:blocks], np.uint64(block), out=b)
    np.bitwise_and(b, _LOW, out=a)
    np.right_shift(b, _HALF, out=b)
    c.fill(0)
    d.fill(0)
    first, second = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(ROUNDS):
        np.multiply(a, _FIRST, out=low)
        np.multiply(c, _SECOND, out=high)
        np.bitwise_xor(b, np.uint64(first), out=b)
        np.right_shift(high, _HALF, out=a)
        np.bitwise_xor(a, b, out=a)
        np.bitwise_and(high, _LOW, out=b)
        np.bitwise_xor(d, np.uint64(second), out=d)
        np.right_shift(low, _HALF, out=c)
        np.bitwise_xor(c, d, out=c)
        np.bitwise_and(low, _LOW, out=d)
        first, second = first + KEY_STEPS[0] & 0xFFFFFFFF, second + KEY_STEPS[1] & 0xFFFFFFFF
    words_ = np.empty((blocks, 4), np.uint32)
    words_[:, 0], words_[:, 1], words_[:, 2], words_[:, 3] = a, b, c, d
    return words_


_words: Words = _words_by_numpy


def words_from(make: Callable[[Words], Words]) -> None:
    """Have ``make(words)`` compute all words from now on in place of *words*; it gives the same."""
    global _words
    _words = make(_words)


def _draw(
    count: int,
    each: int,
    seed: int,
    offset: int,
    convert: Callable[[Any, Any], None],
    out: Any,
    rows: str = "words",
) -> Any:
    """Fill *out* (count elements, row-major), *each* a block: ``convert(drawn, part of out)`` a stretch at a time, of
    *rows* of a kind of `_Scratch.ahead`.
    """
    blocks = -(-count // each)

    def stretch(start: int) -> None:
        stop = min(start + _STRETCH, blocks)
        drawn = _scratch.ahead[rows].draw(seed, (offset + start) & 0xFFFFFFFFFFFFFFFF, stop - start)
        convert(drawn, out[start * each : stop * each])

    if blocks <= _STRETCH:
        thread.run(stretch, 0)
    else:
        # A word costs far more than an element of a cheap kernel: every stretch is a piece.
        count = -(-blocks // _STRETCH)
        spread(lambda first, end: [stretch(at * _STRETCH) for at in range(first, end)], count, count)
    return out


def philox_bits(shape: tuple[int, ...], seed: int, offset: int, device: Device) -> Any:
    out = np.empty(math.prod(shape), np.int64)

    def convert(bits: Any, part: Any) -> None:
        part[...] = bits.reshape(-1)[: len(part)]

    return _draw(out.size, 4, seed, offset, convert, out).reshape(shape)


def _53_bits(high: Any, low: Any, shift: int = 5) -> Any:
    numbers = (high >> np.uint32(shift)).astype(np.float64)
    numbers *= 2.0**26
    numbers += low >> np.uint32(6)
    return numbers


_USED_BITS = {"float32": 24, "float16": 11, "bfloat16": 8}


def _finished(numbers: Any, factor: float, term: float, part: Any) -> None:
    """``numbers * factor + term`` into *part*, in the precision of *numbers*."""
    if factor != 1:
        numbers *= numbers.dtype.type(factor)
    if term != 0:
        numbers += numbers.dtype.type(term)
    part[...] = numbers[: len(part)]


def _uniform_numbers(seed: int, block: int, blocks: int) -> Any:
    """Four numbers of float32 for each block."""
    return _fractions(_words(seed, block, blocks), "float32")


def _fractions(bits: Any, dtype: str) -> Any:
    """Numbers of float32 in [0, 1) with as many bits as *dtype* has; *bits* are written over."""
    used = _USED_BITS[dtype]
    numbers = np.right_shift(bits, np.uint32(32 - used), out=bits).astype(np.float32)
    numbers *= np.float32(2.0**-used)
    return numbers


def uniform(shape: tuple[int, ...], low: float, high: float, generator: Any, dtype: DType, device: Device) -> Any:
    out = np.empty(math.prod(shape), numpy_dtype(dtype))
    factor, term = (1.0, 0.0) if (low, high) == (0, 1) else (high - low, low)
    if dtype.name == "float64":

        def convert(bits: Any, part: Any) -> None:
            pairs = bits.reshape(-1, 2)
            numbers = _53_bits(pairs[:, 0], pairs[:, 1])
            numbers *= 2.0**-53
            _finished(numbers, factor, term, part)

        return _draw(out.size, 2, *generator.take(2 * out.size), convert, out).reshape(shape)
    single = dtype.name == "float32"

    def convert32(rows: Any, part: Any) -> None:
        _finished((rows if single else _fractions(rows, dtype.name)).reshape(-1), factor, term, part)

    source = "uniform" if single else "words"
    return _draw(out.size, 4, *generator.take(out.size), convert32, out, source).reshape(shape)


def _box_muller(u: Any, v: Any) -> Any:
    np.log(u, out=u)
    u *= -2
    np.sqrt(u, out=u)
    v *= v.dtype.type(2 * math.pi)
    pairs = np.empty((len(u), 2), u.dtype)
    np.multiply(u, np.cos(v), out=pairs[:, 0])
    np.multiply(u, np.sin(v), out=pairs[:, 1])
    return pairs.reshape(-1)


def _normal_numbers(seed: int, block: int, blocks: int) -> Any:
    """Four numbers of float32 for each block."""
    numbers = _words(seed, block, blocks).reshape(-1, 2).T.astype(np.float32, order="C")
    numbers *= np.float32(2.0**-32)
    u, v = numbers
    u += np.float32(2.0**-33)
    return _box_muller(u, v).reshape(-1, 4)


_scratch = _Scratch()


def normal(shape: tuple[int, ...], mean: float, std: float, generator: Any, dtype: DType, device: Device) -> Any:
    out = np.empty(math.prod(shape), numpy_dtype(dtype))
    pairs = -(-out.size // 2)
    if dtype.name == "float64":

        def convert(bits: Any, part: Any) -> None:
            u, v = _53_bits(bits[:, 0], bits[:, 1]), _53_bits(bits[:, 2], bits[:, 3])
            u *= 2.0**-53
            u += 2.0**-54
            v *= 2.0**-53
            _finished(_box_muller(u, v), std, mean, part)

        return _draw(out.size, 2, *generator.take(4 * pairs), convert, out).reshape(shape)

    def convert32(numbers: Any, part: Any) -> None:
        _finished(numbers.reshape(-1), std, mean, part)

    return _draw(out.size, 4, *generator.take(2 * pairs), convert32, out, "normal").reshape(shape)


def integers(shape: tuple[int, ...], low: int, high: int, generator: Any, dtype: DType, device: Device) -> Any:
    out = np.empty(math.prod(shape), np.int64)
    span = high - low
    if span <= ONE_WORD_RANGE:

        def convert(bits: Any, part: Any) -> None:
            numbers = bits.reshape(-1)[: len(part)].astype(np.uint64)
            numbers *= np.uint64(span)
            numbers >>= _HALF
            np.add(numbers.view(np.int64), low, out=part)

        _draw(out.size, 4, *generator.take(out.size), convert, out)
    elif span > 2**63:

        def convert64(bits: Any, part: Any) -> None:
            first, second = bits.reshape(-1, 2)[: len(part)].astype(np.int64).T
            numbers = ((first - 2**31) << 32) + second
            below, above = numbers < low, numbers > high - 1
            part[...] = numbers
            # By the length of the range, which int64 does not hold.
            part[below] = numbers[below] - low + (high - 1) + 1
            part[above] = numbers[above] - (high - 1) - 1 + low

        _draw(out.size, 2, *generator.take(2 * out.size), convert64, out)
    else:

        def convert63(bits: Any, part: Any) -> None:
            numbers = _keys(bits)[: len(part)]
            if span < 2**63:
                numbers %= span
            np.add(numbers, low, out=part)

        _draw(out.size, 2, *generator.take(2 * out.size), convert63, out)
    return out.astype(numpy_dtype(dtype), copy=False).reshape(shape)


def _keys(bits: Any) -> Any:
    pairs = bits.reshape(-1, 2).astype(np.int64)
    return (pairs[:, 0] << 31) + (pairs[:, 1] >> 1)


def permutation(n: int, generator: Any, dtype: DType, device: Device) -> Any:
    keys = np.empty(n, np.int64)

    def convert(bits: Any, part: Any) -> None:
        part[...] = _keys(bits)[: len(part)]

    _draw(n, 2, *generator.take(2 * n), convert, keys)
    # Sorting numbers is many times faster than sorting places by them: each place rides in the low bits of its key.
    # Where two keys agree in what is left of them, and in a stable sort of the whole keys alone, their order counts.
    bits = max(n - 1, 1).bit_length()
    packed = keys.view(np.uint64) >> np.uint64(bits - 1)
    packed <<= np.uint64(bits)
    packed |= np.arange(n, dtype=np.uint64)
    packed.sort()
    if ((packed[1:] ^ packed[:-1]) >> np.uint64(bits)).all():
        order = (packed & np.uint64((1 << bits) - 1)).view(np.int64)
    else:
        order = keys.argsort(kind="stable")
    return order.astype(numpy_dtype(dtype), copy=False)


def chances(shape: tuple[int, ...], p: float, generator: Any, device: Device) -> Any:
    out = np.empty(math.prod(shape), np.bool_)
    limit = round(p * 2**32)

    def convert(bits: Any, part: Any) -> None:
        if limit >> 32:
            part.fill(True)
        else:
            np.less(bits.reshape(-1)[: len(part)], np.uint32(limit), out=part)

    return _draw(out.size, 4, *generator.take(out.size), convert, out).reshape(shape)


def _is_probability(numbers: Any) -> Any:
    return (numbers >= 0) & (numbers <= 1)


def chances_of(probabilities: Any, generator: Any) -> Any:
    from polyad.base.dtypes import float32, float64

    least, most = (
        thread.run(reduce, probabilities, None, initial=0.5) for reduce in (np.minimum.reduce, np.maximum.reduce)
    )
    if not (float(least) >= 0 and float(most) <= 1):
        wrong = ~thread.run(_is_probability, probabilities)
        place = np.unravel_index(wrong.argmax(), wrong.shape)
        raise ShapeError(
            f"bernoulli: input[{', '.join(map(str, place))}] = {probabilities[place]} is not in [0, 1]",
            fix="pass probabilities",
        )
    dtype = float64 if probabilities.dtype == np.float64 else float32
    drawn = uniform(probabilities.shape, 0, 1, generator, dtype, Device("cpu"))
    return np.asarray(drawn < probabilities.astype(drawn.dtype, copy=False)).astype(probabilities.dtype)


def exponential(shape: tuple[int, ...], rate: float, generator: Any, dtype: DType, device: Device) -> Any:
    out = np.empty(math.prod(shape), numpy_dtype(dtype))
    wide = dtype.name == "float64"

    def convert(bits: Any, part: Any) -> None:
        if wide:
            pairs = bits.reshape(-1, 2)
            numbers = _53_bits(pairs[:, 0], pairs[:, 1], 6)
            numbers *= 2.0**-52
            numbers += 2.0**-53
        else:
            numbers = (bits.reshape(-1) >> np.uint32(9)).astype(np.float32)
            numbers *= np.float32(2.0**-23)
            numbers += np.float32(2.0**-24)
        np.log(numbers, out=numbers)
        numbers /= numbers.dtype.type(-rate)
        part[...] = numbers[: len(part)]

    return _draw(out.size, 2 if wide else 4, *generator.take((2 if wide else 1) * out.size), convert, out).reshape(
        shape
    )


KERNELS = {
    "philox_bits": Kernel(philox_bits),
    "uniform": Kernel(uniform),
    "normal": Kernel(normal),
    "integers": Kernel(integers),
    "permutation": Kernel(permutation),
    "chances": Kernel(chances),
    "chances_of": Kernel(chances_of),
    "exponential": Kernel(exponential),
}
