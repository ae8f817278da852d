
/* ------------------------------------------------------------------------------------------ attention

   A head at a time, a block of its queries at a time: no more scores are ever held than a block's. Queries that are
   causal meet no key beyond their own place. Backward the weights are made again from the rows' sums. */

typedef struct {
    const Array *query, *key, *value, *mask, *grad, *out, *sums, *of_query, *of_key, *of_value;
    long heads, rows, columns, features, out_features, splits;
    int causal, failed;
    REAL scale;
} NAME(Attention);

enum { NAME(BLOCK) = 4 * ROWS };

/* Where a head's matrix begins; all have the lead of *like*, or broadcast to it from as many dimensions. */
static const char *NAME(head)(const Array *array, const Array *like, long head)
{
    intptr_t from = 0;
    for (int d = like->rank - 3; d >= 0; --d) {
        if (array->shape[d] > 1) from += head % like->shape[d] * array->strides[d];
        head /= like->shape[d];
    }
    return array->data + from;
}

static inline long NAME(apart)(const Array *array) { return array->strides[array->rank - 2] / (long)sizeof(HELD); }
static inline long NAME(wide_apart)(const Array *array) { return array->strides[array->rank - 2] / (long)sizeof(REAL); }

/* *count* rows times *factor*, and rows of zeros up to a multiple of ROWS: [row][features]. */
static void NAME(take_rows)(const HELD *from, long apart, long count, long features, REAL factor, REAL *to)
{
    for (long i = 0; i < up(count, ROWS) * ROWS; ++i)
        for (long k = 0; k < features; ++k) to[i * features + k] = i < count ? NAME(wide)(from[i * apart + k]) * factor : 0;
}

/* All panels of a matrix with *depth* rows of *columns*. */
static void NAME(take_panels)(const HELD *from, long row, long column, long depth, long columns, REAL *to)
{
    for (long at = 0; at < columns; at += NAME(COLUMNS), to += depth * NAME(COLUMNS))
        NAME(pack_panel)(from + at * column, row, column, depth, least(NAME(COLUMNS), columns - at), to);
}

/* c (rows x columns) = or += a b: *a* by rows that are *a_apart* apart, *b* in panels of *panel_depth* rows each. */
static void NAME(by_rows)(const REAL *a, long a_apart, const REAL *b, long depth, long panel_depth, REAL *c, long apart,
                          long rows, long columns, int add)
{
    for (long j = 0; j < columns; j += NAME(COLUMNS), b += panel_depth * NAME(COLUMNS))
        for (long i = 0; i < rows; i += ROWS)
            NAME(tile_by_rows)(a + i * a_apart, a_apart, b, depth, c + i * apart + j, apart, (int)least(ROWS, rows - i),
                               (int)least(NAME(COLUMNS), columns - j), add, NULL);
}

/* As above with the transpose of *a*, whose rows are *step* apart and which has room for ROWS columns more. */
static void NAME(by_columns)(const REAL *a, long step, const REAL *b, long depth, REAL *c, long apart, long rows,
                             long columns, int add)
{
    for (long j = 0; j < columns; j += NAME(COLUMNS), b += depth * NAME(COLUMNS))
        for (long i = 0; i < rows; i += ROWS)
            NAME(tile_by_columns)(a + i, step, b, depth, c + i * apart + j, apart, (int)least(ROWS, rows - i),
                                  (int)least(NAME(COLUMNS), columns - j), add, NULL);
}

static void NAME(mask_scores)(const NAME(Attention) *t, long head, long first, long count, long columns, REAL *s, long width)
{
    if (t->mask) {
        const REAL *mask = (const REAL *)NAME(head)(t->mask, t->query, head);
        const long down = NAME(wide_apart)(t->mask), right = t->mask->strides[t->mask->rank - 1] / (long)sizeof(REAL);
        for (long i = 0; i < count; ++i) {
            const REAL *row = mask + (first + i) * down;
            if (right == 1) for (long j = 0; j < columns; ++j) s[i * width + j] += row[j];
            else for (long j = 0; j < columns; ++j) s[i * width + j] += row[j * right];
        }
    }
    if (t->causal)
        for (long i = 0; i < count; ++i)
            for (long j = first + i + 1; j < columns; ++j) s[i * width + j] = -(REAL)INFINITY;
}

