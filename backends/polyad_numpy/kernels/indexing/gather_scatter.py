"""Single elements at indices along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import thread
from .index_select import _accumulating, _as_number, _check


def _positions(shape: tuple[int, ...], index: Any, dim: int) -> Any:
    """Where ``index[i, j]`` along *dim* lies in a flat row-major array of *shape*."""
    if not index.size:
        return index
    step = 1
    positions = index
    for at in range(len(shape) - 1, -1, -1):
        if at == dim:
            positions = positions if step == 1 else positions * step
            break
        step *= shape[at]
    step = 1
    for at in range(len(shape) - 1, -1, -1):
        count = index.shape[at]
        if at != dim and count > 1:
            along = np.arange(0, count * step, step)
            positions = positions + along.reshape((count,) + (1,) * (len(shape) - 1 - at))
        step *= shape[at]
    return positions


def gather(array: Any, index: Any, dim: int) -> Any:
    _check("gather", index, array.shape[dim])
    return np.ascontiguousarray(array).reshape(-1).take(_positions(array.shape, index, dim))


def _leading(source: Any, shape: tuple[int, ...]) -> Any:
    return source if source.shape == shape else source[tuple([slice(size) for size in shape])]


def scatter(array: Any, index: Any, source: Any, dim: int) -> Any:
    _check("scatter", index, array.shape[dim])
    out = array.copy(order="C")
    if isinstance(source, np.ndarray):
        source = _leading(source, index.shape)
    else:
        source = thread.run(_as_number, source, array.dtype)
    out.reshape(-1)[_positions(array.shape, index, dim)] = source
    return out


def scatter_add(array: Any, index: Any, source: Any, dim: int) -> Any:
    _check("scatter_add", index, array.shape[dim])
    wide = _accumulating(array.dtype)
    out = array.astype(wide, order="C")
    source = _leading(source, index.shape).astype(wide, copy=False)
    np.add.at(out.reshape(-1), _positions(array.shape, index, dim).reshape(-1), source.reshape(-1))
    return out.astype(array.dtype, copy=False)


KERNELS = {
    "gather": Kernel(gather),
    "scatter": Kernel(scatter),
    "scatter_add": Kernel(scatter_add),
}
