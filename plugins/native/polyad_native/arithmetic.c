/* Products of matrices and convolutions of REAL.

   Everything ends in `tile`: ROWS rows times COLUMNS columns of a result in registers, over a stretch of the summed
   dimension. It reads *a* as it lies; *b* is packed before, in panels of COLUMNS columns, so that the tile reads whole
   vectors. How the result is cut into parts depends on the threads too; in which order its sums are added does not. */

/* s += a b over *depth* steps. Row i of *a* begins at at[i * row] and goes on by *step*. With *ahead*, what comes so many
   steps later is fetched into the cache, and into the next cache what lies a line further, where another tile goes on. */
#define ACCUMULATE(s, at, step, b, depth, ahead)                                                    \
    for (long k = 0; k < (depth); ++k) {                                                            \
        if (ahead) {                                                                                \
            __builtin_prefetch((at) + (k + (ahead)) * (step));                                      \
            __builtin_prefetch((at) + k * (step) + 64 / sizeof(REAL), 0, 2);                        \
        }                                                                                           \
        const NAME(vector) first = *(const NAME(vector) *)((b) + k * NAME(COLUMNS));                \
        const NAME(vector) second = *(const NAME(vector) *)((b) + k * NAME(COLUMNS) + NAME(LANES)); \
        _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {                                   \
            const REAL x = (at)[i * (row) + k * (step)];                                            \
            s[i][0] += x * first;                                                                   \
            s[i][1] += x * second;                                                                  \
        }                                                                                           \
    }

/* Writes a tile, added to what stands there if *add*, else to the values of *bias* for its columns if there are any. */
static inline void NAME(put)(
    NAME(vector) s[ROWS][2], REAL *c, long apart, int rows, int columns, int add, const REAL *bias)
{
    if (bias) {
        REAL all[NAME(COLUMNS)] = {};
        memcpy(all, bias, sizeof(REAL) * (size_t)columns);
        const NAME(vector) first = *(NAME(vector) *)all, second = *(NAME(vector) *)(all + NAME(LANES));
        _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {
            s[i][0] += first;
            s[i][1] += second;
        }
    }
    if (rows == ROWS && columns == NAME(COLUMNS)) {
        _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {
            NAME(vector) *to = (NAME(vector) *)(c + i * apart);
            if (add) { s[i][0] += to[0]; s[i][1] += to[1]; }
            to[0] = s[i][0];
            to[1] = s[i][1];
        }
        return;
    }
    REAL all[ROWS][NAME(COLUMNS)];
    _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {
        *(NAME(vector) *)all[i] = s[i][0];
        *(NAME(vector) *)(all[i] + NAME(LANES)) = s[i][1];
    }
    for (int i = 0; i < rows; ++i) {
        if (add) for (int j = 0; j < columns; ++j) c[i * apart + j] += all[i][j];
        else memcpy(c + i * apart, all[i], sizeof(REAL) * (size_t)columns);
    }
}

/* The tile of packed operands: rows of *a* are *row* apart, its steps *step*. */
__attribute__((noinline)) static void NAME(tile_by_rows)(
    const REAL *a, long row, const REAL *b, long depth, REAL *c, long apart, int rows, int columns, int add,
    const REAL *bias)
{
    NAME(vector) s[ROWS][2] = {};
    ACCUMULATE(s, a, 1, b, depth, 0)
    NAME(put)(s, c, apart, rows, columns, add, bias);
}

__attribute__((noinline)) static void NAME(tile_by_columns)(
    const REAL *a, long step, const REAL *b, long depth, REAL *c, long apart, int rows, int columns, int add,
    const REAL *bias)
{
    const long row = 1;
    NAME(vector) s[ROWS][2] = {};
    if (columns <= NAME(LANES)) /* the sums are the same, and half as many */
        for (long k = 0; k < depth; ++k) {
            __builtin_prefetch(a + (k + 32) * step);
            const NAME(vector) only = *(const NAME(vector) *)(b + k * NAME(COLUMNS));
            _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) s[i][0] += a[i + k * step] * only;
        }
    else
        ACCUMULATE(s, a, step, b, depth, 32)
    NAME(put)(s, c, apart, rows, columns, add, bias);
}

