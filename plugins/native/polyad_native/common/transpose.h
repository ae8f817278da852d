/* A block of 4 x 4 numbers turned over: transpose_float, transpose_double, and transpose of real. */

#ifndef POLYAD_TRANSPOSE_H
#define POLYAD_TRANSPOSE_H

#include "dtype.h"

#if defined(__clang__)
#define SHUFFLED(MASK, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLED(MASK, a, b, ...) __builtin_shuffle(a, b, (MASK){__VA_ARGS__})
#endif

#define TRANSPOSE(NUMBER, INTEGER)                                                                              \
    static inline void transpose_##NUMBER(const NUMBER *from, long stride, NUMBER *to, long to_stride)          \
    {                                                                                                           \
        typedef NUMBER four __attribute__((vector_size(4 * sizeof(NUMBER)), aligned(sizeof(NUMBER))));          \
        typedef INTEGER mask __attribute__((vector_size(4 * sizeof(NUMBER)), unused));                          \
        const four a = *(const four *)from, b = *(const four *)(from + stride);                                 \
        const four c = *(const four *)(from + 2 * stride), d = *(const four *)(from + 3 * stride);              \
        const four ab = SHUFFLED(mask, a, b, 0, 4, 1, 5), AB = SHUFFLED(mask, a, b, 2, 6, 3, 7);                \
        const four cd = SHUFFLED(mask, c, d, 0, 4, 1, 5), CD = SHUFFLED(mask, c, d, 2, 6, 3, 7);                \
        *(four *)to = SHUFFLED(mask, ab, cd, 0, 1, 4, 5);                                                       \
        *(four *)(to + to_stride) = SHUFFLED(mask, ab, cd, 2, 3, 6, 7);                                         \
        *(four *)(to + 2 * to_stride) = SHUFFLED(mask, AB, CD, 0, 1, 4, 5);                                     \
        *(four *)(to + 3 * to_stride) = SHUFFLED(mask, AB, CD, 2, 3, 6, 7);                                     \
    }

TRANSPOSE(float, int)
TRANSPOSE(double, long long)

#define transpose JOINED(transpose, REAL)

#endif
