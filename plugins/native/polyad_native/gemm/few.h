/* Products of few rows or columns.

   Where few rows meet a matrix each of its elements is read once or a few times, and packing it would cost more than the
   product. */

#ifndef POLYAD_FEW_H
#define POLYAD_FEW_H

#include "../common/library.h"
#include "packing.h"

/* c[i][j] = a[i] . b[j] for i < many and j < across, which are constants where this is called. */
static inline __attribute__((always_inline)) void dots(
    const real *a, long a_row, const stored *b, long b_column, long depth, real *c, long stride, const real *bias,
    const int many, const int across)
{
    typedef real four __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real))));
    vector s[4][4] = {};
    long k = 0;
    for (; k + LANES <= depth; k += LANES)
        _Pragma("GCC unroll 4") for (int j = 0; j < across; ++j) {
            if (many == 1) __builtin_prefetch(b + (j + across) * b_column + k); /* four short streams break off */
            const vector right = load_vector(b + j * b_column + k);
            _Pragma("GCC unroll 4") for (int i = 0; i < many; ++i)
                s[i][j] += *(const vector *)(a + i * a_row + k) * right;
        }
    if (k < depth) {
        real ends[2][4][LANES] = {};
        for (int i = 0; i < many; ++i) memcpy(ends[0][i], a + i * a_row + k, sizeof(real) * (size_t)(depth - k));
        for (int j = 0; j < across; ++j) read_block(b + j * b_column + k, 0, 1, 1, depth - k, ends[1][j]);
        _Pragma("GCC unroll 4") for (int j = 0; j < across; ++j)
            _Pragma("GCC unroll 4") for (int i = 0; i < many; ++i)
                s[i][j] += *(vector *)ends[0][i] * *(vector *)ends[1][j];
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < many; ++i) {
        real lanes[4][LANES < 4 ? 4 : LANES] = {}, quarters[16], turned[16];
        _Pragma("GCC unroll 4") for (int j = 0; j < 4; ++j) {
            *(vector *)lanes[j] = s[i][j];
            four sum = *(four *)lanes[j];
            for (int lane = 4; lane < LANES; lane += 4) sum += *(four *)(lanes[j] + lane);
            *(four *)(quarters + 4 * j) = sum;
        }
        transpose(quarters, 4, turned, 4);
        four sum = (*(four *)turned + *(four *)(turned + 4)) + (*(four *)(turned + 8) + *(four *)(turned + 12));
        for (int j = 0; j < across; ++j) c[i * stride + j] = sum[j] + (bias ? bias[j] : 0);
    }
}

/* Columns of the product from *left* to *right*: rows of a and columns of b lie side by side. */
static void few_dots(const Product *p, long left, long right)
{
    const long depth = p->depth;
    for (long j = left, broad; j < right; j += broad) {
        broad = right - j < 4 ? 1 : 4;
        const stored *b = p->b + j * p->b_column;
        const real *bias = p->bias ? p->bias + j : NULL;
        for (long i = 0, high; i < p->rows; i += high) {
            high = p->rows - i < 4 ? 1 : 4;
            const real *a = p->a_real + i * p->a_real_row;
            real *c = p->c + i * p->stride + j;
            if (high == 4 && broad == 4) dots(a, p->a_real_row, b, p->b_column, depth, c, p->stride, bias, 4, 4);
            else if (broad == 4) dots(a, p->a_real_row, b, p->b_column, depth, c, p->stride, bias, 1, 4);
            else if (high == 4) dots(a, p->a_real_row, b, p->b_column, depth, c, p->stride, bias, 4, 1);
            else dots(a, p->a_real_row, b, p->b_column, depth, c, p->stride, bias, 1, 1);
        }
    }
}

