/* The inner kernel of products, convolutions, attention and recurrent layers.

   Everything ends in a tile: ROWS rows times COLUMNS columns of a result in registers, over a stretch of the summed
   dimension. It reads *a* as it lies; *b* is packed before, in panels of COLUMNS columns, so that the tile reads whole
   vectors. How the result is cut into parts depends on the threads too; in which order its sums are added does not. */

#ifndef POLYAD_TILE_H
#define POLYAD_TILE_H

#include <string.h>

#include "../common/machine.h"
#include "../common/vectors.h"

/* s += a b over *depth* elements. Row i of *a* begins at at[i * row] and goes on by *column*. With *ahead*, what comes so
   many elements later is fetched into the cache, and into the next cache what lies a line further, where another tile goes on. */
#define ACCUMULATE(s, at, column, b, depth, ahead)                             \
    for (long k = 0; k < (depth); ++k) {                                       \
        if (ahead) {                                                           \
            __builtin_prefetch((at) + (k + (ahead)) * (column));               \
            __builtin_prefetch((at) + k * (column) + 64 / sizeof(real), 0, 2); \
        }                                                                      \
        const vector first = *(const vector *)((b) + k * COLUMNS);             \
        const vector second = *(const vector *)((b) + k * COLUMNS + LANES);    \
        _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {              \
            const real x = (at)[i * (row) + k * (column)];                     \
            s[i][0] += x * first;                                              \
            s[i][1] += x * second;                                             \
        }                                                                      \
    }

/* Writes a tile, added to what stands there if *add*, else to the values of *bias* for its columns if there are any. */
static inline void put(
    vector s[ROWS][2], real *c, long stride, int rows, int columns, int add, const real *bias)
{
    if (bias) {
        real all[COLUMNS] = {};
        memcpy(all, bias, sizeof(real) * (size_t)columns);
        const vector first = *(vector *)all, second = *(vector *)(all + LANES);
        _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {
            s[i][0] += first;
            s[i][1] += second;
        }
    }
    if (rows == ROWS && columns == COLUMNS) {
        _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {
            vector *to = (vector *)(c + i * stride);
            if (add) { s[i][0] += to[0]; s[i][1] += to[1]; }
            to[0] = s[i][0];
            to[1] = s[i][1];
        }
        return;
    }
    real all[ROWS][COLUMNS];
    _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {
        *(vector *)all[i] = s[i][0];
        *(vector *)(all[i] + LANES) = s[i][1];
    }
    for (int i = 0; i < rows; ++i) {
        if (add) for (int j = 0; j < columns; ++j) c[i * stride + j] += all[i][j];
        else memcpy(c + i * stride, all[i], sizeof(real) * (size_t)columns);
    }
}

/* The tile of packed operands: rows of *a* are *row* apart, its columns *column*; rows of *c*, the result, *stride*. */
__attribute__((noinline)) static void tile_by_rows(
    const real *a, long row, const real *b, long depth, real *c, long stride, int rows, int columns, int add,
    const real *bias)
{
    vector s[ROWS][2] = {};
    ACCUMULATE(s, a, 1, b, depth, 0)
    put(s, c, stride, rows, columns, add, bias);
}

__attribute__((noinline)) static void tile_by_columns(
    const real *a, long column, const real *b, long depth, real *c, long stride, int rows, int columns, int add,
    const real *bias)
{
    const long row = 1;
    vector s[ROWS][2] = {};
    if (columns <= LANES) /* the sums are the same, and half as many */
        for (long k = 0; k < depth; ++k) {
            __builtin_prefetch(a + (k + 32) * column);
            const vector only = *(const vector *)(b + k * COLUMNS);
            _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) s[i][0] += a[i + k * column] * only;
        }
    else
        ACCUMULATE(s, a, column, b, depth, 32)
    put(s, c, stride, rows, columns, add, bias);
}

#endif
