/* Convolutions, and their gradients.

   Of images with any number of channels and up to three dimensions, a row of which is turned into panels as it is needed:
   no patches are ever written out. First an image is laid into a frame of zeros, wide enough for what reaches over its
   edges. A negative padding leaves elements out. */

#include "../../common/library.h"
#include "../../gemm/packing.h"

/* How many parts the images are shared out in, whatever threads there are. */
enum { PARTS = 16 };

typedef struct { /* filled in by Python, in this order */
    int64_t images, channels, thickness, height, width, out_channels, kernel_thickness, kernel_height, kernel_width;
    int64_t out_thickness, out_height, out_width, stride_z, stride_y, stride_x, pad_z, pad_y, pad_x;
    int64_t dilation_z, dilation_y, dilation_x, groups;
} Geometry;

typedef struct {
    Geometry g;
    const stored *input, *weight, *bias;
    stored *out; /* or its gradient */
    real *packed, *sums, *frames, *turned;
    long image_size, frame_size, frame_thickness, frame_height, frame_width; /* sizes of a channel */
    long depth, each, out_each, positions, bias_stride, stretch, weight_row;
    long *taps; /* where in the frame of a channel group each row of the patches begins */
    long *weight_at; /* where in a row of the weight its elements are */
    real *laid; /* patches of images that are taken together: those from *first* on, *count* of them */
    long first, count;
    int failed;
} Convolution;

/* The elements of *image* in their frame. */
__attribute__((noinline)) static void lay_frame(const Convolution *c, const stored *image, real *frame)
{
    const Geometry *g = &c->g;
    const long begin = g->pad_x < 0 ? -g->pad_x : 0, end = least(g->width, c->frame_width - g->pad_x);
    memset(frame, 0, sizeof(real) * (size_t)(g->channels * c->frame_size));
    for (long row = 0; row < g->channels * g->thickness * g->height; ++row, image += g->width) {
        const long y = row % g->height + g->pad_y, z = row / g->height % g->thickness + g->pad_z;
        if (y < 0 || y >= c->frame_height || z < 0 || z >= c->frame_thickness || begin >= end) continue;
        real *to = frame + row / g->height / g->thickness * c->frame_size + (z * c->frame_height + y) * c->frame_width;
        read_block(image + begin, 0, 1, 1, end - begin, to + g->pad_x + begin);
    }
}

static void set_up(Convolution *c, long *taps)
{
    const Geometry *g = &c->g;
    c->each = g->channels / g->groups;
    c->out_each = g->out_channels / g->groups;
    c->depth = c->each * g->kernel_thickness * g->kernel_height * g->kernel_width;
    c->positions = g->out_thickness * g->out_height * g->out_width;
    c->image_size = g->thickness * g->height * g->width;
    c->frame_thickness = (g->out_thickness - 1) * g->stride_z + (g->kernel_thickness - 1) * g->dilation_z + 1;
    c->frame_height = (g->out_height - 1) * g->stride_y + (g->kernel_height - 1) * g->dilation_y + 1;
    c->frame_width = (g->out_width - 1) * g->stride_x + (g->kernel_width - 1) * g->dilation_x + 1;
    c->frame_size = c->frame_thickness * c->frame_height * c->frame_width;
    c->taps = taps;
    for (long channel = 0, row = 0; channel < c->each; ++channel)
        for (long z = 0; z < g->kernel_thickness; ++z)
            for (long y = 0; y < g->kernel_height; ++y)
                for (long x = 0; x < g->kernel_width; ++x, ++row)
                    taps[row] = channel * c->frame_size
                                + (z * g->dilation_z * c->frame_height + y * g->dilation_y) * c->frame_width
                                + x * g->dilation_x;
}

