"""Steps of optimizers, a group of parameters in one call.

A single step stays NumPy's, whose bits these are too.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from polyad.backend.addresses import KernelAddress, addresses_of
from polyad.backend.interface import Kernel, Many, Signature, TensorType
from polyad.backend.preparation import prepare, unspecialized
from polyad.base.dtypes import float32, float64
from polyad.devices.registry import get

from ...addresses import in_c
from ...choosing import available, least
from ...engine import AS_WRITTEN, SOONER, Library

_LIBRARY = Library("kernels/optim/steps", flags=(*AS_WRITTEN, *SOONER))

STEPS = ("sgd_step", "sgd_momentum_step", "adam_step", "amsgrad_step")
"""In the order of the numbers that they have in C."""

_LEAST = 1 << 12
"""From how many elements on a group of few parameters is worth it."""


def step(op: str) -> Kernel:
    """The kernel of a step."""
    kind = STEPS.index(op)

    def specialize(types: Signature) -> Any:
        own = get("cpu").as_kernel(op)
        return own and prepare(own, types)

    def many(types: Signature) -> Many | None:
        entries = [entry for entry in types if isinstance(entry, TensorType)]
        counts = entries[-1:] if op.startswith(("adam", "amsgrad")) else []
        dtypes = {entry.dtype for entry in entries[: len(entries) - len(counts)]}
        if len(dtypes) != 1 or any(entry.dtype not in (float32, float64) for entry in (entries[0], *counts)):
            return None
        dtype = dtypes.pop()
        wide = bool(counts) and counts[0].dtype is float64

        def call(rows: Sequence[tuple[Any, ...]], params: tuple[Any, ...]) -> bool:
            few = least(_LEAST)
            if len(rows) < 8 and few and sum(row[0].size for row in rows) < few:
                return False
            run = available(_LIBRARY, "step", dtype)
            return run is not None and bool(run(kind, rows, struct.pack(f"{len(params)}d", *params), wide))

        return call

    def addresses(types: Signature, args: Sequence[Any] | None) -> Sequence[KernelAddress]:
        group = [replace(each, when="for a group of parameters", serves=False) for each in in_c(many, types)]
        own = get("cpu").as_kernel(op)
        return [*group, *(() if own is None else addresses_of(own, types, args))]

    return Kernel(unspecialized, out=True, specialize=specialize, many=many, addresses=addresses)
