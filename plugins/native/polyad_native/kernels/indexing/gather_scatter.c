/* Elements at indices, and sums at indices: gather, scatter_add, index_add and the gradient of embedding. */

#include <stdatomic.h>

#include "../../common/library.h"

/* out[o, index[i], :] += source[o, i, :] in the order of i. A part has rows of the result for itself, so that threads
   never meet and the order of a row's sums is always the same. */

typedef struct {
    real *out;
    const real *source;
    const int64_t *index;
    long outer, rows, size, count, skipped;
    int zeroed, each; /* each: an index for each element, not each row */
} Adding;

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
            real *to = out + row * a->size;
            const real *from = source + i * a->size;
            for (long k = 0; k < a->size; ++k) to[k] += from[k];
        }
    }
}

/* add_at(out, source, index, sizes): whether all of *index* is in the range; if not, nothing was written. The sizes are
   outer, rows, size, count, a row that is left out (or -1), whether *out* is zeroed before, and whether each element has
   an index of its own. */
static Object *add_at(Object *self, Object *const *args, intptr_t count)
{
    const int64_t *sizes = (const int64_t *)PyBytes_AsString(args[3]);
    Adding a = {(real *)((Array *)args[0])->data, (const real *)((Array *)args[1])->data,
                      (const int64_t *)((Array *)args[2])->data, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4],
                      (int)sizes[5], (int)sizes[6]};
    const long indices = a.each ? a.outer * a.count * a.size : a.count;
    void *thread = PyEval_SaveThread();
    uint64_t most = 0;
    for (long i = 0; i < indices; ++i) most = (uint64_t)a.index[i] > most ? (uint64_t)a.index[i] : most;
    const int inside = !indices || most < (uint64_t)a.rows;
    if (inside && a.outer) {
        const long work = a.outer * (a.rows + a.count) * a.size;
        const long cuts = a.each || a.outer >= 8 || a.size < 8 ? 1 : least(a.rows, 8);
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
        uint64_t most = 0;
        for (long n = 0; n < count; ++n) most = (uint64_t)index[n] > most ? (uint64_t)index[n] : most;
        if (most >= (uint64_t)g->rows) { g->outside = 1; return; }
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

static Method methods[] = {
    BIND,
    {"add_at", add_at, FASTCALL, "add_at(out, source, index, sizes)"},
    {"gather", gather, FASTCALL, "gather(out, in, index, sizes)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(gather_scatter)
