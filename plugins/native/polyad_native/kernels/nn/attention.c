/* Attention and its gradient.

   A head at a time, a block of its queries at a time: no more scores are ever held than a block's. Queries that are
   causal meet no key beyond their own place. Backward the weights are made again from the rows' sums. */

#include "../../common/real_math.h"
#include "../../common/library.h"
#include "../../gemm/few.h"

typedef struct {
    const Array *query, *key, *value, *mask, *grad, *out, *sums, *of_query, *of_key, *of_value;
    long heads, rows, columns, features, out_features, splits;
    int causal, failed;
    real scale;
} Attention;

enum { BLOCK = 4 * ROWS };

/* Where a head's matrix begins; all have the lead of *like*, or broadcast to it from as many dimensions. */
static const char *head_of(const Array *array, const Array *like, long head)
{
    intptr_t from = 0;
    for (int d = like->rank - 3; d >= 0; --d) {
        if (array->shape[d] > 1) from += head % like->shape[d] * array->strides[d];
        head /= like->shape[d];
    }
    return array->data + from;
}

static inline long row_stride(const Array *array) { return array->strides[array->rank - 2] / (long)sizeof(stored); }
static inline long real_row_stride(const Array *array) { return array->strides[array->rank - 2] / (long)sizeof(real); }

/* *count* rows times *factor*, and rows of zeros up to a multiple of ROWS: [row][features]. */
static void take_rows(const stored *from, long stride, long count, long features, real factor, real *to)
{
    for (long i = 0; i < up(count, ROWS) * ROWS; ++i)
        for (long k = 0; k < features; ++k) to[i * features + k] = i < count ? to_real(from[i * stride + k]) * factor : 0;
}

/* All panels of a matrix with *depth* rows of *columns*. */
static void take_panels(const stored *from, long row, long column, long depth, long columns, real *to)
{
    for (long at = 0; at < columns; at += COLUMNS, to += depth * COLUMNS)
        pack_panel(from + at * column, row, column, depth, least(COLUMNS, columns - at), to);
}

/* c (rows x columns) = or += a b: *a* by rows that are *a_apart* apart, *b* in panels of *panel_depth* rows each. */
static void by_rows(const real *a, long a_apart, const real *b, long depth, long panel_depth, real *c, long stride,
                          long rows, long columns, int add)
{
    for (long j = 0; j < columns; j += COLUMNS, b += panel_depth * COLUMNS)
        for (long i = 0; i < rows; i += ROWS)
            tile_by_rows(a + i * a_apart, a_apart, b, depth, c + i * stride + j, stride, (int)least(ROWS, rows - i),
                               (int)least(COLUMNS, columns - j), add, NULL);
}

/* As above with the transpose of *a*, whose rows are *a_row* apart and which has room for ROWS columns more. */
static void by_columns(const real *a, long a_row, const real *b, long depth, real *c, long stride, long rows,
                             long columns, int add)
{
    for (long j = 0; j < columns; j += COLUMNS, b += depth * COLUMNS)
        for (long i = 0; i < rows; i += ROWS)
            tile_by_columns(a + i, a_row, b, depth, c + i * stride + j, stride, (int)least(ROWS, rows - i),
                                  (int)least(COLUMNS, columns - j), add, NULL);
}

static void mask_scores(const Attention *t, long head, long first, long count, long columns, real *s, long width)
{
    if (t->mask) {
        const real *mask = (const real *)head_of(t->mask, t->query, head);
        const long down = real_row_stride(t->mask), right = t->mask->strides[t->mask->rank - 1] / (long)sizeof(real);
        for (long i = 0; i < count; ++i) {
            const real *row = mask + (first + i) * down;
            if (right == 1) for (long j = 0; j < columns; ++j) s[i * width + j] += row[j];
            else for (long j = 0; j < columns; ++j) s[i * width + j] += row[j * right];
        }
    }
    if (t->causal)
        for (long i = 0; i < count; ++i)
            for (long j = first + i + 1; j < columns; ++j) s[i * width + j] = -(real)INFINITY;
}

static long scores_width(const Attention *t) { return up(t->columns, COLUMNS) * COLUMNS + COLUMNS; }

