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

from ...backend.interface import Kernel
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
    return {
        **pointwise_ops(runtime_of),
        **reduction_ops(runtime_of),
        **moving_ops(runtime_of),
        **creating_ops(runtime_of),
    }
