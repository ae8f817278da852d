/* All steps of a recurrent layer in one direction, forward and backward.

   The sequences of a batch do not meet, so a part of the work is some of them with all their steps, and threads need not
   wait for each other between steps. A step is one product of the part's states with the packed weight, added to what
   the inputs gave, and one pass over its rows while they are in the cache. */

#include "../../../common/real_math.h"
#include "../../../common/library.h"
#include "../../../gemm/packing.h"

enum { LSTM, GRU, TANH, RELU };
enum { SEQUENCES = 16 }; /* of a part */

#ifdef POLYAD_VECTOR_MATH
__attribute__((simd("notinbranch"))) double tanh(double);
#endif
#ifdef DTYPE_double
static inline double real_tanh(double x) { return tanh(x); }
#else
/* tanh(x) to 2 units in the last place: a polynomial where x is small, else by exp. */
static inline float real_tanh(float x)
{
    const float size = fabsf(x), z = x * x, e = polyad_exp(-2 * size);
    const float p = (((-0.0054535f * z + 0.02041292f) * z - 0.05367054f) * z + 0.13330623f) * z - 0.33333253f;
    return size < 0.66f ? x + x * z * p : copysignf((1 - e) / (1 + e), x);
}
#endif

typedef struct { real *panels; long depth, columns; } Packed;

typedef struct {
    int cell_kind, reverse, failed;
    long count, size, width, columns, steps; /* sequences; units; units after the projection; columns of a step's gates */
    const int64_t *sizes;
    long *starts;
    const real *gates, *bias, *hidden, *cell;
    const real *grad_out, *grad_hidden, *grad_cell, *states, *activated_then, *cells_then;
    Packed inner, weighted, outer;
    real *out, *activated, *cells, *new_hidden, *new_cell;
    real *of_gates, *of_products, *before, *projected, *inside;
} Recurrent;

/* b[k][j] = from[k * row + j * column], in panels that the tile reads. */
static Packed packed(real **space, const real *from, long row, long column, long depth, long columns)
{
    Packed b = {*space, depth, columns};
    for (long j = 0; j < columns; j += COLUMNS, *space += COLUMNS * depth)
        pack_panel(from + j * column, row, column, depth, least(COLUMNS, columns - j), *space);
    return b;
}

static long room(long depth, long columns) { return up(columns, COLUMNS) * COLUMNS * depth; }

/* c (+)= a b for the first *rows* rows; *a* can be read to a multiple of ROWS. */
static void times(const real *a, const Packed *b, real *c, long stride, long rows, int add)
{
    for (long j = 0; j < b->columns; j += COLUMNS)
        for (long i = 0; i < rows; i += ROWS)
            tile_by_rows(a + i * b->depth, b->depth, b->panels + j * b->depth, b->depth, c + i * stride + j, stride,
                               (int)least(ROWS, rows - i), (int)least(COLUMNS, b->columns - j), add, NULL);
}

static inline real sigmoid(real x) { return 1 / (1 + real_exp(-x)); }

static void lstm_row(real *restrict gates, real *restrict cell, real *restrict result, long size)
{
    for (long j = 0; j < size; ++j) {
        const real i = sigmoid(gates[j]), f = sigmoid(gates[size + j]);
        const real g = real_tanh(gates[2 * size + j]), o = sigmoid(gates[3 * size + j]);
        cell[j] = f * cell[j] + i * g;
        gates[j] = i, gates[size + j] = f, gates[2 * size + j] = g, gates[3 * size + j] = o;
        result[j] = o * real_tanh(cell[j]);
    }
}

static void gru_row(real *restrict gates, const real *restrict own, real *restrict state, long size)
{
    for (long j = 0; j < size; ++j) {
        const real r = sigmoid(gates[j]), z = sigmoid(gates[size + j]);
        const real n = real_tanh(own[j] + r * gates[3 * size + j]);
        gates[j] = r, gates[size + j] = z, gates[2 * size + j] = n;
        state[j] = (state[j] - n) * z + n;
    }
}

