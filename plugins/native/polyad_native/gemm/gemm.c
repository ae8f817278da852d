/* Products of matrices, batches of them, and products that are called without a frame of Python. */

#include "../common/direct.h"
#include "../common/library.h"
#include "product.h"

typedef struct {
    Product each;
    const char *a, *b;
    stored *out;
    const intptr_t *sizes, *a_strides, *b_strides;
    int rank, failed;
    long batch, inner;
} Batch;

static void batch_part(void *context, long part, long parts)
{
    Batch *batch = context;
    for (long unit = batch->batch * part / parts; unit < batch->batch * (part + 1) / parts; ++unit) {
        Product p = batch->each;
        long at = unit, from_a = 0, from_b = 0;
        for (int d = batch->rank - 1; d >= 0; --d) {
            from_a += at % batch->sizes[d] * batch->a_strides[d];
            from_b += at % batch->sizes[d] * batch->b_strides[d];
            at /= batch->sizes[d];
        }
        p.a = (const stored *)(batch->a + from_a);
        p.b = (const stored *)(batch->b + from_b);
        p.out = batch->out + unit * p.rows * p.columns;
        if (!run_product(&p, batch->inner)) batch->failed = 1;
    }
}

/* product(out, a, b, bias): whether it was done. *out* is row-major; *a* and *b* have its batch, or broadcast to it. */
static Object *product(Object *self, Object *const *args, intptr_t count)
{
    const Array *out = (Array *)args[0], *a = (Array *)args[1], *b = (Array *)args[2], *bias = (Array *)args[3];
    enum { SIZE = sizeof(stored) };
    intptr_t sizes[RANK], a_strides[RANK], b_strides[RANK];
    const intptr_t *in_a = a->strides + a->rank - 2, *in_b = b->strides + b->rank - 2;
    if (out->rank - 2 > RANK || in_a[0] % SIZE || in_a[1] % SIZE || in_b[0] % SIZE || in_b[1] % SIZE)
        return PyLong_FromLongLong(0);
    Batch batch = {.a = a->data, .b = b->data, .out = (stored *)out->data, .rank = out->rank - 2, .sizes = sizes,
                         .a_strides = a_strides, .b_strides = b_strides, .batch = 1, .inner = a->shape[a->rank - 1]};
    Product *each = &batch.each;
    each->rows = each->stride = out->shape[batch.rank];
    each->columns = each->stride = out->shape[batch.rank + 1];
    each->a_row = in_a[0] / SIZE, each->a_column = in_a[1] / SIZE;
    each->b_row = in_b[0] / SIZE, each->b_column = in_b[1] / SIZE;
    if ((Object *)bias != &_Py_NoneStruct) {
        if (bias->strides[bias->rank - 1] != SIZE) return PyLong_FromLongLong(0);
        each->bias = bias_as_real((const stored *)bias->data, each->columns);
        if (!each->bias) batch.failed = 1;
    }
    for (int d = 0; d < batch.rank; ++d) {
        const int of_a = d - batch.rank + a->rank - 2, of_b = d - batch.rank + b->rank - 2;
        sizes[d] = out->shape[d];
        a_strides[d] = of_a < 0 || a->shape[of_a] == 1 ? 0 : a->strides[of_a];
        b_strides[d] = of_b < 0 || b->shape[of_b] == 1 ? 0 : b->strides[of_b];
        batch.batch *= sizes[d];
    }
    void *thread = PyEval_SaveThread();
    const double work = (double)each->rows * (double)each->columns * (double)batch.inner * (double)batch.batch;
    if (batch.failed) {}
    else if (batch.batch > 1) polyad_parallel(batch_part, &batch, work < 1e6 ? 1 : least(batch.batch, 32));
    else batch_part(&batch, 0, 1);
    PyEval_RestoreThread(thread);
    if (batch.failed) { PyErr_SetString(PyExc_MemoryError, "no memory for a product's operands"); return NULL; }
    return PyLong_FromLongLong(1);
}

