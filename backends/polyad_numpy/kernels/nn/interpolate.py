"""Resampling as a product with a sparse matrix: a row for each result element, a column for each input element."""

from __future__ import annotations

from typing import Any

from ... import sparse


def resample(array: Any, weights: Any, places: Any, dim: int) -> Any:
    return sparse.along(sparse.matrix(weights.T, places.T, array.shape[dim]), array, dim)


def resample_backward(gradient: Any, weights: Any, places: Any, size: int, dim: int) -> Any:
    return sparse.along(sparse.matrix(weights.T, places.T, size).T.tocsr(), gradient, dim)


KERNELS = {
    "resample": sparse.only_single_and_double(resample),
    "resample_backward": sparse.only_single_and_double(resample_backward),
}
