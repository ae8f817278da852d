"""Reading and writing at indices that arrays hold.

NumPy counts negative indices from the end; where the op does not, they are refused first. An index out of range is
looked for only once it is known to exist.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.bounds import out_of_range

_HALF = 2
LONG_RUN = 1024
"""From how many elements a run on its sum is worth a call of its own."""


def _check(op: str, index: Any, size: int, name: str = "index") -> None:
    """Raise IndexError unless all of *index* (int64) is in [0, size)."""
    # Negative indices are huge as unsigned numbers: a single pass finds both errors.
    if index.size and index.view(np.uint64).max() >= size:
        raise _out_of_range(op, index, size, name, False)


def _out_of_range(op: str, index: Any, size: int, name: str, wraps: bool, dim: int | None = None) -> Exception:
    wrong = (index >= size) | (index < (-size if wraps else 0))
    place = tuple(int(coordinate) for coordinate in np.unravel_index(int(wrong.argmax()), wrong.shape))
    return out_of_range(op, name, place, int(index[place]), size, wraps=wraps, dim=dim)


def taken(array: Any, index: Any, axis: int) -> Any:
    """``array.take(index, axis)``, of as many dimensions as NumPy has: its own take writes past the end of the shape of
    a result that has more.
    """
    if array.ndim + index.ndim > 65:
        raise ValueError(f"number of dimensions must be within [0, 64], not {array.ndim + index.ndim - 1}")
    return array.take(index, axis)


def index_select(array: Any, index: Any, dim: int) -> Any:
    _check("index_select", index, array.shape[dim])
    return array.take(index, dim)


def sum_runs(rows: Any, starts: Any, wide: Any) -> Any:
    """The sums of the runs of *rows* that begin at *starts*, the first of which is 0."""
    count, runs = len(rows), len(starts)
    each = count // runs
    shape = rows.shape[1:]
    if each * runs == count and (starts == np.arange(0, count, each)).all():
        return np.add.reduce(rows.reshape(runs, each, *shape), 1, wide)
    if rows.size < runs * LONG_RUN:
        return np.add.reduceat(rows, starts, axis=0, dtype=wide)
    # NumPy's reduceat goes down each column by itself.
    out = np.empty((runs, *shape), wide)
    for run, (start, end) in enumerate(itertools.pairwise([*starts.tolist(), count])):
        np.add.reduce(rows[start:end], 0, wide, out[run])
    return out


def _add_slices(target: Any, index: Any, source: Any) -> None:
    """``target[index[i]] += source[i]`` for every i in order, along dimension 0."""
    if target.ndim == 1:
        np.add.at(target, index, source)
        return
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if len(starts) == len(index):
        target[index] += source
    else:
        target[ordered[starts]] += sum_runs(source[order], starts, target.dtype)


def index_copy(array: Any, index: Any, source: Any, dim: int) -> Any:
    _check("index_copy", index, array.shape[dim])
    out = array.copy()
    out[(*[slice(None)] * dim, index)] = source
    return out


def _accumulating(dtype: Any) -> Any:
    return np.float32 if dtype.itemsize == _HALF and dtype.kind not in "iub" else dtype


def index_add(array: Any, index: Any, source: Any, dim: int) -> Any:
    _check("index_add", index, array.shape[dim])
    if not index.size or not source.size:
        return array.copy()
    wide = _accumulating(array.dtype)
    out = array.astype(wide, order="C")
    moved, source = (out, source) if dim == 0 else (np.moveaxis(out, dim, 0), np.moveaxis(source, dim, 0))
    _add_slices(moved, index, source.astype(wide, copy=False))
    return out.astype(array.dtype, copy=False)


def _as_number(value: Any, dtype: Any) -> Any:
    """A Python number in *dtype*; integers wrap around."""
    if isinstance(value, int) and not isinstance(value, bool) and dtype.kind in "iu":
        bits = dtype.itemsize * 8
        value %= 2**bits
        if dtype.kind == "i" and value >= 2 ** (bits - 1):
            value -= 2**bits
    return np.asarray(value).astype(dtype)


KERNELS = {
    "index_select": Kernel(index_select),
    "index_add": Kernel(index_add),
    "index_copy": Kernel(index_copy),
}
