"""The definitions with which a language reads these kernels: before every source, for OpenCL C and CUDA C.

The sources are OpenCL C but for ``NEW(type)(x, y)``, which makes a vector of two, since OpenCL C writes it as a cast
and C++ as a call, and ``TURNS`` before a loop that is to stay as it is written: several turns at once would take too
many registers. Of OpenCL C they use the scalar types, vectors of two with their arithmetic, the number of a work-item,
integer atomics, and the access to half types by functions.
"""

from __future__ import annotations

import re

from polyad.codegen import CUDA_C as _CUDA

OPENCL_C = "#define NEW(type) (type)\n#define TURNS\n"

_CUDA_DEFINITIONS = (
    _CUDA.prologue
    + """\
typedef unsigned char uchar;
#define ushort unsigned short
#define uint unsigned int
#define ulong unsigned long
#define half unsigned short
#define POLYAD_INLINE static __device__ inline
#define get_global_id(dimension) ((long)blockIdx.x * blockDim.x + threadIdx.x)
#define get_global_size(dimension) ((long)gridDim.x * blockDim.x)
#define CLK_GLOBAL_MEM_FENCE 0
#define mem_fence(which) __threadfence()
#define atomic_cmpxchg(place, expected, value) atomicCAS((int *)(place), (expected), (value))
#define atomic_xchg(place, value) atomicExch((int *)(place), (value))
#define atomic_max(place, value) atomicMax((int *)(place), (value))
#define as_uint(x) float_to_bits(x)
#define as_float(x) bits_to_float(x)
#define convert_uint(x) ((unsigned int)(x))
#define convert_ushort(x) ((unsigned short)(x))
#define vload_half(i, place) from_half((place)[i])
#define vstore_half_rte(x, i, place) ((place)[i] = to_half(x))
#ifndef INFINITY
#define INFINITY bits_to_float(0x7f800000u)
#endif
#ifndef FLT_EPSILON
#define FLT_EPSILON 1.1920928955078125e-07f
#endif
#ifndef DBL_EPSILON
#define DBL_EPSILON 2.220446049250313e-16
#endif
template <class V> POLYAD_INLINE V clamp(V x, V low, V high) { return x < low ? low : x > high ? high : x; }
template <class S> struct alignas(2 * sizeof(S)) Two {
    S x, y;
    Two() = default;
    __device__ Two(S both) : x(both), y(both) {}
    __device__ Two(S first, S second) : x(first), y(second) {}
    __device__ Two operator-() const { return Two(-x, -y); }
    __device__ Two &operator+=(Two other) { x += other.x; y += other.y; return *this; }
    __device__ Two &operator-=(Two other) { x -= other.x; y -= other.y; return *this; }
};
template <class S> POLYAD_INLINE Two<S> operator+(Two<S> a, Two<S> b) { return Two<S>(a.x + b.x, a.y + b.y); }
template <class S> POLYAD_INLINE Two<S> operator-(Two<S> a, Two<S> b) { return Two<S>(a.x - b.x, a.y - b.y); }
template <class S> POLYAD_INLINE Two<S> operator*(S a, Two<S> b) { return Two<S>(a * b.x, a * b.y); }
template <class S> POLYAD_INLINE Two<S> operator*(Two<S> a, S b) { return Two<S>(a.x * b, a.y * b); }
template <class S> POLYAD_INLINE Two<S> operator/(Two<S> a, S b) { return Two<S>(a.x / b, a.y / b); }
template <class S> POLYAD_INLINE Two<S> operator&(Two<S> a, Two<S> b) { return Two<S>(a.x & b.x, a.y & b.y); }
#define float2 Two<float>
#define double2 Two<double>
#define ulong2 Two<unsigned long>
#define NEW(type) type
#define TURNS _Pragma("unroll 1")
"""
)
"""For compilers that take functions without a mark as the device's: NVRTC with ``-default-device``. ``long`` has 64
bits, as on Linux.
"""

_WORDS = {"__kernel": 'extern "C" __global__', "__global": "", "restrict": "__restrict__"}


def cuda(source: str) -> str:
    """*source* for a compiler of CUDA C."""
    return _CUDA_DEFINITIONS + re.sub(r"\b(__kernel|__global|restrict)\b", lambda found: _WORDS[found[0]], source)
