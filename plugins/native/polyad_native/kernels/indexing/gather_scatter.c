/* Elements at indices, and sums at indices: gather, scatter, scatter_add, index_add, sums of bags and the gradient of
   embedding. */

#include <stdatomic.h>

#include "../../common/library.h"

/* out[o, index[i], :] += source[o, i, :] in the order of i. A part has rows of the result for itself, so that threads
   never meet and the order of a row's sums is always the same. With *from*, the row of the source is from[i], and it may
   have a factor. */

typedef struct {
    real *out;
    const real *source;
    const int64_t *index, *from;
    const real *factors;
    long outer, rows, size, count, skipped;
    int zeroed, each; /* each: an index for each element, not each row */
} Adding;

enum { AHEAD = 8 }; /* by so many rows, the next are asked for */

static void add_part(void *context, long part, long parts)
{
    const Adding *a = context;
    const long slabs = least(parts, a->outer), cuts = parts / slabs, cut = part % cuts, slab = part / cuts;
    const long begin = a->rows * cut / cuts, end = a->rows * (cut + 1) / cuts;
    for (long o = a->outer * slab / slabs; o < a->outer * (slab + 1) / slabs; ++o) {
        real *out = a->out + o * a->rows * a->size;
        const real *source = a->source + o * a->count * a->size;
        if (a->zeroed) memset(out + begin * a->size, 0, sizeof(real) * (size_t)((end - begin) * a->size));
        if (a->each) {
            const int64_t *index = a->index + o * a->count * a->size;
            for (long i = 0; i < a->count; ++i)
                for (long k = 0; k < a->size; ++k) out[index[i * a->size + k] * a->size + k] += source[i * a->size + k];
            continue;
        }
        for (long i = 0; i < a->count; ++i) {
            const long row = a->index[i];
            if (row < begin || row >= end || row == a->skipped) continue;
            real *restrict to = out + row * a->size;
            if (a->from && i + AHEAD < a->count)
                for (long k = 0; k < least(a->size, 256); k += 64 / (long)sizeof(real))
                    __builtin_prefetch(source + a->from[i + AHEAD] * a->size + k);
            const real *row_of = source + (a->from ? a->from[i] : i) * a->size;
            const real factor = a->factors ? a->factors[i] : 1;
            for (long k = 0; k < a->size; ++k) to[k] += row_of[k] * factor;
        }
    }
}

static int all_below(const int64_t *index, long count, long rows)
{
    uint64_t most = 0;
    for (long i = 0; i < count; ++i) most = (uint64_t)index[i] > most ? (uint64_t)index[i] : most;
    return !count || most < (uint64_t)rows;
}

/* add_at(out, source, index, sizes[, from, factors]): whether all of *index* is in the range; if not, nothing was written.
   The sizes are outer, rows, size, count, a row that is left out (or -1), whether *out* is zeroed before, whether each
   element has an index of its own, and how many rows *from* may name. */
static Object *add_at(Object *self, Object *const *args, intptr_t count)
{
    const int64_t *sizes = (const int64_t *)PyBytes_AsString(args[3]);
    Adding a = {(real *)((Array *)args[0])->data, (const real *)((Array *)args[1])->data,
                      (const int64_t *)((Array *)args[2])->data, NULL, NULL, sizes[0], sizes[1], sizes[2], sizes[3],
                      sizes[4], (int)sizes[5], (int)sizes[6]};
    if (count > 4) a.from = (const int64_t *)((Array *)args[4])->data;
    if (count > 5) a.factors = (const real *)((Array *)args[5])->data;
    const long indices = a.each ? a.outer * a.count * a.size : a.count;
    void *thread = PyEval_SaveThread();
    const int inside = all_below(a.index, indices, a.rows) && (!a.from || all_below(a.from, a.count, sizes[7]));
    if (inside && a.outer) {
        const long work = a.outer * (a.rows + a.count) * a.size;
        const long cuts = a.each || a.outer >= 8 || a.size < 8 ? 1 : least(a.rows, least(8, polyad_threads()));
        polyad_parallel(add_part, &a, work < 1 << 15 ? 1 : least(a.outer, 8) * cuts);
    }
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(inside);
}


