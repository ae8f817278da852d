"""Matrix products added to a tensor, in the product's own memory; halves in float32, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature

from ...quiet import quiet, thread
from .mm import bmm, is_half

_RANKS = {"addmm": (2, 2), "baddbmm": (3, 3), "addmv": (2, 1)}


def _dot(a: Any, b: Any) -> Any:
    return thread.run(np.dot, a, b)


@quiet
def _plus(out: Any, input: Any, beta: Any, alpha: Any, dtype: Any) -> Any:
    if alpha not in (0, 1):
        out *= alpha
    if beta:
        out += input if beta == 1 else input * beta
    return out.astype(dtype, copy=False)


def _add_product(name: str) -> Kernel:
    ranks = _RANKS[name]
    multiply: Callable[..., Any] = bmm if name == "baddbmm" else _dot

    def kernel(input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
        if (a.ndim, b.ndim) != ranks or (a.ndim == 3 and len(a) != len(b)):
            raise ValueError("the operands have other numbers of dimensions")
        if alpha:
            out = np.asarray(multiply(a, b))
        else:
            if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
                raise ValueError("the summed sizes differ")
            out = np.zeros((*a.shape[:-1], *b.shape[a.ndim - 1 :]), a.dtype)
        return _plus(out, input, beta, alpha, input.dtype)

    def wide(input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
        result = kernel(input.astype(np.float32), a.astype(np.float32), b.astype(np.float32), beta, alpha)
        return thread.run(result.astype, input.dtype)

    def specialize(types: Signature) -> Any:
        return wide if is_half(types) else kernel

    return Kernel(kernel, specialize=specialize)


KERNELS = {name: _add_product(name) for name in _RANKS}
