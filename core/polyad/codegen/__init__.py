"""From an expression of elementwise ops over strided operands to kernel source for a C-family language.

    expression.py   what is computed: operands, literals, applied ops
    collapse.py     fewer, longer dimensions for the same elements
    dialects.py     what differs between C, OpenCL C and CUDA C
    hardware.py     what a device is to the generator
    elementwise.py  the generator: `generate(expression, layouts, dialect)` gives source and launch geometry

Nothing here runs anything or knows a device. A backend compiles the source, keeps it by `KernelSource.text`, and
launches it with the geometry. The simplest use is one op, a fused chain of ops is the same call with a larger
expression.
"""

from .collapse import collapse
from .dialects import CUDA_C, DIALECTS, OPENCL_C, C, Dialect
from .elementwise import KernelSource, generate
from .expression import Apply, Expression, Literal, Operand, apply
from .hardware import CPU, GPU, DeviceDescription

__all__ = [
    "C", "CPU", "CUDA_C", "DIALECTS", "GPU", "OPENCL_C", "Apply", "DeviceDescription", "Dialect", "Expression", "KernelSource", "Literal", "Operand",
    "apply", "collapse", "generate",
]  # fmt: skip
