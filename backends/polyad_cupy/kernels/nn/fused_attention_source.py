"""The text of the kernels that `fused_attention` launches, in CUDA C.

A block of 128 threads computes a tile of scores at a time, in registers: 16 rows of threads by 8 columns, each thread
with every sixteenth row of the tile and every eighth column. The 8 threads that share a row are neighbours in a warp.
Operands come as tiles into shared memory, in float, filled up with zeros; a tile's rows are 16 bytes longer than their
numbers, so that neighbours read from different banks.

    ROWS, COLUMNS   the rows of a block's tile and the columns of a tile that passes by, in multiples of 16 and 8
    WIDTH           the features that a tile has room for, a multiple of 32
    T, LOAD, STORE  an element, see `polyad_kernels.source.elements`
    PACK            how many elements of the operands are read at once
    MASK, HIDDEN    an element of the mask, and what a score becomes by that at a place; without a mask not used
"""

from __future__ import annotations

from collections.abc import Sequence

COMMON = """
#define PITCH (WIDTH + 4)
#define NEAR (COLUMNS + 4)
#define R (ROWS / 16)
#define N (COLUMNS / 8)
#define W (WIDTH / 8)
#define TILE(name, rows, pitch) __shared__ __align__(16) float name[(rows) * (pitch)]
#define FOUR(place) (*(const float4 *)(place))
#define EACH _Pragma("unroll")

struct alignas(PACK * sizeof(T)) Pack { T v[PACK]; };

// `many` rows of `features` numbers, times `factor`, as a tile of `Rows`.
template <int Rows> static __device__ __forceinline__ void fetch(
    float *tile, const T *from, long begin, int many, long down, long across, int features, float factor)
{
    _Pragma("unroll 4") for (int at = threadIdx.x * PACK; at < Rows * WIDTH; at += 128 * PACK) {
        const int row = at / WIDTH, feature = at % WIDTH;
        float *const to = tile + row * PITCH + feature;
        if (row < many && feature < features) {
            const Pack pack = *(const Pack *)(from + (begin + row * down + feature * across));
            EACH for (int k = 0; k < PACK; ++k) to[k] = LOAD(pack.v, k) * factor;
        } else {
            EACH for (int k = 0; k < PACK; ++k) to[k] = 0.0f;
        }
    }
}

// The products of a tile's rows with another's.
static __device__ __forceinline__ void dots(
    float (&sum)[R][N], const float *left, const float *right, int y, int x, int features)
{
    EACH for (int r = 0; r < R; ++r) EACH for (int n = 0; n < N; ++n) sum[r][n] = 0.0f;
    TURNS for (int k = 0; k < features; k += 4) {
        float4 a[R];
        EACH for (int r = 0; r < R; ++r) a[r] = FOUR(left + (y + 16 * r) * PITCH + k);
        EACH for (int n = 0; n < N; ++n) {
            const float4 b = FOUR(right + (x + 8 * n) * PITCH + k);
            EACH for (int r = 0; r < R; ++r) {
                sum[r][n] = fma(a[r].x, b.x, sum[r][n]);
                sum[r][n] = fma(a[r].y, b.y, sum[r][n]);
                sum[r][n] = fma(a[r].z, b.z, sum[r][n]);
                sum[r][n] = fma(a[r].w, b.w, sum[r][n]);
            }
        }
    }
}

// Adds a tile's rows, weighted: a thread has the columns 4 * x to 4 * x + 3 of every 32.
static __device__ __forceinline__ void weigh(float (&sum)[R][W], const float *weights, const float *tile, int y, int x)
{
    TURNS for (int j = 0; j < COLUMNS; j += 4) {
        float4 a[R];
        EACH for (int r = 0; r < R; ++r) a[r] = FOUR(weights + (y + 16 * r) * NEAR + j);
        EACH for (int k = 0; k < 4; ++k) EACH for (int w = 0; w < W; w += 4) {
            const float4 b = FOUR(tile + (j + k) * PITCH + 4 * x + 8 * w);
            EACH for (int r = 0; r < R; ++r) {
                const float weight = k == 0 ? a[r].x : k == 1 ? a[r].y : k == 2 ? a[r].z : a[r].w;
                sum[r][w] = fma(weight, b.x, sum[r][w]);
                sum[r][w + 1] = fma(weight, b.y, sum[r][w + 1]);
                sum[r][w + 2] = fma(weight, b.z, sum[r][w + 2]);
                sum[r][w + 3] = fma(weight, b.w, sum[r][w + 3]);
            }
        }
    }
}

static __device__ __forceinline__ void clear(float (&sum)[R][W])
{
    EACH for (int r = 0; r < R; ++r) EACH for (int w = 0; w < W; ++w) sum[r][w] = 0.0f;
}

// Writes row r of the sums to the row that begins at `to`.
static __device__ __forceinline__ void put(T *out, long to, const float (&sum)[W], int x, int features, float factor)
{
    EACH for (int w = 0; w < W; ++w) {
        const int feature = 4 * x + 8 * (w & ~3) + (w & 3);
        if (feature < features) STORE(out, to + feature, sum[w] * factor);
    }
}
"""