static long NAME(width)(const NAME(Attention) *t) { return up(t->columns, NAME(COLUMNS)) * NAME(COLUMNS) + NAME(COLUMNS); }

static void NAME(attend_part)(void *context, long part, long parts)
{
    NAME(Attention) *t = context;
    const long width = NAME(width)(t), blocks = up(t->rows, NAME(BLOCK)), units = t->heads * t->splits;
    const long key_size = up(t->columns, NAME(COLUMNS)) * NAME(COLUMNS) * t->features;
    const long value_size = up(t->out_features, NAME(COLUMNS)) * NAME(COLUMNS) * t->columns;
    const int few = t->rows <= 4; /* then keys and values are read where they lie */
    REAL *keys = scratch(0, sizeof(REAL) * (size_t)(key_size + value_size)), *values = keys + key_size;
    const long own = HALVES ? t->out_features : 0;
    REAL *queries = scratch(1, sizeof(REAL) * (size_t)(NAME(BLOCK) * (t->features + width + own))), *s;
    if (!keys || !queries) { t->failed = 1; return; }
    s = queries + NAME(BLOCK) * t->features;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long head = unit / t->splits, split = unit % t->splits;
        const HELD *query = (const HELD *)NAME(head)(t->query, t->query, head);
        const HELD *key = (const HELD *)NAME(head)(t->key, t->query, head);
        const HELD *value = (const HELD *)NAME(head)(t->value, t->query, head);
        if (!few) {
            NAME(take_panels)(key, 1, NAME(apart)(t->key), t->features, t->columns, keys);
            NAME(take_panels)(value, NAME(apart)(t->value), 1, t->columns, t->out_features, values);
        }
        for (long block = blocks * split / t->splits; block < blocks * (split + 1) / t->splits; ++block) {
            const long first = block * NAME(BLOCK), count = least(NAME(BLOCK), t->rows - first);
            const long columns = t->causal ? least(t->columns, first + count) : t->columns;
            HELD *rounded = (HELD *)t->out->data + (head * t->rows + first) * t->out_features;
            REAL *out = HALVES ? s + NAME(BLOCK) * width : (REAL *)rounded;
            REAL *sums = (REAL *)t->sums->data + head * t->rows + first;
            NAME(take_rows)(query + first * NAME(apart)(t->query), NAME(apart)(t->query), count, t->features, t->scale,
                            queries);
            if (few) NAME(few_dots)(&(NAME(Product)){.wide = queries, .wide_row = t->features, .wide_column = 1, .b = key, .b_row = 1,
                                    .b_column = NAME(apart)(t->key), .c = s, .apart = width, .rows = count,
                                    .depth = t->features}, 0, columns);
            else NAME(by_rows)(queries, t->features, keys, t->features, t->features, s, width, count, columns, 0);
            NAME(mask_scores)(t, head, first, count, columns, s, width);
            REAL totals[NAME(BLOCK)];
            for (long i = 0; i < count; ++i) {
                REAL *row = s + i * width, top = -(REAL)INFINITY, total = 0;
                _Pragma("omp simd reduction(max : top)")
                for (long j = 0; j < columns; ++j) top = row[j] > top ? row[j] : top;
                int odd = 0;
                for (long j = 0; j < columns; ++j) odd |= row[j] != row[j];
                if (odd) top = NAN;
                if (top == -(REAL)INFINITY) top = 0;
                _Pragma("omp simd reduction(+ : total)")
                for (long j = 0; j < columns; ++j) total += row[j] = NAME(exp)(row[j] - top);
                totals[i] = total == 0 ? 1 : 1 / total;
                sums[i] = total == 0 ? (REAL)INFINITY : (REAL)log((double)total) + top;
            }
            if (few) NAME(few_sums)(&(NAME(Product)){.wide = s, .wide_row = width, .wide_column = 1, .b = value,
                                    .b_row = NAME(apart)(t->value), .b_column = 1, .c = out, .apart = t->out_features,
                                    .rows = count, .depth = columns}, 0, t->out_features);
            else NAME(by_rows)(s, width, values, columns, t->columns, out, t->out_features, count, t->out_features, 0);
            for (long i = 0; i < count; ++i)
                for (long k = 0; k < t->out_features; ++k) out[i * t->out_features + k] *= totals[i];
            if (HALVES) NAME(round_to)(out, count * t->out_features, rounded);
        }
    }
}

