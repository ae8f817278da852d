
/* ------------------------------------------------------------------------------------------ pooling */

typedef struct { /* filled in by Python, in this order */
    int64_t planes, height, width, kernel_y, kernel_x, out_height, out_width, stride_y, stride_x, pad_y, pad_x;
    int64_t dilation_y, dilation_x;
} NAME(Windows);

typedef struct {
    NAME(Windows) w;
    const REAL *grad, *input, *largest;
    REAL *out;
    int failed;
} NAME(Pooling);

/* Where the largest element of a window with nan in it is taken from: from its last nan. Less than 0 if it has none. */
static long NAME(place_of_nan)(const NAME(Windows) *w, const REAL *image, long y, long x)
{
    long found = -1;
    for (long i = 0; i < w->kernel_y; ++i)
        for (long j = 0; j < w->kernel_x; ++j) {
            const long row = y * w->stride_y - w->pad_y + i * w->dilation_y;
            const long column = x * w->stride_x - w->pad_x + j * w->dilation_x;
            if (row < 0 || row >= w->height || column < 0 || column >= w->width) continue;
            if (image[row * w->width + column] != image[row * w->width + column]) found = row * w->width + column;
        }
    return found;
}

/* Windows of 2 x 2 that do not overlap: each writes its four places. Whether there was no nan. */
static int NAME(back_of_four)(const REAL *restrict image, const REAL *restrict largest, const REAL *restrict grad,
                              REAL *restrict out, long width, long count)
{
    typedef WORD __attribute__((may_alias)) bits; /* a mask instead of branches, which nothing could foresee */
    const REAL *below = image + width;
    const bits *by = (const bits *)grad;
    bits *to = (bits *)out, *to_below = (bits *)(out + width);
    WORD nan = 0;
    for (long x = 0; x < count; ++x) {
        const REAL most = largest[x];
        const WORD a = -(WORD)(image[2 * x] == most), b = -(WORD)(image[2 * x + 1] == most) & ~a;
        const WORD c = -(WORD)(below[2 * x] == most) & ~(a | b);
        nan |= most != most;
        to[2 * x] = by[x] & a;
        to[2 * x + 1] = by[x] & b;
        to_below[2 * x] = by[x] & c;
        to_below[2 * x + 1] = by[x] & ~(a | b | c);
    }
    return !nan;
}

/* Where in a row of phases each tap begins; then for each phase its first column, its place, and how many columns it has. */
static long *NAME(looked_up)(const NAME(Windows) *w, long apart)
{
    long *found = scratch(2, sizeof(long) * (size_t)(w->kernel_x + 3 * w->stride_x)), *at = found;
    if (!found) return NULL;
    for (long j = 0; j < w->kernel_x; ++j)
        *at++ = j * w->dilation_x % w->stride_x * apart + j * w->dilation_x / w->stride_x;
    for (long phase = 0; phase < w->stride_x; ++phase, at += 3) {
        at[0] = ((phase - w->pad_x) % w->stride_x + w->stride_x) % w->stride_x;
        at[1] = phase * apart + (at[0] + w->pad_x) / w->stride_x;
        at[2] = least(at[0] < w->width ? (w->width - 1 - at[0]) / w->stride_x + 1 : 0, (phase + 1) * apart - at[1]);
    }
    return found;
}

/* A row of an image as its windows see it: the columns of each phase of the stride side by side, *apart* of them, so that
   a tap of many windows is one vector. Around them is *around*. */
static void NAME(phases)(
    const NAME(Windows) *w, const long *look, const REAL *row, long apart, REAL *restrict to, REAL around)
{
    const long step = w->stride_x;
    for (long n = 0; n < step * apart; ++n) to[n] = around;
    const long *at = look + w->kernel_x;
    for (long phase = 0; phase < step; ++phase, at += 3) {
        REAL *restrict into = to + at[1];
        const REAL *from = row + at[0];
        if (step == 1) for (long n = 0; n < at[2]; ++n) into[n] = from[n];
        else if (step == 2) for (long n = 0; n < at[2]; ++n) into[n] = from[2 * n];
        else for (long n = 0; n < at[2]; ++n) into[n] = from[step * n];
    }
}

