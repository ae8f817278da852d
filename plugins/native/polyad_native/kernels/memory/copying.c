/* A row-major copy of any array. Where neighbours in the copy are apart in the array, and neighbours in the array lie
   along another dimension, blocks of both go through a buffer: every line of memory is read once and written once. */

#include "../../common/library.h"
#include "../../common/transpose.h"

typedef struct {
    char *out;
    const char *in;
    long size;                       /* of an element */
    int rank;                        /* of what goes around a plane */
    long shape[RANK], strides[RANK], out_strides[RANK];
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
#define BY_FOURS(real) for (long y = 0; y < BLOCK; y += 4) for (long x = 0; x < BLOCK; x += 4) \
    transpose_##real((const real *)(at + y * c->column) + x, c->column / (long)sizeof(real), &block[x][y], BLOCK);

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
            from += at % c->shape[d] * c->strides[d];
            to += at % c->shape[d] * c->out_strides[d];
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
    long shape[RANK], strides[RANK], out_strides[RANK];
    int rank = 0;
    for (int d = 0; d < in->rank; ++d) { /* dimensions that are one */
        if (in->shape[d] == 1) continue;
        if (rank && strides[rank - 1] == in->strides[d] * in->shape[d]) shape[rank - 1] *= in->shape[d];
        else shape[rank++] = in->shape[d];
        strides[rank - 1] = in->strides[d];
        out_strides[rank - 1] = out->strides[d];
    }
    if (rank < 2) return PyLong_FromLongLong(0);
    Copying c = {.out = out->data, .in = in->data, .size = size, .columns = shape[rank - 1], .column = strides[rank - 1]};
    int other = rank - 2;
    if (c.column == size) { if (c.columns * size < 32) return PyLong_FromLongLong(0); }
    else {
        for (other = rank - 2; other >= 0 && strides[other] != size; --other) {}
        if (other < 0 || shape[other] < 4 || c.columns < 4 || c.column % size || c.column < 0) return PyLong_FromLongLong(0);
    }
    c.rows = shape[other], c.row = strides[other], c.out_row = out_strides[other];
    long elements = c.rows * c.columns, around = 1;
    for (int d = 0; d < rank - 1; ++d) {
        if (d == other) continue;
        c.shape[c.rank] = shape[d], c.strides[c.rank] = strides[d], c.out_strides[c.rank++] = out_strides[d];
        around *= shape[d];
    }
    elements *= around;
    c.strips = around >= 16 || elements < 1 << 14 ? 1 : up(c.rows, STRIP);
    void *thread = PyEval_SaveThread();
    polyad_parallel(copy_part, &c, elements < 1 << 15 ? 1 : least(around * c.strips, 16));
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(1);
}

static Method methods[] = {
    BIND,
    {"copy", copy, FASTCALL, "copy(out, in, size)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(copying)