/* ------------------------------------------------------------------------------------------ products */

typedef struct {
    const HELD *a, *b;
    const REAL *wide, *bias; /* of half types, rows of *a* where they are few; else *a* */
    long a_row, a_column, b_row, b_column, wide_row, wide_column; /* in elements */
    HELD *out;
    REAL *c; /* what is rounded to *out*, or *out* itself */
    long apart, rows, columns, inner, depth, a_panels, b_panels, high, broad;
    int failed;
} NAME(Product);

/* *rows* x *columns* of any layout as REAL, row after row. */
__attribute__((noinline)) static void NAME(take)(const HELD *from, long row, long column, long rows, long columns, REAL *to)
{
    for (long i = 0; i < rows; ++i)
        if (column == 1) NAME(widen)(from + i * row, columns, to + i * columns);
        else for (long k = 0; k < columns; ++k) to[i * columns + k] = NAME(wide)(from[i * row + k * column]);
}

/* The last rows of *a*, fewer than a tile has, with zeros below them. */
static void NAME(pack_edge)(const NAME(Product) *p, long begin, long depth, REAL *to)
{
    const long top = p->rows / ROWS * ROWS, rows = p->rows - top;
    const HELD *from = p->a + top * p->a_row + begin * p->a_column;
    if (p->a_column == 1) {
        NAME(take)(from, p->a_row, 1, rows, depth, to);
        memset(to + rows * depth, 0, sizeof(REAL) * (size_t)((ROWS - rows) * depth));
        return;
    }
    for (long k = 0; k < depth; ++k)
        for (long i = 0; i < ROWS; ++i) to[k * ROWS + i] = i < rows ? NAME(wide)(from[i * p->a_row + k * p->a_column]) : 0;
}

/* Whole tiles of *a* from *top* to *bottom*, of half types: each is a block of rows, or of columns where these lie side by
   side. */
static void NAME(pack_a)(const NAME(Product) *p, long top, long bottom, long begin, long depth, REAL *to)
{
    const HELD *from = p->a + top * ROWS * p->a_row + begin * p->a_column;
    if (p->a_column == 1) NAME(take)(from, p->a_row, 1, (bottom - top) * ROWS, depth, to);
    else
        for (long k = 0; k < depth; ++k, from += p->a_column)
            for (long tile = 0; tile < bottom - top; ++tile)
                for (long i = 0; i < ROWS; ++i)
                    to[(tile * depth + k) * ROWS + i] = NAME(wide)(from[(tile * ROWS + i) * p->a_row]);
}

/* COLUMNS columns of *depth* rows, of which the first *columns* are there: [depth][COLUMNS]. */
__attribute__((noinline)) static void NAME(pack_panel)(const HELD *from, long row, long column, long depth, long columns, REAL *to)
{
    enum { C = NAME(COLUMNS) };
    if (columns == C && column == 1) {
        for (long k = 0; k < depth; ++k) NAME(widen)(from + k * row, C, to + k * C);
        return;
    }
    if (row == 1) { /* column after column */
        const long whole = depth & ~3l, by_fours = columns & ~3l;
        if (columns < C) memset(to, 0, sizeof(REAL) * (size_t)(depth * C));
#ifdef HALF
        enum { STRETCH = 64 };
        REAL four[4][STRETCH];
        for (long begin = 0; begin < whole; begin += STRETCH)
            for (long j = 0; j < by_fours; j += 4) {
                const long count = least(STRETCH, whole - begin);
                for (long n = 0; n < 4; ++n) NAME(widen)(from + (j + n) * column + begin, count, four[n]);
                for (long k = 0; k < count; k += 4) NAME(turn)(four[0] + k, STRETCH, to + (begin + k) * C + j, C);
            }
#else
        for (long k = 0; k < whole; k += 4)
            for (long j = 0; j < by_fours; j += 4) NAME(turn)(from + j * column + k, column, to + k * C + j, C);
#endif
        for (long j = 0; j < columns; ++j)
            for (long k = j < by_fours ? whole : 0; k < depth; ++k) to[k * C + j] = NAME(wide)(from[k + j * column]);
        return;
    }
    for (long k = 0; k < depth; ++k)
        for (long j = 0; j < C; ++j) to[k * C + j] = j < columns ? NAME(wide)(from[k * row + j * column]) : 0;
}

