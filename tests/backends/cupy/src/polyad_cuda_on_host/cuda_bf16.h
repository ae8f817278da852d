// The part of CUDA's header of this name that kernels use: numbers in memory, and conversions. Sums are made in float.
#pragma once
#include "cuda_on_host.h"

struct __attribute__((aligned(2))) __nv_bfloat16_raw { unsigned short x; };
struct __attribute__((aligned(2))) __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float x) : bits(cu::float_to_bfloat(x)) {}
    __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}
    operator float() const { return cu::bfloat_to_float(bits); }
};
struct __attribute__((aligned(4))) __nv_bfloat162 { __nv_bfloat16 x, y; };
inline float __bfloat162float(__nv_bfloat16 x) { return float(x); }
inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16(__nv_bfloat16_raw{x}); }
inline float2 __bfloat1622float2(__nv_bfloat162 x) { return {float(x.x), float(x.y)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 x) { return {__nv_bfloat16(x.x), __nv_bfloat16(x.y)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