/* The strides of a weight of (out channels, channels of a group, kernel), of whatever layout. */
static void set_up_weight(Convolution *c, const Array *weight, long *weight_at)
{
    const Geometry *g = &c->g;
    long strides[5] = {}; /* those of a kernel's lacking dimensions are 0 */
    for (int d = 0; d < weight->rank; ++d)
        strides[d < 2 ? d : 5 - weight->rank + d] = weight->strides[d] / (long)sizeof(stored);
    c->weight = (const stored *)weight->data;
    c->weight_row = strides[0];
    c->weight_at = weight_at;
    for (long channel = 0, k = 0; channel < c->each; ++channel)
        for (long z = 0; z < g->kernel_thickness; ++z)
            for (long y = 0; y < g->kernel_height; ++y)
                for (long x = 0; x < g->kernel_width; ++x, ++k)
                    weight_at[k] = channel * strides[1] + z * strides[2] + y * strides[3] + x * strides[4];
}

/* Where in its frame row *y* of an image of the result begins; rows of a volume's layers follow each other. */
static inline long row_place(const Convolution *c, long y)
{
    const Geometry *g = &c->g;
    return (y / g->out_height * g->stride_z * c->frame_height + y % g->out_height * g->stride_y) * c->frame_width;
}

/* A panel: COLUMNS of *count* positions from *at* on, of each row of the patches from *begin* to *end*. Positions go on
   in the frame of the next image. */
__attribute__((noinline)) static void patches(
    const Convolution *c, const real *frame, long at, long count, long begin, long end, real *to)
{
    enum { C = COLUMNS };
    const Geometry *g = &c->g;
    long places[C];
    const long there = least(C, count - at), size = g->channels * c->frame_size, rows = g->out_thickness * g->out_height;
    long image = at / c->positions, y = at % c->positions / g->out_width, x = at % c->positions % g->out_width;
    long row = image * size + row_place(c, y);
    for (long j = 0; j < C; ++j) {
        if (j >= there) { places[j] = places[there - 1]; continue; }
        places[j] = row + x * g->stride_x;
        if (++x < g->out_width) continue;
        x = 0;
        if (++y == rows) y = 0, ++image;
        row = image * size + row_place(c, y);
    }
    if (g->stride_x != 1) {
        for (long k = begin; k < end; ++k, to += C)
            for (long j = 0; j < C; ++j) to[j] = frame[c->taps[k] + places[j]];
        return;
    }
    long run = there == C ? C : 1;
    for (; run > 1; run /= 2) {
        long j = 0;
        while (j < C && places[j] + run - 1 == places[j + run - 1]) j += run;
        if (j >= C) break;
    }
    if (run >= 8 || (run == 4 && g->out_width <= 8)) {
        for (long k = begin; k < end; ++k, to += C) {
            const real *from = frame + c->taps[k];
            if (run == C) memcpy(to, from + places[0], sizeof(real) * C);
            else if (run == 16) for (long j = 0; j < C; j += 16) memcpy(to + j, from + places[j], sizeof(real) * 16);
            else if (run == 8) for (long j = 0; j < C; j += 8) memcpy(to + j, from + places[j], sizeof(real) * 8);
            else for (long j = 0; j < C; j += 4) memcpy(to + j, from + places[j], sizeof(real) * 4);
        }
        return;
    }
    /* Rows of the image, each in copies of a fixed size, not larger than a row of the panel: what a copy writes too much,
       the next one writes over, or the next row of the panel. The last row has nothing after it and is copied one by one. */
    long pieces = 0, piece = least(C, g->out_width <= 8 ? 8 : 16), at_piece[C];
    for (long j = 0; j < C; ++pieces) {
        long length = 1;
        while (length < piece && j + length < C && places[j + length] == places[j] + length) ++length;
        if (j >= there) length = least(piece, C - j); /* columns that nobody reads */
        at_piece[pieces] = j;
        j += length;
    }
    for (long k = begin; k < end - 1; ++k, to += C) {
        const real *from = frame + c->taps[k];
        if (piece == 4)
            for (long n = 0; n < pieces; ++n) memcpy(to + at_piece[n], from + places[at_piece[n]], sizeof(real) * 4);
        else if (piece == 8)
            for (long n = 0; n < pieces; ++n) memcpy(to + at_piece[n], from + places[at_piece[n]], sizeof(real) * 8);
        else
            for (long n = 0; n < pieces; ++n) memcpy(to + at_piece[n], from + places[at_piece[n]], sizeof(real) * 16);
    }
    if (begin < end)
        for (long j = 0; j < C; ++j) to[j] = frame[c->taps[end - 1] + places[j]];
}