/* Panels of *b* from *left* to *right*. */
static void NAME(pack_b)(const NAME(Product) *p, long left, long right, long begin, long depth, REAL *to)
{
    enum { C = NAME(COLUMNS) };
    const HELD *b = p->b + begin * p->b_row + left * C * p->b_column;
    const long columns = least(p->columns - left * C, (right - left) * C), whole = columns / C, rest = columns % C;
    if (p->b_column != 1) {
        for (long at = 0; at < columns; at += C)
            NAME(pack_panel)(b + at * p->b_column, p->b_row, p->b_column, depth, least(C, columns - at), to + at * depth);
        return;
    }
    for (long k = 0; k < depth; ++k) { /* memory is read in its order, all panels being written side by side */
        for (long j = 0; j < whole; ++j) NAME(widen)(b + k * p->b_row + j * C, C, to + (j * depth + k) * C);
        if (!rest) continue;
        memset(to + (whole * depth + k) * C, 0, sizeof(REAL) * C);
        NAME(widen)(b + k * p->b_row + whole * C, rest, to + (whole * depth + k) * C);
    }
}

/* A part of the result, *high* tiles by *broad* of them, by a thread that packs what it needs of *b*, so that it lies in
   the cache of that thread's core. */
static void NAME(multiply)(void *context, long part, long parts)
{
    NAME(Product) *p = context;
    enum { C = NAME(COLUMNS) };
    const long across = up(p->b_panels, p->broad), whole = p->rows / ROWS;
    const long top = part / across * p->high, bottom = least(top + p->high, p->a_panels);
    const long left = part % across * p->broad, right = least(left + p->broad, p->b_panels);
    const long high = HALVES ? least(HIGH, bottom - top) : 0, apart = HALVES ? (right - left) * C : p->apart;
    const long room = (p->broad * C + (high + 1) * ROWS) * p->depth;
    REAL *packed = scratch(1, sizeof(REAL) * (size_t)(room + (HALVES ? (bottom - top) * ROWS * apart : 0)));
    if (!packed) { p->failed = 1; return; }
    REAL *edge = packed + p->broad * C * p->depth, *rows_of_a = edge + ROWS * p->depth;
    REAL *sums = HALVES ? packed + room : p->c + top * ROWS * apart + left * C;
    for (long begin = 0; begin < p->inner; begin += p->depth) {
        const long depth = least(p->depth, p->inner - begin);
        const REAL *bias = begin ? NULL : p->bias;
        NAME(pack_b)(p, left, right, begin, depth, packed);
        if (bottom > whole) NAME(pack_edge)(p, begin, depth, edge);
        for (long block = top; block < bottom; block += HIGH) {
            if (HALVES) NAME(pack_a)(p, block, least(least(block + HIGH, bottom), whole), begin, depth, rows_of_a);
            for (long j = left; j < right; ++j)
                for (long i = block; i < least(block + HIGH, bottom); ++i) {
                    REAL *c = sums + (i - top) * ROWS * apart + (j - left) * C;
                    const int rows = (int)least(ROWS, p->rows - i * ROWS), columns = (int)least(C, p->columns - j * C);
                    const REAL *a = edge, *b = packed + (j - left) * C * depth, *offset = bias ? bias + j * C : NULL;
                    if (i < whole)
                        a = HALVES ? rows_of_a + (i - block) * ROWS * depth
                                   : (const REAL *)p->a + i * ROWS * p->a_row + begin * p->a_column;
                    const int as_it_lies = !HALVES && i < whole;
                    for (int r = 0; r < rows; ++r) {
                        __builtin_prefetch(c + r * apart, 1);
                        __builtin_prefetch(c + r * apart + NAME(LANES), 1);
                    }
                    if (p->a_column == 1)
                        NAME(tile_by_rows)(a, as_it_lies ? p->a_row : depth, b, depth, c, apart, rows, columns, begin > 0, offset);
                    else
                        NAME(tile_by_columns)(a, as_it_lies ? p->a_column : ROWS, b, depth, c, apart, rows, columns, begin > 0, offset);
                }
        }
    }
    if (HALVES)
        for (long i = top * ROWS; i < least(bottom * ROWS, p->rows); ++i)
            NAME(round_to)(sums + (i - top * ROWS) * apart, least(apart, p->columns - left * C),
                           p->out + i * p->apart + left * C);
}