static void forward_part(void *context, long part, long parts)
{
    Recurrent *q = context;
    const long first = q->count * part / parts, all = q->count * (part + 1) / parts - first;
    const long size = q->size, width = q->width, columns = q->columns, high = up(all, ROWS) * ROWS;
    real *state = scratch(2, sizeof(real) * (size_t)(high * (width + size) + all * size));
    if (!state) { q->failed = 1; return; }
    real *inside = state + high * width, *cell = inside + high * size;
    memset(state, 0, sizeof(real) * (size_t)(high * (width + size)));
    memcpy(state, q->hidden + first * width, sizeof(real) * (size_t)(all * width));
    if (q->cell_kind == LSTM) memcpy(cell, q->cell + first * size, sizeof(real) * (size_t)(all * size));
    for (long step = 0; step < q->steps; ++step) {
        const long place = q->reverse ? q->steps - 1 - step : step;
        const long begin = q->starts[place] + first, rows = least(q->sizes[place] - first, all);
        if (rows < 1) continue;
        real *out = q->out + begin * width;
        if (q->cell_kind == LSTM) {
            real *now = q->activated + begin * columns;
            memcpy(now, q->gates + begin * columns, sizeof(real) * (size_t)(rows * columns));
            times(state, &q->inner, now, columns, rows, 1);
            for (long i = 0; i < rows; ++i)
                lstm_row(now + i * columns, cell + i * size, (q->outer.panels ? inside : state) + i * size, size);
            if (q->outer.panels) times(inside, &q->outer, state, width, rows, 0);
            memcpy(q->cells + begin * size, cell, sizeof(real) * (size_t)(rows * size));
        } else if (q->cell_kind == GRU) {
            real *now = q->activated + begin * 4 * size;
            const real *given = q->gates + begin * columns;
            for (long i = 0; i < rows; ++i) {
                real *to = now + i * 4 * size;
                for (long j = 0; j < 2 * size; ++j) to[j] = given[i * columns + j] + (q->bias ? q->bias[j] : 0);
                for (long j = 0; j < size; ++j) to[3 * size + j] = q->bias ? q->bias[2 * size + j] : 0;
            }
            times(state, &q->inner, now, 4 * size, rows, 1);
            times(state, &q->weighted, now + 3 * size, 4 * size, rows, 1);
            for (long i = 0; i < rows; ++i)
                gru_row(now + i * 4 * size, given + i * columns + 2 * size, state + i * size, size);
        } else {
            memcpy(out, q->gates + begin * size, sizeof(real) * (size_t)(rows * size));
            times(state, &q->inner, out, size, rows, 1);
            if (q->cell_kind == RELU) for (long j = 0; j < rows * size; ++j) state[j] = out[j] < 0 ? 0 : out[j];
            else for (long j = 0; j < rows * size; ++j) state[j] = real_tanh(out[j]);
        }
        memcpy(out, state, sizeof(real) * (size_t)(rows * width));
    }
    memcpy(q->new_hidden + first * width, state, sizeof(real) * (size_t)(all * width));
    if (q->cell_kind == LSTM) memcpy(q->new_cell + first * size, cell, sizeof(real) * (size_t)(all * size));
}

/* The gradients of a row's gates; that of its cell goes on from *of_cell*. */
static void lstm_backward_row(
    const real *restrict grad, real *restrict of_cell, const real *restrict before, const real *restrict cell,
    const real *restrict gates, real *restrict of_gates, real *restrict inside, long size)
{
    for (long j = 0; j < size; ++j) {
        const real i = gates[j], f = gates[size + j], g = gates[2 * size + j], o = gates[3 * size + j];
        const real squashed = real_tanh(cell[j]), of = of_cell[j] + grad[j] * o * (1 - squashed * squashed);
        of_gates[j] = of * g * i * (1 - i);
        of_gates[size + j] = of * before[j] * f * (1 - f);
        of_gates[2 * size + j] = of * i * (1 - g * g);
        of_gates[3 * size + j] = grad[j] * squashed * o * (1 - o);
        of_cell[j] = of * f;
        if (inside) inside[j] = o * squashed;
    }
}

