/* The gradient of what is minimised; *way* is 1, or uphill -1. Compilers write a loop for each choice that is left, so
   what a factor of 1 can say is said by a factor. */
static inline REAL NAME(along)(REAL p, REAL g, REAL decay, int decays, REAL way)
{
    return decays ? p * decay + g * way : g * way;
}

static void NAME(sgd)(REAL *p, const REAL *g, long count, const double *numbers)
{
    const REAL lr = (REAL)numbers[0], decay = (REAL)numbers[1];
    const REAL way = numbers[2] != 0 ? -1 : 1;
    const int decays = numbers[1] != 0;
#pragma omp simd
    for (long i = 0; i < count; ++i) p[i] = p[i] - NAME(along)(p[i], g[i], decay, decays, way) * lr;
}

static void NAME(momentum)(REAL *p, const REAL *g, REAL *m, long count, const double *numbers)
{
    const REAL lr = (REAL)numbers[0], keep = (REAL)numbers[1], add = (REAL)(1 - numbers[2]), decay = (REAL)numbers[3];
    const REAL way = numbers[5] != 0 ? -1 : 1;
    const int decays = numbers[3] != 0, nesterov = numbers[4] != 0;
#pragma omp simd
    for (long i = 0; i < count; ++i) {
        const REAL d = NAME(along)(p[i], g[i], decay, decays, way);
        const REAL b = m[i] * keep + d * add;
        m[i] = b;
        p[i] = p[i] - (nesterov ? b * keep + d : b) * lr;
    }
}

/* *largest* is NULL but for AMSGrad. */
static inline __attribute__((always_inline)) void NAME(adam)(
    REAL *p, const REAL *g, REAL *m, REAL *v, REAL *largest, long count, const double *numbers, double size, double epsilon)
{
    const int decoupled = numbers[5] != 0, decays = !decoupled && numbers[4] != 0;
    const REAL shrink = (REAL)(decoupled ? 1 - numbers[0] * numbers[4] : 1.0), decay = (REAL)numbers[4];
    const REAL add1 = (REAL)(1 - numbers[1]), keep2 = (REAL)numbers[2], add2 = (REAL)(1 - numbers[2]);
    const REAL way = numbers[6] != 0 ? -1 : 1, times = (REAL)size, eps = (REAL)epsilon;
#pragma omp simd
    for (long i = 0; i < count; ++i) {
        const REAL q = p[i] * shrink, d = NAME(along)(q, g[i], decay, decays, way);
        const REAL first = m[i] + (d - m[i]) * add1, second = v[i] * keep2 + d * d * add2;
        m[i] = first;
        v[i] = second;
        REAL below = second;
        if (largest) {
            const REAL before = largest[i];
            below = largest[i] = before > second || before != before ? before : second;
        }
        p[i] = q - first / (NAME(root)(below) + eps) * times;
    }
}

static void NAME(some)(const Group *group, const Row *row, REAL *const *at, long count)
{
    switch (group->kind) {
    case SGD: NAME(sgd)(at[0], at[1], count, group->numbers); break;
    case MOMENTUM: NAME(momentum)(at[0], at[1], at[2], count, group->numbers); break;
    case ADAM: NAME(adam)(at[0], at[1], at[2], at[3], NULL, count, group->numbers, row->size, row->epsilon); break;
    default: NAME(adam)(at[0], at[1], at[2], at[3], at[4], count, group->numbers, row->size, row->epsilon);
    }
}

/* Elements *begin* and following of an array, counted in row-major order, to or from a buffer. */
static void NAME(move)(const Array *a, long begin, long count, REAL *buffer, int back)
{
    long at[64];
    char *from = a->data;
    for (int d = a->rank - 1; d >= 0; --d) {
        at[d] = begin % a->shape[d];
        begin /= a->shape[d];
        from += at[d] * a->strides[d];
    }
    for (long i = 0; i < count; ++i) {
        if (back) *(REAL *)from = buffer[i];
        else buffer[i] = *(const REAL *)from;
        for (int d = a->rank - 1; d >= 0; --d) {
            from += a->strides[d];
            if (++at[d] < a->shape[d]) break;
            from -= a->shape[d] * a->strides[d];
            at[d] = 0;
        }
    }
}

static void NAME(part)(void *context, long part, long parts)
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
        REAL *at[MOST], buffers[MOST][BLOCK] __attribute__((aligned(64)));
        if (row->flat) {
            for (int k = 0; k < arrays; ++k) at[k] = (REAL *)row->at[k] + from;
            NAME(some)(group, row, at, to - from);
            continue;
        }
        for (long i = from; i < to; i += BLOCK) {
            const long count = least(BLOCK, to - i);
            for (int k = 0; k < arrays; ++k) NAME(move)(row->arrays[k], i, count, at[k] = buffers[k], 0);
            NAME(some)(group, row, at, count);
            for (int k = 0; k < arrays; ++k)
                if (k != 1) NAME(move)(row->arrays[k], i, count, buffers[k], 1);
        }
    }
}

/* step(kind, rows, numbers, wide): whether it was done; if not, nothing was written. */
static Object *NAME(step)(Object *self, Object *const *args, intptr_t given)
{
    Group group = {.kind = (int)PyLong_AsLongLong(args[0]), .count = PySequence_Size(args[1])};
    const int wide = (int)PyLong_AsLongLong(args[3]);
    const intptr_t bytes = PyBytes_Size(args[2]);
    if (group.count < 0 || bytes < 0 || bytes > (intptr_t)sizeof group.numbers) return NULL;
    memcpy(group.numbers, PyBytes_AsString(args[2]), (size_t)bytes);
    if (!(group.rows = malloc((size_t)(group.count + 1) * sizeof(Row)))) return PyLong_FromLongLong(0);
    int done = read_rows(args[1], group.rows, group.count, group.kind, sizeof(REAL), &group.elements);
    if (done) {
        double known = -1, size = 0, epsilon = 0;
        for (long n = 0; group.kind >= ADAM && n < group.count; ++n) {
            Object *row = PySequence_GetItem(args[1], n);
            char *counter = ((Array *)PyTuple_GetItem(row, ARRAYS[group.kind]))->data;
            Py_DecRef(row);
            const double steps = (wide ? *(double *)counter : (double)*(float *)counter) + 1;
            if (steps != known || !n) {
                /* sqrt(v) / root + eps below m times lr / correction, with root taken out of the fraction. */
                const double root = sqrt(1 - pow(group.numbers[2], steps));
                size = group.numbers[0] * root / (1 - pow(group.numbers[1], steps));
                epsilon = group.numbers[3] * root;
                known = steps;
            }
            group.rows[n].size = size;
            group.rows[n].epsilon = epsilon;
            if (wide) *(double *)counter = steps;
            else *(float *)counter = (float)steps;
        }
        const long parts = group.elements < 2 * PART ? 1 : least(group.elements / PART, 64);
        const int serial = parts > 1 && overlap(group.rows, group.count, sizeof(REAL));
        void *thread = PyEval_SaveThread();
        if (serial) NAME(part)(&group, 0, 1);
        else polyad_parallel(NAME(part), &group, parts);
        PyEval_RestoreThread(thread);
    }
    free(group.rows);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromLongLong(done);
}