/* ------------------------------------------------------------------------------------------ few rows or columns

   Where few rows meet a matrix each of its elements is read once or a few times, and packing it would cost more than the
   product. */


/* c[i][j] = a[i] . b[j] for i < many and j < across, which are constants where this is called. */
static inline __attribute__((always_inline)) void NAME(dots)(
    const REAL *a, long a_row, const HELD *b, long b_column, long depth, REAL *c, long apart, const REAL *bias,
    const int many, const int across)
{
    typedef REAL four __attribute__((vector_size(4 * sizeof(REAL)), aligned(sizeof(REAL))));
    NAME(vector) s[4][4] = {};
    long k = 0;
    for (; k + NAME(LANES) <= depth; k += NAME(LANES))
        _Pragma("GCC unroll 4") for (int j = 0; j < across; ++j) {
            if (many == 1) __builtin_prefetch(b + (j + across) * b_column + k); /* four short streams break off */
            const NAME(vector) right = NAME(load)(b + j * b_column + k);
            _Pragma("GCC unroll 4") for (int i = 0; i < many; ++i)
                s[i][j] += *(const NAME(vector) *)(a + i * a_row + k) * right;
        }
    if (k < depth) {
        REAL ends[2][4][NAME(LANES)] = {};
        for (int i = 0; i < many; ++i) memcpy(ends[0][i], a + i * a_row + k, sizeof(REAL) * (size_t)(depth - k));
        for (int j = 0; j < across; ++j) NAME(take)(b + j * b_column + k, 0, 1, 1, depth - k, ends[1][j]);
        _Pragma("GCC unroll 4") for (int j = 0; j < across; ++j)
            _Pragma("GCC unroll 4") for (int i = 0; i < many; ++i)
                s[i][j] += *(NAME(vector) *)ends[0][i] * *(NAME(vector) *)ends[1][j];
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < many; ++i) {
        REAL lanes[4][NAME(LANES) < 4 ? 4 : NAME(LANES)] = {}, quarters[16], turned[16];
        _Pragma("GCC unroll 4") for (int j = 0; j < 4; ++j) {
            *(NAME(vector) *)lanes[j] = s[i][j];
            four sum = *(four *)lanes[j];
            for (int lane = 4; lane < NAME(LANES); lane += 4) sum += *(four *)(lanes[j] + lane);
            *(four *)(quarters + 4 * j) = sum;
        }
        NAME(turn)(quarters, 4, turned, 4);
        four sum = (*(four *)turned + *(four *)(turned + 4)) + (*(four *)(turned + 8) + *(four *)(turned + 12));
        for (int j = 0; j < across; ++j) c[i * apart + j] = sum[j] + (bias ? bias[j] : 0);
    }
}