/* The way back: a row of *to* from its phases. Columns that are in no window are 0. */
static void NAME(from_phases)(const NAME(Windows) *w, const REAL *from, long apart, REAL *restrict to)
{
    const long step = w->stride_x, pad = w->pad_x;
    long x = 0;
    if (step == 2) {
        const REAL *restrict even = from + pad % 2 * apart + pad / 2, *restrict odd = from + (1 - pad % 2) * apart + (pad + 1) / 2;
        const long count = least(w->width / 2, apart - (pad + 1) / 2);
        for (long n = 0; n < count; ++n) {
            to[2 * n] = even[n];
            to[2 * n + 1] = odd[n];
        }
        x = count < 0 ? 0 : 2 * count;
    }
    for (; x < w->width; ++x)
        to[x] = (x + pad) / step < apart ? from[(x + pad) % step * apart + (x + pad) / step] : 0;
}

enum { NAME(AT_ONCE) = 16 };

/* How many windows a row is rounded up to, and how far apart the phases of a row lie. */
static long NAME(broad)(const NAME(Windows) *w) { return up(w->out_width, NAME(AT_ONCE)) * NAME(AT_ONCE); }
static long NAME(phase)(const NAME(Windows) *w)
{
    return NAME(broad)(w) + (w->kernel_x - 1) * w->dilation_x / w->stride_x;
}

/* A plane at a time, by rows of windows. */
static void NAME(max_pool)(void *context, long part, long parts)
{
    NAME(Pooling) *p = context;
    const NAME(Windows) *w = &p->w;
    const long across = NAME(broad)(w), apart = NAME(phase)(w), line = apart * w->stride_x;
    REAL *lines = scratch(1, sizeof(REAL) * (size_t)(across + line * w->height)), *restrict most = lines + line * w->height;
    const long *look = NAME(looked_up)(w, apart);
    if (!lines || !look) { p->failed = 1; return; }
    for (long plane = w->planes * part / parts; plane < w->planes * (part + 1) / parts; ++plane) {
        const REAL *image = p->input + plane * w->height * w->width;
        for (long row = 0; row < w->height; ++row)
            NAME(phases)(w, look, image + row * w->width, apart, lines + row * line, -(REAL)INFINITY);
        for (long y = 0; y < w->out_height; ++y) {
            for (long x = 0; x < across; ++x) most[x] = -(REAL)INFINITY;
            for (long i = 0; i < w->kernel_y; ++i) {
                const long row = y * w->stride_y - w->pad_y + i * w->dilation_y;
                if (row < 0 || row >= w->height) continue;
                for (long j = 0; j < w->kernel_x; ++j) {
                    const REAL *from = lines + row * line + look[j];
                    for (long x = 0; x < across; ++x) most[x] = (from[x] > most[x]) | (from[x] != from[x]) ? from[x] : most[x];
                }
            }
            memcpy(p->out + (plane * w->out_height + y) * w->out_width, most, sizeof(REAL) * (size_t)w->out_width);
        }
    }
}

/* A row of windows at a time: first which tap has the largest element, the first one if several have; then each tap adds
   the gradients of the windows that took it, in the order of the windows. */
