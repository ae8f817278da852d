"""Whether elements are zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.base.dtypes import bool_, uint8

from ...quiet import quiet
from .sums import axis_of, dtype_of

Call = Callable[..., Any]


def _truth(reduce: Call) -> Call:
    def specialize(types: Signature) -> Call:
        dtype = dtype_of(types)

        def kernel(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
            return np.asarray(reduce(array, axis_of(array, dims), np.bool_, None, keepdim), order="C")

        def converted(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
            result = kernel(array.astype(np.bool_), dims, keepdim)
            return result.astype(np.uint8) if dtype is uint8 else result

        return kernel if dtype is bool_ else quiet(converted)

    return specialize


def count_nonzero(array: Any, dims: tuple[int, ...]) -> Any:
    return np.asarray(np.count_nonzero(array, axis_of(array, dims)), np.int64, order="C")


KERNELS = {
    "any": Kernel(np.any, specialize=_truth(np.logical_or.reduce)),
    "all": Kernel(np.all, specialize=_truth(np.logical_and.reduce)),
    "count_nonzero": Kernel(count_nonzero),
}
