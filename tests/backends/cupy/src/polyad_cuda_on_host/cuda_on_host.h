// CUDA C on the host: what a kernel's text means when g++ compiles it. The threads themselves are in runtime.cpp.
//
// It is stricter than a GPU: a thread waits at every barrier, shuffle and ballot until all that must come have come,
// shared memory is NaN before a block begins, and undefined behaviour ends the launch with the line that shows it.
//
// The headers are C's: those of C++'s library take the compiler longer than a kernel does.
#ifndef CUDA_ON_HOST_H
#define CUDA_ON_HOST_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define __CUDA_ON_HOST__ 1
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __managed__ static
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static __attribute__((section("cuda_shared")))
#define __restrict__ __restrict

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };

// ---------------------------------------------------------------------------------------------- the threads

extern "C" {
extern uint3 cu_thread, cu_block;
extern dim3 cu_block_dim, cu_grid_dim;
extern char *cu_dynamic;                                                   // dynamic shared memory
void cu_sync(int line);                                                    // __syncthreads
unsigned cu_sync_count(bool holds, int line);                              // how many threads of the block say yes
uint64_t cu_exchange(unsigned mask, uint64_t mine, int from, int line);    // what lane `from` of the warp has published
unsigned cu_ballot(unsigned mask, bool holds, int line);
void cu_warp_sync(unsigned mask, int line);
unsigned cu_lane();
[[noreturn]] void cu_fail(const char *what, int line);
}
#define threadIdx cu_thread
#define blockIdx cu_block
#define blockDim cu_block_dim
#define gridDim cu_grid_dim
constexpr int warpSize = 32;

#define __syncthreads() cu_sync(__LINE__)
#define __syncthreads_count(p) int(cu_sync_count(p, __LINE__))
#define __syncthreads_or(p) int(cu_sync_count(p, __LINE__) != 0)
#define __syncthreads_and(p) int(cu_sync_count(!(p), __LINE__) == 0)
#define CU_MASK(...) CU_MASK_(__VA_ARGS__ __VA_OPT__(,) 0xffffffffu)
#define CU_MASK_(m, ...) (m)
#define __syncwarp(...) cu_warp_sync(CU_MASK(__VA_ARGS__), __LINE__)