static Object *NAME(finish)(const NAME(Attention) *t)
{
    if (!t->failed) return none();
    PyErr_SetString(PyExc_MemoryError, "no memory for a head's scores");
    return NULL;
}

/* What both directions read of query, key, value, mask (or None), causal and scale. */
static NAME(Attention) NAME(attention)(Object *const *args)
{
    NAME(Attention) t = {.query = (Array *)args[0], .key = (Array *)args[1], .value = (Array *)args[2]};
    t.mask = args[3] == &_Py_NoneStruct ? NULL : (Array *)args[3];
    t.causal = PyLong_AsLongLong(args[4]) != 0;
    t.scale = (REAL)PyFloat_AsDouble(args[5]);
    const int last = t.query->rank - 1;
    t.heads = 1;
    for (int d = 0; d < last - 1; ++d) t.heads *= t.query->shape[d];
    t.rows = t.query->shape[last - 1];
    t.columns = t.key->shape[last - 1];
    t.features = t.query->shape[last];
    t.out_features = t.value->shape[last];
    return t;
}

/* attend(query, key, value, mask, causal, scale, out, sums): *query* has the lead to which those of the others, of as many
   dimensions, broadcast; *mask* may be None; elements of a row are neighbours in all but *mask*; *out* and *sums* are row-major.
   *mask* and *sums* are REAL. */
static Object *NAME(attend)(Object *self, Object *const *args, intptr_t count)
{
    NAME(Attention) t = NAME(attention)(args);
    t.out = (Array *)args[6];
    t.sums = (Array *)args[7];
    const long blocks = up(t.rows, NAME(BLOCK));
    t.splits = t.heads >= 8 ? 1 : least(up(8, t.heads), blocks);
    void *thread = PyEval_SaveThread();
    const double work = (double)t.heads * (double)t.rows * (double)t.columns * (double)(t.features + t.out_features);
    polyad_parallel(NAME(attend_part), &t, work < 5e5 ? 1 : least(t.heads * t.splits, 32));
    PyEval_RestoreThread(thread);
    return NAME(finish)(&t);
}

