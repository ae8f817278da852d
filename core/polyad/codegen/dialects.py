"""What differs between the C-family languages that kernels are written in: type names, function names, how a kernel
begins, how numbers come from memory.

Signed integers must wrap: compile C with ``-fwrapv`` (OpenCL and CUDA devices wrap by themselves). No fast-math, which
loses NaN.

To add a language: a `Dialect` with its spellings. What the generator writes between them is plain C99.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .. import dtypes
from ..dtypes import DType

_C_TYPES = {
    dtypes.bool_: "unsigned char",
    dtypes.uint8: "unsigned char",
    dtypes.int8: "signed char",
    dtypes.int16: "short",
    dtypes.int32: "int",
    dtypes.int64: "long long",
    dtypes.float32: "float",
    dtypes.float64: "double",
}

_HALVES = {dtypes.float16: "half", dtypes.bfloat16: "bfloat"}

HALF_CONVERSIONS = """\
typedef union { unsigned int u; float f; } FloatBits;
<function>float bits_to_float(unsigned int bits) { FloatBits both; both.u = bits; return both.f; }
<function>unsigned int float_to_bits(float x) { FloatBits both; both.f = x; return both.u; }
<function>float from_bfloat(unsigned short x) { return bits_to_float((unsigned int)x << 16); }
<function>unsigned short to_bfloat(float x) {
    const unsigned int bits = float_to_bits(x);
    return x != x ? 0x7fc0 : (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
<function>float from_half(unsigned short x) {
    const unsigned int sign = (unsigned int)(x & 0x8000u) << 16, rest = x & 0x7fffu;
    if (rest >= 0x7c00u) return bits_to_float(sign | 0x7f800000u | (rest << 13));
    /* 2**112 moves the exponent's bias, and makes subnormal numbers normal. */
    return bits_to_float(sign | float_to_bits(bits_to_float(rest << 13) * 5.192296858534828e33f));
}
<function>unsigned short to_half(double x) {
    const double size = x < 0 ? -x : x;
    const unsigned short sign = (unsigned short)((float_to_bits((float)x) >> 16) & 0x8000u);
    if (x != x) return 0x7e00;
    if (size >= 65520.0) return sign | 0x7c00;
    /* Adding 2**52 units of the last place rounds to it, to nearest and ties to even. */
    double step = 5.9604644775390625e-08, scale = step;
    while (size >= scale * 2048.0) scale *= 2.0;
    const double magic = scale * 4503599627370496.0;
    volatile double sum = size + magic;
    const double rounded = sum - magic;
    unsigned short bits = 0;
    double unit = step;
    while (rounded >= unit * 2048.0) { unit *= 2.0; bits += 0x400; }
    return sign | (unsigned short)(bits + (unsigned short)(rounded / unit));
}
"""
"""float16 and bfloat16 in languages where they are no types: the bits in an unsigned short."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One language.

    Attributes:
        name: as in messages.
        prologue: text before everything.
        types: the scalar type in which each real dtype lies in memory.
        wide: the type of indices and of int64.
        kernel: before a kernel's ``void``; function: before another function's type; address: before a pointer's type.
        worker, workers: which of how many instances of the kernel this is.
        instance: the names of the parameters that say so, in a language that does not; its kernels have an entry point.
        member, group, groups: which of its group an instance is, which of how many groups it belongs to; empty where
            instances do not cooperate.
        shared: before the type of memory that a group shares; barrier: the statement at which a group meets.
        suffixes: what is appended to a math function's name by dtype, empty for overloaded functions.
        vectors: whether it has vector types, with ``vload``, ``convert`` and functions on them.
        flags: what the compiler must be told.
    """

    name: str
    prologue: str
    types: Mapping[DType, str]
    wide: str
    kernel: str
    function: str
    address: str
    worker: str
    workers: str
    suffixes: Mapping[DType, str]
    instance: tuple[str, ...] = ()
    member: str = ""
    group: str = ""
    groups: str = ""
    shared: str = ""
    barrier: str = ""
    vectors: bool = False
    flags: tuple[str, ...] = ()


C = Dialect(
    name="C",
    prologue="#include <math.h>\n" + HALF_CONVERSIONS.replace("<function>", "static inline "),
    types={**_C_TYPES, **dict.fromkeys(_HALVES, "unsigned short")},
    wide="long long",
    kernel="",
    function="static inline ",
    address="",
    worker="worker",
    workers="workers",
    instance=("worker", "workers"),
    suffixes={dtypes.float32: "f", dtypes.float64: ""},
    flags=("-fwrapv",),
)

OPENCL_C = Dialect(
    name="OpenCL C",
    prologue="",
    types={
        **_C_TYPES,
        dtypes.bool_: "uchar",
        dtypes.uint8: "uchar",
        dtypes.int8: "char",
        dtypes.int64: "long",
        dtypes.float16: "half",
        dtypes.bfloat16: "ushort",
    },
    wide="long",
    kernel="__kernel ",
    function="inline static ",
    address="__global ",
    worker="get_global_id(0)",
    workers="get_global_size(0)",
    member="get_local_id(0)",
    group="get_group_id(0)",
    groups="get_num_groups(0)",
    shared="__local ",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    suffixes={},
    vectors=True,
)

CUDA_C = Dialect(
    name="CUDA C",
    prologue=HALF_CONVERSIONS.replace("<function>", "static __device__ inline "),
    types={**_C_TYPES, **dict.fromkeys(_HALVES, "unsigned short")},
    wide="long long",
    kernel='extern "C" __global__ ',
    function="static __device__ inline ",
    address="",
    worker="((long long)blockIdx.x * blockDim.x + threadIdx.x)",
    workers="((long long)gridDim.x * blockDim.x)",
    member="threadIdx.x",
    group="blockIdx.x",
    groups="gridDim.x",
    shared="__shared__ ",
    barrier="__syncthreads();",
    suffixes={dtypes.float32: "f", dtypes.float64: ""},
)

DIALECTS = {dialect.name: dialect for dialect in (C, OPENCL_C, CUDA_C)}