static void attend_part(void *context, long part, long parts)
{
    Attention *t = context;
    const long width = scores_width(t), blocks = up(t->rows, BLOCK), units = t->heads * t->splits;
    const long key_size = up(t->columns, COLUMNS) * COLUMNS * t->features;
    const long value_size = up(t->out_features, COLUMNS) * COLUMNS * t->columns;
    const int few = t->rows <= 4; /* then keys and values are read where they lie */
    real *keys = scratch(0, sizeof(real) * (size_t)(key_size + value_size)), *values = keys + key_size;
    const long own = HALVES ? t->out_features : 0;
    real *queries = scratch(1, sizeof(real) * (size_t)(BLOCK * (t->features + width + own))), *s;
    if (!keys || !queries) { t->failed = 1; return; }
    s = queries + BLOCK * t->features;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long head = unit / t->splits, split = unit % t->splits;
        const stored *query = (const stored *)head_of(t->query, t->query, head);
        const stored *key = (const stored *)head_of(t->key, t->query, head);
        const stored *value = (const stored *)head_of(t->value, t->query, head);
        if (!few) {
            take_panels(key, 1, row_stride(t->key), t->features, t->columns, keys);
            take_panels(value, row_stride(t->value), 1, t->columns, t->out_features, values);
        }
        for (long block = blocks * split / t->splits; block < blocks * (split + 1) / t->splits; ++block) {
            const long first = block * BLOCK, count = least(BLOCK, t->rows - first);
            const long columns = t->causal ? least(t->columns, first + count) : t->columns;
            stored *rounded = (stored *)t->out->data + (head * t->rows + first) * t->out_features;
            real *out = HALVES ? s + BLOCK * width : (real *)rounded;
            real *sums = (real *)t->sums->data + head * t->rows + first;
            take_rows(query + first * row_stride(t->query), row_stride(t->query), count, t->features, t->scale,
                            queries);
            if (few) few_dots(&(Product){.a_real = queries, .a_real_row = t->features, .a_real_column = 1, .b = key, .b_row = 1,
                                    .b_column = row_stride(t->key), .c = s, .stride = width, .rows = count,
                                    .depth = t->features}, 0, columns);
            else by_rows(queries, t->features, keys, t->features, t->features, s, width, count, columns, 0);
            mask_scores(t, head, first, count, columns, s, width);
            real totals[BLOCK];
            for (long i = 0; i < count; ++i) {
                real *row = s + i * width, top = -(real)INFINITY, total = 0;
                _Pragma("omp simd reduction(max : top)")
                for (long j = 0; j < columns; ++j) top = row[j] > top ? row[j] : top;
                int odd = 0;
                for (long j = 0; j < columns; ++j) odd |= row[j] != row[j];
                if (odd) top = NAN;
                if (top == -(real)INFINITY) top = 0;
                _Pragma("omp simd reduction(+ : total)")
                for (long j = 0; j < columns; ++j) total += row[j] = real_exp(row[j] - top);
                totals[i] = total == 0 ? 1 : 1 / total;
                sums[i] = total == 0 ? (real)INFINITY : (real)log((double)total) + top;
            }
            if (few) few_sums(&(Product){.a_real = s, .a_real_row = width, .a_real_column = 1, .b = value,
                                    .b_row = row_stride(t->value), .b_column = 1, .c = out, .stride = t->out_features,
                                    .rows = count, .depth = columns}, 0, t->out_features);
            else by_rows(s, width, values, columns, t->columns, out, t->out_features, count, t->out_features, 0);
            for (long i = 0; i < count; ++i)
                for (long k = 0; k < t->out_features; ++k) out[i * t->out_features + k] *= totals[i];
            if (HALVES) write_row(out, count * t->out_features, rounded);
        }
    }
}

static Object *finish(const Attention *t)
{
    if (!t->failed) return none();
    PyErr_SetString(PyExc_MemoryError, "no memory for a head's scores");
    return NULL;
}

