"""Layers that multiply by a matrix, and those that only change the shape."""

from __future__ import annotations

from . import ModuleSample

SAMPLES = [
    ModuleSample(
        layer="Linear",
        build=lambda torch: torch.nn.Linear(3, 4),
        inputs=lambda make: (make((2, 5, 3)),),
        functional=lambda F, layer, x: F.linear(x, layer.weight, layer.bias),
        wrong=[lambda make: (make((2, 4)),)],
    ),
    ModuleSample(
        layer="Linear",
        name="no bias",
        build=lambda torch: torch.nn.Linear(3, 4, bias=False),
        inputs=lambda make: (make((3,)),),
        functional=lambda F, layer, x: F.linear(x, layer.weight),
    ),
]
