/* Resampling along a dimension: each element of the result is a weighted sum of a few of the input, and the way back. */

#include <stdatomic.h>

#include "../../common/library.h"

typedef struct {
    real *out;
    const real *in, *weights; /* taps rows of count weights */
    const int64_t *places;
    long outer, size, count, inner, taps; /* of *size* elements along the dimension, *count* are made */
} Resampling;

/* out[o, i, :] = the sum over taps k of weights[k, i] * in[o, places[k, i], :], in their order. */
static void resample_part(void *context, long part, long parts)
{
    const Resampling *r = context;
    const long count = r->count, inner = r->inner;
    const int rows = inner == 1; /* a unit of work is a row of the result, else a position of it */
    const long units = rows ? r->outer : r->outer * count;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long each = rows ? count : inner, i = rows ? 0 : unit % count;
        const real *in = r->in + (rows ? unit : unit / count) * r->size * inner;
        real *restrict out = r->out + unit * each;
        for (long n = 0; n < each; ++n) out[n] = 0;
        for (long k = 0; k < r->taps; ++k) {
            const real *weights = r->weights + k * count + i;
            const int64_t *places = r->places + k * count + i;
            if (rows) for (long n = 0; n < each; ++n) out[n] += weights[n] * in[places[n]];
            else for (long n = 0; n < each; ++n) out[n] += weights[0] * in[places[0] * inner + n];
        }
    }
}

/* out[o, places[k, i], :] += weights[k, i] * in[o, i, :] for each i, and of it each tap k, in order. */
static void resample_backward_part(void *context, long part, long parts)
{
    const Resampling *r = context;
    const long inner = r->inner;
    for (long o = r->outer * part / parts; o < r->outer * (part + 1) / parts; ++o) {
        real *out = r->out + o * r->size * inner;
        const real *in = r->in + o * r->count * inner;
        memset(out, 0, sizeof(real) * (size_t)(r->size * inner));
        for (long i = 0; i < r->count; ++i, in += inner)
            for (long k = 0; k < r->taps; ++k) {
                const real weight = r->weights[k * r->count + i];
                real *restrict to = out + r->places[k * r->count + i] * inner;
                for (long n = 0; n < inner; ++n) to[n] += weight * in[n];
            }
    }
}

/* Runs a task, after it has looked at the places: whether all are in range. The arguments are out, in, weights, places and
   the sizes outer, size, count, inner and taps. */
static Object *resampled(Task task, Object *const *args)
{
    const int64_t *sizes = (const int64_t *)PyBytes_AsString(args[4]);
    Resampling r = {(real *)((Array *)args[0])->data, (const real *)((Array *)args[1])->data,
                    (const real *)((Array *)args[2])->data, (const int64_t *)((Array *)args[3])->data,
                    sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]};
    for (long n = 0; n < r.taps * r.count; ++n)
        if ((uint64_t)r.places[n] >= (uint64_t)r.size) return PyLong_FromLongLong(0);
    void *thread = PyEval_SaveThread();
    const long work = r.outer * r.count * r.inner * r.taps;
    polyad_parallel(task, &r, work < 1 << 15 ? 1 : least(r.outer * r.count, 16));
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(1);
}

static Object *resample(Object *self, Object *const *args, intptr_t count)
{
    return resampled(resample_part, args);
}

static Object *resample_backward(Object *self, Object *const *args, intptr_t count)
{
    return resampled(resample_backward_part, args);
}

static Method methods[] = {
    BIND,
    {"resample", resample, FASTCALL, "resample(out, in, weights, places, sizes)"},
    {"resample_backward", resample_backward, FASTCALL, "resample_backward(out, grad, weights, places, sizes)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(interpolate)