static void NAME(max_pool_back)(void *context, long part, long parts)
{
    NAME(Pooling) *p = context;
    const NAME(Windows) *w = &p->w;
    const long across = NAME(broad)(w), apart = NAME(phase)(w), line = apart * w->stride_x, whole = line * w->height;
    WORD *restrict places = scratch(0, sizeof(WORD) * (size_t)across);
    REAL *lines = scratch(1, sizeof(REAL) * (size_t)(2 * across + 2 * whole)), *restrict most = lines + 2 * whole;
    REAL *sums = lines + whole, *restrict grads = most + across;
    const long *look = NAME(looked_up)(w, apart);
    if (!places || !lines || !look) { p->failed = 1; return; }
    const int four = w->kernel_y == 2 && w->kernel_x == 2 && w->stride_y == 2 && w->stride_x == 2 && !w->pad_y && !w->pad_x
        && w->dilation_y == 1 && w->dilation_x == 1 && w->out_height * 2 == w->height && w->out_width * 2 == w->width;
    for (long plane = w->planes * part / parts; plane < w->planes * (part + 1) / parts; ++plane) {
        const REAL *image = p->input + plane * w->height * w->width;
        const REAL *largest = p->largest + plane * w->out_height * w->out_width;
        const REAL *grad = p->grad + plane * w->out_height * w->out_width;
        REAL *out = p->out + plane * w->height * w->width;
        int done = four;
        for (long y = 0; y < w->out_height && done; ++y)
            done = NAME(back_of_four)(image + 2 * y * w->width, largest + y * w->out_width, grad + y * w->out_width,
                                      out + 2 * y * w->width, w->width, w->out_width);
        if (done) continue;
        for (long row = 0; row < w->height; ++row)
            NAME(phases)(w, look, image + row * w->width, apart, lines + row * line, (REAL)NAN); /* which equals nothing */
        memset(sums, 0, sizeof(REAL) * (size_t)whole);
        for (long y = 0; y < w->out_height; ++y, largest += w->out_width, grad += w->out_width) {
            const long top = y * w->stride_y - w->pad_y;
            for (long x = 0; x < across; ++x) {
                const int there = x < w->out_width;
                places[x] = -1;
                most[x] = there ? largest[x] : 0;
                grads[x] = there ? grad[x] : 0;
            }
            for (long i = w->kernel_y - 1; i >= 0; --i) {
                const long row = top + i * w->dilation_y;
                if (row < 0 || row >= w->height) continue;
                for (long j = w->kernel_x - 1; j >= 0; --j) {
                    const REAL *from = lines + row * line + look[j];
                    const WORD own = (WORD)(i * w->kernel_x + j);
                    for (long x = 0; x < across; ++x) places[x] = from[x] == most[x] ? own : places[x];
                }
            }
            for (long i = 0; i < w->kernel_y; ++i) {
                const long row = top + i * w->dilation_y;
                if (row < 0 || row >= w->height) continue;
                for (long j = w->kernel_x - 1; j >= 0; --j) {
                    REAL *restrict to = sums + row * line + look[j];
                    const WORD own = (WORD)(i * w->kernel_x + j);
                    for (long x = 0; x < across; ++x) to[x] += places[x] == own ? grads[x] : 0;
                }
            }
            WORD lowest = 0;
            for (long x = 0; x < w->out_width; ++x) lowest = places[x] < lowest ? places[x] : lowest;
            for (long x = 0; lowest < 0 && x < w->out_width; ++x) {
                const long place = places[x] >= 0 ? -1 : NAME(place_of_nan)(w, image, y, x);
                if (place < 0) continue;
                const long column = place % w->width + w->pad_x;
                sums[place / w->width * line + column % w->stride_x * apart + column / w->stride_x] += grad[x];
            }
        }
        for (long row = 0; row < w->height; ++row) NAME(from_phases)(w, sums + row * line, apart, out + row * w->width);
    }
}

static Object *NAME(pool)(Task task, NAME(Pooling) pooling, Object *windows, const char *lacking)
{
    memcpy(&pooling.w, PyBytes_AsString(windows), sizeof pooling.w);
    void *thread = PyEval_SaveThread();
    const long work = pooling.w.planes * pooling.w.height * pooling.w.width;
    polyad_parallel(task, &pooling, work < 1 << 15 ? 1 : least(pooling.w.planes, 32));
    PyEval_RestoreThread(thread);
    if (pooling.failed) { PyErr_SetString(PyExc_MemoryError, lacking); return NULL; }
    return none();
}

/* max_pool(out, input, windows); row-major. */
static Object *NAME(max_pool_forward)(Object *self, Object *const *args, intptr_t count)
{
    NAME(Pooling) pooling = {.out = (REAL *)((Array *)args[0])->data, .input = (REAL *)((Array *)args[1])->data};
    return NAME(pool)(NAME(max_pool), pooling, args[2], "no memory for the windows of max_pool");
}

/* max_pool_backward(out, grad, input, largest, windows); all row-major. */
static Object *NAME(max_pool_backward)(Object *self, Object *const *args, intptr_t count)
{
    NAME(Pooling) pooling = {.out = (REAL *)((Array *)args[0])->data, .grad = (REAL *)((Array *)args[1])->data,
                             .input = (REAL *)((Array *)args[2])->data, .largest = (REAL *)((Array *)args[3])->data};
    return NAME(pool)(NAME(max_pool_back), pooling, args[4], "no memory for the gradient of max_pool");
}
