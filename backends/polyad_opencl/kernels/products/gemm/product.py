"""One product of batches of matrices, before anybody has decided how it is computed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from polyad.base.dtypes import DType
from polyad.base.shapes_and_strides import contiguous_strides
from polyad.codegen import collapse
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.memory import conversion as copying

FEW_ROWS, FEW_COLUMNS = 4, 16
"""Up to so many rows or columns of results, a product is `Product.form` "rows" or "columns"."""

LITTLE = 1 << 20
"""Multiplications; a batch of products that have fewer each is `Product.form` "batch"."""


@dataclass(slots=True)
class Product:
    """(*batch, m, k) times (*batch, k, n), real and of the same dtype, into the dense *out*; nothing of it is empty.

    Attributes:
        out, a, b: arrays; *a* and *b* may have any steps.
        m, n, k: the sizes of each product.
        count: how many products there are.
        work: the multiplications of all of them.
    """

    out: Array
    a: Array
    b: Array
    m: int
    n: int
    k: int
    count: int
    work: int

    @classmethod
    def of(cls, out: Array, a: Array, b: Array) -> Product:
        """The product of *a* and *b*, of equal batches."""
        *batch, m, n = out.shape
        k, count = a.shape[-1], math.prod(batch)
        return cls(out, a, b, m, n, k, count, m * n * k * count)

    @property
    def device(self) -> Any:
        """Whose memory the operands are in."""
        return self.out.device

    @property
    def dtype(self) -> DType:
        """The dtype of all three."""
        return self.out.dtype

    @property
    def form(self) -> str:
        """What the matrices are like: "rows" or "columns" if the result has few, "batch" if they are small, or
        "square".
        """
        if self.m <= FEW_ROWS:
            return "rows"
        if self.n <= FEW_COLUMNS:
            return "columns"
        return "batch" if self.count > 1 and self.work < LITTLE * self.count else "square"

    def batches(self, a: Array, b: Array) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        """Sizes of the batch dimensions after merging, and the steps of *a* and *b* along each."""
        if self.count == 1:
            return (), [(), ()]
        batch = self.out.shape[:-2]
        sizes, steps = collapse(tuple(batch), [self.out.steps[:-2], a.steps[:-2], b.steps[:-2]])
        return sizes, list(steps[1:])


def dense(x: Array) -> Array:
    """Row-major copies of the matrices; batch dimensions that are repeated (step 0) stay so."""
    shape = (*[1 if step == 0 else size for size, step in zip(x.shape[:-2], x.steps)], *x.shape[-2:])
    copied = new(x.device, shape, x.dtype)
    copying.copy(copied, Array(x.block, x.dtype, shape, x.steps, x.offset))
    own = contiguous_strides(shape)
    steps = (*[0 if step == 0 else mine for step, mine in zip(x.steps[:-2], own)], *own[-2:])
    return Array(copied.block, copied.dtype, x.shape, steps, 0)
