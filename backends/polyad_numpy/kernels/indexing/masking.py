"""Writing where a mask holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...order import arranged
from ...quiet import thread
from ..pointwise.where import CHOSEN, choose, keep
from .index_select import _as_number


def masked_fill(array: Any, mask: Any, value: Any, out: Any = None) -> Any:
    if not isinstance(value, np.ndarray):
        value = thread.run(_as_number, value, array.dtype)  # a half type may make infinity of it
    if out is None and mask.size >= CHOSEN and array.shape == mask.shape and array.dtype.itemsize <= 8:
        if value.dtype.kind != "c" and not value and not np.signbit(value):
            result = keep(array, np.logical_not(mask), value)
        else:
            result = choose(mask, value, array)
        return result if array.flags.c_contiguous else arranged(result, array)
    if out is None:
        shape = array.shape if array.shape == mask.shape else np.broadcast_shapes(array.shape, mask.shape)
        out = array.copy() if shape == array.shape else np.broadcast_to(array, shape).copy()
    elif out is not array:
        np.copyto(out, array)
    if out.shape == mask.shape:
        _fill(out, mask, value)
    else:
        np.copyto(out, value, where=mask)
    return out


def _fill(out: Any, mask: Any, value: Any) -> None:
    """Write a number into *out* where *mask*."""
    if mask.size >= CHOSEN and out.dtype.itemsize <= 8:
        np.copyto(out, choose(mask, value.astype(out.dtype, copy=False), out))
    else:
        np.copyto(out, value, where=mask)


def masked_scatter(array: Any, mask: Any, source: Any) -> Any:
    out, places = array.copy(), np.flatnonzero(mask)
    out[places] = source[: places.size]
    return out


KERNELS = {
    "masked_fill": Kernel(masked_fill, out=True),
    "masked_scatter": Kernel(masked_scatter),
}
