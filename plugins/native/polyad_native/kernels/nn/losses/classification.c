/* Cross entropy of scores (count, classes) with class numbers; a target that is *ignored* counts for nothing. */

#include "../../../common/real_math.h"
#include "../../../common/library.h"

typedef struct {
    real *out;
    const real *scores, *grad;
    const int64_t *target;
    long count, classes, ignored, grad_stride;
    real scale;
} Entropy;

enum { ABREAST = 64 / sizeof(real), TOGETHER = 64 };

/* The largest of many scores, and the sum of exp(score - largest), which go to *powers* if *wanted*. What is left over
   after whole vectors is in a last vector that overlaps them. */
static inline __attribute__((always_inline)) real exponentials(
    const real *row, real *powers, long classes, real *largest, const int wanted)
{
    const long whole = classes / ABREAST, last = classes < ABREAST ? 0 : classes - ABREAST;
    real most = row[0], sum = 0;
    if (whole) {
        _Pragma("omp simd reduction(max : most)") for (long k = 0; k < whole * ABREAST; ++k)
            most = row[k] > most ? row[k] : most;
        _Pragma("omp simd reduction(max : most)") for (long j = 0; j < ABREAST; ++j)
            most = row[last + j] > most ? row[last + j] : most;
    } else
        for (long k = 0; k < classes; ++k) most = row[k] > most ? row[k] : most;
    const real at_most = *largest = most;
    _Pragma("omp simd reduction(+ : sum)") for (long k = 0; k < whole * ABREAST; ++k) {
        const real power = real_exp(row[k] - at_most);
        if (wanted) powers[k] = power;
        sum += power;
    }
    if (whole * ABREAST == classes) return sum;
    const long done = whole * ABREAST - last, count = whole ? ABREAST : classes;
    _Pragma("omp simd reduction(+ : sum)") for (long j = 0; j < count; ++j) {
        const real power = real_exp(row[last + j] - at_most);
        if (wanted) powers[last + j] = power;
        sum += j >= done ? power : 0;
    }
    return sum;
}

static void entropy_part(void *context, long part, long parts)
{
    const Entropy *e = context;
    const long end = e->count * (part + 1) / parts;
    for (long i = e->count * part / parts; i < end; ) {
        real sums[TOGETHER], picked[TOGETHER], most;
        const long many = least(TOGETHER, end - i);
        for (long n = 0; n < many; ++n, ++i) {
            const real *scores = e->scores + i * e->classes;
            sums[n] = 1, picked[n] = 0;
            if (e->target[i] == e->ignored) continue;
            sums[n] = exponentials(scores, NULL, e->classes, &most, 0);
            picked[n] = scores[e->target[i]] - most;
        }
        for (long n = 0; n < many; ++n) e->out[i - many + n] = real_log(sums[n]) - picked[n];
    }
}

static void entropy_backward_part(void *context, long part, long parts)
{
    const Entropy *e = context;
    for (long i = e->count * part / parts; i < e->count * (part + 1) / parts; ++i) {
        real *out = e->out + i * e->classes, most;
        if (e->target[i] == e->ignored) { memset(out, 0, sizeof(real) * (size_t)e->classes); continue; }
        const real *scores = e->scores + i * e->classes, scale = e->grad[i * e->grad_stride] * e->scale;
        if (e->classes < 256) { /* cheaper than to read again what was just written */
            const real by = scale / exponentials(scores, NULL, e->classes, &most, 0);
            for (long k = 0; k < e->classes; ++k) out[k] = real_exp(scores[k] - most) * by;
        } else {
            const real by = scale / exponentials(scores, out, e->classes, &most, 1);
            for (long k = 0; k < e->classes; ++k) out[k] *= by;
        }
        out[e->target[i]] -= scale;
    }
}

/* entropy(out, scores, target, ignored): how many targets count; -1 if one is no class, and nothing was written. */
static Object *cross_entropy(Object *self, Object *const *args, intptr_t count)
{
    const Array *scores = (Array *)args[1];
    Entropy e = {.out = (real *)((Array *)args[0])->data, .scores = (real *)scores->data,
                       .target = (const int64_t *)((Array *)args[2])->data, .count = scores->shape[0],
                       .classes = scores->shape[1], .ignored = PyLong_AsLongLong(args[3])};
    const Array *grad = count > 4 ? (Array *)args[4] : NULL;
    void *thread = PyEval_SaveThread();
    long counting = 0;
    for (long i = 0; i < e.count; ++i) {
        if (e.target[i] == e.ignored) continue;
        if (e.target[i] < 0 || e.target[i] >= e.classes) { counting = -1; break; }
        ++counting;
    }
    if (counting > 0) {
        const long work = e.count * e.classes;
        if (grad) {
            e.grad = (const real *)grad->data;
            e.grad_stride = grad->rank ? 1 : 0;
            e.scale = 1;
        }
        if (grad && count > 5) e.scale = (real)1 / (real)counting;
        polyad_parallel(grad ? entropy_backward_part : entropy_part, &e, work < 1 << 13 ? 1 : least(e.count, 16));
    }
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(counting);
}

static Method methods[] = {
    BIND,
    {"cross_entropy", cross_entropy, FASTCALL, "cross_entropy(out, scores, target, ignored[, grad[, mean]])"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(classification)
