/* Running sums, products and extremes of (outer, count, inner) along the second dimension. Sums and products are in
   double. Eight lines that lie apart go on side by side, since each waits for its last step. */

#include "../../common/library.h"

typedef struct {
    real *out;
    int64_t *places; /* of extremes: where they were met last */
    const real *in;
    long outer, count, inner, kind;
} Running;

enum { SUMS, PRODUCTS, MAXIMA, MINIMA };
enum { TOGETHER = 8, STRETCH = 256 };

static inline double advanced(long kind, double total, double x) { return kind == SUMS ? total + x : total * x; }

/* Whether x is the extreme now; once there is nan, it stays until the end. */
static inline int prevails(long kind, real x, real best) { return (kind == MAXIMA ? x >= best : x <= best) | (x != x); }

#define INLINE __attribute__((always_inline)) static inline

/* Totals of *lines* lines of so many elements, which are *along* apart; their beginnings are *beside* apart. They go on
   from *sums*. */
INLINE void totals(
    long kind, double *sums, const real *in, real *out, long count, long lines, long along, long beside)
{
    for (long i = 0; i < count; ++i)
        _Pragma("GCC unroll 8") for (long k = 0; k < lines; ++k) {
            sums[k] = advanced(kind, sums[k], (double)in[i * along + k * beside]);
            out[i * along + k * beside] = (real)sums[k];
        }
}

/* Of eight lines, by way of a block of each: lines are often as far apart as caches have places for one after another. */
INLINE void eight_totals(const Running *r, long kind, const real *from, real *to)
{
    enum { BLOCK = 64, APART = BLOCK + 8 };
    real in[TOGETHER * APART], out[TOGETHER * APART];
    double sums[TOGETHER];
    for (long k = 0; k < TOGETHER; ++k) sums[k] = kind == PRODUCTS;
    for (long first = 0; first < r->count; first += BLOCK) {
        const long size = least(BLOCK, r->count - first);
        for (long k = 0; k < TOGETHER; ++k)
            memcpy(in + k * APART, from + k * r->count + first, (size_t)size * sizeof(real));
        totals(kind, sums, in, out, size, TOGETHER, 1, APART);
        for (long k = 0; k < TOGETHER; ++k)
            memcpy(to + k * r->count + first, out + k * APART, (size_t)size * sizeof(real));
    }
}

/* Of a line: extremes change seldom, so blocks are first asked whether one is in them. */
INLINE void extremes(long kind, const real *in, real *out, int64_t *places, long count)
{
    enum { BLOCK = 32 };
    real best = in[0];
    int64_t at = 0;
    for (long first = 0; first < count; first += BLOCK) {
        const long last = least(count, first + BLOCK);
        int any = last - first < BLOCK;
        if (!any) for (long i = 0; i < BLOCK; ++i) any |= prevails(kind, in[first + i], best);
        if (!any) for (long i = 0; i < BLOCK; ++i) out[first + i] = best, places[first + i] = at;
        else for (long i = first; i < last; ++i) {
            if (prevails(kind, in[i], best)) best = in[i], at = i;
            out[i] = best, places[i] = at;
        }
    }
}

/* Of lines side by side. */
INLINE void extremes_beside(
    long kind, const real *in, real *out, int64_t *places, long count, long lines, long along)
{
    real best[STRETCH];
    int64_t at[STRETCH];
    for (long k = 0; k < lines; ++k) best[k] = in[k], at[k] = 0;
    for (long i = 0; i < count; ++i)
        for (long k = 0; k < lines; ++k) {
            const long n = i * along + k;
            const int taken = prevails(kind, in[n], best[k]);
            out[n] = best[k] = taken ? in[n] : best[k];
            places[n] = at[k] = taken ? i : at[k];
        }
}

/* A function for each kind, so that its loops have no cases. */
INLINE void part_of(const Running *r, long kind, long part, long parts)
{
    if (r->inner == 1) {
        const long groups = up(r->outer, TOGETHER);
        for (long group = groups * part / parts; group < groups * (part + 1) / parts; ++group) {
            const long first = group * TOGETHER, lines = least(TOGETHER, r->outer - first);
            if (kind < MAXIMA && lines == TOGETHER) {
                eight_totals(r, kind, r->in + first * r->count, r->out + first * r->count);
                continue;
            }
            for (long k = first * r->count; k < (first + lines) * r->count; k += r->count) {
                double sum = kind == PRODUCTS;
                if (kind < MAXIMA) totals(kind, &sum, r->in + k, r->out + k, r->count, 1, 1, 1);
                else extremes(kind, r->in + k, r->out + k, r->places + k, r->count);
            }
        }
        return;
    }
    const long stretches = up(r->inner, STRETCH), units = r->outer * stretches;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long begin = unit % stretches * STRETCH, width = least(STRETCH, r->inner - begin);
        const long at = unit / stretches * r->count * r->inner + begin;
        double sums[STRETCH];
        for (long k = 0; k < width; ++k) sums[k] = kind == PRODUCTS;
        if (kind < MAXIMA) totals(kind, sums, r->in + at, r->out + at, r->count, width, r->inner, 1);
        else extremes_beside(kind, r->in + at, r->out + at, r->places + at, r->count, width, r->inner);
    }
}

#define PART(name, kind) static void name(void *context, long part, long parts) { part_of(context, kind, part, parts); }
PART(sums_part, SUMS)
PART(products_part, PRODUCTS)
PART(maxima_part, MAXIMA)
PART(minima_part, MINIMA)

/* running(kind, out, places, in, outer, count, inner); row-major. Totals have no places: *out* stands for them. */
static Object *running(Object *self, Object *const *args, intptr_t count)
{
    static const Task tasks[] = {sums_part, products_part, maxima_part, minima_part};
    Running r = {(real *)((Array *)args[1])->data, (int64_t *)((Array *)args[2])->data,
                 (const real *)((Array *)args[3])->data, PyLong_AsLongLong(args[4]), PyLong_AsLongLong(args[5]),
                 PyLong_AsLongLong(args[6]), PyLong_AsLongLong(args[0])};
    const long size = r.outer * r.count * r.inner;
    const long units = r.inner == 1 ? up(r.outer, TOGETHER) : r.outer * up(r.inner, STRETCH);
    void *thread = PyEval_SaveThread();
    polyad_parallel(tasks[r.kind], &r, size < 1 << 15 ? 1 : least(units, 16));
    PyEval_RestoreThread(thread);
    return none();
}

static Method methods[] = {
    BIND,
    {"running", running, FASTCALL, "running(kind, out, places, in, outer, count, inner)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(cumulative)
