"""What differs between the C-family languages that kernels are written in, as tables of spellings.

A spelling with braces is a pattern: ``{value}`` stands for what is converted or stored, ``{place}`` for a pointer,
``{type}`` for a type, ``{n}`` for the number of lanes, which is nothing for one. What the generator writes between the
spellings is plain C99, which all of them are based on.

Signed integers must wrap: compile C with ``-fwrapv`` (OpenCL and CUDA devices wrap by themselves). No fast-math, which
loses NaN.

To add a language: a `Dialect` with its spellings; one that is C but for a few takes them from `_PLAIN_C`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base import dtypes
from ..base.dtypes import DType

_HALF = """\
typedef union { unsigned int u; float f; } FloatBits;
<function>float bits_to_float(unsigned int bits) { FloatBits both; both.u = bits; return both.f; }
<function>unsigned int float_to_bits(float x) { FloatBits both; both.f = x; return both.u; }
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
"""float16 where it is no type: the bits in an unsigned short."""

_HALF_BY_INSTRUCTIONS = """\
static __device__ inline float bits_to_float(unsigned int bits) { return __uint_as_float(bits); }
static __device__ inline unsigned int float_to_bits(float x) { return __float_as_uint(x); }
static __device__ inline float from_half(unsigned short x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}
static __device__ inline unsigned short to_half(float x) {
    unsigned short y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}
"""
"""The same where processors have instructions for it, that need no header."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One language.

    Attributes:
        name: as in messages.
        prologue: text before everything.
        types: the scalar type in which each real dtype lies in memory.
        wide: the type of indices and of int64; word: an unsigned type of 32 bits.
        kernel: before a kernel's ``void``; function: before another function's type; address: before a pointer's type.
        worker, workers: which of how many instances of the kernel this is.
        instance: the names of the parameters that say so, in a language that does not; its kernels have an entry point.
        member, group, groups: which of its group an instance is, which of how many groups it belongs to; empty where
            instances do not cooperate.
        shared: before the type of memory that a group shares; barrier: the statement at which a group meets.
        warp: how many neighbours in a group exchange values without memory; 1: none do.
        exchanged: what the neighbour has in the variable {value} whose number among {team} differs by the bit {apart};
            first: what the first of {team} neighbours has. All of a warp are to be there.
        pack: the declaration of ``{name}``, ``{n}`` numbers ``v`` of a ``{type}``, aligned to ``{bytes}``.
        addresses: whether a number that a kernel is given may be the address of an array.
        unroll: before a loop of known length whose turns are to be written one behind the other.
        turns: before a loop that is to stay as it is written: compilers write several turns of a loop one behind the
            other, whose numbers together take more registers than the loop is worth.
        suffixes: what is appended to a math function's name by dtype, empty for overloaded functions.
        vector: the type of several lanes, empty where there is none; such types have functions and operators as
            scalars do, and comparisons give all bits of a lane.
        packed: the declaration of ``{name}``, in memory a ``{type}`` that need not be aligned. (OpenCL C has ``vload``
            for that; but PoCL calls it as a function, before which everything in registers goes to memory.)
        convert: a value in another type, lane by lane.
        functions: what stands in the prologue in the place of functions that formulas call, by their names and dtypes.
        formulas: what several lanes of float32 need in place of an op's own formula.
        bits, floats: the bits of a float as a *word*, and back.
        loads, stores: how dtypes come from memory at a place and go there, where that is more than an assignment;
            bfloat16, which is rounded by functions that are written for every language, is not among them.
        loop: before a loop whose steps do not depend on each other, in a language whose compiler makes vectors of it.
        accumulated: what follows it for an accumulator ``{place}`` that ``{name}`` combines.
        combination: the declaration of ``{name}``, which combines two accumulators of a ``{type}`` by ``{value}`` and
            begins with ``{nothing}``; their names in *value* are those in *combined*.
        flags: what the compiler must be told; fast: what makes its code fast and changes last bits at most.
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
    bits: str
    floats: str
    loads: Mapping[DType, str]
    stores: Mapping[DType, str]
    word: str = "unsigned int"
    convert: str = "({type}){value}"
    functions: Mapping[str, str] = field(default_factory=dict)
    formulas: Mapping[str, str] = field(default_factory=dict)
    instance: tuple[str, ...] = ()
    member: str = ""
    group: str = ""
    groups: str = ""
    shared: str = ""
    barrier: str = ""
    warp: int = 1
    exchanged: str = ""
    first: str = ""
    pack: str = ""
    unroll: str = ""
    turns: str = ""
    addresses: bool = False
    suffixes: Mapping[DType, str] = field(default_factory=dict)
    vector: str = ""
    packed: str = ""
    loop: str = ""
    accumulated: str = ""
    combination: str = ""
    combined: tuple[str, str] = ("", "")
    flags: tuple[str, ...] = ()
    fast: tuple[str, ...] = ()

    def lanes_of(self, type_name: str, lanes: int) -> str:
        """The type of *lanes* lanes of *type_name*."""
        return type_name if lanes == 1 else self.vector.format(type=type_name, n=lanes)

    def spelled(self, pattern: str, lanes: int, **parts: str) -> str:
        """*pattern* with its parts, for so many lanes."""
        return pattern.format(n="" if lanes == 1 else lanes, **parts)


_VECTOR_MATH = """\
#ifdef POLYAD_VECTOR_MATH
#define ONE(name) __attribute__((simd("notinbranch"))) float name##f(float); \\
    __attribute__((simd("notinbranch"))) double name(double);
