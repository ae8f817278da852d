/* Products of matrices and convolutions of REAL, included once for float and once for double.

   Everything ends in `tile`: ROWS rows times COLUMNS columns of a result in registers, over a stretch of the summed
   dimension. Before it, operands are packed: *a* by rows, each a stretch, or as it lies; *b* in panels of COLUMNS
   columns, so that the tile reads whole vectors. What is packed and multiplied in which part depends on sizes alone. */

typedef REAL NAME(vector) __attribute__((vector_size(VECTOR), aligned(sizeof(REAL))));

enum { NAME(LANES) = VECTOR / sizeof(REAL), NAME(COLUMNS) = 2 * NAME(LANES) };

/* s += a b over *depth* steps. Row i of *a* begins at at[i] and goes on by *step*. */
#define ACCUMULATE(s, at, step, b, depth, ahead)                                       \
    for (long k = 0; k < (depth); ++k) {                                              \
        if (ahead) __builtin_prefetch((at) + (k + (ahead)) * (step));                 \
        const NAME(vector) first = *(const NAME(vector) *)((b) + k * NAME(COLUMNS));   \
        const NAME(vector) second = *(const NAME(vector) *)((b) + k * NAME(COLUMNS) + NAME(LANES)); \
        _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {                     \
            const REAL x = (at)[i * (row) + k * (step)];                                        \
            s[i][0] += x * first;                                                     \
            s[i][1] += x * second;                                                    \
        }                                                                             \
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
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) c[i * apart + j] = add ? c[i * apart + j] + all[i][j] : all[i][j];
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
    ACCUMULATE(s, a, step, b, depth, 12)
    NAME(put)(s, c, apart, rows, columns, add, bias);
}

/* ------------------------------------------------------------------------------------------ products */

typedef struct {
    const REAL *a, *b, *bias;
    long a_row, a_column, b_row, b_column; /* in elements */
    REAL *c, *packed_a, *packed_b;
    long apart, rows, columns, begin, depth, a_panels, b_panels, high, broad;
    long as_it_lies; /* so many panels of a are not packed */
    int add;
} NAME(Product);

static void NAME(pack_a)(const NAME(Product) *p, long panel)
{
    REAL *to = p->packed_a + panel * ROWS * p->depth;
    const REAL *from = p->a + panel * ROWS * p->a_row + p->begin * p->a_column;
    const long rows = least(ROWS, p->rows - panel * ROWS);
    if (p->a_column == 1) { /* row after row */
        for (long i = 0; i < rows; ++i) memcpy(to + i * p->depth, from + i * p->a_row, sizeof(REAL) * (size_t)p->depth);
        memset(to + rows * p->depth, 0, sizeof(REAL) * (size_t)((ROWS - rows) * p->depth));
        return;
    }
    if (p->a_row == 1 && rows == ROWS) {
        for (long k = 0; k < p->depth; ++k) memcpy(to + k * ROWS, from + k * p->a_column, sizeof(REAL) * ROWS);
        return;
    }
    for (long k = 0; k < p->depth; ++k)
        for (long i = 0; i < ROWS; ++i) to[k * ROWS + i] = i < rows ? from[i * p->a_row + k * p->a_column] : 0;
}

/* COLUMNS columns of *depth* rows, of which the first *columns* are there: [depth][COLUMNS]. */
static void NAME(pack_panel)(const REAL *from, long row, long column, long depth, long columns, REAL *to)
{
    enum { C = NAME(COLUMNS) };
    if (columns == C && column == 1) {
        for (long k = 0; k < depth; ++k) memcpy(to + k * C, from + k * row, sizeof(REAL) * C);
        return;
    }
    long k = 0;
    if (columns == C && row == 1)
        for (; k + 4 <= depth; k += 4)
            for (long j = 0; j < C; j += 4) NAME(turn)(from + j * column + k, column, to + k * C + j, C);
    for (; k < depth; ++k)
        for (long j = 0; j < C; ++j) to[k * C + j] = j < columns ? from[k * row + j * column] : 0;
}

static void NAME(pack)(void *context, long part, long parts)
{
    const NAME(Product) *p = context;
    const long of_a = p->a_panels - p->as_it_lies, units = of_a + p->b_panels;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        if (unit < of_a) { NAME(pack_a)(p, p->as_it_lies + unit); continue; }
        const long panel = unit - of_a, at = panel * NAME(COLUMNS);
        NAME(pack_panel)(p->b + p->begin * p->b_row + at * p->b_column, p->b_row, p->b_column, p->depth,
                         least(NAME(COLUMNS), p->columns - at), p->packed_b + panel * NAME(COLUMNS) * p->depth);
    }
}

