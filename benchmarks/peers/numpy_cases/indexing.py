"""Reading and writing by index and by mask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import polyad
from polyad.nn import functional as F

from .arrays import SIDE, Arrays, Case


def cases(arrays: Arrays) -> Iterator[Case]:
    x, y, flat, order, mask = arrays.x, arrays.y, arrays.flat, arrays.order, arrays.mask
    integers = arrays.integers
    rows = integers[0]
    yield Case("x[index]", lambda a, i: a[i], lambda a, i: a[i], (flat, order))
    yield Case("x[rows]", lambda a, i: a[i], lambda a, i: a[i], (x, rows))
    yield Case("x[:, columns]", lambda a, i: a[:, i], lambda a, i: a[:, i], (x, rows))
    yield Case("x[i, j]", lambda a, i, j: a[i, j], lambda a, i, j: a[i, j], (x, integers, integers.T.copy()))
    yield Case("x[mask]", lambda a, m: a[m], lambda a, m: a[m], (x, mask))
    yield Case("x[::2, ::2] copy", lambda a: a[::2, ::2].clone(), lambda a: a[::2, ::2].copy(), (x,))
    yield Case("masked_select", polyad.masked_select, lambda a, m: a[m], (x, mask))
    yield Case("masked_fill", lambda a, m: a.masked_fill(m, 0), lambda a, m: np.where(m, np.float32(0), a), (x, mask))
    yield Case("masked_scatter", lambda a, m, s: a.masked_scatter(m, s), _masked_scatter, (x, mask, y))
    yield Case("take", polyad.take, np.take, (x, order))
    yield Case("gather dim 0", lambda a, i: a.gather(0, i), lambda a, i: np.take_along_axis(a, i, 0), (x, integers))
    yield Case("gather dim 1", lambda a, i: a.gather(1, i), lambda a, i: np.take_along_axis(a, i, 1), (x, integers))
    yield Case(
        "take_along_dim",
        lambda a, i: polyad.take_along_dim(a, i, 1),
        lambda a, i: np.take_along_axis(a, i, 1),
        (x, integers),
    )
    yield Case("index_select", lambda a, i: a.index_select(0, i), lambda a, i: np.take(a, i, 0), (x, rows))
    yield Case("index_select dim 1", lambda a, i: a.index_select(1, i), lambda a, i: np.take(a, i, 1), (x, rows))
    yield Case("nonzero", polyad.nonzero, np.argwhere, (mask,))
    yield Case("nonzero float", polyad.nonzero, np.argwhere, (x,))
    yield Case("where condition", polyad.where, np.where, (mask,))
    yield Case("embedding", lambda i, w: F.embedding(i, w), lambda i, w: w[i], (rows, x))
    yield Case("one_hot", lambda i: F.one_hot(i, 1000), lambda i: np.eye(1000, dtype=np.int64)[i], (rows,))

    yield Case("scatter", lambda a, i, s: a.scatter(1, i, s), _scatter, (x, integers, y))
    yield Case("scatter number", lambda a, i: a.scatter(1, i, 2.0), lambda a, i: _scatter(a, i, 2.0), (x, integers))
    yield Case("scatter_add", lambda a, i, s: a.scatter_add(1, i, s), _scatter_add, (x, integers, y))
    yield Case(
        "scatter_add vector", lambda a, i, s: a.scatter_add(0, i, s), _vector_add, (flat, integers.ravel(), y.ravel())
    )
    yield Case("scatter_reduce amax", lambda a, i, s: a.scatter_reduce(1, i, s, "amax"), _scatter_max, (x, integers, y))
    yield Case("index_add", lambda a, i, s: a.index_add(0, i, s), _index_add, (x, rows, y))
    yield Case(
        "index_add dim 1", lambda a, i, s: a.index_add(1, i, s), lambda a, i, s: _index_add(a.T, i, s.T), (x, rows, y)
    )
    yield Case("index_copy", lambda a, i, s: a.index_copy(0, i, s), _index_copy, (x, rows, y))
    yield Case("index_fill", lambda a, i: a.index_fill(0, i, 2.0), lambda a, i: _index_copy(a, i, 2.0), (x, rows))
    yield Case("index_put", lambda a, i, s: a.index_put((i,), s), _index_copy, (flat, order, y.ravel()))
    yield Case(
        "index_put accumulate",
        lambda a, i, s: a.index_put((i,), s, accumulate=True),
        _vector_add,
        (flat, integers.ravel(), y.ravel()),
    )
    yield Case("index_reduce", lambda a, i, s: a.index_reduce(0, i, s, "amax"), _index_max, (x, rows, y))
    yield Case("put", lambda a, i, s: polyad.put(a, i, s), _put, (x, order, y))
    yield Case("x[mask] = 0", _set_mask, _set_mask, (x.copy(), mask))
    yield Case("x[mask] = y[mask]", _set_masked, _set_masked, (x.copy(), mask, y))
    yield Case("x[:, ::2] = y", _set_slice, _set_slice, (x.copy(), y[:, ::2].copy()))
    yield Case("x[rows] = y", _set_rows, _set_rows, (x.copy(), rows, y))
    yield Case("fill_", lambda a: a.fill_(1), lambda a: a.fill(1), (x.copy(),))
    yield Case("select_scatter", lambda a, s: polyad.select_scatter(a, s, 0, 5), _select_scatter, (x, y[0]))
    yield Case(
        "slice_scatter", lambda a, s: polyad.slice_scatter(a, s, 1, 0, 512), _slice_scatter, (x, y[:, :512].copy())
    )
    yield Case("diagonal_scatter", polyad.diagonal_scatter, _diagonal_scatter, (x, y[0]))


def _masked_scatter(a: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    made = a.copy()
    made[mask] = source.ravel()[: np.count_nonzero(mask)]
    return made


def _scatter(a: np.ndarray, index: np.ndarray, source: Any) -> np.ndarray:
    made = a.copy()
    np.put_along_axis(made, index, source, 1)
    return made


def _rows() -> np.ndarray:
    return np.arange(SIDE)[:, None]


def _scatter_add(a: np.ndarray, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    made = a.copy()
    np.add.at(made, (_rows(), index), source)
    return made


def _scatter_max(a: np.ndarray, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    made = a.copy()
    np.maximum.at(made, (_rows(), index), source)
    return made


def _vector_add(a: np.ndarray, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    return (a + np.bincount(index, source, len(a))).astype(a.dtype)


def _index_add(a: np.ndarray, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    made = a.copy()
    np.add.at(made, index, source)
    return made


def _index_max(a: np.ndarray, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    made = a.copy()
    np.maximum.at(made, index, source)
    return made


def _index_copy(a: np.ndarray, index: np.ndarray, source: Any) -> np.ndarray:
    made = a.copy()
    made[index] = source
    return made


def _put(a: np.ndarray, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    made = a.copy()
    np.put(made, index, source)
    return made


def _set_mask(a: Any, mask: Any) -> None:
    a[mask] = 0


def _set_masked(a: Any, mask: Any, source: Any) -> None:
    a[mask] = source[mask]


def _set_slice(a: Any, source: Any) -> None:
    a[:, ::2] = source


def _set_rows(a: Any, rows: Any, source: Any) -> None:
    a[rows] = source


def _select_scatter(a: np.ndarray, source: np.ndarray) -> np.ndarray:
    made = a.copy()
    made[5] = source
    return made


def _slice_scatter(a: np.ndarray, source: np.ndarray) -> np.ndarray:
    made = a.copy()
    made[:, :512] = source
    return made


def _diagonal_scatter(a: np.ndarray, source: np.ndarray) -> np.ndarray:
    made = a.copy()
    np.fill_diagonal(made, source)
    return made
