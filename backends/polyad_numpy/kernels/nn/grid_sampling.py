"""Weighted sums of rows at places that an array holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import sparse


def weighted_rows(rows: Any, weights: Any, index: Any) -> Any:
    return sparse.matrix(weights, index, len(rows)) @ np.ascontiguousarray(rows)


def weighted_rows_backward(gradient: Any, weights: Any, index: Any, count: int) -> Any:
    return sparse.matrix(weights, index, count).T @ np.ascontiguousarray(gradient)


def rows_dot(gradient: Any, rows: Any, index: Any) -> Any:
    out = np.empty(index.shape, gradient.dtype)
    for tap in range(index.shape[1]):
        np.einsum("pc,pc->p", gradient, rows.take(index[:, tap], 0), out=out[:, tap])
    return out


KERNELS = {
    "weighted_rows": sparse.only_single_and_double(weighted_rows),
    "weighted_rows_backward": sparse.only_single_and_double(weighted_rows_backward),
    "rows_dot": sparse.only_single_and_double(rows_dot),
}
