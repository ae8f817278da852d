
/* ------------------------------------------------------------------------------------------ rows at indices

   out[o, index[i], :] += source[o, i, :] in the order of i. A part has rows of the result for itself, so that threads
   never meet and the order of a row's sums is always the same. */

typedef struct {
    REAL *out;
    const REAL *source;
    const int64_t *index;
    long outer, rows, size, count, skipped;
    int zeroed, each; /* each: an index for each element, not each row */
} NAME(Adding);

static void NAME(add_rows)(void *context, long part, long parts)
{
    const NAME(Adding) *a = context;
    const long slabs = least(parts, a->outer), cuts = parts / slabs, cut = part % cuts, slab = part / cuts;
    const long begin = a->rows * cut / cuts, end = a->rows * (cut + 1) / cuts;
    for (long o = a->outer * slab / slabs; o < a->outer * (slab + 1) / slabs; ++o) {
        REAL *out = a->out + o * a->rows * a->size;
        const REAL *source = a->source + o * a->count * a->size;
        if (a->zeroed) memset(out + begin * a->size, 0, sizeof(REAL) * (size_t)((end - begin) * a->size));
        if (a->each) {
            const int64_t *index = a->index + o * a->count * a->size;
            for (long i = 0; i < a->count; ++i)
                for (long k = 0; k < a->size; ++k) out[index[i * a->size + k] * a->size + k] += source[i * a->size + k];
            continue;
        }
        for (long i = 0; i < a->count; ++i) {
            const long row = a->index[i];
            if (row < begin || row >= end || row == a->skipped) continue;
            REAL *to = out + row * a->size;
            const REAL *from = source + i * a->size;
            for (long k = 0; k < a->size; ++k) to[k] += from[k];
        }
    }
}

/* add_at(out, source, index, sizes): whether all of *index* is in the range; if not, nothing was written. The sizes are
   outer, rows, size, count, a row that is left out (or -1), whether *out* is zeroed before, and whether each element has
   an index of its own. */
static Object *NAME(add_at)(Object *self, Object *const *args, intptr_t count)
{
    const int64_t *sizes = (const int64_t *)PyBytes_AsString(args[3]);
    NAME(Adding) a = {(REAL *)((Array *)args[0])->data, (const REAL *)((Array *)args[1])->data,
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
        polyad_parallel(NAME(add_rows), &a, work < 1 << 15 ? 1 : least(a.outer, 8) * cuts);
    }
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(inside);
}

/* ------------------------------------------------------------------------------------------ elements at indices

   out[o, i, k] = in[o, index[o, i, k], k], in stretches whose indices are looked at first. */

typedef struct {
    REAL *out;
    const REAL *in;
    const int64_t *index;
    long outer, rows, size, count;
    _Atomic int outside;
} NAME(Gathering);

enum { NAME(TAKEN) = 1024 };

static void NAME(take)(void *context, long part, long parts)
{
    NAME(Gathering) *g = context;
    const int single = g->size == 1;
    const long length = single ? g->count : g->size, cuts = up(length, NAME(TAKEN));
    const long units = (single ? g->outer : g->outer * g->count) * cuts;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long line = unit / cuts, begin = unit % cuts * NAME(TAKEN), count = least(NAME(TAKEN), length - begin);
        const int64_t *index = g->index + line * length + begin;
        REAL *restrict out = g->out + line * length + begin;
        uint64_t most = 0;
        for (long n = 0; n < count; ++n) most = (uint64_t)index[n] > most ? (uint64_t)index[n] : most;
        if (most >= (uint64_t)g->rows) { g->outside = 1; return; }
        const REAL *in = g->in + (single ? line : line / g->count) * g->rows * g->size;
        if (single) for (long n = 0; n < count; ++n) out[n] = in[index[n]];
        else for (long n = 0; n < count; ++n) out[n] = in[index[n] * g->size + begin + n];
    }
}

