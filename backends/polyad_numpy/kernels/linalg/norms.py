"""Norms of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature

from ...quiet import quiet
from ..reductions.sums import Call, axis_of, dtype_of


def _euclidean(types: Signature) -> Call | None:
    dtype = dtype_of(types)
    if dtype.is_complex or dtype.itemsize == 2:
        return None

    def norm(array: Any, ord: float, dims: tuple[int, ...], keepdim: bool) -> Any:
        if len(dims) == array.ndim and not keepdim and array.flags.c_contiguous:
            flat = array.reshape(-1)
            return np.asarray(np.sqrt(flat.dot(flat)))
        return np.asarray(np.sqrt(np.add.reduce(array * array, axis_of(array, dims), None, None, keepdim)))

    return quiet(norm)


KERNELS = {"norm2": Kernel(np.linalg.norm, specialize=_euclidean)}