namespace cu {
template <class T> T exchange(unsigned mask, T value, int from, int line) {
    static_assert(sizeof(T) <= 8, "a shuffle moves 4 or 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = cu_exchange(mask, bits, from, line);
    memcpy(&value, &bits, sizeof value);
    return value;
}
// The lane that is read; one outside of the part of `width` lanes is the own.
inline int width_at(int width, int line) {
    if (width < 1 || width > 32 || (width & (width - 1))) cu_fail("the width of a shuffle is no power of two up to 32", line);
    return width;
}
template <class T> T shfl(int line, unsigned mask, T value, int from, int width = 32) {
    width_at(width, line);
    return exchange(mask, value, int(cu_lane() & ~(width - 1)) + (from & (width - 1)), line);
}
template <class T> T shfl_down(int line, unsigned mask, T value, int by, int width = 32) {
    const int lane = cu_lane();
    return exchange(mask, value, (lane & (width_at(width, line) - 1)) + by < width ? lane + by : lane, line);
}
template <class T> T shfl_up(int line, unsigned mask, T value, int by, int width = 32) {
    const int lane = cu_lane();
    return exchange(mask, value, (lane & (width_at(width, line) - 1)) - by >= 0 ? lane - by : lane, line);
}
template <class T> T shfl_xor(int line, unsigned mask, T value, int by, int width = 32) {
    const int lane = cu_lane(), other = lane ^ by;
    width_at(width, line);
    return exchange(mask, value, other / width == lane / width ? other : lane, line);
}
}
#define __shfl_sync(...) cu::shfl(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) cu::shfl_down(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) cu::shfl_up(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) cu::shfl_xor(__LINE__, __VA_ARGS__)
#define __ballot_sync(mask, p) cu_ballot(mask, p, __LINE__)
#define __any_sync(mask, p) int(cu_ballot(mask, p, __LINE__) != 0)
#define __all_sync(mask, p) int(cu_ballot(mask, !(p), __LINE__) == 0)

// ---------------------------------------------------------------------------------------------- memory

// Blocks and threads come one after another between barriers, so that a plain step is atomic.
template <class T, class U> T atomicAdd(T *p, U v) { const T old = *p; *p = old + T(v); return old; }
template <class T, class U> T atomicSub(T *p, U v) { const T old = *p; *p = old - T(v); return old; }
template <class T, class U> T atomicMax(T *p, U v) { const T old = *p; if (T(v) > old) *p = T(v); return old; }
template <class T, class U> T atomicMin(T *p, U v) { const T old = *p; if (T(v) < old) *p = T(v); return old; }
template <class T, class U> T atomicExch(T *p, U v) { const T old = *p; *p = T(v); return old; }
template <class T, class U> T atomicAnd(T *p, U v) { const T old = *p; *p = old & T(v); return old; }
template <class T, class U> T atomicOr(T *p, U v) { const T old = *p; *p = old | T(v); return old; }
template <class T, class U> T atomicXor(T *p, U v) { const T old = *p; *p = old ^ T(v); return old; }
inline unsigned atomicInc(unsigned *p, unsigned top) { const unsigned old = *p; *p = old >= top ? 0 : old + 1; return old; }
template <class T, class U, class V> T atomicCAS(T *p, U expected, V v) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "atomicCAS has 2, 4 or 8 bytes");
    const T old = *p;
    if (old == T(expected)) *p = T(v);
    return old;
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcg(const T *p) { return *p; }
template <class T> T __ldcs(const T *p) { return *p; }
template <class T> T __ldca(const T *p) { return *p; }
template <class T> void __stcg(T *p, T v) { *p = v; }
template <class T> void __stcs(T *p, T v) { *p = v; }
template <class T> void __stwt(T *p, T v) { *p = v; }

// ---------------------------------------------------------------------------------------------- vector types

#define CU_VECTOR(name, type, align2, align4) \
    struct __attribute__((aligned(align2))) name##2 { type x, y; }; \
    struct name##3 { type x, y, z; }; \
    struct __attribute__((aligned(align4))) name##4 { type x, y, z, w; }; \
    inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
    inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
    inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
typedef signed char cu_schar;
typedef unsigned char cu_uchar;
typedef unsigned short cu_ushort;
typedef long long cu_longlong;
typedef unsigned long long cu_ulonglong;
CU_VECTOR(char, cu_schar, 2, 4)
CU_VECTOR(uchar, cu_uchar, 2, 4)
CU_VECTOR(short, short, 4, 8)
CU_VECTOR(ushort, cu_ushort, 4, 8)
CU_VECTOR(int, int, 8, 16)
struct __attribute__((aligned(8))) uint2 { unsigned x, y; };
struct __attribute__((aligned(16))) uint4 { unsigned x, y, z, w; };
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
CU_VECTOR(longlong, cu_longlong, 16, 16)
CU_VECTOR(ulonglong, cu_ulonglong, 16, 16)
CU_VECTOR(float, float, 8, 16)
CU_VECTOR(double, double, 16, 16)

// ---------------------------------------------------------------------------------------------- numbers

