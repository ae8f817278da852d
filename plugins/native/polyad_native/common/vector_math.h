/* Functions of float in a few instructions each, which a compiler makes vectors of without calling anybody. They stand
   in the engine and in every generated kernel. */

#ifndef POLYAD_VECTOR_MATH_H
#define POLYAD_VECTOR_MATH_H

#include <math.h>

typedef union { unsigned int bits; float number; } polyad_float;

/* a * b + c, rounded once where the processor can: written out, since compilers are told not to choose by themselves. */
#if defined(__FMA__) || defined(__aarch64__)
static inline float polyad_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
static inline float polyad_fma(float a, float b, float c) { return a * b + c; }
#endif

/* exp(x) to 1 unit in the last place: 2^k times a polynomial in what remains, |r| <= log(2) / 2. The power is applied in
   two steps, one of 2^64 or 2^-64, so that each is a normal number and results below the normal numbers are rounded once.
   A k that is too large is cut off as a whole number, of nan too, which r keeps. What is 0 is not computed: processors are
   slow at numbers that small, and masked scores are all -infinity. */
static inline float polyad_exp(float x)
{
    const float near = x < -104.0f ? 0.0f : x;
    const float bias = x < 0.0f ? 12582976.0f : 12582848.0f; /* 1.5 * 2^23 and 64 more or less: the last bits are k's */
    const float rest = x < 0.0f ? 5.42101086e-20f : 18446744073709551616.0f; /* 2^-64, 2^64 */
    polyad_float turned, scale;
    turned.number = polyad_fma(near, 1.44269504f, bias);
    turned.bits = turned.bits < 0x4b40007fu ? turned.bits : 0x4b40007fu;
    const float whole = turned.number - bias;
    const float r = polyad_fma(whole, 2.12194440e-4f, polyad_fma(whole, -0.693359375f, near));
    float sum = polyad_fma(0.001381446691f, r, 0.00836878047f);
    sum = polyad_fma(sum, r, 0.04166839422f);
    sum = polyad_fma(sum, r, 0.1666652011f);
    sum = polyad_fma(sum, r, 0.4999999341f);
    sum = polyad_fma(r * r, sum, r);
    scale.bits = (turned.bits << 23) + 0x3f800000u;
    const float power = polyad_fma(sum, scale.number, scale.number) * rest;
    return x < -104.0f ? 0.0f : power;
}

/* erfc(x) to 7 units in the last place: exp(-x^2) times u times a polynomial in u = 1 / (1 + |x| / 2). What the square
   loses when it is rounded is put back, for it would grow with x. At 10.2, which stands for all that is larger, the result
   rounds to 0. Sizes are compared as whole numbers, which compilers do not take apart into cases; the exponential is that
   of a number that is not above 0, so that 2^64 too much keeps it normal until it is multiplied by the rest. */
static inline float polyad_erfc(float x)
{
    polyad_float size = {.number = x}, near, turned, power;
    size.bits &= 0x7fffffffu;
    near.bits = size.bits < 0x41233333u ? size.bits : 0x41233333u; /* 10.2 */
    const float u = 1.0f / polyad_fma(near.number, 0.5f, 1.0f), square = near.number * near.number;
#if defined(__FMA__) || defined(__aarch64__)
    const float lost = __builtin_fmaf(near.number, near.number, -square);
#else
    polyad_float upper = near;
    upper.bits &= 0xfffff000u;
    const float lower = near.number - upper.number;
    const float lost = ((upper.number * upper.number - square) + 2.0f * upper.number * lower) + lower * lower;
#endif
    float sum = polyad_fma(-0.05912436491f, u, 0.2848459093f);
    sum = polyad_fma(sum, u, -0.4877623426f);
    sum = polyad_fma(sum, u, 0.2787124015f);
    sum = polyad_fma(sum, u, -0.02707150753f);
    sum = polyad_fma(sum, u, 0.2028761336f);
    sum = polyad_fma(sum, u, 0.2430557558f);
    sum = polyad_fma(sum, u, 0.2823819332f);
    sum = polyad_fma(sum, u, 0.2820860386f) * u;
    turned.number = polyad_fma(square, -1.44269504f, 12582976.0f); /* 1.5 * 2^23 + 64 */
    const float whole = turned.number - 12582976.0f;
    const float r = polyad_fma(whole, 2.12194440e-4f, polyad_fma(whole, -0.693359375f, -square));
    float more = polyad_fma(0.001381446691f, r, 0.00836878047f);
    more = polyad_fma(more, r, 0.04166839422f);
    more = polyad_fma(more, r, 0.1666652011f);
    more = polyad_fma(more, r, 0.4999999341f);
    power.number = 1.0f + polyad_fma(r * r, more, r);
    power.bits += turned.bits << 23;
    const float tail = power.number * polyad_fma(-lost, sum, sum) * 5.42101086e-20f; /* 2^-64 */
    const float whichever = x < 0.0f ? 2.0f - tail : tail;
    return x != x ? x : whichever;
}

/* What a / b leaves, exactly. In double, |a / b| is not rounded to another whole number while it is below 2^29, its whole
   part times |b| is exact, and so is the difference. Where it is larger or no number, the C library computes: in a
   function with vectors for arguments, which compilers do not put into the loop, where its branch would have no vectors. */
#pragma omp declare simd notinbranch
__attribute__((noinline, unused)) static float polyad_far_fmod(float near, float quotient, float a, float b)
{
    return quotient < 536870912.0f ? near : fmodf(a, b);
}

static inline float polyad_fmod(float a, float b)
{
    const double size = fabsf(a), by = fabsf(b), quotient = size / by, whole = trunc(quotient);
    const double rest = whole == 0.0 ? size : size - whole * by; /* by may be infinite */
    return polyad_far_fmod(copysignf((float)rest, a), (float)quotient, a, b);
}

/* The bits of float16, rounded to nearest, ties to even: by the addition of a number whose last place is float16's at x, as
   the library FP16 does it. What is out of its range is infinite on the way there. */
static inline unsigned short polyad_half(float x)
{
    const polyad_float value = {.number = x};
    const unsigned int twice = value.bits << 1, power = twice & 0xff000000u; /* no sign any more */
    polyad_float unit, sum;
    unit.bits = ((power < 0x71000000u ? 0x71000000u : power) >> 1) + 0x07800000u;
    sum.number = unit.number + fabsf(x) * 0x1p112f * 0x1p-110f;
    const unsigned int rounded = (sum.bits >> 13 & 0x7c00u) + (sum.bits & 0x0fffu);
    return (unsigned short)((value.bits >> 16 & 0x8000u) | (twice > 0xff000000u ? 0x7e00u : rounded));
}

static inline float polyad_from_half(unsigned short x)
{
    const unsigned int bits = x;
    polyad_float value = {.bits = (bits & 0x7fff) << 13};
    value.number *= 0x1p112f; /* from the one exponent's bias to the other's */
    value.bits |= ((bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0) | (bits & 0x8000) << 16;
    return value.number;
}

#endif