/* The gradients of a row's gates, of which that of n is one of what its inputs gave, and apart that of what is weighted. */
static void gru_backward_row(
    real *restrict grad, const real *restrict before, const real *restrict gates, real *restrict of_gates,
    real *restrict of_product, long size)
{
    for (long j = 0; j < size; ++j) {
        const real r = gates[j], z = gates[size + j], n = gates[2 * size + j], weighted = gates[3 * size + j];
        const real of = grad[j] * (1 - z) * (1 - n * n);
        of_gates[j] = of_product[j] = of * weighted * r * (1 - r);
        of_gates[size + j] = of_product[size + j] = grad[j] * (before[j] - n) * z * (1 - z);
        of_gates[2 * size + j] = of;
        of_product[2 * size + j] = of * r;
        grad[j] *= z;
    }
}

static void backward_part(void *context, long part, long parts)
{
    Recurrent *q = context;
    const long first = q->count * part / parts, all = q->count * (part + 1) / parts - first;
    const long size = q->size, width = q->width, columns = q->columns, high = up(all, ROWS) * ROWS;
    real *grad = scratch(2, sizeof(real) * (size_t)(high * (width + columns) + 2 * all * size));
    if (!grad) { q->failed = 1; return; }
    real *now = grad + high * width, *of_cell = now + high * columns, *spare = of_cell + all * size;
    memset(grad, 0, sizeof(real) * (size_t)(high * (width + columns) + 2 * all * size));
    if (q->grad_hidden) memcpy(grad, q->grad_hidden + first * width, sizeof(real) * (size_t)(all * width));
    if (q->grad_cell) memcpy(of_cell, q->grad_cell + first * size, sizeof(real) * (size_t)(all * size));
    for (long step = q->steps - 1; step >= 0; --step) {
        const long place = q->reverse ? q->steps - 1 - step : step, last = q->reverse ? place + 1 : place - 1;
        const long begin = q->starts[place] + first, rows = least(q->sizes[place] - first, all);
        if (rows < 1) continue;
        const long begun = step ? least(rows, q->sizes[last] - first) : 0; /* others begin with this step */
        if (q->grad_out)
            for (long j = 0; j < rows * width; ++j) grad[j] += q->grad_out[begin * width + j];
        for (long i = 0; i < rows; ++i)
            memcpy(q->before + (begin + i) * width,
                   i < begun ? q->states + (q->starts[last] + first + i) * width : q->hidden + (first + i) * width,
                   sizeof(real) * (size_t)width);
        if (q->cell_kind == LSTM) {
            const real *arriving = grad;
            if (q->outer.panels) {
                memcpy(q->projected + begin * width, grad, sizeof(real) * (size_t)(rows * width));
                times(grad, &q->outer, spare, size, rows, 0);
                arriving = spare;
            }
            for (long i = 0; i < rows; ++i)
                lstm_backward_row(
                    arriving + i * size, of_cell + i * size,
                    i < begun ? q->cells_then + (q->starts[last] + first + i) * size : q->cell + (first + i) * size,
                    q->cells_then + (begin + i) * size, q->activated_then + (begin + i) * columns, now + i * columns,
                    q->inside ? q->inside + (begin + i) * size : NULL, size);
        } else if (q->cell_kind == GRU) {
            for (long i = 0; i < rows; ++i)
                gru_backward_row(grad + i * size, q->before + (begin + i) * size,
                                   q->activated_then + (begin + i) * 4 * size, q->of_gates + (begin + i) * columns,
                                   now + i * columns, size);
        } else {
            const real *state = q->states + begin * size;
            if (q->cell_kind == RELU) for (long j = 0; j < rows * size; ++j) now[j] = state[j] > 0 ? grad[j] : grad[j] * 0;
            else for (long j = 0; j < rows * size; ++j) now[j] = grad[j] * (1 - state[j] * state[j]);
        }
        memcpy((q->cell_kind == GRU ? q->of_products : q->of_gates) + begin * columns, now, sizeof(real) * (size_t)(rows * columns));
        times(now, &q->inner, grad, width, rows, q->cell_kind == GRU);
    }
    memcpy(q->new_hidden + first * width, grad, sizeof(real) * (size_t)(all * width));
    if (q->cell_kind == LSTM) memcpy(q->new_cell + first * size, of_cell, sizeof(real) * (size_t)(all * size));
}