_FORWARD = """
__kernel void __launch_bounds__(128, 4) attend(
    __global T *restrict out, __global float *restrict sums, __global const T *restrict query,
    __global const T *restrict key, __global const T *restrict value,
    __global const MASK *restrict mask, float scale, int causal, int rows, int columns, int features,
    int of_values, {parameters})
{
    TILE(queries, ROWS, PITCH);
    TILE(others, COLUMNS, PITCH);
    TILE(powers, ROWS, NEAR);
    const int y = threadIdx.x / 8, x = threadIdx.x % 8;
    // Of causal rows the last have most to do: they begin.
    const int parts = (rows + ROWS - 1) / ROWS, first = (parts - 1 - blockIdx.x % parts) * ROWS;
    const long head = blockIdx.x / parts;
    {places}
    fetch<ROWS>(queries, query, q + first * q_down, rows - first, q_down, q_across, features, scale);
    float sum[R][W], top[R], total[R];
    clear(sum);
    EACH for (int r = 0; r < R; ++r) top[r] = -INFINITY, total[r] = 0.0f;
    const int end = causal ? min(columns, first + ROWS) : columns;
    TURNS
    for (int begin = 0; begin < end; begin += COLUMNS) {
        __syncthreads();
        fetch<COLUMNS>(others, key, k + begin * k_down, columns - begin, k_down, k_across, features, 1.0f);
        __syncthreads();
        float score[R][N];
        dots(score, queries, others, y, x, features);
        EACH for (int r = 0; r < R; ++r) {
            const int row = first + y + 16 * r;
            float most = top[r];
            EACH for (int n = 0; n < N; ++n) {
                const int column = begin + x + 8 * n;
                if (column >= columns || (causal && column > row)) score[r][n] = -INFINITY;
                {hidden}
                most = max(most, score[r][n]);
            }
            for (int apart = 4; apart > 0; apart /= 2) most = max(most, __shfl_xor_sync(0xffffffffu, most, apart, 8));
            const float base = most == -INFINITY ? 0.0f : most, fewer = exp(top[r] - base);
            top[r] = most;
            total[r] *= fewer;
            EACH for (int w = 0; w < W; ++w) sum[r][w] *= fewer;
            EACH for (int n = 0; n < N; ++n) {
                const float power = exp(score[r][n] - base);
                total[r] += power;
                powers[(y + 16 * r) * NEAR + x + 8 * n] = power;
            }
        }
        __syncthreads();
        fetch<COLUMNS>(others, value, v + begin * v_down, columns - begin, v_down, v_across, of_values, 1.0f);
        __syncthreads();
        weigh(sum, powers, others, y, x);
    }
    EACH for (int r = 0; r < R; ++r) {
        const int row = first + y + 16 * r;
        for (int apart = 4; apart > 0; apart /= 2) total[r] += __shfl_xor_sync(0xffffffffu, total[r], apart, 8);
        if (row >= rows) continue;
        const long place = head * rows + row;
        const float each = total[r];
        EACH for (int w = 0; w < W; ++w) sum[r][w] = each == 0.0f ? 0.0f : sum[r][w] / each;
        put(out, place * of_values, sum[r], x, of_values, 1.0f);
        if (x == 0) sums[place] = each == 0.0f ? INFINITY : log(each) + top[r];
    }
}
"""

