"""Stray writes: memory around what a kernel allocates for its results.

Inputs and given outputs (``out=``) are guarded by their layouts (`polyad_conformance.layouts`): poison before and
behind them, which spoils results when it is read, and is looked at for writes. A result's memory is chosen by the
kernel. Many allocators give memory again that was given up last, so it is prepared: arrays of the results' sizes,
every second one given up, the others watched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import polyad

from ..calls import Target, draw, function_of, kwargs_of, outputs_of
from ..layouts import contiguous, place
from ..sample import Sample
from .storage import values_of

PAIRS = 3


def check_neighbours(sample: Sample, dtype: Any, target: Target) -> None:
    """A call writes nothing beside its results."""
    args = draw(sample, dtype, target.seed)
    tensors, _, placed = place(args, (contiguous,), target.device)
    kwargs, _ = kwargs_of(sample, dtype, target.device, args)
    backend, device = target.backend, target.full_device

    def call() -> list[tuple[tuple[int, ...], Any]]:
        with target.watching():
            results = outputs_of(function_of(sample)(*tensors, **kwargs))
        return [(tuple(one.shape), one.dtype) for one in results if isinstance(one, polyad.Tensor) and one.numel()]

    made = call()
    watched, given_up = [], []
    for shape, result in dict.fromkeys(made):
        host = values_of(shape, result, 3)
        for _ in range(PAIRS):
            watched.append((backend.from_host(host, result, device), host))
            given_up.append(backend.empty(shape, result, device))
        watched.append((backend.from_host(host, result, device), host))
    given_up.clear()
    call()
    what = f"{sample.label} {dtype.name}"
    for array, host in watched:
        assert np.array_equal(backend.to_host(array), host), f"{what}: memory of another array was written"
    for position, put in enumerate(placed):
        put.assert_unchanged(f"{what}: input {position}")