/* Columns of the product from *left* to *right*: rows of a and columns of b lie side by side. */
static void NAME(few_dots)(const NAME(Product) *p, long left, long right)
{
    const long depth = p->depth;
    for (long j = left, broad; j < right; j += broad) {
        broad = right - j < 4 ? 1 : 4;
        const HELD *b = p->b + j * p->b_column;
        const REAL *bias = p->bias ? p->bias + j : NULL;
        for (long i = 0, high; i < p->rows; i += high) {
            high = p->rows - i < 4 ? 1 : 4;
            const REAL *a = p->wide + i * p->wide_row;
            REAL *c = p->c + i * p->apart + j;
            if (high == 4 && broad == 4) NAME(dots)(a, p->wide_row, b, p->b_column, depth, c, p->apart, bias, 4, 4);
            else if (broad == 4) NAME(dots)(a, p->wide_row, b, p->b_column, depth, c, p->apart, bias, 1, 4);
            else if (high == 4) NAME(dots)(a, p->wide_row, b, p->b_column, depth, c, p->apart, bias, 4, 1);
            else NAME(dots)(a, p->wide_row, b, p->b_column, depth, c, p->apart, bias, 1, 1);
        }
    }
}

/* The same where rows of b lie side by side: four of them at a time are added to each row. */
static void NAME(few_sums)(const NAME(Product) *p, long left, long right)
{
    for (long i = 0; i < p->rows; ++i)
        for (long j = left; j < right; ++j) p->c[i * p->apart + j] = p->bias ? p->bias[j] : 0;
    for (long k = 0; k < p->depth; k += 4) {
        const long count = least(4, p->depth - k);
        const HELD *b = p->b + k * p->b_row, *first = b, *second = b + (count > 1 ? p->b_row : 0);
        const HELD *third = b + (count > 2 ? 2 * p->b_row : 0), *fourth = b + (count > 3 ? 3 * p->b_row : 0);
        for (long i = 0; i < p->rows; ++i) {
            const REAL *a = p->wide + i * p->wide_row + k * p->wide_column;
            REAL *restrict c = p->c + i * p->apart;
            if (count == 4) {
                const REAL x = a[0], y = a[p->wide_column], z = a[2 * p->wide_column], w = a[3 * p->wide_column];
                long j = left;
                if (HALVES)
                    for (; j + NAME(LANES) <= right; j += NAME(LANES))
                        *(NAME(vector) *)(c + j) += x * NAME(load)(first + j) + y * NAME(load)(second + j)
                                                    + (z * NAME(load)(third + j) + w * NAME(load)(fourth + j));
                for (; j < right; ++j)
                    c[j] += x * NAME(wide)(first[j]) + y * NAME(wide)(second[j])
                            + (z * NAME(wide)(third[j]) + w * NAME(wide)(fourth[j]));
            } else
                for (long n = 0; n < count; ++n)
                    for (long j = left; j < right; ++j) c[j] += a[n * p->wide_column] * NAME(wide)(b[n * p->b_row + j]);
        }
    }
}

/* A product so small that packing anything would be most of the work; rows of b lie side by side. */
static void NAME(tiny)(const NAME(Product) *p)
{
    const long whole = p->columns - p->columns % NAME(LANES);
    for (long i = 0; i < p->rows; i += 4) {
        const long high = least(4, p->rows - i);
        const REAL *a = p->wide + i * p->wide_row;
        for (long j = 0; j < whole; j += NAME(LANES)) {
            NAME(vector) s[4] = {};
            for (long k = 0; k < p->depth; ++k) {
                const NAME(vector) right = NAME(load)(p->b + k * p->b_row + j);
                _Pragma("GCC unroll 4") for (int n = 0; n < 4; ++n)
                    s[n] += a[least(n, high - 1) * p->wide_row + k * p->wide_column] * right;
            }
            for (long n = 0; n < high; ++n) {
                NAME(vector) *to = (NAME(vector) *)(p->c + (i + n) * p->apart + j);
                *to = p->bias ? s[n] + *(const NAME(vector) *)(p->bias + j) : s[n];
            }
        }
        for (long n = 0; n < high; ++n)
            for (long j = whole; j < p->columns; ++j) {
                REAL sum = 0;
                for (long k = 0; k < p->depth; ++k)
                    sum += a[n * p->wide_row + k * p->wide_column] * NAME(wide)(p->b[k * p->b_row + j]);
                p->c[(i + n) * p->apart + j] = p->bias ? sum + p->bias[j] : sum;
            }
    }
}

