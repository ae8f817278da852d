/* The largest elements of windows, and their gradient. */

#include <math.h>

#include "../../../common/library.h"
#include "../../../common/machine.h"

typedef struct { /* filled in by Python, in this order */
    int64_t planes, height, width, kernel_y, kernel_x, out_height, out_width, stride_y, stride_x, pad_y, pad_x;
    int64_t dilation_y, dilation_x;
} Windows;

typedef struct {
    Windows w;
    const real *grad, *input;
    real *out;
    int failed;
} Pooling;

/* The place of a window's first element in the image. */
static long first_inside(const Windows *w, long y, long x)
{
    long row = y * w->stride_y - w->pad_y, column = x * w->stride_x - w->pad_x;
    while (row < 0) row += w->dilation_y;
    while (column < 0) column += w->dilation_x;
    return row * w->width + column;
}

/* Windows of 2 x 2 that do not overlap: each writes its four places. Whether there was no nan. */
static int backward_of_four(
    const real *restrict image, const real *restrict grad, real *restrict out, long width, long count)
{
    typedef word __attribute__((may_alias)) bits; /* a mask instead of branches, which nothing could foresee */
    const real *below = image + width;
    const bits *by = (const bits *)grad;
    bits *to = (bits *)out, *to_below = (bits *)(out + width);
    word nan = 0;
    for (long x = 0; x < count; ++x) {
        const real first = image[2 * x], second = image[2 * x + 1], third = below[2 * x], fourth = below[2 * x + 1];
        const real over = first < second ? second : first, under = third < fourth ? fourth : third;
        const real most = over < under ? under : over;
        const word a = -(word)(first == most), b = -(word)(second == most) & ~a;
        const word c = -(word)(third == most) & ~(a | b);
        nan |= (first != first) | (second != second) | (third != third) | (fourth != fourth);
        to[2 * x] = by[x] & a;
        to[2 * x + 1] = by[x] & b;
        to_below[2 * x] = by[x] & c;
        to_below[2 * x + 1] = by[x] & ~(a | b | c);
    }
    return !nan;
}

/* Where in a row of phases each tap begins; then for each phase its first column, its place, and how many columns it has. */
static long *tap_table(const Windows *w, long phase_apart)
{
    long *found = scratch(2, sizeof(long) * (size_t)(w->kernel_x + 3 * w->stride_x)), *at = found;
    if (!found) return NULL;
    for (long j = 0; j < w->kernel_x; ++j)
        *at++ = j * w->dilation_x % w->stride_x * phase_apart + j * w->dilation_x / w->stride_x;
    for (long phase = 0; phase < w->stride_x; ++phase, at += 3) {
        at[0] = ((phase - w->pad_x) % w->stride_x + w->stride_x) % w->stride_x;
        at[1] = phase * phase_apart + (at[0] + w->pad_x) / w->stride_x;
        at[2] = least(at[0] < w->width ? (w->width - 1 - at[0]) / w->stride_x + 1 : 0, (phase + 1) * phase_apart - at[1]);
    }
    return found;
}

/* A row of an image as its windows see it: the columns of each phase of the stride side by side, *phase_apart* of them, so that
   a tap of many windows is one vector. Around them is *around*. */
static void to_phases(
    const Windows *w, const long *look, const real *row, long phase_apart, real *restrict to, real around)
{
    const long stride = w->stride_x;
    for (long n = 0; n < stride * phase_apart; ++n) to[n] = around;
    const long *at = look + w->kernel_x;
    for (long phase = 0; phase < stride; ++phase, at += 3) {
        real *restrict into = to + at[1];
        const real *from = row + at[0];
        if (stride == 1) for (long n = 0; n < at[2]; ++n) into[n] = from[n];
        else if (stride == 2) for (long n = 0; n < at[2]; ++n) into[n] = from[2 * n];
        else for (long n = 0; n < at[2]; ++n) into[n] = from[stride * n];
    }
}

