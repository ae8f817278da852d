"""float64 becomes a half type by way of float32: which of two neighbours a number near their middle gives."""

from __future__ import annotations

import pytest
import torch

import polyad

NEAR_TIES = [1 + 2.0**-11 + 2.0**-40, 2049.0000001, 1 + 2.0**-8 + 2.0**-40, -1 - 2.0**-11 - 2.0**-40]


@pytest.mark.parametrize("length", [1, 1000], ids=["short", "long"])
@pytest.mark.parametrize("source", ["float64", "complex128"])
@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_numbers_near_the_middle_of_two_halves(half: str, source: str, length: int) -> None:
    found = []
    for library in (torch, polyad):
        values = library.tensor(NEAR_TIES, dtype=getattr(library, source)).repeat(length)
        into = getattr(library, half)
        copied = library.empty(values.shape, dtype=into).copy_(values)
        found.append((values.to(into).tolist(), copied.tolist()))
    assert found[0] == found[1]
