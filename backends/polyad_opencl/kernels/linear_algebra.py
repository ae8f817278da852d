"""Matrix products.

A work-item computes a tile of 8 rows by two vectors of columns in registers. It reads the left operand element
by element, with any strides, and the right one in vectors along its rows: one that has no dense rows is copied first.
On GPUs a group shares tiles of both through local memory.

Where the device's memory is the host's, large products of float32 and float64 go to the host's BLAS, on the mapped
memory: nothing is copied. Complex matrices are products of real ones twice as wide: (a) @ (b) with b's rows alternately
b and ib, both read as pairs of real numbers.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.codegen import broadcast_strides, collapse
from polyad.dtypes import ALL, DType, bool_, float32, float64
from polyad.layout import contiguous_strides

from ..array import Array, new
from . import copying
from .tiles import ELEMENTS, lanes, prologue

ROWS, VECTORS = 8, 2
"""The tile in registers: 16 accumulators."""

_HOST_FROM = 1 << 26
"""Multiplications from which on mapping three buffers for the host's BLAS costs less than it brings."""

_BATCHES = 3
"""Batch dimensions that the kernel walks, after collapsing."""


def gemm(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Array:
    left = (a.steps[-1], a.steps[-2]) if transpose_a else a.steps[-2:]
    right = (b.steps[-1], b.steps[-2]) if transpose_b else b.steps[-2:]
    m, k = (a.shape[-1], a.shape[-2]) if transpose_a else a.shape[-2:]
    k_other, n = (b.shape[-1], b.shape[-2]) if transpose_b else b.shape[-2:]
    if k != k_other:
        raise ValueError(f"inner sizes {k} and {k_other} differ")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = new(a.device, (*batch, m, n), a.dtype)
    if not out.size:
        return out
    if not k:
        copying.fill(out, 0)
        return out
    x = Array(
        a.block, a.dtype, (*batch, m, k), (*broadcast_strides(a.shape[:-2], a.steps[:-2], batch), *left), a.offset
    )
    y = Array(
        b.block, b.dtype, (*batch, k, n), (*broadcast_strides(b.shape[:-2], b.steps[:-2], batch), *right), b.offset
    )
    multiply(out, x, y)
    return out


def multiply(out: Array, a: Array, b: Array) -> None:
    """Write the products of (batch, m, k) and (batch, k, n), of equal batches, into the dense *out*."""
    if out.dtype.is_complex:
        _multiply_complex(out, a, b)
        return
    device = out.device
    *batch, m, n = out.shape
    k = a.shape[-1]
    if device.shares_host_memory and out.dtype in (float32, float64) and m * n * k * math.prod(batch) >= _HOST_FROM:
        with device.mapped(out, write=True) as result, device.mapped(a) as left, device.mapped(b) as right:
            np.matmul(left, right, out=result)
        return
    if b.steps[-1] != 1 and n > 1:
        b = _dense(b)
    sizes, steps = collapse(tuple(batch), [out.steps[:-2], a.steps[:-2], b.steps[:-2]])
    if len(sizes) > _BATCHES:
        a, b = _dense(a), _dense(b)
        sizes, steps = collapse(tuple(batch), [out.steps[:-2], a.steps[:-2], b.steps[:-2]])
    lacking = _BATCHES - len(sizes)
    sizes = (1,) * lacking + sizes
    batch_steps = [step for each in steps[1:] for step in (0,) * lacking + each]
    numbers = (m, n, k, a.steps[-2], a.steps[-1], b.steps[-2], *sizes, *batch_steps)
    if device.is_cpu:
        width = VECTORS * lanes(out.dtype)
        size = (-(-m // ROWS), -(-n // width), math.prod(batch))
    else:
        size = (-(-n // _SIDE) * _GROUP, -(-m // _SIDE) * _GROUP, math.prod(batch))
    launch = _kernel(device, out.dtype)
    launch(size, out.buffer, out.offset, a.buffer, a.offset, b.buffer, b.offset, *numbers)


def _dense(x: Array) -> Array:
    """Row-major copies of the matrices; batch dimensions that are repeated (step 0) stay so."""
    shape = (*[1 if step == 0 else size for size, step in zip(x.shape[:-2], x.steps)], *x.shape[-2:])
    made = new(x.device, shape, x.dtype)
    copying.copy(made, Array(x.block, x.dtype, shape, x.steps, x.offset))
    own = contiguous_strides(shape)
    steps = (*[0 if step == 0 else mine for step, mine in zip(x.steps[:-2], own)], *own[-2:])
    return Array(made.block, made.dtype, x.shape, steps, 0)


def _multiply_complex(out: Array, a: Array, b: Array) -> None:
    part = out.dtype.to_real()
    device, pair = out.device, 2
    if a.steps[-1] != 1 and a.shape[-1] > 1:
        a = _dense(a)
    *batch, m, n = out.shape
    k = a.shape[-1]

    def parts(x: Array, shape: tuple[int, ...], last: int) -> Array:
        """*x* as real numbers: its last dimension is pairs."""
        return Array(x.block, part, shape, (*[step * pair for step in x.steps[:-1]], last), x.offset * pair)

    wide = new(device, (*b.shape[:-1], pair, n), out.dtype)
    _expand(device, part)(
        (min(b.size, 64),), wide.buffer, wide.offset, b.buffer, b.offset, b.size, n, k, *_flat_batch(b)
    )
    right = Array(wide.block, part, (*batch, k * pair, n * pair), contiguous_strides((*batch, k * pair, n * pair)), 0)
    multiply(parts(out, (*batch, m, n * pair), 1), parts(a, (*batch, m, k * pair), 1), right)


def _flat_batch(b: Array) -> tuple[int, ...]:
    """Sizes and steps of b's batch and matrix dimensions for `_expand`: at most `_BATCHES` batch dimensions."""
    sizes, (steps,) = collapse(b.shape[:-2], [b.steps[:-2]])
    lacking = _BATCHES - len(sizes)
    if lacking < 0:
        raise ValueError(f"complex matrix products take {_BATCHES} batch dimensions that cannot be merged")
    return (*(1,) * lacking, *sizes, *(0,) * lacking, *steps, b.steps[-2], b.steps[-1])


@cache
def _expand(device: Any, part: DType) -> Any:
    """Writes each row of b, then i times it."""
    kind = ELEMENTS[part.name].used
    source = f"""
__kernel void expand(__global {kind}2 *out, long oo, __global const {kind}2 *b, long bo, long count, long n, long k,
                     long n0, long n1, long n2, long s0, long s1, long s2, long sk, long sn)
{{
    for (long i = get_global_id(0); i < count; i += get_global_size(0)) {{
        long column = i % n, rest = i / n, row = rest % k, at = rest / k;
        long c2 = at % n2; at /= n2;
        long c1 = at % n1, c0 = at / n1;
        {kind}2 x = b[bo + c0 * s0 + c1 * s1 + c2 * s2 + row * sk + column * sn];
        long to = oo + 2 * rest * n + column;
        out[to] = x;
        out[to + n] = ({kind}2)(-x.y, x.x);
    }}
}}
"""
    return device.kernel(source, "expand", "pqpq" + "q" * 11, what=f"complex matrix product {part.name}")


_PARAMETERS = """__global T *c, long co, __global const T *a, long ao, __global const T *b, long bo,
                   long m, long n, long k, long am, long ak, long bk, long n0, long n1, long n2,
                   long a0, long a1, long a2, long b0, long b1, long b2"""

_BATCH = """
    long at = get_global_id(2), c2 = at % n2, c1 = at / n2 % n1, c0 = at / n2 / n1;
    a += ao + c0 * a0 + c1 * a1 + c2 * a2;
    b += bo + c0 * b0 + c1 * b1 + c2 * b2;
    c += co + at * m * n;
"""


@cache
def _kernel(device: Any, dtype: DType) -> Any:
    body, local = (_in_registers(), (1, 1, 1)) if device.is_cpu else (_in_local_memory(), (_GROUP, _GROUP, 1))
    source = f"{prologue(dtype)}\n{body}"
    return device.kernel(source, "gemm", "pqpqpq" + "q" * 15, what=f"gemm {dtype.name}", local=local)


def _in_registers() -> str:
    """For CPUs: rows beyond the last are computed from the last one again, and not stored."""
    rows, vectors = range(ROWS), range(VECTORS)
    accumulators = "".join(f"    V c{r}_{v} = (V)(0);\n" for r in rows for v in vectors)
    starts = "".join(f"    long a{r}_ = min(i + {r}, m - 1) * am;\n" for r in rows)
    products = "".join(
        f"            {{ V x = (V)(load(a, a{r}_ + p * ak)); "
        + " ".join(f"c{r}_{v} += x * y{v};" for v in vectors)
        + " }\n"
        for r in rows
    )
    full = "".join(f"            V y{v} = loadv(b, p * bk + j + {v} * W);\n" for v in vectors)
    stores = "".join(
        f"        if (i + {r} < m) {{ "
        + " ".join(f"storev(c, (i + {r}) * n + j + {v} * W, c{r}_{v});" for v in vectors)
        + " }\n"
        for r in rows
    )
    spilled = "".join(f"        VSTORE(c{r}_{v}, {r * VECTORS + v}, tile);\n" for r in rows for v in vectors)
    return f"""
__kernel void gemm({_PARAMETERS})
{{
{_BATCH}
    long i = get_global_id(0) * {ROWS}, j = get_global_id(1) * {VECTORS} * W;
    int left = (int)min(n - j, (long){VECTORS} * W);
{starts}{accumulators}
    // The last vectors of a row may reach beyond it: what they hold there is computed, and not stored.
    for (long p = 0; p < k; ++p) {{
{full}{products}    }}
    if (left == {VECTORS} * W) {{
{stores}    }} else {{
        S tile[{ROWS * VECTORS} * W];
{spilled}        for (int r = 0; r < {ROWS}; ++r)
            for (int l = 0; l < left; ++l)
                if (i + r < m) store(c, (i + r) * n + j + l, tile[r * {VECTORS} * W + l]);
    }}
}}
"""


_GROUP, _EACH = 16, 4
_SIDE = _GROUP * _EACH
"""On GPUs: a group of 16 by 16 work-items computes 64 by 64 results, 4 by 4 each."""


def _in_local_memory() -> str:
    return f"""
#define G {_GROUP}
#define E {_EACH}
__kernel __attribute__((reqd_work_group_size(G, G, 1)))
void gemm({_PARAMETERS})
{{
{_BATCH}
    __local S left[G][G * E + 1], right[G][G * E + 1];
    int x = get_local_id(0), y = get_local_id(1);
    long j = (long)get_group_id(0) * G * E, i = (long)get_group_id(1) * G * E;
    S sums[E][E];
    for (int r = 0; r < E; ++r) for (int s = 0; s < E; ++s) sums[r][s] = (S)0;
    for (long p = 0; p < k; p += G) {{
        for (int e = 0; e < E; ++e) {{
            // Neighbours in x read neighbours in memory: along k on the left, along n on the right.
            int row = y + e * G, column = x + e * G;
            left[x][row] = i + row < m && p + x < k ? load(a, (i + row) * am + (p + x) * ak) : (S)0;
            right[y][column] = j + column < n && p + y < k ? load(b, (p + y) * bk + j + column) : (S)0;
        }}
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int q = 0; q < G; ++q) {{
            S u[E], v[E];
            for (int e = 0; e < E; ++e) {{ u[e] = left[q][y + e * G]; v[e] = right[q][x + e * G]; }}
            for (int r = 0; r < E; ++r) for (int s = 0; s < E; ++s) sums[r][s] += u[r] * v[s];
        }}
        barrier(CLK_LOCAL_MEM_FENCE);
    }}
    for (int r = 0; r < E; ++r)
        for (int s = 0; s < E; ++s)
            if (i + y + r * G < m && j + x + s * G < n) store(c, (i + y + r * G) * n + j + x + s * G, sums[r][s]);
}}
"""


KERNELS = {"gemm": Kernel(gemm, dtypes=frozenset(ALL) - {bool_})}