static void NAME(attend_back_part)(void *context, long part, long parts)
{
    NAME(Attention) *t = context;
    enum { C = NAME(COLUMNS), B = NAME(BLOCK) };
    const long width = NAME(width)(t), d = t->features, v = t->out_features, n = t->columns;
    const long turned = up(n, C) * C, keys = turned * d, values = turned * v, rows = up(d, C) * C * n;
    REAL *key_panels = scratch(0, sizeof(REAL) * (size_t)(keys + values + rows));
    REAL *value_panels = key_panels + keys, *key_rows = value_panels + values;
    const long by_query = B * d, by_grad = B * v, in_query = up(d, C) * C * B, in_grad = up(v, C) * C * B;
    REAL *query_rows = scratch(1, sizeof(REAL) * (size_t)(by_query + by_grad + in_query + in_grad + 2 * B * width));
    if (!key_panels || !query_rows) { t->failed = 1; return; }
    REAL *grad_rows = query_rows + by_query, *query_panels = grad_rows + by_grad, *grad_panels = query_panels + in_query;
    REAL *s = grad_panels + in_grad, *of_s = s + B * width;
    for (long head = t->heads * part / parts; head < t->heads * (part + 1) / parts; ++head) {
        const HELD *key = (const HELD *)NAME(head)(t->key, t->query, head);
        const HELD *value = (const HELD *)NAME(head)(t->value, t->query, head);
        const HELD *query = (const HELD *)NAME(head)(t->query, t->query, head);
        const HELD *grad = (const HELD *)NAME(head)(t->grad, t->query, head);
        const long key_apart = NAME(apart)(t->key), query_apart = NAME(apart)(t->query), grad_apart = NAME(apart)(t->grad);
        NAME(take_panels)(key, 1, key_apart, d, n, key_panels);
        NAME(take_panels)(value, 1, NAME(apart)(t->value), v, n, value_panels);
        NAME(take_panels)(key, key_apart, 1, n, d, key_rows);
        REAL *of_query = (REAL *)NAME(head)(t->of_query, t->query, head);
        REAL *of_key = (REAL *)NAME(head)(t->of_key, t->query, head);
        REAL *of_value = (REAL *)NAME(head)(t->of_value, t->query, head);
        const long of_query_apart = NAME(wide_apart)(t->of_query), of_key_apart = NAME(wide_apart)(t->of_key);
        const long of_value_apart = NAME(wide_apart)(t->of_value);
        for (long j = 0; j < n; ++j) {
            memset(of_key + j * of_key_apart, 0, sizeof(REAL) * (size_t)d);
            memset(of_value + j * of_value_apart, 0, sizeof(REAL) * (size_t)v);
        }
        for (long first = 0; first < t->rows; first += B) {
            const long count = least(B, t->rows - first), columns = t->causal ? least(n, first + count) : n;
            const REAL *sums = (const REAL *)t->sums->data + head * t->rows + first;
            NAME(take_rows)(query + first * query_apart, query_apart, count, d, t->scale, query_rows);
            NAME(take_rows)(grad + first * grad_apart, grad_apart, count, v, 1, grad_rows);
            NAME(take_panels)(query + first * query_apart, query_apart, 1, count, d, query_panels);
            NAME(take_panels)(grad + first * grad_apart, grad_apart, 1, count, v, grad_panels);
            NAME(by_rows)(query_rows, d, key_panels, d, d, s, width, count, columns, 0);
            NAME(mask_scores)(t, head, first, count, columns, s, width);
            NAME(by_rows)(grad_rows, v, value_panels, v, v, of_s, width, count, columns, 0);
            for (long i = 0; i < count; ++i) {
                REAL *row = s + i * width, *of_row = of_s + i * width, dot = 0;
                const REAL sum = sums[i];
                _Pragma("omp simd reduction(+ : dot)")
                for (long j = 0; j < columns; ++j) {
                    row[j] = NAME(exp)(row[j] - sum);
                    dot += row[j] * of_row[j];
                }
                _Pragma("omp simd")
                for (long j = 0; j < columns; ++j) of_row[j] = (of_row[j] - dot) * row[j] * t->scale;
            }
            NAME(by_columns)(s, width, grad_panels, count, of_value, of_value_apart, columns, v, 1);
            NAME(by_rows)(of_s, width, key_rows, columns, n, of_query + first * of_query_apart, of_query_apart, count, d, 0);
            NAME(by_columns)(of_s, width, query_panels, count, of_key, of_key_apart, columns, d, 1);
        }
    }
}

/* attend_back(query, key, value, mask, causal, scale, grad, sums, of_query, of_key, of_value): in the results, which
   are REAL, elements of a row are neighbours too. */
static Object *NAME(attend_back)(Object *self, Object *const *args, intptr_t count)
{
    NAME(Attention) t = NAME(attention)(args);
    t.grad = (Array *)args[6];
    t.sums = (Array *)args[7];
    t.of_query = (Array *)args[8];
    t.of_key = (Array *)args[9];
    t.of_value = (Array *)args[10];
    void *thread = PyEval_SaveThread();
    polyad_parallel(NAME(attend_back_part), &t, least(t.heads, 32));
    PyEval_RestoreThread(thread);
    return NAME(finish)(&t);
}
