"""``x[i, j]`` with index arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.errors import ShapeError

from ...order import arranged
from ...quiet import thread
from .index_select import _accumulating, _add_slices, _as_number, _out_of_range, taken
from .masking import _fill


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
            return _out_of_range(op, index, size, f"indices[{number}]", True, dim)
        dim += 1
    return error


def index(array: Any, indices: list[Any]) -> Any:
    try:
        given = [at for at, entry in enumerate(indices) if entry is not None]
        if len(given) == 1 and indices[given[0]].dtype != np.bool_:
            # Faster than subscripts, and row-major; of one dimension at one place, a number.
            return np.asarray(taken(array, indices[given[0]], given[0]))
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
        values = thread.run(_as_number, values, array.dtype)  # a half type may make infinity of it
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
    except (TypeError, ValueError):  # by a mask, NumPy takes values of at most one dimension
        raise ShapeError(
            f"index_put: values {values.shape} cannot be broadcast to the indexed part {array[key].shape}",
            fix="give a single value, or values of the indexed part's shape",
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


KERNELS = {
    "index": Kernel(index),
    "index_put": Kernel(index_put, out=True),
}
