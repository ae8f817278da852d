/* Running sums of (outer, count, inner) along the second dimension, added in double. Eight sums go on side by side, since
   each waits for its last addition. */

#include "../../common/library.h"

typedef struct { real *out; const real *in; long outer, count, inner; } Running;

static void sums_part(void *context, long part, long parts)
{
    const Running *r = context;
    enum { TOGETHER = 8, STRETCH = 256 };
    if (r->inner == 1) {
        const long groups = up(r->outer, TOGETHER);
        for (long group = groups * part / parts; group < groups * (part + 1) / parts; ++group) {
            const long first = group * TOGETHER, rows = least(TOGETHER, r->outer - first);
            const real *in = r->in + first * r->count;
            real *out = r->out + first * r->count;
            double sums[TOGETHER] = {};
            if (rows == TOGETHER)
                for (long i = 0; i < r->count; ++i)
                    _Pragma("GCC unroll 8") for (int k = 0; k < TOGETHER; ++k)
                        out[k * r->count + i] = (real)(sums[k] += (double)in[k * r->count + i]);
            else
                for (long k = 0; k < rows; ++k)
                    for (long i = 0; i < r->count; ++i) out[k * r->count + i] = (real)(sums[k] += (double)in[k * r->count + i]);
        }
        return;
    }
    const long stretches = up(r->inner, STRETCH), units = r->outer * stretches;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long begin = unit % stretches * STRETCH, width = least(STRETCH, r->inner - begin);
        const long at = unit / stretches * r->count * r->inner + begin;
        double sums[STRETCH] = {};
        for (long i = 0; i < r->count; ++i) {
            const real *in = r->in + at + i * r->inner;
            real *out = r->out + at + i * r->inner;
            for (long k = 0; k < width; ++k) {
                sums[k] += (double)in[k];
                out[k] = (real)sums[k];
            }
        }
    }
}

/* running_sum(out, in, outer, count, inner); row-major. */
static Object *running_sum(Object *self, Object *const *args, intptr_t count)
{
    Running running = {(real *)((Array *)args[0])->data, (const real *)((Array *)args[1])->data,
                             PyLong_AsLongLong(args[2]), PyLong_AsLongLong(args[3]), PyLong_AsLongLong(args[4])};
    const long size = running.outer * running.count * running.inner;
    const long units = running.inner == 1 ? up(running.outer, 8) : running.outer * up(running.inner, 256);
    void *thread = PyEval_SaveThread();
    polyad_parallel(sums_part, &running, size < 1 << 15 ? 1 : least(units, 16));
    PyEval_RestoreThread(thread);
    return none();
}

static Method methods[] = {
    BIND,
    {"running_sum", running_sum, FASTCALL, "running_sum(out, in, outer, count, inner)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(cumulative)