#define TWO(name) __attribute__((simd("notinbranch"))) float name##f(float, float); \\
    __attribute__((simd("notinbranch"))) double name(double, double);
ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log1p) ONE(log2) ONE(log10) ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos)
ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh) ONE(asinh) ONE(acosh) ONE(atanh) ONE(erf) ONE(erfc)
TWO(pow) TWO(atan2) TWO(hypot)
#undef ONE
#undef TWO
#endif
"""
"""What tells GCC that the math functions exist for vectors: with the flags `VECTOR_MATH`."""

VECTOR_MATH = ("-DPOLYAD_VECTOR_MATH", "-lmvec")
"""Flags for C where the library has the math functions for vectors, good to four units in the last place: glibc from
2.35 on x86-64, with GCC.
"""

VECTOR_LIBRARY = ("-fveclib=libmvec", "-lmvec")
"""The same for clang, which has fewer of them: exp, log, pow, sin, cos."""

_C_TYPES = {
    dtypes.bool_: "unsigned char",
    dtypes.uint8: "unsigned char",
    dtypes.int8: "signed char",
    dtypes.int16: "short",
    dtypes.int32: "int",
    dtypes.int64: "long long",
    dtypes.float32: "float",
    dtypes.float64: "double",
    dtypes.float16: "unsigned short",
    dtypes.bfloat16: "unsigned short",
}

_PLAIN_C: dict[str, Any] = {
    "types": _C_TYPES,
    "wide": "long long",
    "address": "",
    "bits": "float_to_bits({value})",
    "floats": "bits_to_float({value})",
    "loads": {dtypes.float16: "from_half(*({place}))", dtypes.bool_: "(*({place}) != 0)"},
    "stores": {dtypes.float16: "*({place}) = to_half({value})"},
    "suffixes": {dtypes.float32: "f", dtypes.float64: ""},
}
"""What C and its closest relatives have in common."""

C = Dialect(
    **_PLAIN_C,
    name="C",
    prologue="#include <math.h>\n" + _VECTOR_MATH + _HALF.replace("<function>", "static inline "),
    kernel="",
    function="static inline ",
    worker="worker",
    workers="workers",
    instance=("worker", "workers"),
    loop="#pragma omp simd",
    accumulated=" reduction({name} : {place})",
    combination=(
        "#pragma omp declare reduction({name} : {type} : omp_out = {value}) initializer(omp_priv = {nothing})\n"
    ),
    combined=("omp_out", "omp_in"),
    flags=("-fwrapv",),
    fast=("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"),
)

_NEAR_ZERO = {
    "sin": "{0} * (1 - {0} * {0} * (1.6666667e-1f - {0} * {0} * 8.3333333e-3f))",
    "cos": "1 - {0} * {0} * (0.5f - {0} * {0} * 4.1666667e-2f)",
    "tan": "{0} * (1 + {0} * {0} * (3.3333333e-1f + {0} * {0} * 1.3333333e-1f))",
}
_PERIODIC = {
    op: f"$fabs({{0}}) < (<T>)(0.03125f) ? ({near}) : ${op}({{0}} + {{0}} * 0)" for op, near in _NEAR_ZERO.items()
}
"""PoCL reduces the arguments of all lanes by one method. Where a lane is infinite, others lose digits: so it becomes
the nan that it leads to. Where a lane is above a million or so, others below 1/128 lose all: these are computed by
Taylor's series, of which the next term is below 2**-30.
"""

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
    word="uint",
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
    pack="typedef struct __attribute__((aligned({bytes}))) {{ {type} v[{n}]; }} {name};\n",
    unroll="#pragma unroll",
    vector="{type}{n}",
    packed="typedef struct __attribute__((packed)) {{ {type} v; }} {name};\n",
    convert="convert_{type}({value})",
    formulas=_PERIODIC,
    bits="as_uint{n}({value})",
    floats="as_float{n}({value})",
    loads={dtypes.float16: "vload_half{n}(0, {place})", dtypes.bool_: "(*({place}) != 0)"},
    stores={dtypes.float16: "vstore_half{n}_rte({value}, 0, {place})"},
)

CUDA_C = Dialect(
    **_PLAIN_C,
    name="CUDA C",
    prologue=_HALF_BY_INSTRUCTIONS,
    kernel='extern "C" __global__ ',
    function="static __device__ inline ",
    worker="((long long)blockIdx.x * blockDim.x + threadIdx.x)",
    workers="((long long)gridDim.x * blockDim.x)",
    member="threadIdx.x",
    group="blockIdx.x",
    groups="gridDim.x",
    shared="__shared__ ",
    barrier="__syncthreads();",
    warp=32,
    exchanged="__shfl_xor_sync(0xffffffffu, {value}, {apart}, {team})",
    first="__shfl_sync(0xffffffffu, {value}, 0, {team})",
    pack="typedef struct __align__({bytes}) {{ {type} v[{n}]; }} {name};\n",
    unroll="#pragma unroll",
    turns="#pragma unroll 1",
    addresses=True,
)

DIALECTS = {dialect.name: dialect for dialect in (C, OPENCL_C, CUDA_C)}


def bfloat_functions(dialect: Dialect, lanes: int = 1) -> dict[str, str]:
    """The functions between float and the bits of bfloat16, by name: ``from_bfloat_<lanes>``, ``to_bfloat_<lanes>``.

    Rounded to nearest, ties to even; every NaN becomes the same.

    >>> print(bfloat_functions(OPENCL_C)["from_bfloat_1"], end="")
    inline static float from_bfloat_1(ushort x) {
        return as_float(convert_uint(x) << (uint)(16));
    }
    """
    word, half, number = (
        dialect.lanes_of(name, lanes)
        for name in (dialect.word, dialect.types[dtypes.bfloat16], dialect.types[dtypes.float32])
    )
    back = dialect.spelled(dialect.convert, lanes, type=word, value="x")
    back = dialect.spelled(dialect.floats, lanes, value=f"{back} << ({word})(16)")
    bits = dialect.spelled(dialect.bits, lanes, value="x")
    there = dialect.spelled(dialect.convert, lanes, type=half, value=f"((x != x) ? ({word})(0x7fc0) : near)")
    return {
        f"from_bfloat_{lanes}": (
            f"{dialect.function}{number} from_bfloat_{lanes}({half} x) {{\n    return {back};\n}}\n"
        ),
        f"to_bfloat_{lanes}": (
            f"{dialect.function}{half} to_bfloat_{lanes}({number} x) {{\n"
            f"    const {word} bits = {bits};\n"
            f"    const {word} odd = (bits >> ({word})(16)) & ({word})(1);\n"
            f"    const {word} near = (bits + ({word})(0x7fff) + odd) >> ({word})(16);\n"
            f"    return {there};\n}}\n"
        ),
    }
