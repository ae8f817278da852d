"""What kernels that multiply and add in registers share: how each dtype is loaded, accumulated and stored, in vectors.

It begins with `elements.text`, which says how an element is loaded and stored. Half types are computed in float32,
integers below 64 bits in 32 (the low bits of a wrapping sum are the same), bool not at all. Complex numbers are
multiplied as pairs of real numbers by the families themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyad.base.dtypes import DType
from polyad.codegen import OPENCL_C, bfloat_functions
from polyad_kernels.source.elements import STORED, text


@dataclass(frozen=True, slots=True)
class Element:
    """What a dtype is computed in, in OpenCL C.

    Attributes:
        used: the type.
        size: its bytes.
    """

    used: str
    size: int


_FLOAT, _DOUBLE, _INT, _LONG = Element("float", 4), Element("double", 8), Element("int", 4), Element("long", 8)

ELEMENTS = {
    "uint8": _INT, "int8": _INT, "int16": _INT, "int32": _INT, "int64": _LONG, "float16": _FLOAT, "bfloat16": _FLOAT,
    "float32": _FLOAT, "float64": _DOUBLE,
}  # fmt: skip
"""By name of the dtype; those that are computed with."""

_VECTORS = {
    "float16": """#define loadv(p, i) vload_half8(0, (const __global half *)(p) + (i))
#define storev(p, i, x) vstore_half8_rte((x), 0, (__global half *)(p) + (i))""",
    "bfloat16": "".join(bfloat_functions(OPENCL_C, 8).values())
    + """#define loadv(p, i) from_bfloat_8(((const __global Packed *)((p) + (i)))->v)
#define storev(p, i, x) (((__global Packed *)((p) + (i)))->v = to_bfloat_8(x))""",
}


def lanes(dtype: DType) -> int:
    """Elements of a vector of what *dtype* is computed in: 32 bytes.

    On processors with AVX-512, sums of products of 64-byte vectors send PoCL 3.0's compiler (LLVM 14) into an endless
    loop.
    """
    return 32 // ELEMENTS[dtype.name].size


def prologue(dtype: DType) -> str:
    """Definitions: `elements.text`, ``S`` and ``V`` (what is computed in, a scalar and a vector of ``W``), ``load``,
    ``loadv``, ``store``, ``storev``. Indices count elements. A vector may be loaded from the last element on: see
    `runtime.memory.SLACK`. Vectors are packed structures, since PoCL calls vload as a function, before which all
    accumulators go to memory.
    """
    used, stored, width = ELEMENTS[dtype.name].used, STORED[dtype.name], lanes(dtype)
    into, back = ("", "") if used == stored else (f"convert_{used}{width}", f"convert_{stored}{width}")
    plain = f"""#define loadv(p, i) {into}(((const __global Packed *)((p) + (i)))->v)
#define storev(p, i, x) (((__global Packed *)((p) + (i)))->v = {back}(x))"""
    return f"""{"#pragma OPENCL EXTENSION cl_khr_fp64 : enable" if used == "double" else ""}
{text(dtype)}
#define W {width}
#define S {used}
#define V {used}{width}
#define VSTORE vstore{width}
typedef struct __attribute__((packed)) {{ {stored}{width} v; }} Packed;
#define load(p, i) ((S)LOAD(p, i))
#define store(p, i, x) STORE(p, i, (C)(x))
{_VECTORS.get(dtype.name, plain)}
"""
