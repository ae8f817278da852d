/* Row-major arrays side by side: a row of the result has a stretch of each. Parts are equal numbers of bytes. */

#include "../../common/library.h"

typedef struct { char *out; const char **from; long rows, row, *begins; } Joining;

static void join_part(void *context, long part, long parts)
{
    const Joining *j = context;
    const long bytes = j->rows * j->row, end = bytes * (part + 1) / parts;
    long at = bytes * part / parts, piece = 0;
    while (at < end) {
        const long row = at / j->row, in_row = at % j->row;
        if (in_row < j->begins[piece]) piece = 0;
        while (in_row >= j->begins[piece + 1]) ++piece;
        const long size = j->begins[piece + 1] - j->begins[piece], skipped = in_row - j->begins[piece];
        const long size_here = least(size - skipped, end - at);
        memcpy(j->out + at, j->from[piece] + row * size + skipped, (size_t)size_here);
        at += size_here;
    }
}

/* join(out, arrays, dim, size): *out* and the tuple's arrays are row-major and have elements of *size* bytes. */
static Object *join(Object *self, Object *const *args, intptr_t count)
{
    const Array *out = (Array *)args[0];
    const int dim = (int)PyLong_AsLongLong(args[2]);
    const long size = PyLong_AsLongLong(args[3]);
    const long arrays = (long)PyTuple_Size(args[1]);
    Joining j = {.out = out->data, .rows = 1, .row = size};
    for (int d = 0; d < dim; ++d) j.rows *= out->shape[d];
    for (int d = dim; d < out->rank; ++d) j.row *= out->shape[d];
    if (!(j.begins = malloc((size_t)(arrays + 1) * (sizeof(long) + sizeof(char *))))) return PyLong_FromLongLong(0);
    j.from = (const char **)(j.begins + arrays + 1);
    const long each = j.row / out->shape[dim];
    j.begins[0] = 0;
    for (long n = 0; n < arrays; ++n) {
        const Array *array = (Array *)PyTuple_GetItem(args[1], n);
        j.from[n] = array->data;
        j.begins[n + 1] = j.begins[n] + array->shape[dim] * each;
    }
    void *thread = PyEval_SaveThread();
    polyad_parallel(join_part, &j, least(j.rows * j.row / (1 << 16) + 1, 16));
    PyEval_RestoreThread(thread);
    free(j.begins);
    return PyLong_FromLongLong(1);
}

static Method methods[] = {
    BIND,
    {"join", join, FASTCALL, "join(out, arrays, dim, size)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(joining)
