"""Philox4x32-10, the generator behind every random number: its definition, and which of its bits a draw gets.

Philox (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011) is a counter-based
generator: ten rounds of multiplication turn a 128-bit counter, under a 64-bit key, into four 32-bit words. There is no
state to carry from a number to the next, so any backend computes any part of a draw by itself and gets the same bits.

The contract of a draw of n words from (seed, offset), both 64-bit:

    word i of the draw   word i mod 4 of the block with number b = (offset + i // 4) mod 2**64
    counter of block b   (b mod 2**32, b // 2**32, 0, 0), first word first
    key                  (seed mod 2**32, seed // 2**32)

A draw of n words uses ceil(n / 4) blocks, and a `Generator` moves its offset by that many. Element i is the i-th in
row-major order of the tensor that is drawn, whatever its strides. With w the words of the draw, elements come from
them so:

    uniform      in [0, 1)
                 float32    (w[i] >> 8) * 2**-24
                 float16    (w[i] >> 21) * 2**-11
                 bfloat16   (w[i] >> 24) * 2**-8
                 float64    ((w[2i] >> 5) * 2**26 + (w[2i + 1] >> 6)) * 2**-53
                 from low to high: that, times high - low, plus low, in float32 (in float64 for float64)
    normal       elements 2j and 2j + 1 are r cos(t) and r sin(t), r = sqrt(-2 log(u)), t = 2 pi v (Box and Muller 1958)
                 float32    u = w[2j] * 2**-32 + 2**-33, v = w[2j + 1] * 2**-32; rounded for the half precision types
                 float64    u = k * 2**-53 + 2**-54, v = l * 2**-53, where k and l come from w[4j], w[4j + 1] and of
                            w[4j + 2], w[4j + 3] as 53-bit numbers are for uniform
    integers     of range r = high - low
                 r <= 2**24 low + (w[i] * r >> 32)
                 <= 2**63   low + (w[2i] * 2**31 + (w[2i + 1] >> 1)) mod r
                 else       n = w[2i] * 2**32 + w[2i + 1] - 2**63; n + r if n < low, n - r if n >= high
    bernoulli    w[i] < p * 2**32 rounded to the nearest integer; with a tensor of probabilities, uniform[i] < p[i]
    exponential  -log(u) / rate
                 float32    u = (w[i] >> 9) * 2**-23 + 2**-24; rounded for the half precision types
                 float64    u = ((w[2i] >> 6) * 2**26 + (w[2i + 1] >> 6)) * 2**-52 + 2**-53
    permutation  of n: the stable order of n keys w[2i] * 2**31 + (w[2i + 1] >> 1)

A normal draw of n elements takes words for a whole number of pairs; every other draw takes as many as it reads.
Words, integers, bernoulli, permutations and uniform numbers in [0, 1) agree to the bit on every backend. Logarithms,
sines and products that a device fuses may differ in the last place.

This module is the definition in plain Python, which tests compare backends with; it is not meant to be fast.
"""

from __future__ import annotations

from ..tables.philox import KEY_STEPS as KEY_STEPS, MULTIPLIERS as MULTIPLIERS, ROUNDS as ROUNDS

ONE_WORD_RANGE = 2**24
"""Up to this many integers one word an element is enough: none is more than 2**-8 likelier than another."""

_MASK = 0xFFFFFFFF

Counter = tuple[int, int, int, int]


def philox4x32(counter: Counter, key: tuple[int, int]) -> Counter:
    """The four words that *counter* becomes under *key*.

    >>> [hex(word) for word in philox4x32((0, 0, 0, 0), (0, 0))]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    a, b, c, d = counter
    first, second = key
    for _ in range(ROUNDS):
        low, high = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b, c, d = high >> 32 ^ b ^ first, high & _MASK, low >> 32 ^ d ^ second, low & _MASK
        first, second = first + KEY_STEPS[0] & _MASK, second + KEY_STEPS[1] & _MASK
    return a, b, c, d


def words(count: int, seed: int, offset: int) -> list[int]:
    """The first *count* words of a draw from (seed, offset).

    >>> [hex(word) for word in words(2, seed=0, offset=0)]
    ['0x6627e8d5', '0xe169c58d']
    """
    found: list[int] = []
    key = (seed & _MASK, seed >> 32)
    for block in range(offset, offset + -(-count // 4)):
        block &= 2**64 - 1
        found += philox4x32((block & _MASK, block >> 32, 0, 0), key)
    return found[:count]
