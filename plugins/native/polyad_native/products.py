"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend.interface import Signature

from .choosing import Call, NotNative
from .engine import function, matrices


def _of(types: Signature) -> Any:
    return function(matrices, "product", types[0].dtype)


def _multiplied(run: Any, a: Any, b: Any, bias: Any = None) -> Any:
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2] or not (a.size and b.size):
        raise NotNative
    lead = a.shape[:-2]
    if b.ndim != 2 and b.shape[:-2] != lead:
        lead = np.broadcast_shapes(lead, b.shape[:-2])
    out = np.empty((*lead, a.shape[-2], b.shape[-1]), a.dtype)
    if b.ndim == 2 and a.ndim > 2:  # rows of one matrix
        done = run(out.reshape(-1, out.shape[-1]), a.reshape(-1, a.shape[-1]), b, bias)
    else:
        done = run(out, a, b, bias)
    if not done:
        raise NotNative
    return out


def gemm(types: Signature) -> Call | None:
    """The kernel of `gemm`."""
    run = _of(types)

    def call(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
        return _multiplied(run, a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b)

    return None if run is None else call


def _of_rank(rank: int, types: Signature) -> Call | None:
    run = _of(types)

    def call(a: Any, b: Any) -> Any:
        if a.ndim != rank or b.ndim != rank or a.shape[:-2] != b.shape[:-2]:
            raise NotNative
        return _multiplied(run, a, b)

    return None if run is None else call


def mm(types: Signature) -> Call | None:
    """The kernel of `mm`."""
    return _of_rank(2, types)


def bmm(types: Signature) -> Call | None:
    """The kernel of `bmm`."""
    return _of_rank(3, types)


def vector_product(types: Signature) -> Call | None:
    """The kernel of `mv` and of `vector_product`."""
    run = _of(types)

    def call(a: Any, b: Any) -> Any:
        if b.ndim == 1 and a.ndim:  # each row of *a* is read once, where it lies
            out = _multiplied(run, b[None], a.reshape(-1, a.shape[-1]).T) if a.size else None
        else:
            out = _multiplied(run, a[None], b) if a.ndim == 1 else None
        if out is None:
            raise NotNative
        return out.reshape(a.shape[:-1] if b.ndim == 1 else (*b.shape[:-2], b.shape[-1]))

    return None if run is None else call


def linear_weight_grad(types: Signature) -> Call | None:
    """The kernel of `linear_weight_grad`."""
    run = _of(types)

    def call(grad: Any, a: Any) -> Any:
        if not (grad.size and a.size):
            raise NotNative
        return _multiplied(run, grad.reshape(-1, grad.shape[-1]).T, a.reshape(-1, a.shape[-1]))

    return None if run is None else call


def linear(types: Signature) -> Call | None:
    """The kernel of `linear`."""
    run = _of(types)

    def call(a: Any, weight: Any, bias: Any) -> Any:
        if weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
            raise NotNative
        return _multiplied(run, a, weight.T, bias if bias is None else np.ascontiguousarray(bias))

    return None if run is None else call
