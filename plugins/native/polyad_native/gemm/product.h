/* A whole product: which way it goes, and in which parts. */

#ifndef POLYAD_PRODUCT_H
#define POLYAD_PRODUCT_H

#include "few.h"
#include "packing.h"

enum { FEW = 32, HIGH = 192 / ROWS /* tiles of a product whose rows stay in the cache */ };

/* A part of the result, *high* tiles by *broad* of them, by a thread that packs what it needs of *b*, so that it lies in
   the cache of that thread's core. */
static void multiply_part(void *context, long part, long parts)
{
    Product *p = context;
    enum { C = COLUMNS };
    const long across = up(p->b_panels, p->broad), whole = p->rows / ROWS;
    const long top = part / across * p->high, bottom = least(top + p->high, p->a_panels);
    const long left = part % across * p->broad, right = least(left + p->broad, p->b_panels);
    const long high = HALVES ? least(HIGH, bottom - top) : 0, stride = HALVES ? (right - left) * C : p->stride;
    const long room = (p->broad * C + (high + 1) * ROWS) * p->depth;
    real *packed = scratch(1, sizeof(real) * (size_t)(room + (HALVES ? (bottom - top) * ROWS * stride : 0)));
    if (!packed) { p->failed = 1; return; }
    real *edge = packed + p->broad * C * p->depth, *rows_of_a = edge + ROWS * p->depth;
    real *sums = HALVES ? packed + room : p->c + top * ROWS * stride + left * C;
    for (long begin = 0; begin < p->inner; begin += p->depth) {
        const long depth = least(p->depth, p->inner - begin);
        const real *bias = begin ? NULL : p->bias;
        pack_b(p, left, right, begin, depth, packed);
        if (bottom > whole) pack_edge(p, begin, depth, edge);
        for (long block = top; block < bottom; block += HIGH) {
            if (HALVES) pack_a(p, block, least(least(block + HIGH, bottom), whole), begin, depth, rows_of_a);
            for (long j = left; j < right; ++j)
                for (long i = block; i < least(block + HIGH, bottom); ++i) {
                    real *c = sums + (i - top) * ROWS * stride + (j - left) * C;
                    const int rows = (int)least(ROWS, p->rows - i * ROWS), columns = (int)least(C, p->columns - j * C);
                    const real *a = edge, *b = packed + (j - left) * C * depth, *offset = bias ? bias + j * C : NULL;
                    if (i < whole)
                        a = HALVES ? rows_of_a + (i - block) * ROWS * depth
                                   : (const real *)p->a + i * ROWS * p->a_row + begin * p->a_column;
                    const int as_it_lies = !HALVES && i < whole;
                    for (int r = 0; r < rows; ++r) {
                        __builtin_prefetch(c + r * stride, 1);
                        __builtin_prefetch(c + r * stride + LANES, 1);
                    }
                    if (p->a_column == 1)
                        tile_by_rows(a, as_it_lies ? p->a_row : depth, b, depth, c, stride, rows, columns, begin > 0, offset);
                    else
                        tile_by_columns(a, as_it_lies ? p->a_column : ROWS, b, depth, c, stride, rows, columns, begin > 0, offset);
                }
        }
    }
    if (HALVES)
        for (long i = top * ROWS; i < least(bottom * ROWS, p->rows); ++i)
            write_row(sums + (i - top * ROWS) * stride, least(stride, p->columns - left * C),
                           p->out + i * p->stride + left * C);
}

/* A bias as it is added; NULL if there is no memory. */
static const real *bias_as_real(const stored *bias, long count)
{
    if (!HALVES) return (const real *)bias;
    real *as_real = scratch(2, sizeof(real) * (size_t)count);
    if (as_real) read_block(bias, 0, 1, 1, count, as_real);
    return as_real;
}

/* The whole product; false if there is no memory. */
static int run_product(Product *p, long inner)
{
    const double work = 2.0 * (double)p->rows * (double)p->columns * (double)inner;
    const int few = p->b_row == 1 && p->a_column == 1 ? p->rows <= (inner < 256 ? 8 : FEW) || p->columns <= 4
                                                      : p->b_column == 1 && p->rows <= 4;
    if (few || (p->b_column == 1 && work <= 1 << 14)) {
        p->depth = inner;
        if (!HALVES) {
            p->a_real = (const real *)p->a, p->a_real_row = p->a_row, p->a_real_column = p->a_column, p->c = (real *)p->out;
            if (few) multiply_few(p);
            else tiny(p);
            return 1;
        }
        const long high = few ? least(p->rows, FEW) : p->rows;
        real *rows = scratch(3, sizeof(real) * (size_t)(high * (inner + p->columns)));
        if (!rows) return 0;
        Product some = *p;
        some.a_real = rows, some.a_real_row = inner, some.a_real_column = 1, some.c = rows + high * inner;
        for (long at = 0; at < p->rows; at += high) {
            some.rows = least(high, p->rows - at);
            some.out = p->out + at * p->stride;
            read_block(p->a + at * p->a_row, p->a_row, p->a_column, some.rows, inner, rows);
            if (few) { multiply_few(&some); continue; }
            tiny(&some);
            write_few(&some, 0, p->columns);
        }
        return 1;
    }
    if (p->a_column != 1 && p->a_row != 1) { /* a row after row */
        stored *rows = scratch(0, sizeof(stored) * (size_t)(p->rows * inner));
        if (!rows) return 0;
        for (long i = 0; i < p->rows; ++i)
            for (long k = 0; k < inner; ++k) rows[i * inner + k] = p->a[i * p->a_row + k * p->a_column];
        p->a = rows, p->a_row = inner, p->a_column = 1;
    }
    p->c = HALVES ? NULL : (real *)p->out;
    p->inner = inner;
    p->a_panels = up(p->rows, ROWS);
    p->b_panels = up(p->columns, COLUMNS);
    p->high = HALVES ? least(p->a_panels, 4 * HIGH) : p->a_panels; /* sums of half types stand beside them in the cache */
    p->broad = least(8, p->b_panels);
    /* A column is packed once more for each part of the rows, which is little where it is multiplied by many of them. */
    const long parts = work > 1e6 && polyad_threads() > 1 ? 3 * polyad_threads() : 1;
    while (up(p->a_panels, p->high) * up(p->b_panels, p->broad) < parts && (p->broad > 1 || p->high > 2 * HIGH)) {
        if (p->broad == 1 || p->high > 4 * HIGH) p->high = up(p->high, 2);
        else p->broad = up(p->broad, 2);
    }
    const long deepest = p->a_column == 1 ? DEPTH : DEPTH / 2; /* a column of a is a line of the cache to itself */
    p->depth = up(inner, up(inner, deepest));
    polyad_parallel(multiply_part, p, up(p->a_panels, p->high) * up(p->b_panels, p->broad));
    return !p->failed;
}

#endif
