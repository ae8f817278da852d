"""Elements in OpenCL C: what they are in memory, and what is computed with them.

Kernels that only move elements are written for a width, `MOVED`, and serve all dtypes that have it. Kernels that
compute get `text`, which defines for a dtype

    T               an element in memory; half types are the 16 bits
    C               what is computed in: float for half types, T for others
    LOAD(p, i)      element i as a C
    STORE(p, i, x)  a C to element i, rounded to nearest even for half types
"""

from __future__ import annotations

from polyad.base.dtypes import DType
from polyad.codegen import OPENCL_C, bfloat_functions

from ..kept import kept

MOVED = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}
"""A type of each width."""

STORED = {
    "bool": "uchar", "uint8": "uchar", "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "float16": "ushort", "bfloat16": "ushort", "float32": "float", "float64": "double", "complex64": "float2",
    "complex128": "double2",
}  # fmt: skip
"""The type in memory of each dtype."""

_PLAIN = "#define LOAD(p, i) ((p)[i])\n#define STORE(p, i, x) ((p)[i] = (x))"

_ACCESS = {
    "bool": "#define LOAD(p, i) ((p)[i])\n#define STORE(p, i, x) ((p)[i] = (x) != 0)",
    "float16": """#define LOAD(p, i) vload_half((i), (const __global half *)(p))
#define STORE(p, i, x) vstore_half_rte((x), (i), (__global half *)(p))""",
    "bfloat16": "".join(bfloat_functions(OPENCL_C).values())
    + "#define LOAD(p, i) from_bfloat_1((p)[i])\n#define STORE(p, i, x) ((p)[i] = to_bfloat_1(x))",
}


@kept
def text(dtype: DType) -> str:
    """The definitions for *dtype*; see the module's docstring."""
    stored = STORED[dtype.name]
    computed = "float" if dtype.name in ("float16", "bfloat16") else stored
    return f"#define T {stored}\n#define C {computed}\n{_ACCESS.get(dtype.name, _PLAIN)}\n"