/* A tile whose second operand is read in the frame, where elements of a row of the image lie side by side. */
__attribute__((noinline)) static void tile_in_frame(
    const real *a, const real *frame, const long *taps, long depth, real *c, long stride, int rows, int columns, int add)
{
    vector s[ROWS][2] = {};
    if (columns <= LANES)
        for (long k = 0; k < depth; ++k) {
            const vector only = *(const vector *)(frame + taps[k]);
            _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) s[i][0] += a[i + k * ROWS] * only;
        }
    else
        for (long k = 0; k < depth; ++k) {
            const vector first = *(const vector *)(frame + taps[k]);
            const vector second = *(const vector *)(frame + taps[k] + LANES);
            _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {
                s[i][0] += a[i + k * ROWS] * first;
                s[i][1] += a[i + k * ROWS] * second;
            }
        }
    put(s, c, stride, rows, columns, add, NULL);
}

/* Whether it costs less to multiply places beyond a row's end than to lay patches out, which is about as much as ten
   products. Where channels are many, patches that were laid out come from a nearer cache. */
static int reads_frame(const Convolution *c)
{
    enum { LAYING = 10, MANY = 4 * ROWS };
    const long width = c->g.out_width, rounded_up = up(width, LANES) * LANES, work = up(c->out_each, ROWS) * ROWS;
    return c->g.stride_x == 1 && work <= MANY && rounded_up * work <= width * (work + LAYING);
}