/* gather(out, in, index, sizes): whether all of *index* is in the range. The sizes are outer, rows, size, count. */
static Object *NAME(gather)(Object *self, Object *const *args, intptr_t count)
{
    const int64_t *sizes = (const int64_t *)PyBytes_AsString(args[3]);
    NAME(Gathering) g = {(REAL *)((Array *)args[0])->data, (const REAL *)((Array *)args[1])->data,
                         (const int64_t *)((Array *)args[2])->data, sizes[0], sizes[1], sizes[2], sizes[3], 0};
    void *thread = PyEval_SaveThread();
    polyad_parallel(NAME(take), &g, g.outer * g.size * g.count < 1 << 14 ? 1 : 16);
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(!g.outside);
}

/* ------------------------------------------------------------------------------------------ running sums

   Of (outer, count, inner) along the second dimension, added in double. Eight sums go on side by side, since each waits
   for its last addition. */

typedef struct { REAL *out; const REAL *in; long outer, count, inner; } NAME(Running);

static void NAME(run_sums)(void *context, long part, long parts)
{
    const NAME(Running) *r = context;
    enum { TOGETHER = 8, STRETCH = 256 };
    if (r->inner == 1) {
        const long groups = up(r->outer, TOGETHER);
        for (long group = groups * part / parts; group < groups * (part + 1) / parts; ++group) {
            const long first = group * TOGETHER, rows = least(TOGETHER, r->outer - first);
            const REAL *in = r->in + first * r->count;
            REAL *out = r->out + first * r->count;
            double sums[TOGETHER] = {};
            if (rows == TOGETHER)
                for (long i = 0; i < r->count; ++i)
                    _Pragma("GCC unroll 8") for (int k = 0; k < TOGETHER; ++k)
                        out[k * r->count + i] = (REAL)(sums[k] += (double)in[k * r->count + i]);
            else
                for (long k = 0; k < rows; ++k)
                    for (long i = 0; i < r->count; ++i) out[k * r->count + i] = (REAL)(sums[k] += (double)in[k * r->count + i]);
        }
        return;
    }
    const long stretches = up(r->inner, STRETCH), units = r->outer * stretches;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long begin = unit % stretches * STRETCH, width = least(STRETCH, r->inner - begin);
        const long at = unit / stretches * r->count * r->inner + begin;
        double sums[STRETCH] = {};
        for (long i = 0; i < r->count; ++i) {
            const REAL *in = r->in + at + i * r->inner;
            REAL *out = r->out + at + i * r->inner;
            for (long k = 0; k < width; ++k) {
                sums[k] += (double)in[k];
                out[k] = (REAL)sums[k];
            }
        }
    }
}

/* running_sum(out, in, outer, count, inner); row-major. */
static Object *NAME(running_sum)(Object *self, Object *const *args, intptr_t count)
{
    NAME(Running) running = {(REAL *)((Array *)args[0])->data, (const REAL *)((Array *)args[1])->data,
                             PyLong_AsLongLong(args[2]), PyLong_AsLongLong(args[3]), PyLong_AsLongLong(args[4])};
    const long size = running.outer * running.count * running.inner;
    const long units = running.inner == 1 ? up(running.outer, 8) : running.outer * up(running.inner, 256);
    void *thread = PyEval_SaveThread();
    polyad_parallel(NAME(run_sums), &running, size < 1 << 15 ? 1 : least(units, 16));
    PyEval_RestoreThread(thread);
    return none();
}

/* ------------------------------------------------------------------------------------------ cross entropy

   Of scores (count, classes) with class numbers; a target that is *ignored* counts for nothing. */

typedef struct {
    REAL *out;
    const REAL *scores, *grad;
    const int64_t *target;
    long count, classes, ignored, grad_step;
    REAL scale;
} NAME(Entropy);

enum { NAME(ABREAST) = 64 / sizeof(REAL), NAME(TOGETHER) = 64 };

/* The largest of many scores, and the sum of exp(score - largest), which go to *powers* if *kept*. What is left over
   after whole vectors is in a last vector that overlaps them. */
