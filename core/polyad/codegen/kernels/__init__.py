"""Families of generated kernels over the runtime protocol: a device with a C-family compiler has all of them.

    numbers.py        Python numbers as a kernel's arguments
    pointwise.py      the kernel of expressions, computed element by element
    reduction.py      the kernel of a reduced expression
    rowwise.py        the kernel of several stages over the same rows
    tables.py         the kernel of expressions, for many arrays in a single launch
    pointwise_ops.py  primitives that have a formula
    reduction_ops.py  primitives that reduce
    moving.py         copies, casts and fills
    creating.py       sequences and random words

A backend takes its primitives' kernels from `generated_kernels`. Its composites' kernels follow from their bodies
(`polyad.lowering`) once `Backend.runtime` gives a runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...backend.addresses import KernelAddress, address_of_function, generated_addresses
from ...backend.interface import Kernel, Signature, TensorType
from ...backend.preparation import flat, prepare
from ...backend.runtime import Runtime
from ...base.device import Device
from .creating import creating_ops
from .moving import copying, fill, moving_ops
from .pointwise import PointwiseKernel
from .pointwise_ops import RuntimeOf, pointwise_ops
from .reduction import ReductionKernel
from .reduction_ops import reduction_ops
from .rowwise import RowwiseKernel
from .tables import TableKernel

__all__ = [
    "PointwiseKernel",
    "ReductionKernel",
    "RowwiseKernel",
    "RuntimeOf",
    "TableKernel",
    "copying",
    "fill",
    "generated_kernels",
]


def generated_kernels(runtime_of: RuntimeOf) -> dict[str, Kernel]:
    """A table of kernels for every primitive that the generator covers, for a `Backend`'s `kernels`.

    *runtime_of* gives the `polyad.backend.runtime.Runtime` of a device.
    """
    kernels = _kernels(runtime_of)
    return {name: replace(kernel, addresses=partial(_addresses, runtime_of, name)) for name, kernel in kernels.items()}


def _kernels(runtime_of: RuntimeOf) -> dict[str, Kernel]:
    return {
        **pointwise_ops(runtime_of),
        **reduction_ops(runtime_of),
        **moving_ops(runtime_of),
        **creating_ops(runtime_of),
    }


def _addresses(
    runtime_of: RuntimeOf, name: str, types: Signature, args: Sequence[Any] | None
) -> tuple[KernelAddress, ...]:
    """What is generated for a call of op *name*; without one, who generates it."""
    if args is None:
        return (KernelAddress("generated", "", f"{name}, by polyad.codegen.kernels"),)

    used: list[Any] = []

    def call(runtime: Runtime) -> None:
        used.append(prepare(_kernels(lambda device: runtime)[name], types))
        used[0](*args)

    # One that generates nothing hands the work on.
    return generated_addresses(runtime_of(_device(types, args)), call) or (address_of_function(used[0]),)


def _device(types: Signature, args: Sequence[Any]) -> Device:
    """The device of a call: that of its tensors, else the one it names."""
    found = [entry.device for entry in flat(types) if isinstance(entry, TensorType)]
    return (found or [value for value in args if isinstance(value, Device)])[0]