/* What an argument points to; NULL for None. */
static real *data(Object *argument) { return argument == &_Py_NoneStruct ? NULL : (real *)((Array *)argument)->data; }

/* run(kind, reverse, sizes, weight, projection, hidden, cell, backward, arrays): all arrays are row-major. Those of the
   forward pass are gates, bias, out, new_hidden, new_cell, activated, cells; those of the backward pass grad_out,
   grad_new_hidden, grad_new_cell, out, activated, cells, and of what is written of_gates, of_products, before, projected,
   inside, of_hidden, of_cell. */
static Object *run(Object *self, Object *const *args, intptr_t count)
{
    const Array *sizes = (Array *)args[2], *weight = (Array *)args[3], *projection = (Array *)args[4];
    const Array *hidden = (Array *)args[5];
    const int backward = (int)PyLong_AsLongLong(args[7]), projects = (Object *)projection != &_Py_NoneStruct;
    Recurrent q = {
        .cell_kind = (int)PyLong_AsLongLong(args[0]), .reverse = (int)PyLong_AsLongLong(args[1]),
        .sizes = (const int64_t *)sizes->data, .steps = sizes->shape[0], .count = hidden->shape[0],
        .width = hidden->shape[1], .columns = weight->shape[0],
        .hidden = (const real *)hidden->data, .cell = data(args[6]),
    };
    real *arrays[13];
    for (intptr_t n = 0; n < (backward ? 13 : 7); ++n) arrays[n] = data(PyTuple_GetItem(args[8], n));
    q.size = projects ? projection->shape[1] : q.width;
    const long split = q.cell_kind == GRU && !backward ? 2 * q.size : q.columns;
    const long rooms = backward ? room(q.columns, q.width) + room(q.width, q.size)
        : room(q.width, split) + room(q.width, q.columns - split) + room(q.size, q.width);
    real *space = scratch(0, sizeof(real) * (size_t)rooms);
    q.starts = scratch(1, sizeof(long) * (size_t)q.steps);
    if (!space || !q.starts) { PyErr_SetString(PyExc_MemoryError, "no memory for a recurrent layer"); return NULL; }
    for (long step = 0, start = 0; step < q.steps; start += q.sizes[step++]) q.starts[step] = start;
    const real *w = (const real *)weight->data, *outer = data(args[4]);
    if (backward) {
        q.grad_out = arrays[0], q.grad_hidden = arrays[1], q.grad_cell = arrays[2], q.states = arrays[3];
        q.activated_then = arrays[4], q.cells_then = arrays[5], q.of_gates = arrays[6], q.of_products = arrays[7];
        q.before = arrays[8], q.projected = arrays[9], q.inside = arrays[10];
        q.new_hidden = arrays[11], q.new_cell = arrays[12];
    } else {
        q.gates = arrays[0], q.bias = arrays[1], q.out = arrays[2], q.new_hidden = arrays[3], q.new_cell = arrays[4];
        q.activated = arrays[5], q.cells = arrays[6];
    }
    void *thread = PyEval_SaveThread();
    if (backward) {
        q.inner = packed(&space, w, q.width, 1, q.columns, q.width);
        if (projects) q.outer = packed(&space, outer, q.size, 1, q.width, q.size);
    } else {
        q.inner = packed(&space, w, 1, q.width, q.width, split);
        if (split < q.columns) q.weighted = packed(&space, w + split * q.width, 1, q.width, q.width, q.columns - split);
        if (projects) q.outer = packed(&space, outer, 1, q.size, q.size, q.width);
    }
    polyad_parallel(backward ? backward_part : forward_part, &q, up(q.count, SEQUENCES));
    PyEval_RestoreThread(thread);
    if (q.failed) { PyErr_SetString(PyExc_MemoryError, "no memory for a recurrent layer"); return NULL; }
    return none();
}

static Method methods[] = {
    BIND,
    {"run", run, FASTCALL, "run(kind, reverse, sizes, weight, projection, hidden, cell, backward, arrays)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(sequences)
