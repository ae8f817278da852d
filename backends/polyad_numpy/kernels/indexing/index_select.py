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
from polyad.errors import ShapeError

from ...order import arranged
from ...quiet import quiet, thread
from ..pointwise.selection import CHOSEN, choose, keep

_HALF = 2
LONG_RUN = 1024
"""From how many elements a run on its sum is worth a call of its own."""


def _check(op: str, index: Any, size: int, name: str = "index") -> None:
    """Raise IndexError unless all of *index* (int64) is in [0, size)."""
    # Negative indices are huge as unsigned numbers: a single pass finds both errors.
    if index.size and index.view(np.uint64).max() >= size:
        raise _found(op, index, size, name, False)


def _found(op: str, index: Any, size: int, name: str, wraps: bool, dim: int | None = None) -> Exception:
    wrong = (index >= size) | (index < (-size if wraps else 0))
    place = tuple(int(coordinate) for coordinate in np.unravel_index(int(wrong.argmax()), wrong.shape))
    return out_of_range(op, name, place, int(index[place]), size, wraps=wraps, dim=dim)


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
        source = _as_number(source, array.dtype)
    out.reshape(-1)[_positions(array.shape, index, dim)] = source
    return out


def scatter_add(array: Any, index: Any, source: Any, dim: int) -> Any:
    _check("scatter_add", index, array.shape[dim])
    wide = _accumulating(array.dtype)
    out = array.astype(wide, order="C")
    source = _leading(source, index.shape).astype(wide, copy=False)
    np.add.at(out.reshape(-1), _positions(array.shape, index, dim).reshape(-1), source.reshape(-1))
    return out.astype(array.dtype, copy=False)


_REDUCING = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _neutral(reduce: str, dtype: Any) -> Any:
    """What leaves the other operand of a reduction as it is."""
    if reduce in ("sum", "mean", "prod"):
        return dtype.type(reduce == "prod")
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind == "f":
        return dtype.type(-np.inf if reduce == "amax" else np.inf)
    limits = np.iinfo(dtype)
    return limits.min if reduce == "amax" else limits.max


@quiet
def scatter_reduce(array: Any, index: Any, source: Any, dim: int, reduce: str, include_self: bool) -> Any:
    _check("scatter_reduce", index, array.shape[dim])
    if not index.size:
        return array.copy(order="C")
    out = array.astype(_accumulating(array.dtype), order="C")
    flat = out.reshape(-1)
    places = _positions(array.shape, index, dim).reshape(-1)
    if not include_self:
        flat[places] = _neutral(reduce, out.dtype)
    _REDUCING[reduce].at(flat, places, _leading(source, index.shape).astype(out.dtype, copy=False).reshape(-1))
    if reduce == "mean":
        count = np.bincount(places, minlength=flat.size)
        count = np.maximum(count + include_self, 1)
        if out.dtype.kind in "iub":
            np.floor_divide(flat, count, out=flat, casting="unsafe")
        else:
            np.divide(flat, count.astype(flat.dtype.type(0).real.dtype), out=flat)
    return out.astype(array.dtype, copy=False)


def from_front(index: Any, size: int) -> Any:
    if not index.size or index.min() >= 0:
        return index.copy()
    return np.where((index < 0) & (index >= -size), index + size, index)


def _as_number(value: Any, dtype: Any) -> Any:
    """A Python number in *dtype*; integers wrap around."""
    if isinstance(value, int) and not isinstance(value, bool) and dtype.kind in "iu":
        bits = dtype.itemsize * 8
        value %= 2**bits
        if dtype.kind == "i" and value >= 2 ** (bits - 1):
            value -= 2**bits
    return np.asarray(value).astype(dtype)


def nonzero(array: Any) -> Any:
    return np.argwhere(array)


def _key(indices: list[Any]) -> tuple[Any, ...]:
    return tuple([slice(None) if index is None else index for index in indices])


def _wrong_index(op: str, array: Any, indices: list[Any], error: IndexError) -> Exception:
    dim = 0
    for number, index in enumerate(indices):
        if index is None or index.dtype == np.bool_:
            dim += 1 if index is None else index.ndim
            continue
        size = array.shape[dim]
        if index.size and (index.max() >= size or index.min() < -size):
            return _found(op, index, size, f"indices[{number}]", True, dim)
        dim += 1
    return error


