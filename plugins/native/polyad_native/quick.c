/* Kernels whose common calls pass no frame of Python: they look at the operands, have NumPy allocate the result and
   compute it. What they do not take goes to another callable. */

/* Whether this is an array of so many dimensions at least, with elements, in steps of whole elements. */
static int NAME(fits)(const Object *value, int rank)
{
    const Array *array = (const Array *)value;
    if (!is_array(value) || array->rank < rank) return 0;
    for (int d = 0; d < array->rank; ++d)
        if (!array->shape[d] || array->strides[d] % (intptr_t)sizeof(HELD)) return 0;
    return 1;
}

/* A new array, by NumPy's empty. */
static Object *NAME(new)(Object *self, int rank, const intptr_t *sizes)
{
    Object *shape = PyTuple_New(rank);
    if (!shape) return NULL;
    for (int d = 0; d < rank; ++d) PyTuple_SetItem(shape, d, PyLong_FromLongLong(sizes[d]));
    Object *const given[2] = {shape, PyTuple_GetItem(self, 1)};
    Object *out = PyObject_Vectorcall(PyTuple_GetItem(self, 0), given, 2, NULL);
    Py_DecRef(shape);
    return out;
}

/* How many rows an array of any rank has that lie in even steps; 0 if they do not. */
static intptr_t NAME(rows_of)(const Array *a)
{
    intptr_t rows = a->shape[a->rank - 2];
    for (int d = a->rank - 3; d >= 0; rows *= a->shape[d--])
        if (a->strides[d] != a->strides[d + 1] * a->shape[d + 1]) return 0;
    return rows;
}

/* gemm(a, b, transpose_a, transpose_b) or linear(a, weight, bias), of a matrix, or of rows that lie side by side, and a
   matrix, or linear_weight_grad(a, b) of rows and rows; what is not of this form goes to another callable. */
static Object *NAME(multiplied)(Object *self, Object *const *args, intptr_t count, Object *names)
{
    const int linear = count == 3, of_rows = count == 2;
    const Array *a = (Array *)args[0], *b = (Array *)args[1];
    if (names || count < 2 || !NAME(fits)(args[0], 2) || !NAME(fits)(args[1], 2) || (!of_rows && b->rank != 2)) goto other;
    const int turn_a = of_rows || (!linear && args[2] == &_Py_TrueStruct);
    const int turn_b = !of_rows && (linear || args[3] == &_Py_TrueStruct);
    const Array *bias = linear && args[2] != &_Py_NoneStruct ? (Array *)args[2] : NULL;
    enum { SIZE = sizeof(HELD) };
    const int last = a->rank - 1, last_of_b = b->rank - 1;
    const intptr_t rows = NAME(rows_of)(a), rows_of_b = NAME(rows_of)(b);
    if (!rows || (turn_a && !of_rows && last > 1)) goto other;
    const intptr_t inner = turn_a ? rows : a->shape[last], columns = turn_b ? rows_of_b : b->shape[last_of_b];
    if ((turn_b ? b->shape[last_of_b] : rows_of_b) != inner) goto other;
    if (bias && (!NAME(fits)(args[2], 1) || bias->rank != 1 || bias->shape[0] != columns || bias->strides[0] != SIZE))
        goto other;
    if (a->rank > RANK) goto other;
    intptr_t sizes[RANK];
    const int rank = turn_a ? 2 : a->rank;
    for (int d = 0; d < rank - 1; ++d) sizes[d] = a->shape[turn_a ? last : d];
    sizes[rank - 1] = columns;
    Object *out = NAME(new)(self, rank, sizes);
    if (!out) return NULL;
    NAME(Product) p = {
        .a = (const HELD *)a->data, .b = (const HELD *)b->data, .out = (HELD *)((Array *)out)->data,
        .a_row = a->strides[last - !turn_a] / SIZE, .a_column = a->strides[last - turn_a] / SIZE,
        .b_row = b->strides[last_of_b - !turn_b] / SIZE, .b_column = b->strides[last_of_b - turn_b] / SIZE,
        .bias = bias ? NAME(wide_bias)((const HELD *)bias->data, columns) : NULL, .rows = turn_a ? a->shape[last] : rows, .columns = columns,
        .apart = columns,
    };
    const int small = (double)p.rows * (double)columns * (double)inner < 1e5; /* then other threads can wait */
    void *thread = small ? NULL : PyEval_SaveThread();
    const int done = (!bias || p.bias) && NAME(run_product)(&p, inner);
    if (thread) PyEval_RestoreThread(thread);
    if (done) return out;
    Py_DecRef(out);
    PyErr_SetString(PyExc_MemoryError, "no memory for a product's operands");
    return NULL;
other:
    return PyObject_Vectorcall(PyTuple_GetItem(self, 2), args, (size_t)count, names);
}

/* relu(input) or relu_backward(grad, output) of few elements that lie side by side. */
static Object *NAME(rectified)(Object *self, Object *const *args, intptr_t count, Object *names)
{
    const Array *first = (Array *)args[0], *second = (Array *)args[count - 1];
    intptr_t size = 1;
    if (names || count > 2 || !NAME(fits)(args[0], 1) || !NAME(fits)(args[count - 1], 1) || first->rank != second->rank)
        goto other;
    for (int d = first->rank - 1; d >= 0; size *= first->shape[d--])
        if (first->shape[d] != second->shape[d] || first->strides[d] != size * (intptr_t)sizeof(HELD)
            || second->strides[d] != first->strides[d])
            goto other;
    if (size > 1 << 11) goto other;
    Object *out = NAME(new)(self, first->rank, first->shape);
    if (!out) return NULL;
    HELD *restrict to = (HELD *)((Array *)out)->data;
    const HELD *x = (const HELD *)first->data, *y = (const HELD *)second->data;
    if (count == 1) for (intptr_t n = 0; n < size; ++n) to[n] = NAME(wide)(x[n]) <= 0 ? 0 : x[n]; /* nan stays */
    else for (intptr_t n = 0; n < size; ++n) to[n] = NAME(wide)(y[n]) == 0 ? 0 : x[n];
    return out;
other:
    return PyObject_Vectorcall(PyTuple_GetItem(self, 2), args, (size_t)count, names);
}

static Method NAME(product_method) = {"product", (Fast)NAME(multiplied), FASTCALL | KEYWORDS, ""};
static Method NAME(rectified_method) = {"rectified", (Fast)NAME(rectified), FASTCALL | KEYWORDS, ""};

/* quick_product(empty, dtype, other), quick_rectified(empty, dtype, other) */
static Object *NAME(quick_product)(Object *self, Object *const *args, intptr_t count)
{
    return holding(&NAME(product_method), args, 3);
}

static Object *NAME(quick_rectified)(Object *self, Object *const *args, intptr_t count)
{
    return holding(&NAME(rectified_method), args, 3);
}