/* The results from *left* to *right*, if they stand elsewhere. */
static void NAME(round_few)(const NAME(Product) *p, long left, long right)
{
    for (long i = 0; HALVES && i < p->rows; ++i)
        NAME(round_to)(p->c + i * p->apart + left, right - left, p->out + i * p->apart + left);
}

static void NAME(few)(void *context, long part, long parts)
{
    const NAME(Product) *p = context;
    const long blocks = up(p->columns, 16), left = blocks * part / parts * 16;
    const long right = least(blocks * (part + 1) / parts * 16, p->columns);
    if (p->b_row == 1 && p->wide_column == 1) NAME(few_dots)(p, left, right);
    else for (long at = left; at < right; at += 512) NAME(few_sums)(p, at, least(at + 512, right));
    NAME(round_few)(p, left, right);
}

static void NAME(multiply_few)(NAME(Product) *p)
{
    const int spread = polyad_threads() > 1 && (double)p->columns * (double)p->depth > 1e5; /* a matrix is read once */
    polyad_parallel(NAME(few), p, spread ? least(up(p->columns, 16), 16) : 1);
}

/* A bias as it is added; NULL if there is no memory. */
static const REAL *NAME(wide_bias)(const HELD *bias, long count)
{
    if (!HALVES) return (const REAL *)bias;
    REAL *wide = scratch(2, sizeof(REAL) * (size_t)count);
    if (wide) NAME(take)(bias, 0, 1, 1, count, wide);
    return wide;
}

/* The whole product; false if there is no memory. */
static int NAME(run_product)(NAME(Product) *p, long inner)
{
    const double work = 2.0 * (double)p->rows * (double)p->columns * (double)inner;
    const int few = p->b_row == 1 && p->a_column == 1 ? p->rows <= (inner < 256 ? 8 : FEW) || p->columns <= 4
                                                      : p->b_column == 1 && p->rows <= 4;
    if (few || (p->b_column == 1 && work <= 1 << 14)) {
        p->depth = inner;
        if (!HALVES) {
            p->wide = (const REAL *)p->a, p->wide_row = p->a_row, p->wide_column = p->a_column, p->c = (REAL *)p->out;
            if (few) NAME(multiply_few)(p);
            else NAME(tiny)(p);
            return 1;
        }
        const long high = few ? least(p->rows, FEW) : p->rows;
        REAL *rows = scratch(3, sizeof(REAL) * (size_t)(high * (inner + p->columns)));
        if (!rows) return 0;
        NAME(Product) some = *p;
        some.wide = rows, some.wide_row = inner, some.wide_column = 1, some.c = rows + high * inner;
        for (long at = 0; at < p->rows; at += high) {
            some.rows = least(high, p->rows - at);
            some.out = p->out + at * p->apart;
            NAME(take)(p->a + at * p->a_row, p->a_row, p->a_column, some.rows, inner, rows);
            if (few) { NAME(multiply_few)(&some); continue; }
            NAME(tiny)(&some);
            NAME(round_few)(&some, 0, p->columns);
        }
        return 1;
    }
    if (p->a_column != 1 && p->a_row != 1) { /* a row after row */
        HELD *rows = scratch(0, sizeof(HELD) * (size_t)(p->rows * inner));
        if (!rows) return 0;
        for (long i = 0; i < p->rows; ++i)
            for (long k = 0; k < inner; ++k) rows[i * inner + k] = p->a[i * p->a_row + k * p->a_column];
        p->a = rows, p->a_row = inner, p->a_column = 1;
    }
    p->c = HALVES ? NULL : (REAL *)p->out;
    p->inner = inner;
    p->a_panels = up(p->rows, ROWS);
    p->b_panels = up(p->columns, NAME(COLUMNS));
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
    polyad_parallel(NAME(multiply), p, up(p->a_panels, p->high) * up(p->b_panels, p->broad));
    return !p->failed;
}