/* ------------------------------------------------------------------------------------------ direct calls */

/* How many rows an array of any rank has that lie at equal distances; 0 if they do not. */
static intptr_t rows_of(const Array *a)
{
    intptr_t rows = a->shape[a->rank - 2];
    for (int d = a->rank - 3; d >= 0; rows *= a->shape[d--])
        if (a->strides[d] != a->strides[d + 1] * a->shape[d + 1]) return 0;
    return rows;
}

/* gemm(a, b, transpose_a, transpose_b) or linear(a, weight, bias), of a matrix, or of rows that lie side by side, and a
   matrix, or linear_weight_grad(a, b) of rows and rows; what is not of this form goes to another callable. */
static Object *product_call(Object *self, Object *const *args, intptr_t count, Object *names)
{
    const int linear = count == 3, of_rows = count == 2;
    const Array *a = (Array *)args[0], *b = (Array *)args[1];
    if (names || count < 2 || !fits(args[0], 2) || !fits(args[1], 2) || (!of_rows && b->rank != 2)) goto other;
    const int turn_a = of_rows || (!linear && args[2] == &_Py_TrueStruct);
    const int turn_b = !of_rows && (linear || args[3] == &_Py_TrueStruct);
    const Array *bias = linear && args[2] != &_Py_NoneStruct ? (Array *)args[2] : NULL;
    enum { SIZE = sizeof(stored) };
    const int last = a->rank - 1, last_of_b = b->rank - 1;
    const intptr_t rows = rows_of(a), rows_of_b = rows_of(b);
    if (!rows || (turn_a && !of_rows && last > 1)) goto other;
    const intptr_t inner = turn_a ? rows : a->shape[last], columns = turn_b ? rows_of_b : b->shape[last_of_b];
    if ((turn_b ? b->shape[last_of_b] : rows_of_b) != inner) goto other;
    if (bias && (!fits(args[2], 1) || bias->rank != 1 || bias->shape[0] != columns || bias->strides[0] != SIZE))
        goto other;
    if (a->rank > RANK) goto other;
    intptr_t sizes[RANK];
    const int rank = turn_a ? 2 : a->rank;
    for (int d = 0; d < rank - 1; ++d) sizes[d] = a->shape[turn_a ? last : d];
    sizes[rank - 1] = columns;
    Object *out = new_array(self, rank, sizes);
    if (!out) return NULL;
    Product p = {
        .a = (const stored *)a->data, .b = (const stored *)b->data, .out = (stored *)((Array *)out)->data,
        .a_row = a->strides[last - !turn_a] / SIZE, .a_column = a->strides[last - turn_a] / SIZE,
        .b_row = b->strides[last_of_b - !turn_b] / SIZE, .b_column = b->strides[last_of_b - turn_b] / SIZE,
        .bias = bias ? bias_as_real((const stored *)bias->data, columns) : NULL,
        .rows = turn_a ? a->shape[last] : rows, .columns = columns,
        .stride = columns,
    };
    const int small = (double)p.rows * (double)columns * (double)inner < 1e5; /* then other threads can wait */
    void *thread = small ? NULL : PyEval_SaveThread();
    const int done = (!bias || p.bias) && run_product(&p, inner);
    if (thread) PyEval_RestoreThread(thread);
    if (done) return out;
    Py_DecRef(out);
    PyErr_SetString(PyExc_MemoryError, "no memory for a product's operands");
    return NULL;
other:
    return PyObject_Vectorcall(PyTuple_GetItem(self, 2), args, (size_t)count, names);
}

static Method product_method = {"product", (Fast)product_call, FASTCALL | KEYWORDS, ""};

/* direct_product(empty, dtype, other) */
static Object *direct_product(Object *self, Object *const *args, intptr_t count)
{
    return holding(&product_method, args, 3);
}

static Method methods[] = {
    BIND,
    {"product", product, FASTCALL, "product(out, a, b, bias)"},
    {"direct_product", direct_product, FASTCALL, "direct_product(empty, dtype, other)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(gemm)
