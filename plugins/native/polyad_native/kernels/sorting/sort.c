/* Where the few largest or smallest elements of rows are, in order, the first of equals. */

#include <stdatomic.h>

#include "../../common/library.h"
#include "../../common/vectors.h"

enum { MOST = 128, STRETCH = 64, SHORT = 16 };

typedef struct {
    const stored *in;
    int64_t *places;
    long rows, count, few;
    int largest;
    _Atomic int declined;
} Leading;

/* Elements, of which the largest are sought. */
static inline real sought(const Leading *l, stored x) { return l->largest ? to_real(x) : -to_real(x); }

/* Whether any of *count* elements is beyond *limit*, or nan. */
static inline int any_beyond(const Leading *l, const stored *in, long count, real limit)
{
    int any = 0;
    if (l->largest) for (long n = 0; n < count; ++n) any |= !(to_real(in[n]) <= limit);
    else for (long n = 0; n < count; ++n) any |= !(-to_real(in[n]) <= limit);
    return any;
}

/* What is found is a list in order. Elements are first asked, many together, whether one is beyond its last: of most rows
   few are. Returns 0 for rows whose elements keep getting larger, and for nan. */
static int lead(const Leading *l, const stored *in, int64_t *places)
{
    real best[MOST], limit = -(real)__builtin_inf();
    long found = 0, left = 16 * l->count;
    for (long first = 0, last; first < l->count; first = last) {
        if (found == l->few && first % STRETCH == 0 && first + STRETCH <= l->count
            && !any_beyond(l, in + first, STRETCH, limit)) { last = first + STRETCH; continue; }
        last = least(l->count, first + SHORT);
        if (found == l->few && last == first + SHORT && !any_beyond(l, in + first, SHORT, limit)) continue;
        for (long n = first; n < last; ++n) {
            const real x = sought(l, in[n]);
            if (found == l->few && x <= limit) continue;
            long at = found < l->few ? found++ : found - 1;
            if (x != x || (left -= at) < 0) return 0;
            for (; at > 0 && x > best[at - 1]; --at) best[at] = best[at - 1], places[at] = places[at - 1];
            best[at] = x, places[at] = n;
            if (found == l->few) limit = best[found - 1];
        }
    }
    return 1;
}

static void lead_part(void *context, long part, long parts)
{
    Leading *l = context;
    for (long row = l->rows * part / parts; row < l->rows * (part + 1) / parts && !l->declined; ++row)
        if (!lead(l, l->in + row * l->count, l->places + row * l->few)) l->declined = 1;
}

/* leading(places, in, rows, count, few, largest): whether *places*, (rows, few), has been written to. */
static Object *leading(Object *self, Object *const *args, intptr_t count)
{
    Leading l = {(const stored *)((Array *)args[1])->data, (int64_t *)((Array *)args[0])->data,
                 PyLong_AsLongLong(args[2]), PyLong_AsLongLong(args[3]), PyLong_AsLongLong(args[4]),
                 (int)PyLong_AsLongLong(args[5]), 0};
    if (l.few > MOST || l.few > l.count) return PyLong_FromLongLong(0);
    void *thread = PyEval_SaveThread();
    polyad_parallel(lead_part, &l, l.rows * l.count < 1 << 14 ? 1 : least(l.rows, 16));
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(!l.declined);
}

static Method methods[] = {
    BIND,
    {"leading", leading, FASTCALL, "leading(places, in, rows, count, few, largest)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(sort)
