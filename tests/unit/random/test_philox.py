"""Philox4x32-10 against the known answers that its authors publish with Random123 (kat_vectors)."""

from __future__ import annotations

import pytest

from polyad.random import philox

KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def numbers(text):
    return tuple(int(word, 16) for word in text.split())


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter, key, expected):
    assert philox.philox4x32(numbers(counter), numbers(key)) == numbers(expected)


def test_a_draw_is_a_stretch_of_blocks():
    seed, offset = 2**40 + 7, 2**32 - 1
    key = (seed % 2**32, seed // 2**32)
    first, second = philox.philox4x32((2**32 - 1, 0, 0, 0), key), philox.philox4x32((0, 1, 0, 0), key)
    assert philox.words(6, seed, offset) == [*first, *second[:2]]


def test_block_numbers_wrap():
    assert philox.words(8, 1, 2**64 - 1)[4:] == philox.words(4, 1, 0)