/* The way back: a row of *to* from its phases. Columns that are in no window are 0. */
static void from_phases(const Windows *w, const real *from, long phase_apart, real *restrict to)
{
    const long stride = w->stride_x, pad = w->pad_x;
    long x = 0;
    if (stride == 2) {
        const real *restrict even = from + pad % 2 * phase_apart + pad / 2;
        const real *restrict odd = from + (1 - pad % 2) * phase_apart + (pad + 1) / 2;
        const long count = least(w->width / 2, phase_apart - (pad + 1) / 2);
        for (long n = 0; n < count; ++n) {
            to[2 * n] = even[n];
            to[2 * n + 1] = odd[n];
        }
        x = count < 0 ? 0 : 2 * count;
    }
    for (; x < w->width; ++x)
        to[x] = (x + pad) / stride < phase_apart ? from[(x + pad) % stride * phase_apart + (x + pad) / stride] : 0;
}

enum { AT_ONCE = 16 };

/* How many windows a row is rounded up to, and how far apart the phases of a row lie. */
static long windows_across(const Windows *w) { return up(w->out_width, AT_ONCE) * AT_ONCE; }
static long phase_stride(const Windows *w)
{
    return windows_across(w) + (w->kernel_x - 1) * w->dilation_x / w->stride_x;
}

/* A plane at a time, by rows of windows. */
static void max_pool_part(void *context, long part, long parts)
{
    Pooling *p = context;
    const Windows *w = &p->w;
    const long across = windows_across(w), phase_apart = phase_stride(w), line = phase_apart * w->stride_x;
    real *lines = scratch(1, sizeof(real) * (size_t)(across + line * w->height)), *restrict most = lines + line * w->height;
    const long *look = tap_table(w, phase_apart);
    if (!lines || !look) { p->failed = 1; return; }
    for (long plane = w->planes * part / parts; plane < w->planes * (part + 1) / parts; ++plane) {
        const real *image = p->input + plane * w->height * w->width;
        for (long row = 0; row < w->height; ++row)
            to_phases(w, look, image + row * w->width, phase_apart, lines + row * line, -(real)INFINITY);
        for (long y = 0; y < w->out_height; ++y) {
            for (long x = 0; x < across; ++x) most[x] = -(real)INFINITY;
            for (long i = 0; i < w->kernel_y; ++i) {
                const long row = y * w->stride_y - w->pad_y + i * w->dilation_y;
                if (row < 0 || row >= w->height) continue;
                for (long j = 0; j < w->kernel_x; ++j) {
                    const real *from = lines + row * line + look[j];
                    for (long x = 0; x < across; ++x) most[x] = (from[x] > most[x]) | (from[x] != from[x]) ? from[x] : most[x];
                }
            }
            memcpy(p->out + (plane * w->out_height + y) * w->out_width, most, sizeof(real) * (size_t)w->out_width);
        }
    }
}

/* A row of windows at a time: first which tap has the largest element, the first one if several have, the last nan if any
   is; then each tap adds the gradients of the windows that took it, in the order of the windows. */
