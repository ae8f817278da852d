/* The parameters of a group, with what an optimizer keeps for each. */

#ifndef POLYAD_PARAMETERS_H
#define POLYAD_PARAMETERS_H

#include "../../common/python.h"

enum { SGD, MOMENTUM, ADAM, AMSGRAD };

enum { MOST = 5, BLOCK = 256, PART = 1 << 15 };
static const int ARRAYS[] = {2, 3, 4, 5}; /* of a kind: param, grad, then what it keeps; Adam's count comes last */

/* A parameter and what belongs to it. *begin*: how many elements those before it have. */
typedef struct {
    const Array *arrays[MOST];
    char *at[MOST];
    long begin, count;
    int flat;            /* the arrays lie in memory alike, without gaps */
    double size, epsilon; /* of Adam's step: what the quotient is multiplied by, and what is added below */
} Row;

typedef struct {
    Row *rows;
    long count, elements;
    int kind;
    double numbers[7];
} Group;

static int alike(const Array *a, const Array *b)
{
    for (int d = 0; d < a->rank; ++d)
        if (a->shape[d] != 1 && a->strides[d] != b->strides[d]) return 0;
    return 1;
}

static int dense(const Array *a, long count, long size)
{
    long last = 0;
    for (int d = 0; d < a->rank; ++d) {
        if (a->shape[d] == 1) continue;
        if (a->strides[d] < size) return 0;
        last += (a->shape[d] - 1) * a->strides[d];
    }
    return last == (count - 1) * size;
}

/* Whether rows are of arrays that a step takes: of one shape in each row. Fills in all but what Adam wants. */
static int read_rows(Object *given, Row *rows, long count, int kind, long size, long *elements)
{
    const int arrays = ARRAYS[kind], more = kind >= ADAM;
    *elements = 0;
    for (long n = 0; n < count; ++n) {
        Object *row = PySequence_GetItem(given, n);
        if (!row) return 0;
        Py_DecRef(row); /* the list holds it */
        if (PyTuple_Size(row) != arrays + more) return 0;
        Row *to = rows + n;
        to->flat = 1;
        for (int k = 0; k < arrays; ++k) {
            Object *array = PyTuple_GetItem(row, k);
            if (!is_array(array)) return 0;
            const Array *a = to->arrays[k] = (const Array *)array, *first = to->arrays[0];
            to->at[k] = a->data;
            if (a->rank != first->rank) return 0;
            for (int d = 0; d < a->rank; ++d)
                if (a->shape[d] != first->shape[d]) return 0;
            to->flat = to->flat && alike(a, first);
        }
        if (more && !is_array(PyTuple_GetItem(row, arrays))) return 0;
        to->begin = *elements;
        to->count = 1;
        for (int d = 0; d < to->arrays[0]->rank; ++d) to->count *= to->arrays[0]->shape[d];
        to->flat = to->count < 2 || (to->flat && dense(to->arrays[0], to->count, size));
        *elements += to->count;
    }
    return 1;
}

typedef struct { const char *from, *to; } Range;

static int by_place(const void *a, const void *b)
{
    const char *one = ((const Range *)a)->from, *other = ((const Range *)b)->from;
    return one < other ? -1 : one > other;
}

/* Whether two of the parameters lie in the same memory: these are stepped one after the other. */
static int overlap(const Row *rows, long count, long size)
{
    if (count < 2) return 0;
    Range *ranges = malloc((size_t)count * sizeof *ranges);
    if (!ranges) return 1;
    long used = 0;
    for (long n = 0; n < count; ++n) {
        const Array *a = rows[n].arrays[0];
        if (!rows[n].count) continue;
        Range *range = ranges + used++;
        range->from = range->to = a->data;
        for (int d = 0; d < a->rank; ++d) {
            const long along = (a->shape[d] - 1) * a->strides[d];
            if (along < 0) range->from += along;
            else range->to += along;
        }
        range->to += size;
    }
    qsort(ranges, (size_t)used, sizeof *ranges, by_place);
    int found = 0;
    for (long n = 1; n < used && !found; ++n) {
        found = ranges[n].from < ranges[n - 1].to;
        if (ranges[n].to < ranges[n - 1].to) ranges[n].to = ranges[n - 1].to;
    }
    free(ranges);
    return found;
}

#endif
