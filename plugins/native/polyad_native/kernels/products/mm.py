"""Products of two matrices, and of two batches of them."""

from __future__ import annotations

from typing import Any

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from ...gemm import multiplied, product


def mm(types: Signature) -> Call | None:
    """The kernel of `mm`."""
    return _of_rank(2, types)


def bmm(types: Signature) -> Call | None:
    """The kernel of `bmm`."""
    return _of_rank(3, types)


def _of_rank(rank: int, types: Signature) -> Call | None:
    run = product(types)

    def call(a: Any, b: Any) -> Any:
        if a.ndim != rank or b.ndim != rank or a.shape[:-2] != b.shape[:-2]:
            raise Declined
        return multiplied(run, a, b)

    return None if run is None else call