def index(array: Any, indices: list[Any]) -> Any:
    try:
        given = [at for at, entry in enumerate(indices) if entry is not None]
        if len(given) == 1 and indices[given[0]].dtype != np.bool_:
            return array.take(indices[given[0]], given[0])  # faster than subscripts, and row-major
        return np.asarray(array[_key(indices)], order="C")
    except IndexError as error:
        raise _wrong_index("index", array, indices, error) from error


def index_put(array: Any, indices: list[Any], values: Any, accumulate: bool, out: Any = None) -> Any:
    if out is None:
        out = array.copy(order="C")
        if not array.flags.c_contiguous:
            out = arranged(out, array)
    elif out is not array:
        np.copyto(out, array)
    if not isinstance(values, np.ndarray):
        values = _as_number(values, array.dtype)
    key = _key(indices)
    try:
        if not accumulate:
            mask = indices[0]
            if values.ndim == 0 and mask is not None and mask.dtype == np.bool_ and mask.shape == out.shape:
                _fill(out, mask, values)
            else:
                out[key] = values
        elif all(entry is None or entry.dtype == np.bool_ for entry in indices):
            out[key] += values
        elif len(indices) == 1 and indices[0].size and out.size:
            _add_rows(out, indices[0], values)
        else:
            _add_anywhere(out, key, values)
    except IndexError as error:
        raise _wrong_index("index_put", array, indices, error) from error
    except ValueError:
        raise ShapeError(
            f"index_put: values {values.shape} cannot be broadcast to the indexed part {array[key].shape}",
            fix="give one value, or values of the indexed part's shape",
        ) from None
    return out


def _add_rows(out: Any, index: Any, values: Any) -> None:
    size = out.shape[0]
    least = index.min()
    if index.max() >= size or least < -size:
        raise IndexError
    values = np.broadcast_to(values, index.shape + out.shape[1:])
    rows = values.reshape(index.size, *out.shape[1:])
    index = index.reshape(-1)
    if least < 0:
        index = np.where(index < 0, index + size, index)
    wide = _accumulating(out.dtype)
    if wide == out.dtype:
        _add_slices(out, index, rows)
    else:
        total = out.astype(wide)
        _add_slices(total, index, rows.astype(wide))
        out[...] = total


def _add_anywhere(out: Any, key: tuple[Any, ...], values: Any) -> None:
    places = np.arange(out.size).reshape(out.shape)[key]
    wide = _accumulating(out.dtype)
    total = out.astype(wide, order="C").reshape(-1)
    np.add.at(total, places.reshape(-1), np.broadcast_to(values, places.shape).reshape(-1).astype(wide, copy=False))
    out[...] = total.reshape(out.shape)


def masked_fill(array: Any, mask: Any, value: Any, out: Any = None) -> Any:
    if not isinstance(value, np.ndarray):
        value = thread.run(_as_number, value, array.dtype)  # a half type may make infinity of it
    if out is None and mask.size >= CHOSEN and array.shape == mask.shape and array.dtype.itemsize <= 8:
        if value.dtype.kind != "c" and not value and not np.signbit(value):
            result = keep(array, np.logical_not(mask), value)
        else:
            result = choose(mask, value, array).view(array.dtype)
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
        np.copyto(out, choose(mask, value.astype(out.dtype, copy=False), out).view(out.dtype))
    else:
        np.copyto(out, value, where=mask)


KERNELS = {
    "index_select": Kernel(index_select),
    "index_add": Kernel(index_add),
    "index_copy": Kernel(index_copy),
    "from_front": Kernel(from_front),
    "gather": Kernel(gather),
    "scatter": Kernel(scatter),
    "scatter_add": Kernel(scatter_add),
    "scatter_reduce": Kernel(scatter_reduce),
    "nonzero": Kernel(nonzero),
    "index": Kernel(index),
    "index_put": Kernel(index_put, out=True),
    "masked_fill": Kernel(masked_fill, out=True),
}
