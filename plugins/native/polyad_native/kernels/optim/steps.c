/* Steps of optimizers, a group of parameters in one call.

   Every step of the arithmetic is rounded as NumPy's kernels round it, so that both give the same bits: the library is
   compiled without contractions, and a power is computed once for a parameter, as a double. */

#include "../../common/library.h"
#include "adam.h"
#include "parameters.h"
#include "sgd.h"

static void step_stretch(const Group *group, const Row *row, real *const *at, long count)
{
    switch (group->kind) {
    case SGD: sgd(at[0], at[1], count, group->numbers); break;
    case MOMENTUM: momentum(at[0], at[1], at[2], count, group->numbers); break;
    case ADAM: adam(at[0], at[1], at[2], at[3], NULL, count, group->numbers, row->size, row->epsilon); break;
    default: adam(at[0], at[1], at[2], at[3], at[4], count, group->numbers, row->size, row->epsilon);
    }
}

/* Elements *begin* and following of an array, counted in row-major order, to or from a buffer. */
static void copy_elements(const Array *a, long begin, long count, real *buffer, int back)
{
    long at[64];
    char *from = a->data;
    for (int d = a->rank - 1; d >= 0; --d) {
        at[d] = begin % a->shape[d];
        begin /= a->shape[d];
        from += at[d] * a->strides[d];
    }
    for (long i = 0; i < count; ++i) {
        if (back) *(real *)from = buffer[i];
        else buffer[i] = *(const real *)from;
        for (int d = a->rank - 1; d >= 0; --d) {
            from += a->strides[d];
            if (++at[d] < a->shape[d]) break;
            from -= a->shape[d] * a->strides[d];
            at[d] = 0;
        }
    }
}

static void step_part(void *context, long part, long parts)
{
    const Group *group = context;
    const long begin = group->elements * part / parts, end = group->elements * (part + 1) / parts;
    const int arrays = ARRAYS[group->kind];
    long low = 0, high = group->count; /* the first row that reaches beyond *begin* */
    while (low < high) {
        const long middle = (low + high) / 2;
        if (group->rows[middle].begin + group->rows[middle].count > begin) high = middle;
        else low = middle + 1;
    }
    for (long n = low; n < group->count && group->rows[n].begin < end; ++n) {
        const Row *row = group->rows + n;
        const long from = row->begin < begin ? begin - row->begin : 0, to = least(row->count, end - row->begin);
        real *at[MOST], buffers[MOST][BLOCK] __attribute__((aligned(64)));
        if (row->flat) {
            for (int k = 0; k < arrays; ++k) at[k] = (real *)row->at[k] + from;
            step_stretch(group, row, at, to - from);
            continue;
        }
        for (long i = from; i < to; i += BLOCK) {
            const long count = least(BLOCK, to - i);
            for (int k = 0; k < arrays; ++k) copy_elements(row->arrays[k], i, count, at[k] = buffers[k], 0);
            step_stretch(group, row, at, count);
            for (int k = 0; k < arrays; ++k)
                if (k != 1) copy_elements(row->arrays[k], i, count, buffers[k], 1);
        }
    }
}

/* step(kind, rows, numbers, double_counts): whether it was done; if not, nothing was written. */
static Object *step(Object *self, Object *const *args, intptr_t given)
{
    Group group = {.kind = (int)PyLong_AsLongLong(args[0]), .count = PySequence_Size(args[1])};
    const int double_counts = (int)PyLong_AsLongLong(args[3]);
    const intptr_t bytes = PyBytes_Size(args[2]);
    if (group.count < 0 || bytes < 0 || bytes > (intptr_t)sizeof group.numbers) return NULL;
    memcpy(group.numbers, PyBytes_AsString(args[2]), (size_t)bytes);
    if (!(group.rows = malloc((size_t)(group.count + 1) * sizeof(Row)))) return PyLong_FromLongLong(0);
    int done = read_rows(args[1], group.rows, group.count, group.kind, sizeof(real), &group.elements);
    if (done) {
        double last = -1, size = 0, epsilon = 0;
        for (long n = 0; group.kind >= ADAM && n < group.count; ++n) {
            Object *row = PySequence_GetItem(args[1], n);
            char *counter = ((Array *)PyTuple_GetItem(row, ARRAYS[group.kind]))->data;
            Py_DecRef(row);
            const double steps = (double_counts ? *(double *)counter : (double)*(float *)counter) + 1;
            if (steps != last || !n) {
                /* sqrt(v) / root + eps below m times lr / correction, with root taken out of the fraction. */
                const double root = sqrt(1 - pow(group.numbers[2], steps));
                size = group.numbers[0] * root / (1 - pow(group.numbers[1], steps));
                epsilon = group.numbers[3] * root;
                last = steps;
            }
            group.rows[n].size = size;
            group.rows[n].epsilon = epsilon;
            if (double_counts) *(double *)counter = steps;
            else *(float *)counter = (float)steps;
        }
        const long parts = group.elements < 2 * PART ? 1 : least(group.elements / PART, 64);
        const int serial = parts > 1 && overlap(group.rows, group.count, sizeof(real));
        void *thread = PyEval_SaveThread();
        if (serial) step_part(&group, 0, 1);
        else polyad_parallel(step_part, &group, parts);
        PyEval_RestoreThread(thread);
    }
    free(group.rows);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromLongLong(done);
}

static Method methods[] = {
    BIND,
    {"step", step, FASTCALL, "step(kind, rows, numbers, whether counts are double): whether it was done"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(steps)