/* out[o, i, k] = in[o, index[o, i, k], k], in stretches whose indices are looked at first. */

typedef struct {
    real *out;
    const real *in;
    const int64_t *index;
    long outer, rows, size, count;
    _Atomic int outside;
} Gathering;

enum { STRETCH = 1024 };

static void gather_part(void *context, long part, long parts)
{
    Gathering *g = context;
    const int single = g->size == 1;
    const long length = single ? g->count : g->size, cuts = up(length, STRETCH);
    const long units = (single ? g->outer : g->outer * g->count) * cuts;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long line = unit / cuts, begin = unit % cuts * STRETCH, count = least(STRETCH, length - begin);
        const int64_t *index = g->index + line * length + begin;
        real *restrict out = g->out + line * length + begin;
        if (!all_below(index, count, g->rows)) { g->outside = 1; return; }
        const real *in = g->in + (single ? line : line / g->count) * g->rows * g->size;
        if (single) for (long n = 0; n < count; ++n) out[n] = in[index[n]];
        else for (long n = 0; n < count; ++n) out[n] = in[index[n] * g->size + begin + n];
    }
}

/* gather(out, in, index, sizes): whether all of *index* is in the range. The sizes are outer, rows, size, count. */
static Object *gather(Object *self, Object *const *args, intptr_t count)
{
    const int64_t *sizes = (const int64_t *)PyBytes_AsString(args[3]);
    Gathering g = {(real *)((Array *)args[0])->data, (const real *)((Array *)args[1])->data,
                         (const int64_t *)((Array *)args[2])->data, sizes[0], sizes[1], sizes[2], sizes[3], 0};
    void *thread = PyEval_SaveThread();
    polyad_parallel(gather_part, &g, g.outer * g.size * g.count < 1 << 14 ? 1 : 16);
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(!g.outside);
}

/* out[o, index[o, i, k], k] = source[o, i, k] in the order of i, or a *single* number. */

typedef struct {
    real *out;
    const real *source;
    const int64_t *index;
    long outer, rows, size, count, single;
} Scattering;

static void scatter_part(void *context, long part, long parts)
{
    const Scattering *s = context;
    for (long o = s->outer * part / parts; o < s->outer * (part + 1) / parts; ++o) {
        real *out = s->out + o * s->rows * s->size;
        const long first = o * s->count * s->size, last = first + s->count * s->size;
        if (s->size == 1) for (long n = first; n < last; ++n) out[s->index[n]] = s->source[s->single ? 0 : n];
        else for (long line = first; line < last; line += s->size)
            for (long k = 0; k < s->size; ++k)
                out[s->index[line + k] * s->size + k] = s->source[s->single ? 0 : line + k];
    }
}

/* scatter(out, source, index, sizes): whether all of *index* is in the range; if not, nothing was written. The sizes are
   outer, rows, size, count, and whether the source is a single number. */
static Object *scatter(Object *self, Object *const *args, intptr_t count)
{
    const int64_t *sizes = (const int64_t *)PyBytes_AsString(args[3]);
    Scattering s = {(real *)((Array *)args[0])->data, (const real *)((Array *)args[1])->data,
                    (const int64_t *)((Array *)args[2])->data, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]};
    const long elements = s.outer * s.count * s.size;
    void *thread = PyEval_SaveThread();
    const int inside = all_below(s.index, elements, s.rows);
    if (inside) polyad_parallel(scatter_part, &s, elements < 1 << 14 ? 1 : least(s.outer, 16));
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(inside);
}

static Method methods[] = {
    BIND,
    {"add_at", add_at, FASTCALL, "add_at(out, source, index, sizes[, from, factors])"},
    {"gather", gather, FASTCALL, "gather(out, in, index, sizes)"},
    {"scatter", scatter, FASTCALL, "scatter(out, source, index, sizes)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(gather_scatter)
