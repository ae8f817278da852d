"""A kernel of a composite must have a measured reason: its op's body would do."""

from __future__ import annotations

from polyad.dispatch.catalogue import OPS
from polyad_numpy import measured
from polyad_numpy.kernels import KERNELS

LEAST = 1.15


def test_each_kernel_of_a_composite_says_its_ratio():
    overrides = {op for op in KERNELS if op in OPS and OPS[op].body is not None}
    said = [*measured.SLOWER, *measured.MEMORY, *measured.UNMEASURED]
    assert set(said) == overrides
    assert len(said) == len(set(said))


def test_a_ratio_is_a_reason():
    assert [op for op, ratios in measured.SLOWER.items() if max(ratios) < LEAST] == []
    assert [op for op, ratio in measured.MEMORY.items() if ratio < LEAST] == []