template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// C's functions are for double alone; CUDA has the names for float too.
#define CU_FLOAT(name) inline float name(float x) { return name##f(x); }
#define CU_FLOATS(name) inline float name(float x, float y) { return name##f(x, y); }
CU_FLOAT(acos) CU_FLOAT(acosh) CU_FLOAT(asin) CU_FLOAT(asinh) CU_FLOAT(atan) CU_FLOAT(atanh) CU_FLOAT(cbrt)
CU_FLOAT(ceil) CU_FLOAT(cos) CU_FLOAT(cosh) CU_FLOAT(erf) CU_FLOAT(erfc) CU_FLOAT(exp) CU_FLOAT(exp2) CU_FLOAT(expm1)
CU_FLOAT(fabs) CU_FLOAT(floor) CU_FLOAT(lgamma) CU_FLOAT(log) CU_FLOAT(log10) CU_FLOAT(log1p) CU_FLOAT(log2)
CU_FLOAT(nearbyint) CU_FLOAT(rint) CU_FLOAT(round) CU_FLOAT(sin) CU_FLOAT(sinh) CU_FLOAT(sqrt) CU_FLOAT(tan)
CU_FLOAT(tanh) CU_FLOAT(tgamma) CU_FLOAT(trunc)
CU_FLOATS(atan2) CU_FLOATS(copysign) CU_FLOATS(fdim) CU_FLOATS(fmax) CU_FLOATS(fmin) CU_FLOATS(fmod) CU_FLOATS(hypot)
CU_FLOATS(nextafter) CU_FLOATS(pow) CU_FLOATS(remainder)
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float ldexp(float x, int n) { return ldexpf(x, n); }
inline float frexp(float x, int *n) { return frexpf(x, n); }
inline float modf(float x, float *whole) { return modff(x, whole); }
inline float abs(float x) { return fabsf(x); }
inline double abs(double x) { return fabs(x); }
inline long abs(long x) { return labs(x); }
inline long long abs(long long x) { return llabs(x); }

namespace cu {
template <class To, class From> To as(From value) {
    static_assert(sizeof(To) == sizeof(From), "the same number of bits");
    To bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
}
inline int __float_as_int(float x) { return cu::as<int>(x); }
inline unsigned __float_as_uint(float x) { return cu::as<unsigned>(x); }
inline float __int_as_float(int x) { return cu::as<float>(x); }
inline float __uint_as_float(unsigned x) { return cu::as<float>(x); }
inline long long __double_as_longlong(double x) { return cu::as<long long>(x); }
inline double __longlong_as_double(long long x) { return cu::as<double>(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline unsigned __brev(unsigned x) { unsigned r = 0; for (int k = 0; k < 32; ++k) r |= (x >> k & 1u) << (31 - k); return r; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fadd_rn(float a, float b) { volatile float r = a + b; return r; }
inline float __fmul_rn(float a, float b) { volatile float r = a * b; return r; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
// Out of range a GPU saturates and takes NaN for 0.
inline int __float2int_rn(float x) { return x != x ? 0 : x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : int(nearbyintf(x)); }
inline int __float2int_rz(float x) { return x != x ? 0 : x >= 2147483648.0f ? INT32_MAX : x < -2147483648.0f ? INT32_MIN : int(x); }
inline float __int2float_rn(int x) { return float(x); }

// The bits of half types: the instructions cvt.f32.f16, cvt.rn.f16.f32, cvt.f32.bf16 and cvt.rn.bf16.f32.
namespace cu {
inline float half_to_float(uint16_t x) {
    const uint32_t sign = uint32_t(x & 0x8000u) << 16, rest = x & 0x7fffu;
    if (rest >= 0x7c00u) return as<float>(sign | 0x7f800000u | (rest << 13));
    return as<float>(sign | as<uint32_t>(as<float>(rest << 13) * 5.192296858534828e33f));
}
inline uint16_t float_to_half(float x) {
    const uint32_t bits = as<uint32_t>(x);
    const uint16_t sign = bits >> 16 & 0x8000u;
    const float size = fabsf(x);
    if (x != x) return 0x7fff;
    if (size >= 65520.0f) return sign | 0x7c00u;
    if (size < 6.103515625e-05f) return sign | uint16_t(nearbyintf(size * 16777216.0f));  // subnormal: units of 2**-24
    const uint32_t near = (bits & 0x7fffffffu) + 0xfffu + (bits >> 13 & 1u);
    return sign | uint16_t((near - 0x38000000u) >> 13);
}
inline float bfloat_to_float(uint16_t x) { return as<float>(uint32_t(x) << 16); }
inline uint16_t float_to_bfloat(float x) {
    const uint32_t bits = as<uint32_t>(x);
    return x != x ? 0x7fff : uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
}

#endif
