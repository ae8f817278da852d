/* Copies, joining, random words and dropout, in a library of their own: it is compiled when one of them is needed first. They run in
   the engine's threads. */

<python>
<bound>

<machine>
<arithmetic>
/* ---------------------------------------------------------------------------------------------- copies

   A row-major copy of any array. Where neighbours in the copy are apart in the array, and neighbours in the array lie
   along another dimension, blocks of both go through a buffer: every line of memory is read once and written once. */

typedef struct {
    char *out;
    const char *in;
    long size;                       /* of an element */
    int rank;                        /* of what goes around a plane */
    long shape[RANK], steps[RANK], out_steps[RANK];
    long rows, columns;              /* of the plane in the copy; columns lie side by side there */
    long row, column, out_row;       /* how far apart they are, in bytes */
    long strips;
} Copying;

enum { BLOCK = 16, STRIP = 64 };

#define PLANE(TYPE, TURN)                                                                                    \
    static void plane_of_##TYPE(const Copying *c, char *to, const char *from, long begin, long end)          \
    {                                                                                                        \
        TYPE block[BLOCK][BLOCK] __attribute__((aligned(64)));                                               \
        for (long left = 0; left < c->columns; left += STRIP)                                                \
            for (long i = begin; i < end; i += BLOCK)                                                        \
                for (long j = left; j < least(left + STRIP, c->columns); j += BLOCK) {                       \
                    const long rows = least(BLOCK, end - i), columns = least(BLOCK, c->columns - j);         \
                    const char *at = from + i * c->row + j * c->column;                                      \
                    if (rows == BLOCK && columns == BLOCK) {                                                 \
                        TURN                                                                                 \
                    } else                                                                                   \
                        for (long y = 0; y < columns; ++y)                                                   \
                            for (long x = 0; x < rows; ++x)                                                  \
                                block[x][y] = *(const TYPE *)(at + y * c->column + x * c->row);              \
                    for (long x = 0; x < rows; ++x)                                                          \
                        memcpy(to + (i + x) * c->out_row + j * (long)sizeof(TYPE), block[x], sizeof(TYPE) * (size_t)columns); \
                }                                                                                            \
    }

#define ONE_BY_ONE for (long y = 0; y < BLOCK; ++y) for (long x = 0; x < BLOCK; ++x) \
    block[x][y] = *(const unit *)(at + y * c->column + x * c->row);
#define BY_FOURS(REAL) for (long y = 0; y < BLOCK; y += 4) for (long x = 0; x < BLOCK; x += 4) \
    turn_##REAL((const REAL *)(at + y * c->column) + x, c->column / (long)sizeof(REAL), &block[x][y], BLOCK);

PLANE(float, BY_FOURS(float))
PLANE(double, BY_FOURS(double))
#define unit uint8_t
PLANE(uint8_t, ONE_BY_ONE)
#undef unit
#define unit uint16_t
PLANE(uint16_t, ONE_BY_ONE)
#undef unit

static void copy_part(void *context, long part, long parts)
{
    const Copying *c = context;
    long around = 1;
    for (int d = 0; d < c->rank; ++d) around *= c->shape[d];
    const long units = around * c->strips;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long begin = c->rows * (unit % c->strips) / c->strips, end = c->rows * (unit % c->strips + 1) / c->strips;
        const char *from = c->in;
        char *to = c->out;
        long at = unit / c->strips;
        for (int d = c->rank - 1; d >= 0; --d) {
            from += at % c->shape[d] * c->steps[d];
            to += at % c->shape[d] * c->out_steps[d];
            at /= c->shape[d];
        }
        if (c->column == c->size)
            for (long i = begin; i < end; ++i) memcpy(to + i * c->out_row, from + i * c->row, (size_t)(c->columns * c->size));
        else if (c->size == 4) plane_of_float(c, to, from, begin, end);
        else if (c->size == 8) plane_of_double(c, to, from, begin, end);
        else if (c->size == 2) plane_of_uint16_t(c, to, from, begin, end);
        else plane_of_uint8_t(c, to, from, begin, end);
    }
}

/* copy(out, in, size): whether it was done; *out* is row-major, of in's shape, and has elements. */
static Object *copy(Object *self, Object *const *args, intptr_t count)
{
    const Array *out = (Array *)args[0], *in = (Array *)args[1];
    const long size = PyLong_AsLongLong(args[2]);
    if (in->rank > RANK) return PyLong_FromLongLong(0);
    long shape[RANK], steps[RANK], out_steps[RANK];
    int rank = 0;
    for (int d = 0; d < in->rank; ++d) { /* dimensions that are one */
        if (in->shape[d] == 1) continue;
        if (rank && steps[rank - 1] == in->strides[d] * in->shape[d]) shape[rank - 1] *= in->shape[d];
        else shape[rank++] = in->shape[d];
        steps[rank - 1] = in->strides[d];
        out_steps[rank - 1] = out->strides[d];
    }
    if (rank < 2) return PyLong_FromLongLong(0);
    Copying c = {.out = out->data, .in = in->data, .size = size, .columns = shape[rank - 1], .column = steps[rank - 1]};
    int other = rank - 2;
    if (c.column == size) { if (c.columns * size < 32) return PyLong_FromLongLong(0); }
    else {
        for (other = rank - 2; other >= 0 && steps[other] != size; --other) {}
        if (other < 0 || shape[other] < 4 || c.columns < 4 || c.column % size || c.column < 0) return PyLong_FromLongLong(0);
    }
    c.rows = shape[other], c.row = steps[other], c.out_row = out_steps[other];
    long elements = c.rows * c.columns, around = 1;
    for (int d = 0; d < rank - 1; ++d) {
        if (d == other) continue;
        c.shape[c.rank] = shape[d], c.steps[c.rank] = steps[d], c.out_steps[c.rank++] = out_steps[d];
        around *= shape[d];
    }
    elements *= around;
    c.strips = around >= 16 || elements < 1 << 14 ? 1 : up(c.rows, STRIP);
    void *thread = PyEval_SaveThread();
    polyad_parallel(copy_part, &c, elements < 1 << 15 ? 1 : least(around * c.strips, 16));
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(1);
}