/* What both directions read of query, key, value, mask (or None), causal and scale. */
static Attention attention_of(Object *const *args)
{
    Attention t = {.query = (Array *)args[0], .key = (Array *)args[1], .value = (Array *)args[2]};
    t.mask = args[3] == &_Py_NoneStruct ? NULL : (Array *)args[3];
    t.causal = PyLong_AsLongLong(args[4]) != 0;
    t.scale = (real)PyFloat_AsDouble(args[5]);
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
   *mask* and *sums* are real. */
static Object *attend(Object *self, Object *const *args, intptr_t count)
{
    Attention t = attention_of(args);
    t.out = (Array *)args[6];
    t.sums = (Array *)args[7];
    const long blocks = up(t.rows, BLOCK);
    t.splits = t.heads >= 8 ? 1 : least(up(8, t.heads), blocks);
    void *thread = PyEval_SaveThread();
    const double work = (double)t.heads * (double)t.rows * (double)t.columns * (double)(t.features + t.out_features);
    polyad_parallel(attend_part, &t, work < 5e5 ? 1 : least(t.heads * t.splits, 32));
    PyEval_RestoreThread(thread);
    return finish(&t);
}

static void attend_backward_part(void *context, long part, long parts)
{
    Attention *t = context;
    enum { C = COLUMNS, B = BLOCK };
    const long width = scores_width(t), d = t->features, v = t->out_features, n = t->columns;
    const long turned = up(n, C) * C, keys = turned * d, values = turned * v, rows = up(d, C) * C * n;
    real *key_panels = scratch(0, sizeof(real) * (size_t)(keys + values + rows));
    real *value_panels = key_panels + keys, *key_rows = value_panels + values;
    const long by_query = B * d, by_grad = B * v, in_query = up(d, C) * C * B, in_grad = up(v, C) * C * B;
    real *query_rows = scratch(1, sizeof(real) * (size_t)(by_query + by_grad + in_query + in_grad + 2 * B * width));
    if (!key_panels || !query_rows) { t->failed = 1; return; }
    real *grad_rows = query_rows + by_query, *query_panels = grad_rows + by_grad, *grad_panels = query_panels + in_query;
    real *s = grad_panels + in_grad, *of_s = s + B * width;
    for (long head = t->heads * part / parts; head < t->heads * (part + 1) / parts; ++head) {
        const stored *key = (const stored *)head_of(t->key, t->query, head);
        const stored *value = (const stored *)head_of(t->value, t->query, head);
        const stored *query = (const stored *)head_of(t->query, t->query, head);
        const stored *grad = (const stored *)head_of(t->grad, t->query, head);
        const long key_apart = row_stride(t->key), query_apart = row_stride(t->query), grad_apart = row_stride(t->grad);
        take_panels(key, 1, key_apart, d, n, key_panels);
        take_panels(value, 1, row_stride(t->value), v, n, value_panels);
        take_panels(key, key_apart, 1, n, d, key_rows);
        real *of_query = (real *)head_of(t->of_query, t->query, head);
        real *of_key = (real *)head_of(t->of_key, t->query, head);
        real *of_value = (real *)head_of(t->of_value, t->query, head);
        const long of_query_apart = real_row_stride(t->of_query), of_key_apart = real_row_stride(t->of_key);
        const long of_value_apart = real_row_stride(t->of_value);
        for (long j = 0; j < n; ++j) {
            memset(of_key + j * of_key_apart, 0, sizeof(real) * (size_t)d);
            memset(of_value + j * of_value_apart, 0, sizeof(real) * (size_t)v);
        }
        for (long first = 0; first < t->rows; first += B) {
            const long count = least(B, t->rows - first), columns = t->causal ? least(n, first + count) : n;
            const real *sums = (const real *)t->sums->data + head * t->rows + first;
            take_rows(query + first * query_apart, query_apart, count, d, t->scale, query_rows);
            take_rows(grad + first * grad_apart, grad_apart, count, v, 1, grad_rows);
            take_panels(query + first * query_apart, query_apart, 1, count, d, query_panels);
            take_panels(grad + first * grad_apart, grad_apart, 1, count, v, grad_panels);
            by_rows(query_rows, d, key_panels, d, d, s, width, count, columns, 0);
            mask_scores(t, head, first, count, columns, s, width);
            by_rows(grad_rows, v, value_panels, v, v, of_s, width, count, columns, 0);
            for (long i = 0; i < count; ++i) {
                real *row = s + i * width, *of_row = of_s + i * width, dot = 0;
                const real sum = sums[i];
                _Pragma("omp simd reduction(+ : dot)")
                for (long j = 0; j < columns; ++j) {
                    row[j] = real_exp(row[j] - sum);
                    dot += row[j] * of_row[j];
                }
                _Pragma("omp simd")
                for (long j = 0; j < columns; ++j) of_row[j] = (of_row[j] - dot) * row[j] * t->scale;
            }
            by_columns(s, width, grad_panels, count, of_value, of_value_apart, columns, v, 1);
            by_rows(of_s, width, key_rows, columns, n, of_query + first * of_query_apart, of_query_apart, count, d, 0);
            by_columns(of_s, width, query_panels, count, of_key, of_key_apart, columns, d, 1);
        }
    }
}

/* attend_back(query, key, value, mask, causal, scale, grad, sums, of_query, of_key, of_value): in the results, which
   are real, elements of a row are neighbours too. */
static Object *attend_backward(Object *self, Object *const *args, intptr_t count)
{
    Attention t = attention_of(args);
    t.grad = (Array *)args[6];
    t.sums = (Array *)args[7];
    t.of_query = (Array *)args[8];
    t.of_key = (Array *)args[9];
    t.of_value = (Array *)args[10];
    void *thread = PyEval_SaveThread();
    polyad_parallel(attend_backward_part, &t, least(t.heads, 32));
    PyEval_RestoreThread(thread);
    return finish(&t);
}

static Method methods[] = {
    BIND,
    {"attend", attend, FASTCALL, "attend(query, key, value, mask, causal, scale, out, sums)"},
    {"attend_backward", attend_backward, FASTCALL, ""},
    {NULL, NULL, 0, NULL},
};

LIBRARY(attention)