static void NAME(multiply)(void *context, long part, long parts)
{
    const NAME(Product) *p = context;
    const long across = up(p->b_panels, p->broad);
    const long top = part / across * p->high, left = part % across * p->broad;
    for (long j = left; j < least(left + p->broad, p->b_panels); ++j)
        for (long i = top; i < least(top + p->high, p->a_panels); ++i) {
            REAL *c = p->c + i * ROWS * p->apart + j * NAME(COLUMNS);
            const int rows = (int)least(ROWS, p->rows - i * ROWS);
            const int columns = (int)least(NAME(COLUMNS), p->columns - j * NAME(COLUMNS));
            const int lies = i < p->as_it_lies;
            const REAL *a = lies ? p->a + i * ROWS * p->a_row + p->begin * p->a_column : p->packed_a + i * ROWS * p->depth;
            const REAL *b = p->packed_b + j * NAME(COLUMNS) * p->depth;
            const REAL *bias = p->bias && !p->add ? p->bias + j * NAME(COLUMNS) : NULL;
            if (p->a_column == 1)
                NAME(tile_by_rows)(a, lies ? p->a_row : p->depth, b, p->depth, c, p->apart, rows, columns, p->add, bias);
            else
                NAME(tile_by_columns)(a, lies ? p->a_column : ROWS, b, p->depth, c, p->apart, rows, columns, p->add, bias);
        }
}

/* The whole product; false if there is no memory. */
static int NAME(run_product)(NAME(Product) *p, long inner)
{
    p->a_panels = up(p->rows, ROWS);
    p->b_panels = up(p->columns, NAME(COLUMNS));
    p->high = least(192 / ROWS, p->a_panels);
    p->broad = least(8, p->b_panels);
    p->as_it_lies = (p->a_column == 1 || p->a_row == 1) && p->b_panels <= 16 ? p->rows / ROWS : 0;
    const double work = 2.0 * (double)p->rows * (double)p->columns * (double)inner;
    while (up(p->a_panels, p->high) * up(p->b_panels, p->broad) < 8 && (p->high > 1 || p->broad > 1)) {
        if (p->high * ROWS > p->broad * NAME(COLUMNS)) p->high = up(p->high, 2);
        else if (p->broad > 1) p->broad = up(p->broad, 2);
        else p->high = up(p->high, 2);
    }
    const long stretches = up(inner, DEPTH), stretch = up(inner, stretches);
    p->packed_a = scratch(0, sizeof(REAL) * (size_t)(p->a_panels * ROWS * stretch));
    p->packed_b = scratch(1, sizeof(REAL) * (size_t)(p->b_panels * NAME(COLUMNS) * stretch));
    if (!p->packed_a || !p->packed_b) return 0;
    const long tiles = up(p->a_panels, p->high) * up(p->b_panels, p->broad);
    for (p->begin = 0; p->begin < inner; p->begin += p->depth) {
        p->depth = least(stretch, inner - p->begin);
        p->add = p->begin > 0;
        polyad_parallel(NAME(pack), p, least(p->a_panels - p->as_it_lies + p->b_panels, work > 4e6 ? 8 : 1));
        if (work > 1e6) polyad_parallel(NAME(multiply), p, tiles);
        else for (long tile = 0; tile < tiles; ++tile) NAME(multiply)(p, tile, tiles);
    }
    return 1;
}

typedef struct {
    NAME(Product) each;
    const char *a, *b;
    REAL *c;
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
        p.a = (const REAL *)(batch->a + from_a);
        p.b = (const REAL *)(batch->b + from_b);
        p.c = batch->c + unit * p.rows * p.columns;
        if (!NAME(run_product)(&p, batch->inner)) batch->failed = 1;
    }
}

/* product(out, a, b, bias): whether it was done. *out* is row-major; *a* and *b* have its batch, or broadcast to it. */
static Object *NAME(product)(Object *self, Object *const *args, intptr_t count)
{
    const Array *out = (Array *)args[0], *a = (Array *)args[1], *b = (Array *)args[2], *bias = (Array *)args[3];
    enum { SIZE = sizeof(REAL) };
    intptr_t sizes[RANK], a_steps[RANK], b_steps[RANK];
    const intptr_t *in_a = a->strides + a->rank - 2, *in_b = b->strides + b->rank - 2;
    if (out->rank - 2 > RANK || in_a[0] % SIZE || in_a[1] % SIZE || in_b[0] % SIZE || in_b[1] % SIZE)
        return PyLong_FromLongLong(0);
    NAME(Batch) batch = {.a = a->data, .b = b->data, .c = (REAL *)out->data, .rank = out->rank - 2, .sizes = sizes,
                         .a_steps = a_steps, .b_steps = b_steps, .batch = 1, .inner = a->shape[a->rank - 1]};
    NAME(Product) *each = &batch.each;
    each->rows = each->apart = out->shape[batch.rank];
    each->columns = each->apart = out->shape[batch.rank + 1];
    each->a_row = in_a[0] / SIZE, each->a_column = in_a[1] / SIZE;
    each->b_row = in_b[0] / SIZE, each->b_column = in_b[1] / SIZE;
    if ((Object *)bias != &_Py_NoneStruct) {
        if (bias->strides[bias->rank - 1] != SIZE) return PyLong_FromLongLong(0);
        each->bias = (const REAL *)bias->data;
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
    if (batch.batch > 1) polyad_parallel(NAME(run_batch), &batch, work < 1e6 ? 1 : least(batch.batch, 32));
    else NAME(run_batch)(&batch, 0, 1);
    PyEval_RestoreThread(thread);
    if (batch.failed) { PyErr_SetString(PyExc_MemoryError, "no memory for a product's operands"); return NULL; }
    return PyLong_FromLongLong(1);
}
