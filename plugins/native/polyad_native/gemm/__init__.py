"""Products of matrices: what the kernels of `polyad.ops.products` and of `linear` call."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature
from polyad.base.dtypes import float32, float64

from ..engine import HALVES, Library

GEMM = Library("gemm/gemm", (float32, float64, *HALVES))


def product(types: Signature) -> Any:
    """The function for products of the first operand's dtype; None if there is none."""
    return GEMM.function("product", types[0].dtype)


def multiplied(run: Any, a: Any, b: Any, bias: Any = None) -> Any:
    """The product by *run*, of batches too."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2] or not (a.size and b.size):
        raise Declined
    lead = a.shape[:-2]
    if b.ndim != 2 and b.shape[:-2] != lead:
        lead = np.broadcast_shapes(lead, b.shape[:-2])
    out = np.empty((*lead, a.shape[-2], b.shape[-1]), a.dtype)
    if b.ndim == 2 and a.ndim > 2:  # rows of one matrix
        done = run(out.reshape(-1, out.shape[-1]), a.reshape(-1, a.shape[-1]), b, bias)
    else:
        done = run(out, a, b, bias)
    if not done:
        raise Declined
    return out