/* The same where rows of b lie side by side: four of them at a time are added to each row. */
static void few_sums(const Product *p, long left, long right)
{
    for (long i = 0; i < p->rows; ++i)
        for (long j = left; j < right; ++j) p->c[i * p->stride + j] = p->bias ? p->bias[j] : 0;
    for (long k = 0; k < p->depth; k += 4) {
        const long count = least(4, p->depth - k);
        const stored *b = p->b + k * p->b_row, *first = b, *second = b + (count > 1 ? p->b_row : 0);
        const stored *third = b + (count > 2 ? 2 * p->b_row : 0), *fourth = b + (count > 3 ? 3 * p->b_row : 0);
        for (long i = 0; i < p->rows; ++i) {
            const real *a = p->a_real + i * p->a_real_row + k * p->a_real_column;
            real *restrict c = p->c + i * p->stride;
            if (count == 4) {
                const real x = a[0], y = a[p->a_real_column], z = a[2 * p->a_real_column], w = a[3 * p->a_real_column];
                long j = left;
                if (HALVES)
                    for (; j + LANES <= right; j += LANES)
                        *(vector *)(c + j) += x * load_vector(first + j) + y * load_vector(second + j)
                                                    + (z * load_vector(third + j) + w * load_vector(fourth + j));
                for (; j < right; ++j)
                    c[j] += x * to_real(first[j]) + y * to_real(second[j])
                            + (z * to_real(third[j]) + w * to_real(fourth[j]));
            } else
                for (long n = 0; n < count; ++n)
                    for (long j = left; j < right; ++j) c[j] += a[n * p->a_real_column] * to_real(b[n * p->b_row + j]);
        }
    }
}

/* A product so small that packing anything would be most of the work; rows of b lie side by side. */
static void tiny(const Product *p)
{
    const long whole = p->columns - p->columns % LANES;
    for (long i = 0; i < p->rows; i += 4) {
        const long high = least(4, p->rows - i);
        const real *a = p->a_real + i * p->a_real_row;
        for (long j = 0; j < whole; j += LANES) {
            vector s[4] = {};
            for (long k = 0; k < p->depth; ++k) {
                const vector right = load_vector(p->b + k * p->b_row + j);
                _Pragma("GCC unroll 4") for (int n = 0; n < 4; ++n)
                    s[n] += a[least(n, high - 1) * p->a_real_row + k * p->a_real_column] * right;
            }
            for (long n = 0; n < high; ++n) {
                vector *to = (vector *)(p->c + (i + n) * p->stride + j);
                *to = p->bias ? s[n] + *(const vector *)(p->bias + j) : s[n];
            }
        }
        for (long n = 0; n < high; ++n)
            for (long j = whole; j < p->columns; ++j) {
                real sum = 0;
                for (long k = 0; k < p->depth; ++k)
                    sum += a[n * p->a_real_row + k * p->a_real_column] * to_real(p->b[k * p->b_row + j]);
                p->c[(i + n) * p->stride + j] = p->bias ? sum + p->bias[j] : sum;
            }
    }
}

/* The results from *left* to *right*, if they stand elsewhere. */
static void write_few(const Product *p, long left, long right)
{
    for (long i = 0; HALVES && i < p->rows; ++i)
        write_row(p->c + i * p->stride + left, right - left, p->out + i * p->stride + left);
}

static void few_part(void *context, long part, long parts)
{
    const Product *p = context;
    const long blocks = up(p->columns, 16), left = blocks * part / parts * 16;
    const long right = least(blocks * (part + 1) / parts * 16, p->columns);
    if (p->b_row == 1 && p->a_real_column == 1) few_dots(p, left, right);
    else for (long at = left; at < right; at += 512) few_sums(p, at, least(at + 512, right));
    write_few(p, left, right);
}

static void multiply_few(Product *p)
{
    const int shared = polyad_threads() > 1 && (double)p->columns * (double)p->depth > 1e5; /* a matrix is read once */
    polyad_parallel(few_part, p, shared ? least(up(p->columns, 16), 16) : 1);
}

#endif
