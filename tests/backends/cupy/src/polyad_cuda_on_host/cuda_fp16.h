// The part of CUDA's header of this name that kernels use: numbers in memory, and conversions. Sums are made in float.
#pragma once
#include "cuda_on_host.h"

struct __attribute__((aligned(2))) __half_raw { unsigned short x; };
struct __attribute__((aligned(2))) __half {
    unsigned short bits;
    __half() = default;
    __half(float x) : bits(cu::float_to_half(x)) {}
    __half(__half_raw raw) : bits(raw.x) {}
    operator float() const { return cu::half_to_float(bits); }
};
struct __attribute__((aligned(4))) __half2 { __half x, y; };
typedef __half half;
typedef __half2 half2;
inline float __half2float(__half x) { return float(x); }
inline __half __float2half(float x) { return __half(x); }
inline __half __float2half_rn(float x) { return __half(x); }
inline __half __double2half(double x) { return __half(float(x)); }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline __half __ushort_as_half(unsigned short x) { return __half(__half_raw{x}); }
inline float2 __half22float2(__half2 x) { return {float(x.x), float(x.y)}; }
inline __half2 __float22half2_rn(float2 x) { return {__half(x.x), __half(x.y)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline float __low2float(__half2 x) { return x.x; }
inline float __high2float(__half2 x) { return x.y; }
