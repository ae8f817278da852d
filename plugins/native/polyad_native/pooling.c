
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

/* Row *y* of an image as its windows see it: the columns of each phase of the stride side by side, *apart* of them, so that
   a tap of many windows is one vector. Around them is nan, which equals nothing. */
static void NAME(phases)(const NAME(Windows) *w, const REAL *row, long apart, REAL *to)
{
    const long step = w->stride_x;
    for (long n = 0; n < step * apart; ++n) to[n] = (REAL)NAN;
    for (long phase = 0; phase < step; ++phase, to += apart) {
        const long first = ((phase - w->pad_x) % step + step) % step, at = (first + w->pad_x) / step;
        const long count = least(first < w->width ? (w->width - 1 - first) / step + 1 : 0, apart - at);
        REAL *restrict into = to + at;
        if (step == 2) for (long n = 0; n < count; ++n) into[n] = row[first + 2 * n];
        else for (long n = 0; n < count; ++n) into[n] = row[first + step * n];
    }
}

/* A row of windows at a time: first which tap has the largest element, the first one if several have, then the sums. */
static void NAME(max_pool_back)(void *context, long part, long parts)
{
    NAME(Pooling) *p = context;
    const NAME(Windows) *w = &p->w;
    enum { TOGETHER = 16 };
    const long across = up(w->out_width, TOGETHER) * TOGETHER, reach = (w->kernel_x - 1) * w->dilation_x;
    const long apart = across + reach / w->stride_x, line = apart * w->stride_x;
    WORD *places = scratch(0, sizeof(WORD) * (size_t)across);
    REAL *lines = scratch(1, sizeof(REAL) * (size_t)(across + line * w->height)), *most = lines + line * w->height;
    if (!places || !lines) { p->failed = 1; return; }
    const int four = w->kernel_y == 2 && w->kernel_x == 2 && w->stride_y == 2 && w->stride_x == 2 && !w->pad_y && !w->pad_x
        && w->dilation_y == 1 && w->dilation_x == 1 && w->out_height * 2 <= w->height && w->out_width * 2 <= w->width;
    for (long plane = w->planes * part / parts; plane < w->planes * (part + 1) / parts; ++plane) {
        const REAL *image = p->input + plane * w->height * w->width;
        REAL *out = p->out + plane * w->height * w->width;
        if (!four || w->out_height * 2 < w->height || w->out_width * 2 < w->width)
            memset(out, 0, sizeof(REAL) * (size_t)(w->height * w->width));
        if (!four)
            for (long row = 0; row < w->height; ++row) NAME(phases)(w, image + row * w->width, apart, lines + row * line);
        for (long y = 0; y < w->out_height; ++y) {
            const REAL *largest = p->largest + (plane * w->out_height + y) * w->out_width;
            const REAL *grad = p->grad + (plane * w->out_height + y) * w->out_width;
            const long top = 2 * y * w->width;
            if (four) {
                if (NAME(back_of_four)(image + top, largest, grad, out + top, w->width, w->out_width)) continue;
                memset(out + top, 0, 2 * sizeof(REAL) * (size_t)w->width);
                for (long row = 2 * y; row < 2 * y + 2; ++row)
                    NAME(phases)(w, image + row * w->width, apart, lines + row * line);
            }
            for (long x = 0; x < across; ++x) places[x] = -1;
            for (long x = 0; x < across; ++x) most[x] = x < w->out_width ? largest[x] : (REAL)0;
            for (long i = w->kernel_y - 1; i >= 0; --i) {
                const long row = y * w->stride_y - w->pad_y + i * w->dilation_y;
                if (row < 0 || row >= w->height) continue;
                for (long j = w->kernel_x - 1; j >= 0; --j) {
                    const long tap = j * w->dilation_x;
                    const WORD step = (WORD)w->stride_x, at = (WORD)(row * w->width + tap - w->pad_x);
                    const REAL *from = lines + row * line + tap % w->stride_x * apart + tap / w->stride_x;
                    for (long x = 0; x < across; ++x) places[x] = from[x] == most[x] ? at + (WORD)x * step : places[x];
                }
            }
            for (long x = 0; x < w->out_width; ++x) {
                const long place = places[x] >= 0 ? places[x] : NAME(place_of_nan)(w, image, y, x);
                if (place >= 0) out[place] += grad[x];
            }
        }
    }
}

/* max_pool_backward(out, grad, input, largest, windows); all row-major. */
static Object *NAME(max_pool_backward)(Object *self, Object *const *args, intptr_t count)
{
    NAME(Pooling) pooling = {.out = (REAL *)((Array *)args[0])->data, .grad = (REAL *)((Array *)args[1])->data,
                             .input = (REAL *)((Array *)args[2])->data, .largest = (REAL *)((Array *)args[3])->data};
    memcpy(&pooling.w, PyBytes_AsString(args[4]), sizeof pooling.w);
    void *thread = PyEval_SaveThread();
    const long work = pooling.w.planes * pooling.w.height * pooling.w.width;
    polyad_parallel(NAME(max_pool_back), &pooling, work < 1 << 15 ? 1 : least(pooling.w.planes, 32));
    PyEval_RestoreThread(thread);
    if (pooling.failed) { PyErr_SetString(PyExc_MemoryError, "no memory for the gradient of max_pool"); return NULL; }
    return none();
}