_OF_QUERY = """
__kernel void __launch_bounds__(128, 4) of_query(
    __global T *restrict result, __global float *restrict deltas, __global const T *restrict grad,
    __global const T *restrict query, __global const T *restrict key,
    __global const T *restrict value, __global const MASK *restrict mask,
    __global const T *restrict out, __global const float *restrict sums, float scale, int causal,
    int rows, int columns, int features, int of_values, {parameters})
{
    TILE(queries, ROWS, PITCH);
    TILE(grads, ROWS, PITCH);
    TILE(others, COLUMNS, PITCH);
    TILE(slopes, ROWS, NEAR);
    const int y = threadIdx.x / 8, x = threadIdx.x % 8;
    const int parts = (rows + ROWS - 1) / ROWS, first = (parts - 1 - blockIdx.x % parts) * ROWS;
    const long head = blockIdx.x / parts;
    {places}
    fetch<ROWS>(queries, query, q + first * q_down, rows - first, q_down, q_across, features, scale);
    fetch<ROWS>(grads, grad, g + first * g_down, rows - first, g_down, g_across, of_values, 1.0f);
    __syncthreads();
    float sum[R][W], delta[R], logarithm[R];
    clear(sum);
    EACH for (int r = 0; r < R; ++r) {
        const int row = first + y + 16 * r;
        const long place = head * rows + row;
        delta[r] = 0.0f;
        if (row < rows)
            for (int f = x; f < of_values; f += 8)
                delta[r] = fma(grads[(y + 16 * r) * PITCH + f], (float)LOAD(out, place * of_values + f), delta[r]);
        for (int apart = 4; apart > 0; apart /= 2) delta[r] += __shfl_xor_sync(0xffffffffu, delta[r], apart, 8);
        logarithm[r] = row < rows ? sums[place] : INFINITY;
        if (row < rows && x == 0) deltas[place] = delta[r];
    }
    const int end = causal ? min(columns, first + ROWS) : columns;
    TURNS
    for (int begin = 0; begin < end; begin += COLUMNS) {
        __syncthreads();
        fetch<COLUMNS>(others, value, v + begin * v_down, columns - begin, v_down, v_across, of_values, 1.0f);
        __syncthreads();
        float slope[R][N], score[R][N];
        dots(slope, grads, others, y, x, of_values);
        __syncthreads();
        fetch<COLUMNS>(others, key, k + begin * k_down, columns - begin, k_down, k_across, features, 1.0f);
        __syncthreads();
        dots(score, queries, others, y, x, features);
        EACH for (int r = 0; r < R; ++r) EACH for (int n = 0; n < N; ++n) {
            const int row = first + y + 16 * r, column = begin + x + 8 * n;
            if (column >= columns || (causal && column > row)) score[r][n] = -INFINITY;
            {hidden}
            const float weight = exp(score[r][n] - logarithm[r]);
            slopes[(y + 16 * r) * NEAR + x + 8 * n] = weight * (slope[r][n] - delta[r]);
        }
        __syncthreads();
        weigh(sum, slopes, others, y, x);
    }
    EACH for (int r = 0; r < R; ++r) {
        const int row = first + y + 16 * r;
        if (row < rows) put(result, (head * rows + row) * features, sum[r], x, features, scale);
    }
}
"""

