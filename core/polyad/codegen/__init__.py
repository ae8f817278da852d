"""From an expression of ops over strided operands to kernel source for a C-family language.

    expression.py       what is computed: operands, numbers, applied ops
    formulas.py         each op's formula on real numbers
    complex_numbers.py  each op's parts on complex numbers
    writer.py           expressions to statements
    dialects.py         what differs between C, OpenCL C and CUDA C
    frame.py            what every kernel has around its loops
    hardware.py         what a device is to the generator
    collapse.py         fewer, longer dimensions for the same elements
    packs.py            what a GPU reads and writes at once
    teams.py            what of a GPU shares a row
    elementwise.py      kernels with a result at each place: `elementwise`, `elementwise_plan`
    tables.py           kernels over many arrays
    reduction.py        kernels that make many elements few
    rowwise.py          kernels of several stages over the same rows: `rowwise`, `rowwise_plan`
    row_statements.py   their statements

Nothing here runs anything or knows a device. A backend compiles the source, keeps it, and launches it with the
geometry. The simplest use is a single op; a fused chain of ops is the same call with a larger expression.
"""

from .collapse import broadcast_strides, by_memory, collapse, result_strides
from .dialects import CUDA_C, DIALECTS, OPENCL_C, C, Dialect, bfloat_functions
from .elementwise import ElementwisePlan, elementwise, elementwise_plan
from .expression import Apply, Expression, Literal, Operand, Place, RowValue, Scalar, apply, cast, where
from .formulas import FORMULAS
from .frame import KernelSource, padded_rank
from .hardware import CPU, GPU, DeviceDescription
from .reduction import ReductionPlan, reduction, reduction_plan
from .rowwise import RowwisePlan, Stage, rowwise, rowwise_lanes, rowwise_pack, rowwise_plan, rowwise_unroll
from .writer import has_formula

__all__ = [
    "C", "CPU", "CUDA_C", "DIALECTS", "FORMULAS", "GPU", "OPENCL_C", "Apply", "DeviceDescription", "Dialect",
    "ElementwisePlan", "Expression", "KernelSource", "Literal", "Operand", "Place", "ReductionPlan", "RowValue",
    "RowwisePlan", "Scalar", "Stage", "apply", "bfloat_functions", "broadcast_strides", "by_memory", "cast", "collapse",
    "elementwise", "elementwise_plan", "has_formula", "padded_rank", "reduction", "reduction_plan", "result_strides",
    "rowwise", "rowwise_lanes", "rowwise_pack", "rowwise_plan", "rowwise_unroll", "where",
]  # fmt: skip
