"""Devices, random sparse tensors and their dense twins."""

from __future__ import annotations

import random
from typing import Any

import pytest

import polyad


@pytest.fixture(params=["cpu", "opencl"])
def device(request: pytest.FixtureRequest) -> Any:
    """The devices that sparse tensors are tested on."""
    if request.param != "cpu":
        try:
            polyad.zeros(1, device=request.param)
        except RuntimeError:
            pytest.skip(f"{request.param} is not here")
    return polyad.device(request.param)


def elements(shape: tuple[int, ...], seed: int = 0, filled: float = 0.4) -> polyad.Tensor:
    """A dense float64 tensor of which most elements are 0, by Python's own random numbers."""
    draw = random.Random(f"{shape} {seed}")
    count = 1
    for size in shape:
        count *= size
    values = [draw.uniform(-2, 2) if draw.random() < filled else 0.0 for _ in range(count)]
    return polyad.tensor(values, dtype=polyad.float64).reshape(shape)