_OF_KEYS = """
__kernel void __launch_bounds__(128, 4) of_keys(
    __global T *restrict of_key, __global T *restrict of_value, __global const T *restrict grad,
    __global const T *restrict query, __global const T *restrict key,
    __global const T *restrict value, __global const MASK *restrict mask,
    __global const float *restrict deltas, __global const float *restrict sums, float scale,
    int causal, int rows, int columns, int features, int of_values, {parameters})
{
    // Here keys are the tile's rows, and queries its columns.
    TILE(keys, ROWS, PITCH);
    TILE(values, ROWS, PITCH);
    TILE(queries, COLUMNS, PITCH);
    TILE(grads, COLUMNS, PITCH);
    TILE(weights, ROWS, NEAR);
    const int y = threadIdx.x / 8, x = threadIdx.x % 8;
    const int parts = (columns + ROWS - 1) / ROWS, first = blockIdx.x % parts * ROWS;
    const long head = blockIdx.x / parts;
    {places}
    fetch<ROWS>(keys, key, k + first * k_down, columns - first, k_down, k_across, features, 1.0f);
    fetch<ROWS>(values, value, v + first * v_down, columns - first, v_down, v_across, of_values, 1.0f);
    float key_sum[R][W], value_sum[R][W];
    clear(key_sum);
    clear(value_sum);
    TURNS
    for (int begin = causal ? first / COLUMNS * COLUMNS : 0; begin < rows; begin += COLUMNS) {
        __syncthreads();
        fetch<COLUMNS>(queries, query, q + begin * q_down, rows - begin, q_down, q_across, features, scale);
        fetch<COLUMNS>(grads, grad, g + begin * g_down, rows - begin, g_down, g_across, of_values, 1.0f);
        __syncthreads();
        float score[R][N], slope[R][N];
        dots(score, keys, queries, y, x, features);
        EACH for (int n = 0; n < N; ++n) {
            const int row = begin + x + 8 * n;
            const float logarithm = row < rows ? sums[head * rows + row] : INFINITY;
            EACH for (int r = 0; r < R; ++r) {
                const int column = first + y + 16 * r;
                if (column >= columns || (causal && column > row)) score[r][n] = -INFINITY;
                {hidden}
                score[r][n] = exp(score[r][n] - logarithm);
                weights[(y + 16 * r) * NEAR + x + 8 * n] = score[r][n];
            }
        }
        __syncthreads();
        weigh(value_sum, weights, grads, y, x);
        dots(slope, values, grads, y, x, of_values);
        __syncthreads();
        EACH for (int n = 0; n < N; ++n) {
            const int row = begin + x + 8 * n;
            const float delta = row < rows ? deltas[head * rows + row] : 0.0f;
            EACH for (int r = 0; r < R; ++r)
                weights[(y + 16 * r) * NEAR + x + 8 * n] = score[r][n] * (slope[r][n] - delta);
        }
        __syncthreads();
        weigh(key_sum, weights, queries, y, x);
    }
    EACH for (int r = 0; r < R; ++r) {
        const int column = first + y + 16 * r;
        if (column >= columns) continue;
        put(of_key, (head * columns + column) * features, key_sum[r], x, features, 1.0f);
        put(of_value, (head * columns + column) * of_values, value_sum[r], x, of_values, 1.0f);
    }
}
"""

_TEXTS = {"attend": _FORWARD, "of_query": _OF_QUERY, "of_keys": _OF_KEYS}

_HIDDEN = "else if (row < rows) score[r][n] = HIDDEN(score[r][n], m + row * m_down + column * m_across);"


def text(name: str, operands: str, rank: int, masked: bool) -> str:
    """Kernel *name*, whose *operands*, a letter each, have *rank* dimensions before the matrices'."""
    return COMMON + (
        _TEXTS[name]
        .replace("{parameters}", ", ".join([f"long {each}" for each in _parameters(operands, rank)]))
        .replace("{places}", "\n    ".join(_places(operands, rank)))
        .replace("{hidden}", _HIDDEN if masked else "")
    )


def _parameters(operands: str, rank: int) -> list[str]:
    names = [f"n{dim}" for dim in range(rank)]
    for letter in operands:
        names += [f"{letter}_begin", *[f"{letter}{dim}" for dim in range(rank)], f"{letter}_down", f"{letter}_across"]
    return names


def _places(operands: str, rank: int) -> Sequence[str]:
    """Statements that say where each operand's matrix begins that a head has."""
    lines = ["long rest = head;"]
    for dim in range(rank - 1, 0, -1):
        lines += [f"const long c{dim} = rest % n{dim};", f"rest /= n{dim};"]
    lines.append("const long c0 = rest;")
    for letter in operands:
        sum_of = " + ".join([f"{letter}_begin", *[f"c{dim} * {letter}{dim}" for dim in range(rank)]])
        lines.append(f"const long {letter} = {sum_of};")
    return lines