/* ---------------------------------------------------------------------------------------------- joining

   Row-major arrays side by side: a row of the result has a stretch of each. Parts are equal numbers of bytes. */

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
        const long taken = least(size - skipped, end - at);
        memcpy(j->out + at, j->from[piece] + row * size + skipped, (size_t)taken);
        at += taken;
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

/* ---------------------------------------------------------------------------------------------- words, and dropout

   Its mask is a draw of one word an element by Philox4x32-10, see polyad.random.philox. */

typedef struct {
    void *out;
    uint8_t *kept;
    const void *in;
    uint64_t seed, offset, limit;
    double factor;
    long count;
    int wide;
} Dropping;

enum { BLOCKS = 64 };

static void philox(uint64_t seed, uint64_t block, uint32_t *words)
{
    uint32_t a[BLOCKS], b[BLOCKS], c[BLOCKS], d[BLOCKS];
    for (int i = 0; i < BLOCKS; ++i) {
        a[i] = (uint32_t)(block + (uint64_t)i);
        b[i] = (uint32_t)((block + (uint64_t)i) >> 32);
        c[i] = d[i] = 0;
    }
    uint32_t first = (uint32_t)seed, second = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < BLOCKS; ++i) {
            const uint64_t low = (uint64_t)a[i] * 0xD2511F53u, high = (uint64_t)c[i] * 0xCD9E8D57u;
            a[i] = (uint32_t)(high >> 32) ^ b[i] ^ first;
            b[i] = (uint32_t)high;
            c[i] = (uint32_t)(low >> 32) ^ d[i] ^ second;
            d[i] = (uint32_t)low;
        }
        first += 0x9E3779B9u;
        second += 0xBB67AE85u;
    }
    for (int i = 0; i < BLOCKS; ++i) {
        words[4 * i] = a[i];
        words[4 * i + 1] = b[i];
        words[4 * i + 2] = c[i];
        words[4 * i + 3] = d[i];
    }
}

/* words(out, numbers): those of as many blocks as *out* has rows of four; the numbers are seed and first block. */
static Object *words(Object *self, Object *const *args, intptr_t count)
{
    const Array *out = (Array *)args[0];
    uint64_t numbers[2];
    memcpy(numbers, PyBytes_AsString(args[1]), sizeof numbers);
    uint32_t *to = (uint32_t *)out->data;
    const long blocks = out->shape[0];
    void *thread = PyEval_SaveThread();
    for (long at = 0; at < blocks; at += BLOCKS) {
        uint32_t drawn[4 * BLOCKS];
        philox(numbers[0], numbers[1] + (uint64_t)at, drawn);
        memcpy(to + 4 * at, drawn, 4 * sizeof *to * (size_t)least(BLOCKS, blocks - at));
    }
    PyEval_RestoreThread(thread);
    return none();
}

static void drop(void *context, long part, long parts)
{
    const Dropping *d = context;
    const long units = up(d->count, 4 * BLOCKS);
    uint32_t words[4 * BLOCKS];
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long at = unit * 4 * BLOCKS, count = least(4 * BLOCKS, d->count - at);
        philox(d->seed, d->offset + (uint64_t)(unit * BLOCKS), words);
        uint8_t *kept = d->kept + at;
        if (d->limit >> 32) memset(kept, 1, (size_t)count);
        else {
            const uint32_t limit = (uint32_t)d->limit;
            for (long i = 0; i < count; ++i) kept[i] = words[i] < limit;
        }
        if (d->wide) {
            const double *in = (const double *)d->in + at, factor = d->factor;
            double *out = (double *)d->out + at;
            for (long i = 0; i < count; ++i) out[i] = in[i] * (kept[i] ? factor : 0.0);
        } else {
            const float *in = (const float *)d->in + at, factor = (float)d->factor;
            float *out = (float *)d->out + at;
            for (long i = 0; i < count; ++i) out[i] = in[i] * (kept[i] ? factor : 0.0f);
        }
    }
}

/* dropout(out, kept, in, numbers): the numbers are seed, offset, limit, the factor's bits, count, and whether double. */
static Object *dropout(Object *self, Object *const *args, intptr_t count)
{
    const char *numbers = PyBytes_AsString(args[3]);
    uint64_t words[6];
    memcpy(words, numbers, sizeof words);
    Dropping d = {((Array *)args[0])->data, (uint8_t *)((Array *)args[1])->data, ((Array *)args[2])->data,
                  words[0], words[1], words[2], 0, (long)words[4], (int)words[5]};
    memcpy(&d.factor, words + 3, sizeof d.factor);
    void *thread = PyEval_SaveThread();
    polyad_parallel(drop, &d, d.count < 1 << 13 ? 1 : least(up(d.count, 4 * BLOCKS), 16));
    PyEval_RestoreThread(thread);
    return none();
}

/* ---------------------------------------------------------------------------------------------- the extension */

static Method methods[] = {
    {"bind", bind, FASTCALL, "bind(address, array)"},
    {"copy", copy, FASTCALL, "copy(out, in, size)"},
    {"dropout", dropout, FASTCALL, "dropout(out, kept, in, numbers)"},
    {"words", words, FASTCALL, "words(out, numbers)"},
    {"join", join, FASTCALL, "join(out, arrays, dim, size)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(moving)
