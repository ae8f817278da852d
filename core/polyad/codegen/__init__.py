"""From an expression of ops over strided operands to kernel source for a C-family language.

    expression.py       what is computed: operands, numbers, applied ops
    formulas.py         each op's formula on real numbers
    complex_numbers.py  each op's parts on complex numbers
    writer.py           expressions to statements
    printer.py          loops (`polyad.loops`) to statements
    dialects.py         what differs between C, OpenCL C and CUDA C
    frame.py            what every kernel has around its statements
    hardware.py         what a device is to the generator
    collapse.py         fewer, longer dimensions for the same elements
    packs.py            what a GPU reads and writes at once
    workgroups.py       how many work items of a GPU share a row
    elementwise.py      kernels with a result at each place: `elementwise`, `elementwise_plan`
    tables.py           kernels over many arrays
    variants.py         which kernel of those that follow serves given arrays
    accumulators.py     what they accumulate by
    reduction.py        kernels that make many elements few: `reduction`, `reduction_plan`
    rowwise.py          kernels of several stages over the same rows: `rowwise`, `rowwise_plan`

A generator makes loops of expressions by a schedule of `polyad.loops`, and has them printed. Nothing here runs anything
or knows a device. A backend compiles the source, keeps it, and launches it with the geometry. The simplest use is a
single op; a fused chain of ops is the same call with a larger expression.
"""

from typing import Any

from ..compatibility.moved import missing
from .collapse import broadcast_strides, by_memory, collapse, result_strides
from .dialects import CUDA_C, DIALECTS, OPENCL_C, C, Dialect, bfloat_functions
from .elementwise import ElementwisePlan, elementwise, elementwise_plan
from .expression import Apply, Expression, Iota, Literal, Operand, RowValue, Scalar, apply, cast, where
from .formulas import FORMULAS
from .frame import KernelSource, padded_rank
from .hardware import CPU, GPU, DeviceDescription
from .reduction import ReductionPlan, reduction, reduction_plan
from .rowwise import RowwisePlan, Stage, rowwise, rowwise_lanes, rowwise_pack, rowwise_plan, rowwise_unroll
from .writer import has_formula

__all__ = [
    "C", "CPU", "CUDA_C", "DIALECTS", "FORMULAS", "GPU", "OPENCL_C", "Apply", "DeviceDescription", "Dialect",
    "ElementwisePlan", "Expression", "KernelSource", "Literal", "Operand", "Iota", "ReductionPlan", "RowValue",
    "RowwisePlan", "Scalar", "Stage", "apply", "bfloat_functions", "broadcast_strides", "by_memory", "cast", "collapse",
    "elementwise", "elementwise_plan", "has_formula", "padded_rank", "reduction", "reduction_plan", "result_strides",
    "rowwise", "rowwise_lanes", "rowwise_pack", "rowwise_plan", "rowwise_unroll", "where",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)