static inline __attribute__((always_inline)) REAL NAME(powers)(
    const REAL *row, REAL *powers, long classes, REAL *largest, const int kept)
{
    enum { ABREAST = NAME(ABREAST) };
    const long whole = classes / ABREAST, last = classes < ABREAST ? 0 : classes - ABREAST;
    REAL most = row[0], sum = 0;
    if (whole) {
        _Pragma("omp simd reduction(max : most)") for (long k = 0; k < whole * ABREAST; ++k)
            most = row[k] > most ? row[k] : most;
        _Pragma("omp simd reduction(max : most)") for (long j = 0; j < ABREAST; ++j)
            most = row[last + j] > most ? row[last + j] : most;
    } else
        for (long k = 0; k < classes; ++k) most = row[k] > most ? row[k] : most;
    const REAL at_most = *largest = most;
    _Pragma("omp simd reduction(+ : sum)") for (long k = 0; k < whole * ABREAST; ++k) {
        const REAL power = NAME(exp)(row[k] - at_most);
        if (kept) powers[k] = power;
        sum += power;
    }
    if (whole * ABREAST == classes) return sum;
    const long done = whole * ABREAST - last, count = whole ? ABREAST : classes;
    _Pragma("omp simd reduction(+ : sum)") for (long j = 0; j < count; ++j) {
        const REAL power = NAME(exp)(row[last + j] - at_most);
        if (kept) powers[last + j] = power;
        sum += j >= done ? power : 0;
    }
    return sum;
}

static void NAME(entropy)(void *context, long part, long parts)
{
    const NAME(Entropy) *e = context;
    const long end = e->count * (part + 1) / parts;
    for (long i = e->count * part / parts; i < end; ) {
        REAL sums[NAME(TOGETHER)], picked[NAME(TOGETHER)], most;
        const long many = least(NAME(TOGETHER), end - i);
        for (long n = 0; n < many; ++n, ++i) {
            const REAL *scores = e->scores + i * e->classes;
            sums[n] = 1, picked[n] = 0;
            if (e->target[i] == e->ignored) continue;
            sums[n] = NAME(powers)(scores, NULL, e->classes, &most, 0);
            picked[n] = scores[e->target[i]] - most;
        }
        for (long n = 0; n < many; ++n) e->out[i - many + n] = NAME(log)(sums[n]) - picked[n];
    }
}

static void NAME(entropy_back)(void *context, long part, long parts)
{
    const NAME(Entropy) *e = context;
    for (long i = e->count * part / parts; i < e->count * (part + 1) / parts; ++i) {
        REAL *out = e->out + i * e->classes, most;
        if (e->target[i] == e->ignored) { memset(out, 0, sizeof(REAL) * (size_t)e->classes); continue; }
        const REAL *scores = e->scores + i * e->classes, scale = e->grad[i * e->grad_step] * e->scale;
        if (e->classes < 256) { /* cheaper than to read again what was just written */
            const REAL by = scale / NAME(powers)(scores, NULL, e->classes, &most, 0);
            for (long k = 0; k < e->classes; ++k) out[k] = NAME(exp)(scores[k] - most) * by;
        } else {
            const REAL by = scale / NAME(powers)(scores, out, e->classes, &most, 1);
            for (long k = 0; k < e->classes; ++k) out[k] *= by;
        }
        out[e->target[i]] -= scale;
    }
}

/* entropy(out, scores, target, ignored): how many targets count; -1 if one is no class, and nothing was written. */
static Object *NAME(cross_entropy)(Object *self, Object *const *args, intptr_t count)
{
    const Array *scores = (Array *)args[1];
    NAME(Entropy) e = {.out = (REAL *)((Array *)args[0])->data, .scores = (REAL *)scores->data,
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
            e.grad = (const REAL *)grad->data;
            e.grad_step = grad->rank ? 1 : 0;
            e.scale = 1;
        }
        if (grad && count > 5) e.scale = (REAL)1 / (REAL)counting;
        polyad_parallel(grad ? NAME(entropy_back) : NAME(entropy), &e, work < 1 << 13 ? 1 : least(e.count, 16));
    }
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(counting);
}
