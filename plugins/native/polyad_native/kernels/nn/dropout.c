/* Dropout. Its mask is a draw of one word an element. */

#include "../../common/library.h"
#include "../random/philox.h"

typedef struct {
    void *out;
    uint8_t *mask;
    const void *in;
    uint64_t seed, offset, limit;
    double factor;
    long count;
    int is_double;
} Dropping;

static void drop(void *context, long part, long parts)
{
    const Dropping *d = context;
    const long units = up(d->count, 4 * BLOCKS);
    uint32_t words[4 * BLOCKS];
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long at = unit * 4 * BLOCKS, count = least(4 * BLOCKS, d->count - at);
        philox(d->seed, d->offset + (uint64_t)(unit * BLOCKS), words);
        uint8_t *mask = d->mask + at;
        if (d->limit >> 32) memset(mask, 1, (size_t)count);
        else {
            const uint32_t limit = (uint32_t)d->limit;
            for (long i = 0; i < count; ++i) mask[i] = words[i] < limit;
        }
        if (d->is_double) {
            const double *in = (const double *)d->in + at, factor = d->factor;
            double *out = (double *)d->out + at;
            for (long i = 0; i < count; ++i) out[i] = in[i] * (mask[i] ? factor : 0.0);
        } else {
            const float *in = (const float *)d->in + at, factor = (float)d->factor;
            float *out = (float *)d->out + at;
            for (long i = 0; i < count; ++i) out[i] = in[i] * (mask[i] ? factor : 0.0f);
        }
    }
}

/* dropout(out, kept, in, numbers): the numbers are seed, offset, limit, the factor's bits, count, and whether double. */
static Object *dropout(Object *self, Object *const *args, intptr_t count)
{
    const char *numbers = PyBytes_AsString(args[3]);
    uint64_t words[6];
    memcpy(words, numbers, sizeof words);
    Dropping d = {((Array *)args[0])->data, (uint8_t *)((Array *)args[1])->data, ((Array *)args[2])->data,
                  words[0], words[1], words[2], 0, (long)words[4], (int)words[5]};
    memcpy(&d.factor, words + 3, sizeof d.factor);
    void *thread = PyEval_SaveThread();
    polyad_parallel(drop, &d, d.count < 1 << 13 ? 1 : least(up(d.count, 4 * BLOCKS), 16));
    PyEval_RestoreThread(thread);
    return none();
}

static Method methods[] = {
    BIND,
    {"dropout", dropout, FASTCALL, "dropout(out, kept, in, numbers)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(dropout)
