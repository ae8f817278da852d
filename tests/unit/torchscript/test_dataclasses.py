"""Dataclasses as classes of scripts."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import polyad


@dataclass(init=False)
class Interval:
    low: int
    high: int

    def __init__(self, low: int, high: int):
        self.low = low
        self.high = high + 1


@dataclass
class Pair:
    first: int
    second: int


def test_a_dataclass_that_writes_its_own_init_is_scripted():
    polyad.jit.script(Interval)

    def length(low: int, high: int) -> int:
        found = Interval(low, high)
        return found.high - found.low

    assert polyad.jit.script(length)(2, 5) == 4


def test_another_is_refused():
    with pytest.raises(RuntimeError, match="dataclasses"):
        polyad.jit.script(Pair)
