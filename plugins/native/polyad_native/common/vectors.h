/* Vectors of real, and elements as they are stored: real, or the bits of a half type. These become real where they are
   packed, and results are rounded once, where they are written. HALF says which half type it is. */

#ifndef POLYAD_VECTORS_H
#define POLYAD_VECTORS_H

#include <string.h>

#include "dtype.h"
#include "vector_math.h"
#include "machine.h"

typedef real vector __attribute__((vector_size(VECTOR), aligned(sizeof(real))));

enum { LANES = VECTOR / sizeof(real), COLUMNS = 2 * LANES };

#ifdef HALF
enum { HALVES = 1 };

typedef word word_vector __attribute__((vector_size(VECTOR)));
typedef stored half_vector __attribute__((vector_size(VECTOR / 2), aligned(sizeof(stored))));

static inline real to_real(stored x)
{
    const polyad_float value = {.bits = (unsigned int)x << 16};
    return HALF == BFLOAT16 ? value.number : polyad_from_half(x);
}

static inline stored to_stored(real x)
{
    const polyad_float value = {.number = x};
    if (HALF == FLOAT16) return polyad_half(x);
    const unsigned int near = (value.bits + 0x7fff + (value.bits >> 16 & 1)) >> 16;
    return (stored)(x == x ? near : value.bits >> 16 | 0x40);
}

/* As many numbers as a vector has. Processors' instructions are named where gcc would put a vector together from parts. */
static inline vector load_vector(const stored *from)
{
    const half_vector bits = *(const half_vector *)from;
#if defined(__AVX512F__)
    typedef short halves __attribute__((vector_size(32)));
#else
    typedef short halves __attribute__((vector_size(16)));
#endif
#if HALF == FLOAT16 && defined(__AVX512F__)
    return __builtin_ia32_vcvtph2ps512_mask((halves)bits, (vector){}, (unsigned short)-1, 4);
#elif HALF == FLOAT16 && defined(__F16C__) && defined(__AVX2__)
    return __builtin_ia32_vcvtph2ps256((halves)bits);
#else
#if defined(__AVX512F__) && !defined(__clang__)
    const word_vector all = (word_vector)__builtin_ia32_pmovzxwd512_mask((halves)bits, (word_vector){}, (unsigned short)-1);
#elif defined(__AVX2__) && !defined(__clang__)
    const word_vector all = (word_vector)__builtin_ia32_pmovzxwd256((halves)bits);
#else
    const word_vector all = __builtin_convertvector(bits, word_vector);
#endif
    if (HALF == BFLOAT16) return (vector)(all << 16);
    const word_vector scaled = (word_vector)((vector)((all & 0x7fff) << 13) * 5.192296858534828e33f);
    return (vector)(scaled | (((all & 0x7c00) == 0x7c00) & 0x7f800000) | (all & 0x8000) << 16);
#endif
}

static inline void read_row(const stored *from, long count, real *to)
{
    long n = 0;
    for (; n + LANES <= count; n += LANES) *(vector *)(to + n) = load_vector(from + n);
    for (; n < count; ++n) to[n] = to_real(from[n]);
}

__attribute__((noinline)) static void write_row(const real *from, long count, stored *to)
{
    for (long n = 0; n < count; ++n) to[n] = to_stored(from[n]);
}
#else
enum { HALVES = 0 };

static inline real to_real(stored x) { return x; }
static inline stored to_stored(real x) { return x; }
static inline vector load_vector(const stored *from) { return *(const vector *)from; }
static inline void read_row(const stored *from, long count, real *to) { memcpy(to, from, sizeof(real) * (size_t)count); }
static inline void write_row(const real *from, long count, stored *to) { memcpy(to, from, sizeof(real) * (size_t)count); }
#endif

#endif
