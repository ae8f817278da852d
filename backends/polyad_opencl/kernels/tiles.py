"""What kernels that multiply and add in registers share: how each dtype is loaded, accumulated and stored.

Half types are computed in float32, integers below 64 bits in 32 (the low bits of a wrapping sum are the same), bool not
at all. Complex numbers are multiplied as pairs of real ones by the families themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

from polyad.dtypes import DType


@dataclass(frozen=True, slots=True)
class Element:
    """How elements of a dtype travel between memory and registers, in OpenCL C.

    Attributes:
        stored: the type in memory.
        used: the type that is computed with.
        size: bytes of *used*.
    """

    stored: str
    used: str
    size: int


ELEMENTS = {
    "uint8": Element("uchar", "int", 4),
    "int8": Element("char", "int", 4),
    "int16": Element("short", "int", 4),
    "int32": Element("int", "int", 4),
    "int64": Element("long", "long", 8),
    "float16": Element("half", "float", 4),
    "bfloat16": Element("ushort", "float", 4),
    "float32": Element("float", "float", 4),
    "float64": Element("double", "double", 8),
}
"""By name of the dtype; those that are computed with."""


def lanes(dtype: DType) -> int:
    """Elements of a vector of what *dtype* is computed in: 32 bytes.

    On processors with AVX-512, sums of products of 64-byte vectors send PoCL 3.0's compiler (LLVM 14) into an endless
    loop.
    """
    return 32 // ELEMENTS[dtype.name].size


def prologue(dtype: DType) -> str:
    """Definitions: ``T`` (stored), ``S`` and ``V`` (used, a scalar and a vector of ``W``), ``load``, ``loadv``,
    ``store``, ``storev``. Indices count elements. A vector may be loaded from the last element on: see
    `runtime.memory.SLACK`.
    """
    element = ELEMENTS[dtype.name]
    width = lanes(dtype)
    lines = [
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable" if element.used == "double" else "",
        f"#define W {width}",
        f"#define T {element.stored}",
        f"#define S {element.used}",
        f"#define V {element.used}{width}",
        f"#define VSTORE vstore{width}",
    ]
    if dtype.name == "float16":
        lines.append(
            "#define load(p, i) vload_half(i, p)\n#define loadv(p, i) vload_half8(0, (p) + (i))\n"
            "#define store(p, i, x) vstore_half_rte(x, i, p)\n"
            "#define storev(p, i, x) vstore_half8_rte(x, 0, (p) + (i))"
        )
    elif dtype.name == "bfloat16":
        lines.append(
            "#define load(p, i) as_float((uint)(p)[i] << 16)\n"
            "#define loadv(p, i) as_float8(convert_uint8(vload8(0, (p) + (i))) << 16)\n"
            "ushort8 narrowed(float8 x) {\n"
            "    uint8 bits = as_uint8(x);\n"
            "    uint8 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;\n"
            "    return convert_ushort8(isnan(x) ? (uint8)0x7fc0 : rounded);\n"
            "}\n"
            "#define store(p, i, x) (p)[i] = narrowed((float8)(x)).s0\n"
            "#define storev(p, i, x) vstore8(narrowed(x), 0, (p) + (i))"
        )
    elif element.stored == element.used:
        lines.append(
            f"#define load(p, i) (p)[i]\n#define loadv(p, i) vload{width}(0, (p) + (i))\n"
            f"#define store(p, i, x) (p)[i] = (x)\n#define storev(p, i, x) vstore{width}(x, 0, (p) + (i))"
        )
    else:
        lines.append(
            f"#define load(p, i) (S)(p)[i]\n"
            f"#define loadv(p, i) convert_{element.used}{width}(vload{width}(0, (p) + (i)))\n"
            f"#define store(p, i, x) (p)[i] = (T)(x)\n"
            f"#define storev(p, i, x) vstore{width}(convert_{element.stored}{width}(x), 0, (p) + (i))"
        )
    return "\n".join(lines)
