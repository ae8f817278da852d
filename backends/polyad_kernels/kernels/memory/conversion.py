"""Copies between any two layouts and dtypes, and fills: what tier 0 asks for, and the ops `copy` and `cast`.

Equal layouts without a change of dtype are the driver's own copy; everything else is a generated kernel whose
expression is a cast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.base.dtypes import DType
from polyad.codegen.collapse import collapse
from polyad.codegen.kernels import copying
from polyad.interop.numpy import numpy_dtype

from ...array import Array, new

_SHORTEST_ROW = 32
"""From how many bytes on a row is worth a call of memcpy."""


def copy(target: Array, source: Array) -> None:
    """Write *source*, broadcast and cast, into *target*; they may overlap."""
    if 0 in target.shape:
        return
    surplus = source.ndim - target.ndim
    if surplus > 0:  # leading dimensions of size 1, as NumPy allows them
        source = Array(source.block, source.dtype, source.shape[surplus:], source.steps[surplus:], source.offset)
    if target.block is source.block:
        if _same_place(target, source):
            return
        dense = new(target.device, source.shape, source.dtype)
        _copy(dense, source)
        source = dense
    _copy(target, source)


def _same_place(target: Array, source: Array) -> bool:
    return target.offset == source.offset and target.steps == source.steps and target.shape == source.shape and (
        target.dtype is source.dtype
    )  # fmt: skip


def _copy(target: Array, source: Array) -> None:
    device = target.device
    if target.dtype is source.dtype:
        if target.shape == source.shape and target.is_dense and source.is_dense:
            size = target.dtype.itemsize
            device.copy(
                target.buffer, source.buffer,
                src_offset=source.offset * size, dst_offset=target.offset * size, byte_count=target.nbytes,
            )  # fmt: skip
            return
        if device.is_cpu and target.shape == source.shape and _copy_rows(target, source):
            return
    _kernel(device, source.dtype, target.dtype).into((target,), (source,))


def _copy_rows(target: Array, source: Array) -> bool:
    """Copy rows without gaps, up to three dimensions of them, as the driver does it; False if they are not that.

    On CPU devices that is a memcpy a row, several times faster than a loop over elements.
    """
    sizes, (to, of) = collapse(target.shape, (target.steps, source.steps))
    if not 2 <= len(sizes) <= 3 or to[-1] != 1 or of[-1] != 1 or min(*to, *of) < 1:
        return False
    size, row = target.dtype.itemsize, sizes[-1]
    rows, planes = sizes[-2], sizes[0] if len(sizes) == 3 else 1
    if row * size < _SHORTEST_ROW:
        return False
    pitches = []
    for steps in (to, of):
        pitch, plane = steps[-2], steps[0] if len(sizes) == 3 else steps[-2] * rows
        if pitch < row or plane < pitch * rows or plane % pitch:
            return False
        pitches.append((pitch * size, plane * size))
    target.device.copy(
        target.buffer, source.buffer, region=(row * size, rows, planes),
        dst_origin=(target.offset * size, 0, 0), src_origin=(source.offset * size, 0, 0),
        dst_pitches=pitches[0], src_pitches=pitches[1],
    )  # fmt: skip
    return True


def _kernel(device: Any, of: DType, to: DType) -> Any:
    return copying(device.generated, of, to)


def fill(target: Array, value: bool | int | float | complex) -> None:
    """Write a number into every element of *target*."""
    if 0 in target.shape:
        return
    device, dtype = target.device, target.dtype
    with np.errstate(all="ignore"):
        pattern = np.array(value).astype(numpy_dtype(dtype)).reshape(1).view(np.uint8)
    if target.is_dense:
        device.fill(target.buffer, pattern, target.offset * dtype.itemsize, target.nbytes)
        return
    source = new(device, (), dtype)
    device.fill(source.buffer, pattern, 0, dtype.itemsize)
    _copy(target, source)


def row_major(x: Array) -> Array:
    """A dense copy."""
    copied = new(x.device, x.shape, x.dtype)
    copy(copied, x)
    return copied


KERNELS = {"copy": Kernel(row_major)}
