/* A product, and how its operands are packed for the tile. */

#ifndef POLYAD_PACKING_H
#define POLYAD_PACKING_H

#include "../common/tasks.h"
#include "../common/transpose.h"
#include "tile.h"

typedef struct {
    const stored *a, *b;
    const real *a_real, *bias; /* of half types, rows of *a* where they are few; else *a* */
    long a_row, a_column, b_row, b_column, a_real_row, a_real_column; /* in elements */
    stored *out;
    real *c; /* what is rounded to *out*, or *out* itself */
    long stride, rows, columns, inner, depth, a_panels, b_panels, high, broad;
    int failed;
} Product;

/* *rows* x *columns* of any layout as real, row after row. */
__attribute__((noinline)) static void read_block(const stored *from, long row, long column, long rows, long columns, real *to)
{
    for (long i = 0; i < rows; ++i)
        if (column == 1) read_row(from + i * row, columns, to + i * columns);
        else for (long k = 0; k < columns; ++k) to[i * columns + k] = to_real(from[i * row + k * column]);
}

/* The last rows of *a*, fewer than a tile has, with zeros below them. */
static void pack_edge(const Product *p, long begin, long depth, real *to)
{
    const long top = p->rows / ROWS * ROWS, rows = p->rows - top;
    const stored *from = p->a + top * p->a_row + begin * p->a_column;
    if (p->a_column == 1) {
        read_block(from, p->a_row, 1, rows, depth, to);
        memset(to + rows * depth, 0, sizeof(real) * (size_t)((ROWS - rows) * depth));
        return;
    }
    for (long k = 0; k < depth; ++k)
        for (long i = 0; i < ROWS; ++i) to[k * ROWS + i] = i < rows ? to_real(from[i * p->a_row + k * p->a_column]) : 0;
}

/* Whole tiles of *a* from *top* to *bottom*, of half types: each is a block of rows, or of columns where these lie side by
   side. */
static void pack_a(const Product *p, long top, long bottom, long begin, long depth, real *to)
{
    const stored *from = p->a + top * ROWS * p->a_row + begin * p->a_column;
    if (p->a_column == 1) read_block(from, p->a_row, 1, (bottom - top) * ROWS, depth, to);
    else
        for (long k = 0; k < depth; ++k, from += p->a_column)
            for (long tile = 0; tile < bottom - top; ++tile)
                for (long i = 0; i < ROWS; ++i)
                    to[(tile * depth + k) * ROWS + i] = to_real(from[(tile * ROWS + i) * p->a_row]);
}

/* COLUMNS columns of *depth* rows, of which the first *columns* are there: [depth][COLUMNS]. */
__attribute__((noinline)) static void pack_panel(const stored *from, long row, long column, long depth, long columns, real *to)
{
    enum { C = COLUMNS };
    if (columns == C && column == 1) {
        for (long k = 0; k < depth; ++k) read_row(from + k * row, C, to + k * C);
        return;
    }
    if (row == 1) { /* column after column */
        const long whole = depth & ~3l, by_fours = columns & ~3l;
        if (columns < C) memset(to, 0, sizeof(real) * (size_t)(depth * C));
#ifdef HALF
        enum { STRETCH = 64 };
        real four[4][STRETCH];
        for (long begin = 0; begin < whole; begin += STRETCH)
            for (long j = 0; j < by_fours; j += 4) {
                const long count = least(STRETCH, whole - begin);
                for (long n = 0; n < 4; ++n) read_row(from + (j + n) * column + begin, count, four[n]);
                for (long k = 0; k < count; k += 4) transpose(four[0] + k, STRETCH, to + (begin + k) * C + j, C);
            }
#else
        for (long k = 0; k < whole; k += 4)
            for (long j = 0; j < by_fours; j += 4) transpose(from + j * column + k, column, to + k * C + j, C);
#endif
        for (long j = 0; j < columns; ++j)
            for (long k = j < by_fours ? whole : 0; k < depth; ++k) to[k * C + j] = to_real(from[k + j * column]);
        return;
    }
    for (long k = 0; k < depth; ++k)
        for (long j = 0; j < C; ++j) to[k * C + j] = j < columns ? to_real(from[k * row + j * column]) : 0;
}

/* Panels of *b* from *left* to *right*. */
static void pack_b(const Product *p, long left, long right, long begin, long depth, real *to)
{
    enum { C = COLUMNS };
    const stored *b = p->b + begin * p->b_row + left * C * p->b_column;
    const long columns = least(p->columns - left * C, (right - left) * C), whole = columns / C, rest = columns % C;
    if (p->b_column != 1) {
        for (long at = 0; at < columns; at += C)
            pack_panel(b + at * p->b_column, p->b_row, p->b_column, depth, least(C, columns - at), to + at * depth);
        return;
    }
    for (long k = 0; k < depth; ++k) { /* memory is read in its order, all panels being written side by side */
        for (long j = 0; j < whole; ++j) read_row(b + k * p->b_row + j * C, C, to + (j * depth + k) * C);
        if (!rest) continue;
        memset(to + (whole * depth + k) * C, 0, sizeof(real) * C);
        read_row(b + k * p->b_row + whole * C, rest, to + (whole * depth + k) * C);
    }
}

#endif
