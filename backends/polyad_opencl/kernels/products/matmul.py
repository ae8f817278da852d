"""Matrix products: operands are broadcast and viewed, then `gemm` multiplies.

Complex matrices are products of real ones twice as wide: (a) @ (b) with b's rows alternately b and ib, both read as
pairs of real numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.dtypes import ALL, DType, bool_
from polyad.base.shapes_and_strides import contiguous_strides
from polyad.codegen import broadcast_strides, collapse
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.memory import conversion as copying
from polyad_kernels.memo import memoize

from ...source.tiles import ELEMENTS
from . import gemm
from .gemm.product import dense

_BATCHES = 3
"""Batch dimensions that `_expand` walks, after merging."""


def product(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Array:
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
    gemm.multiply(out, a, b)


def _multiply_complex(out: Array, a: Array, b: Array) -> None:
    part = out.dtype.to_real()
    device, pair = out.device, 2
    if a.steps[-1] != 1 and a.shape[-1] > 1:
        a = dense(a)
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


@memoize
def _expand(device: Any, part: DType) -> Any:
    """Writes each row of b, then i times it."""
    real = ELEMENTS[part.name].used
    source = f"""
__kernel void expand(__global {real}2 *out, long oo, __global const {real}2 *b, long bo, long count, long n, long k,
                     long n0, long n1, long n2, long s0, long s1, long s2, long sk, long sn)
{{
    for (long i = get_global_id(0); i < count; i += get_global_size(0)) {{
        long column = i % n, rest = i / n, row = rest % k, at = rest / k;
        long c2 = at % n2; at /= n2;
        long c1 = at % n1, c0 = at / n1;
        {real}2 x = b[bo + c0 * s0 + c1 * s1 + c2 * s2 + row * sk + column * sn];
        long to = oo + 2 * rest * n + column;
        out[to] = x;
        out[to + n] = ({real}2)(-x.y, x.x);
    }}
}}
"""
    return device.kernel(source, "expand", "pqpq" + "q" * 11, what=f"complex matrix product {part.name}")


KERNELS = {"gemm": Kernel(product, dtypes=frozenset(ALL) - {bool_})}