static void max_pool_backward_part(void *context, long part, long parts)
{
    Pooling *p = context;
    const Windows *w = &p->w;
    const long across = windows_across(w), phase_apart = phase_stride(w), line = phase_apart * w->stride_x;
    const long whole = line * w->height;
    word *restrict places = scratch(0, sizeof(word) * (size_t)across);
    real *lines = scratch(1, sizeof(real) * (size_t)(2 * across + 2 * whole)), *restrict most = lines + 2 * whole;
    real *sums = lines + whole, *restrict grads = most + across;
    const long *look = tap_table(w, phase_apart);
    if (!places || !lines || !look) { p->failed = 1; return; }
    const int four = w->kernel_y == 2 && w->kernel_x == 2 && w->stride_y == 2 && w->stride_x == 2 && !w->pad_y && !w->pad_x
        && w->dilation_y == 1 && w->dilation_x == 1 && w->out_height * 2 == w->height && w->out_width * 2 == w->width;
    for (long plane = w->planes * part / parts; plane < w->planes * (part + 1) / parts; ++plane) {
        const real *image = p->input + plane * w->height * w->width;
        const real *grad = p->grad + plane * w->out_height * w->out_width;
        real *out = p->out + plane * w->height * w->width;
        int done = four;
        for (long y = 0; y < w->out_height && done; ++y)
            done = backward_of_four(
                image + 2 * y * w->width, grad + y * w->out_width, out + 2 * y * w->width, w->width, w->out_width);
        if (done) continue;
        for (long row = 0; row < w->height; ++row)
            to_phases(w, look, image + row * w->width, phase_apart, lines + row * line, -(real)INFINITY);
        memset(sums, 0, sizeof(real) * (size_t)whole);
        for (long y = 0; y < w->out_height; ++y, grad += w->out_width) {
            const long top = y * w->stride_y - w->pad_y;
            for (long x = 0; x < across; ++x) {
                places[x] = -1;
                most[x] = -(real)INFINITY;
                grads[x] = x < w->out_width ? grad[x] : 0;
            }
            for (long i = 0; i < w->kernel_y; ++i) {
                const long row = top + i * w->dilation_y;
                if (row < 0 || row >= w->height) continue;
                for (long j = 0; j < w->kernel_x; ++j) {
                    const real *from = lines + row * line + look[j];
                    const word own = (word)(i * w->kernel_x + j);
                    for (long x = 0; x < across; ++x) {
                        const int better = (from[x] > most[x]) | (from[x] != from[x]);
                        places[x] = better ? own : places[x];
                        most[x] = better ? from[x] : most[x];
                    }
                }
            }
            for (long i = 0; i < w->kernel_y; ++i) {
                const long row = top + i * w->dilation_y;
                if (row < 0 || row >= w->height) continue;
                for (long j = w->kernel_x - 1; j >= 0; --j) {
                    real *restrict to = sums + row * line + look[j];
                    const word own = (word)(i * w->kernel_x + j);
                    for (long x = 0; x < across; ++x) to[x] += places[x] == own ? grads[x] : 0;
                }
            }
            word lowest = 0;
            for (long x = 0; x < w->out_width; ++x) lowest = places[x] < lowest ? places[x] : lowest;
            for (long x = 0; lowest < 0 && x < w->out_width; ++x) {
                if (places[x] >= 0) continue; /* all are -inf */
                const long place = first_inside(w, y, x);
                const long column = place % w->width + w->pad_x;
                sums[place / w->width * line + column % w->stride_x * phase_apart + column / w->stride_x] += grad[x];
            }
        }
        for (long row = 0; row < w->height; ++row) from_phases(w, sums + row * line, phase_apart, out + row * w->width);
    }
}

static Object *run_pool(Task task, Pooling pooling, Object *windows, const char *lacking)
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
static Object *max_pool_forward(Object *self, Object *const *args, intptr_t count)
{
    Pooling pooling = {.out = (real *)((Array *)args[0])->data, .input = (real *)((Array *)args[1])->data};
    return run_pool(max_pool_part, pooling, args[2], "no memory for the windows of max_pool");
}

/* max_pool_backward(out, grad, input, windows); all row-major. */
static Object *max_pool_backward(Object *self, Object *const *args, intptr_t count)
{
    Pooling pooling = {.out = (real *)((Array *)args[0])->data, .grad = (real *)((Array *)args[1])->data,
                             .input = (real *)((Array *)args[2])->data};
    return run_pool(max_pool_backward_part, pooling, args[3], "no memory for the gradient of max_pool");
}

static Method methods[] = {
    BIND,
    {"max_pool", max_pool_forward, FASTCALL, "max_pool(out, input, windows)"},
    {"max_pool_backward", max_pool_backward, FASTCALL, "max_pool_backward(out, grad, input, windows)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(maximum)
