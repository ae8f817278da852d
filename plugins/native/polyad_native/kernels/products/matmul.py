"""Products with operands to be transposed, and with vectors."""

from __future__ import annotations

from typing import Any

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from ...gemm import multiplied, product


def gemm(types: Signature) -> Call | None:
    """The kernel of `gemm`."""
    run = product(types)

    def call(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
        return multiplied(run, a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b)

    return None if run is None else call


def vector_product(types: Signature) -> Call | None:
    """The kernel of `mv` and of `vector_product`."""
    run = product(types)

    def call(a: Any, b: Any) -> Any:
        if b.ndim == 1 and a.ndim:  # each row of *a* is read once, where it lies
            out = multiplied(run, b[None], a.reshape(-1, a.shape[-1]).T) if a.size else None
        else:
            out = multiplied(run, a[None], b) if a.ndim == 1 else None
        if out is None:
            raise Declined
        return out.reshape(a.shape[:-1] if b.ndim == 1 else (*b.shape[:-2], b.shape[-1]))

    return None if run is None else call
