/* relu and its gradient of few elements, called without a frame of Python. Those of many are generated. */

#include "../../../common/direct.h"
#include "../../../common/library.h"
#include "../../../common/vectors.h"

/* relu(input) or relu_backward(grad, output) of few elements that lie side by side. */
static Object *relu_call(Object *self, Object *const *args, intptr_t count, Object *names)
{
    const Array *first = (Array *)args[0], *second = (Array *)args[count - 1];
    intptr_t size = 1;
    if (names || count > 2 || !fits(args[0], 1) || !fits(args[count - 1], 1) || first->rank != second->rank)
        goto other;
    for (int d = first->rank - 1; d >= 0; size *= first->shape[d--])
        if (first->shape[d] != second->shape[d] || first->strides[d] != size * (intptr_t)sizeof(stored)
            || second->strides[d] != first->strides[d])
            goto other;
    if (size > 1 << 11) goto other;
    Object *out = new_array(self, first->rank, first->shape);
    if (!out) return NULL;
    stored *restrict to = (stored *)((Array *)out)->data;
    const stored *x = (const stored *)first->data, *y = (const stored *)second->data;
    if (count == 1) for (intptr_t n = 0; n < size; ++n) to[n] = to_real(x[n]) <= 0 ? 0 : x[n]; /* nan stays */
    else for (intptr_t n = 0; n < size; ++n) to[n] = to_real(y[n]) == 0 ? 0 : x[n];
    return out;
other:
    return PyObject_Vectorcall(PyTuple_GetItem(self, 2), args, (size_t)count, names);
}

static Method relu_method = {"relu", (Fast)relu_call, FASTCALL | KEYWORDS, ""};

/* direct_relu(empty, dtype, other) */
static Object *direct_relu(Object *self, Object *const *args, intptr_t count)
{
    return holding(&relu_method, args, 3);
}

static Method methods[] = {
    BIND,
    {"direct_relu", direct_relu, FASTCALL, "direct_relu(empty, dtype, other)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(rectifiers)