static void convolve_images_part(void *context, long part, long parts)
{
    Convolution *c = context;
    const Geometry *g = &c->g;
    const long size = c->frame_size, panels = up(c->out_each, ROWS), stride = HALVES ? COLUMNS : c->positions;
    const long own_sums = HALVES ? panels * ROWS * stride : 0;
    const int in_frame = reads_frame(c);
    real *frame = scratch(0, sizeof(real) * (size_t)(g->channels * size + VECTOR));
    real *panel = scratch(1, sizeof(real) * (size_t)(c->stretch * COLUMNS + own_sums));
    if (!frame || !panel) { c->failed = 1; return; }
    for (long image = g->images * part / parts; image < g->images * (part + 1) / parts; ++image) {
        lay_frame(c, c->input + image * g->channels * c->image_size, frame);
        for (long group = 0; group < g->groups; ++group) {
            const long first = (image * g->out_channels + group * c->out_each) * c->positions;
            const real *own = frame + group * c->each * size, *weight = c->packed + group * panels * ROWS * c->depth;
            for (long at = 0, columns; at < c->positions; at += columns) {
                const long x = at % g->out_width;
                columns = least(COLUMNS, in_frame ? g->out_width - x : c->positions - at);
                real *sums = HALVES ? panel + c->stretch * COLUMNS : (real *)c->out + first + at;
                for (long begin = 0; begin < c->depth; begin += c->stretch) {
                    const long depth = least(c->stretch, c->depth - begin);
                    if (!in_frame) patches(c, own, at, c->positions, begin, begin + depth, panel);
                    for (long i = 0; i < panels; ++i) {
                        const int rows = (int)least(ROWS, c->out_each - i * ROWS);
                        real *out = sums + i * ROWS * stride;
                        if (c->bias && !begin)
                            for (int r = 0; r < rows; ++r)
                                for (int n = 0; n < columns; ++n)
                                    out[r * stride + n] =
                                        to_real(c->bias[(group * c->out_each + i * ROWS + r) * c->bias_stride]);
                        const real *a = weight + (i * c->depth + begin) * ROWS;
                        const int add = begin > 0 || c->bias != NULL;
                        if (in_frame)
                            tile_in_frame(a, own + row_place(c, at / g->out_width) + x, c->taps + begin, depth,
                                                out, stride, rows, (int)columns, add);
                        else
                            tile_by_columns(a, ROWS, panel, depth, out, stride, rows, (int)columns, add, NULL);
                    }
                }
                for (long n = 0; HALVES && n < c->out_each; ++n)
                    write_row(sums + n * stride, columns, c->out + first + n * c->positions + at);
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------ small images together

   A panel of one small image would have columns for nothing, so positions of many follow each other. All their patches
   are laid out first, for all channels of the result. */

static void frame_images(void *context, long part, long parts)
{
    const Convolution *c = context;
    const Geometry *g = &c->g;
    const long size = g->channels * c->frame_size;
    for (long n = c->count * part / parts; n < c->count * (part + 1) / parts; ++n)
        lay_frame(c, c->input + (c->first + n) * g->channels * c->image_size, c->frames + n * size);
}

static void lay_patches(void *context, long part, long parts)
{
    const Convolution *c = context;
    enum { C = COLUMNS };
    const long total = c->count * c->positions, across = up(total, C), units = c->g.groups * across;
    const long group_size = c->each * c->frame_size;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit)
        patches(c, c->frames + unit / across * group_size, unit % across * C, total, 0, c->depth,
                      c->laid + unit * c->depth * C);
}

static void multiply_patches(void *context, long part, long parts)
{
    Convolution *c = context;
    const Geometry *g = &c->g;
    enum { C = COLUMNS, TILE = ROWS * C };
    const long total = c->count * c->positions, across = up(total, C), panels = up(c->out_each, ROWS);
    const long units = g->groups * across, from = units * part / parts, to = units * (part + 1) / parts;
    real *sums = scratch(4, sizeof(real) * (size_t)((to - from) * panels * TILE));
    if (!sums) { c->failed = 1; return; }
    for (long begin = 0; begin < c->depth; begin += c->stretch)
        for (long unit = from; unit < to; ++unit)
            for (long i = 0; i < panels; ++i)
                tile_by_columns(c->packed + ((unit / across * panels + i) * c->depth + begin) * ROWS, ROWS,
                                      c->laid + (unit * c->depth + begin) * C, least(c->stretch, c->depth - begin),
                                      sums + ((unit - from) * panels + i) * TILE, C, ROWS,
                                      (int)least(C, total - unit % across * C), begin > 0, NULL);
    for (long unit = from; unit < to; ++unit) {
        const long at = unit % across * C, columns = least(C, total - at);
        for (long k = 0, many; k < columns; k += many) { /* of one image */
            const long image = (at + k) / c->positions, place = (at + k) % c->positions;
            many = least(columns - k, c->positions - place);
            for (long n = 0; n < c->out_each; ++n) {
                const long channel = unit / across * c->out_each + n;
                stored *out = c->out + ((c->first + image) * g->out_channels + channel) * c->positions + place;
                const real *sum = sums + (unit - from) * panels * TILE + n * C + k;
                const real more = c->bias ? to_real(c->bias[channel * c->bias_stride]) : 0;
                for (long j = 0; j < many; ++j) out[j] = to_stored(sum[j] + more);
            }
        }
    }
}

/* How many images are taken together: none where hardly any column would be saved, or their patches are large. */
static long images_together(const Convolution *c)
{
    enum { C = COLUMNS, ELEMENTS = 1 << 22 };
    const long each = c->g.groups * c->positions * c->depth + c->g.channels * c->frame_size;
    const long count = least(c->g.images, ELEMENTS / each);
    return count > 1 && 8 * up(count * c->positions, C) < 7 * count * up(c->positions, C) ? count : 0;
}

static void convolve_together(Convolution *c, long together)
{
    const Geometry *g = &c->g;
    enum { C = COLUMNS };
    const long size = g->channels * c->frame_size, across = up(together * c->positions, C);
    c->frames = scratch(0, sizeof(real) * (size_t)(together * size + VECTOR));
    c->laid = scratch(1, sizeof(real) * (size_t)(g->groups * across * C * c->depth));
    if (!c->frames || !c->laid) { c->failed = 1; return; }
    for (c->first = 0; c->first < g->images; c->first += together) {
        c->count = least(together, g->images - c->first);
        polyad_parallel(frame_images, c, least(c->count, 8));
        polyad_parallel(lay_patches, c, least(g->groups * across, PARTS));
        polyad_parallel(multiply_patches, c, least(g->groups * across, PARTS));
    }
}

/* The weight in panels of ROWS channels: [group][panel][depth][ROWS]. */
static void pack_weight(void *context, long part, long parts)
{
    const Convolution *c = context;
    const long panels = up(c->out_each, ROWS), units = c->g.groups * panels;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        real *to = c->packed + unit * ROWS * c->depth;
        const long first = unit % panels * ROWS, rows = least(ROWS, c->out_each - first);
        const stored *from = c->weight + (unit / panels * c->out_each + first) * c->weight_row;
        for (long k = 0; k < c->depth; ) {
            const long *at = c->weight_at + k, step = k + 4 <= c->depth ? at[1] - at[0] : 0;
            const int four = !HALVES && rows == ROWS && ROWS % 4 == 0 && (step == 1 || step == -1)
                             && at[2] - at[1] == step && at[3] - at[2] == step;
            const long last = step < 0 ? 3 : 0; /* of a kernel that is turned around, the last element lies first */
            if (four) for (long r = 0; r < ROWS; r += 4)
                transpose((const real *)from + r * c->weight_row + at[last], c->weight_row, to + (k + last) * ROWS + r,
                          step * ROWS);
            else for (long r = 0; r < ROWS; ++r)
                to[k * ROWS + r] = r < rows ? to_real(from[r * c->weight_row + at[0]]) : 0;
            k += four ? 4 : 1;
        }
    }
}

/* out[x] = start + the sum of by[k] * row[taps[k] + x]: *many* vectors of a row at a time. What is beyond the end of a row
   lies in the frame, too. */
static inline void add_taps(
    const real *by, const long *taps, long depth, const real *row, real start, real *out, long many, long columns)
{
    vector s[4];
    for (long v = 0; v < many; ++v) s[v] = (vector){} + start;
    for (long k = 0; k < depth; ++k)
        for (long v = 0; v < many; ++v) s[v] += by[k] * *(const vector *)(row + taps[k] + v * LANES);
    for (long v = 0; v < many; ++v)
        memcpy(out + v * LANES, &s[v], sizeof(real) * (size_t)least(LANES, columns - v * LANES));
}

/* Channels that have nobody in their group, each of which is framed by itself. */
static void convolve_alone(void *context, long part, long parts)
{
    const Convolution *c = context;
    const Geometry *g = &c->g;
    Convolution single = *c;
    single.g.channels = 1;
    const long units = g->images * g->channels, room = c->frame_size + 4 * COLUMNS;
    real *frame = scratch(0, sizeof(real) * (size_t)(room + (HALVES ? g->out_width : 0) + c->depth));
    if (!frame) { ((Convolution *)context)->failed = 1; return; }
    real *by = frame + room, *line = by + c->depth;
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        lay_frame(&single, c->input + unit * c->image_size, frame);
        for (long n = 0; n < c->out_each; ++n) {
            const long channel = unit % g->channels * c->out_each + n;
            const real start = c->bias ? to_real(c->bias[channel * c->bias_stride]) : 0;
            stored *rounded = c->out + (unit * c->out_each + n) * c->positions;
            for (long k = 0; k < c->depth; ++k)
                by[k] = to_real(c->weight[channel * c->weight_row + c->weight_at[k]]);
            for (long y = 0; y < g->out_thickness * g->out_height; ++y, rounded += g->out_width) {
                const real *row = frame + row_place(c, y);
                real *out = HALVES ? line : (real *)rounded;
                if (g->stride_x == 1) {
                    long x = 0;
                    for (; x + 3 * LANES < g->out_width; x += 4 * LANES)
                        add_taps(by, c->taps, c->depth, row + x, start, out + x, 4, g->out_width - x);
                    for (; x < g->out_width; x += LANES)
                        add_taps(by, c->taps, c->depth, row + x, start, out + x, 1, g->out_width - x);
                } else {
                    for (long x = 0; x < g->out_width; ++x) out[x] = start;
                    for (long k = 0; k < c->depth; ++k)
                        for (long x = 0; x < g->out_width; ++x) out[x] += by[k] * row[c->taps[k] + x * g->stride_x];
                }
                if (HALVES) write_row(out, g->out_width, rounded);
            }
        }
    }
}

/* From how many elements of a weight on its rows are shared out, not the images: sums of each part would be large. */
enum { LARGE = 1 << 15, ROOM = 1 << 26 };

/* convolve(out, input, weight, bias, geometry): *input* and *out* are row-major; *weight* is (out channels, channels of
   a group, kernel), with any strides; *geometry* is a Geometry. */
static Object *convolve(Object *self, Object *const *args, intptr_t count)
{
    const Array *weight = (Array *)args[2], *bias = (Array *)args[3];
    Convolution c = {.input = (const stored *)((Array *)args[1])->data, .out = (stored *)((Array *)args[0])->data};
    if (PyBytes_Size(args[4]) != sizeof c.g) return NULL;
    memcpy(&c.g, PyBytes_AsString(args[4]), sizeof c.g);
    if ((Object *)bias != &_Py_NoneStruct) {
        c.bias = (const stored *)bias->data;
        c.bias_stride = bias->strides[0] / (long)sizeof(stored);
    }
    const long rows = c.g.channels / c.g.groups * c.g.kernel_thickness * c.g.kernel_height * c.g.kernel_width;
    const long panels = up(c.g.out_channels / c.g.groups, ROWS);
    void *thread = PyEval_SaveThread();
    long *taps = scratch(2, sizeof(long) * (size_t)(2 * rows));
    if (taps) {
        set_up(&c, taps);
        set_up_weight(&c, weight, taps + rows);
        c.stretch = up(c.depth, up(c.depth, 640));
        c.packed = scratch(3, sizeof(real) * (size_t)(c.g.groups * panels * ROWS * c.depth));
    }
    if (!taps || !c.packed) c.failed = 1;
    else {
        const long parts = least(c.g.images, PARTS);
        if (c.each == 1 && c.out_each <= 2)
            polyad_parallel(convolve_alone, &c, least(c.g.images * c.g.channels, PARTS));
        else {
            polyad_parallel(pack_weight, &c, least(c.g.groups * panels, PARTS));
            const long together = images_together(&c);
            if (together) convolve_together(&c, together);
            else polyad_parallel(convolve_images_part, &c, parts);
        }
    }
    PyEval_RestoreThread(thread);
    if (c.failed) { PyErr_SetString(PyExc_MemoryError, "no memory for a convolution's operands"); return NULL; }
    return none();
}

/* ------------------------------------------------------------------------------------------ gradients to weights */

/* ROWS rows of the patches times COLUMNS channels of the gradient, summed over an image's positions. */
__attribute__((noinline)) static void correlate(
    const Convolution *c, const real *frame, const long *taps, const real *grad, real *sums, int add)
{
    const Geometry *g = &c->g;
    const real *at[ROWS];
    vector s[ROWS][2] = {};
    for (int i = 0; i < ROWS; ++i) at[i] = frame + taps[i];
    const long right = g->stride_x, down = g->stride_y * c->frame_width;
    const long next = (g->stride_z * c->frame_height - g->out_height * g->stride_y) * c->frame_width; /* layer */
    for (long y = 0; y < g->out_thickness * g->out_height; ++y) {
        for (long x = 0; x < g->out_width; ++x, grad += COLUMNS) {
            const vector first = *(const vector *)grad;
            const vector second = *(const vector *)(grad + LANES);
            _Pragma("GCC unroll 16") for (int i = 0; i < ROWS; ++i) {
                const real value = at[i][x * right];
                s[i][0] += value * first;
                s[i][1] += value * second;
            }
        }
        const long more = (y + 1) % g->out_height ? down : down + next;
        for (int i = 0; i < ROWS; ++i) at[i] += more;
    }
    put(s, sums, COLUMNS, ROWS, COLUMNS, add, NULL);
}

/* A part's images: sums of [group][panel of channels][row of the patches][COLUMNS]. */
static void correlate_images(void *context, long part, long parts)
{
    Convolution *c = context;
    const Geometry *g = &c->g;
    enum { C = COLUMNS };
    const long size = c->frame_size, panels = up(c->out_each, C), rows = up(c->depth, ROWS) * ROWS;
    real *frame = scratch(0, sizeof(real) * (size_t)(g->channels * size + VECTOR));
    real *turned = scratch(1, sizeof(real) * (size_t)(c->positions * C));
    real *sums = c->sums + part * g->groups * panels * rows * C;
    if (!frame || !turned) { c->failed = 1; return; }
    const long from = g->images * part / parts, to = g->images * (part + 1) / parts;
    for (long image = from; image < to; ++image) {
        lay_frame(c, c->input + image * g->channels * c->image_size, frame);
        for (long group = 0; group < g->groups; ++group)
            for (long panel = 0; panel < panels; ++panel) {
                const long first = (image * g->out_channels + group * c->out_each + panel * C) * c->positions;
                pack_panel(c->out + first, 1, c->positions, c->positions, least(C, c->out_each - panel * C), turned);
                for (long row = 0; row < rows; row += ROWS)
                    correlate(c, frame + group * c->each * size, c->taps + row, turned,
                                    sums + ((group * panels + panel) * rows + row) * C, image > from);
            }
    }
}

/* Frames and turned gradients of a part's images, for all to use. */
static void lay_out(void *context, long part, long parts)
{
    Convolution *c = context;
    const Geometry *g = &c->g;
    enum { C = COLUMNS };
    const long size = g->channels * c->frame_size, panels = up(c->out_each, C);
    for (long image = g->images * part / parts; image < g->images * (part + 1) / parts; ++image) {
        lay_frame(c, c->input + image * g->channels * c->image_size, c->frames + image * size);
        if (c->each == 1 && c->out_each <= 2) continue;
        for (long unit = 0; unit < g->groups * panels; ++unit) {
            const long channel = unit / panels * c->out_each + unit % panels * C;
            pack_panel(c->out + (image * g->out_channels + channel) * c->positions, 1, c->positions, c->positions,
                             least(C, c->out_each - unit % panels * C),
                             c->turned + (image * g->groups * panels + unit) * c->positions * C);
        }
    }
}

/* Some rows of the patches with all images: nothing is left to add up. */
static void correlate_rows(void *context, long part, long parts)
{
    Convolution *c = context;
    const Geometry *g = &c->g;
    enum { C = COLUMNS };
    const long size = c->frame_size, panels = up(c->out_each, C), blocks = up(c->depth, ROWS);
    const long units = g->groups * panels * blocks;
    real sums[ROWS * C];
    for (long unit = units * part / parts; unit < units * (part + 1) / parts; ++unit) {
        const long panel = unit / blocks, row = unit % blocks * ROWS, group = panel / panels;
        for (long image = 0; image < g->images; ++image)
            correlate(c, c->frames + (image * g->channels + group * c->each) * size, c->taps + row,
                            c->turned + (image * g->groups * panels + panel) * c->positions * C, sums, image > 0);
        const long first = panel % panels * C;
        for (long j = 0; j < least(C, c->out_each - first); ++j)
            for (long i = 0; i < least(ROWS, c->depth - row); ++i)
                c->packed[(group * c->out_each + first + j) * c->depth + row + i] = sums[i * C + j];
    }
}

/* The weight's gradient of channels that have nobody in their group. */
static void correlate_alone(void *context, long part, long parts)
{
    Convolution *c = context;
    const Geometry *g = &c->g;
    const long size = c->frame_size;
    for (long channel = g->out_channels * part / parts; channel < g->out_channels * (part + 1) / parts; ++channel)
        for (long k = 0; k < c->depth; ++k) {
            real total = 0;
            for (long image = 0; image < g->images; ++image) {
                const real *own = c->frames + (image * g->channels + channel / c->out_each) * size + c->taps[k];
                const stored *grad = c->out + (image * g->out_channels + channel) * c->positions;
                real sum = 0;
                for (long y = 0; y < g->out_thickness * g->out_height; ++y, grad += g->out_width) {
                    const real *from = own + row_place(c, y);
                    real row = 0;
                    if (g->stride_x == 1) {
                        _Pragma("omp simd reduction(+ : row)")
                        for (long x = 0; x < g->out_width; ++x) row += from[x] * to_real(grad[x]);
                    } else
                        for (long x = 0; x < g->out_width; ++x) row += from[x * g->stride_x] * to_real(grad[x]);
                    sum += row;
                }
                total += sum;
            }
            c->packed[channel * c->depth + k] = total;
        }
}

/* convolve_weight(out, grad, input, geometry): *out* is (out channels, channels of a group * kernel) real, row-major. */
static Object *convolve_weight(Object *self, Object *const *args, intptr_t count)
{
    enum { C = COLUMNS };
    Convolution c = {.input = (const stored *)((Array *)args[2])->data, .out = (stored *)((Array *)args[1])->data};
    if (PyBytes_Size(args[3]) != sizeof c.g) return NULL;
    memcpy(&c.g, PyBytes_AsString(args[3]), sizeof c.g);
    real *out = (real *)((Array *)args[0])->data;
    const long depth = c.g.channels / c.g.groups * c.g.kernel_thickness * c.g.kernel_height * c.g.kernel_width;
    const long rows = up(depth, ROWS) * ROWS;
    const long panels = up(c.g.out_channels / c.g.groups, C), parts = least(c.g.images, PARTS / 2);
    const long whole = c.g.groups * panels * rows * C;
    void *thread = PyEval_SaveThread();
    long *taps = scratch(2, sizeof(long) * (size_t)rows);
    if (!taps) c.failed = 1;
    else {
        set_up(&c, taps);
        for (long row = depth; row < rows; ++row) taps[row] = taps[0];
        c.packed = out;
        const long frames = c.g.images * c.g.channels * c.frame_size;
        const long turned = c.g.images * c.g.groups * panels * c.positions * C;
        const int alone = c.each == 1 && c.out_each <= 2;
        if (alone || (whole > LARGE && frames + turned < ROOM)) {
            c.frames = scratch(3, sizeof(real) * (size_t)(frames + VECTOR + (alone ? 0 : turned)));
            c.turned = c.frames + (frames + VECTOR - 1) / VECTOR * VECTOR;
            if (!c.frames) c.failed = 1;
            else {
                polyad_parallel(lay_out, &c, least(c.g.images, PARTS));
                if (alone) polyad_parallel(correlate_alone, &c, least(c.g.out_channels, PARTS));
                else polyad_parallel(correlate_rows, &c, least(c.g.groups * panels * rows / ROWS, 2 * PARTS));
            }
        } else {
            c.sums = scratch(3, sizeof(real) * (size_t)(parts * whole));
            if (!c.sums) c.failed = 1;
            else polyad_parallel(correlate_images, &c, parts);
            for (long channel = 0; !c.failed && channel < c.g.out_channels; ++channel) {
                const long group = channel / c.out_each, inside = channel % c.out_each;
                const real *sums = c.sums + (group * panels + inside / C) * rows * C + inside % C;
                for (long k = 0; k < depth; ++k) {
                    real total = 0;
                    for (long part = 0; part < parts; ++part) total += sums[part * whole + k * C];
                    out[channel * depth + k] = total;
                }
            }
        }
    }
    PyEval_RestoreThread(thread);
    if (c.failed) { PyErr_SetString(PyExc_MemoryError, "no memory for a convolution's gradient"); return NULL; }
    return none();
}

static Method methods[] = {
    BIND,
    {"convolve", convolve, FASTCALL, "convolve(out, input, weight, bias, geometry)"},
    {"convolve_weight", convolve_weight, FASTCALL, "convolve_weight(out, grad, input, geometry)"},
    {NULL, NULL, 0, NULL},
};

LIBRARY(convolution)
