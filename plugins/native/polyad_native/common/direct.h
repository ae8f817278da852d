/* Kernels whose common calls pass no frame of Python: they look at the operands, have NumPy allocate the result and
   compute it. What they do not take goes to another callable. */

#ifndef POLYAD_DIRECT_H
#define POLYAD_DIRECT_H

#include "dtype.h"
#include "python.h"

/* Whether this is an array of so many dimensions at least, with elements, apart by whole elements. */
static int fits(const Object *value, int rank)
{
    const Array *array = (const Array *)value;
    if (!is_array(value) || array->rank < rank) return 0;
    for (int d = 0; d < array->rank; ++d)
        if (!array->shape[d] || array->strides[d] % (intptr_t)sizeof(stored)) return 0;
    return 1;
}

/* A new array, by NumPy's empty. */
static inline Object *new_array(Object *self, int rank, const intptr_t *sizes)
{
    Object *shape = PyTuple_New(rank);
    if (!shape) return NULL;
    for (int d = 0; d < rank; ++d) PyTuple_SetItem(shape, d, PyLong_FromLongLong(sizes[d]));
    Object *const given[2] = {shape, PyTuple_GetItem(self, 1)};
    Object *out = PyObject_Vectorcall(PyTuple_GetItem(self, 0), given, 2, NULL);
    Py_DecRef(shape);
    return out;
}

#endif