typedef struct {
    NAME(Product) each;
    const char *a, *b;
    HELD *out;
    const intptr_t *sizes, *a_steps, *b_steps;
    int rank, failed;
    long batch, inner;
} NAME(Batch);

static void NAME(run_batch)(void *context, long part, long parts)
{
    NAME(Batch) *batch = context;
    for (long unit = batch->batch * part / parts; unit < batch->batch * (part + 1) / parts; ++unit) {
        NAME(Product) p = batch->each;
        long at = unit, from_a = 0, from_b = 0;
        for (int d = batch->rank - 1; d >= 0; --d) {
            from_a += at % batch->sizes[d] * batch->a_steps[d];
            from_b += at % batch->sizes[d] * batch->b_steps[d];
            at /= batch->sizes[d];
        }
        p.a = (const HELD *)(batch->a + from_a);
        p.b = (const HELD *)(batch->b + from_b);
        p.out = batch->out + unit * p.rows * p.columns;
        if (!NAME(run_product)(&p, batch->inner)) batch->failed = 1;
    }
}

/* product(out, a, b, bias): whether it was done. *out* is row-major; *a* and *b* have its batch, or broadcast to it. */
static Object *NAME(product)(Object *self, Object *const *args, intptr_t count)
{
    const Array *out = (Array *)args[0], *a = (Array *)args[1], *b = (Array *)args[2], *bias = (Array *)args[3];
    enum { SIZE = sizeof(HELD) };
    intptr_t sizes[RANK], a_steps[RANK], b_steps[RANK];
    const intptr_t *in_a = a->strides + a->rank - 2, *in_b = b->strides + b->rank - 2;
    if (out->rank - 2 > RANK || in_a[0] % SIZE || in_a[1] % SIZE || in_b[0] % SIZE || in_b[1] % SIZE)
        return PyLong_FromLongLong(0);
    NAME(Batch) batch = {.a = a->data, .b = b->data, .out = (HELD *)out->data, .rank = out->rank - 2, .sizes = sizes,
                         .a_steps = a_steps, .b_steps = b_steps, .batch = 1, .inner = a->shape[a->rank - 1]};
    NAME(Product) *each = &batch.each;
    each->rows = each->apart = out->shape[batch.rank];
    each->columns = each->apart = out->shape[batch.rank + 1];
    each->a_row = in_a[0] / SIZE, each->a_column = in_a[1] / SIZE;
    each->b_row = in_b[0] / SIZE, each->b_column = in_b[1] / SIZE;
    if ((Object *)bias != &_Py_NoneStruct) {
        if (bias->strides[bias->rank - 1] != SIZE) return PyLong_FromLongLong(0);
        each->bias = NAME(wide_bias)((const HELD *)bias->data, each->columns);
        if (!each->bias) batch.failed = 1;
    }
    for (int d = 0; d < batch.rank; ++d) {
        const int of_a = d - batch.rank + a->rank - 2, of_b = d - batch.rank + b->rank - 2;
        sizes[d] = out->shape[d];
        a_steps[d] = of_a < 0 || a->shape[of_a] == 1 ? 0 : a->strides[of_a];
        b_steps[d] = of_b < 0 || b->shape[of_b] == 1 ? 0 : b->strides[of_b];
        batch.batch *= sizes[d];
    }
    void *thread = PyEval_SaveThread();
    const double work = (double)each->rows * (double)each->columns * (double)batch.inner * (double)batch.batch;
    if (batch.failed) {}
    else if (batch.batch > 1) polyad_parallel(NAME(run_batch), &batch, work < 1e6 ? 1 : least(batch.batch, 32));
    else NAME(run_batch)(&batch, 0, 1);
    PyEval_RestoreThread(thread);
    if (batch.failed) { PyErr_SetString(PyExc_MemoryError, "no memory for a product's operands"); return NULL; }
    return PyLong_FromLongLong(1);
}
