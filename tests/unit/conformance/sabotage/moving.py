"""Kernels that move elements, gone wrong: indexing, sorting, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyad_numpy.backend import NumpyBackend

from .saboteur import Saboteur, caught_by

if TYPE_CHECKING:
    import pytest


@caught_by("test_values", "scatter_add")
def scatter_add_overwrites(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Of several values for one place, the last is kept: scatter_add without atomics."""

    def kernel(array: Any, index: Any, source: Any, dim: int) -> Any:
        made = array.copy()
        place = [np.broadcast_to(grid, index.shape) for grid in np.ogrid[tuple(map(slice, index.shape))]]
        place[dim] = index
        made[tuple(place)] = array[tuple(place)] + source[tuple(map(slice, index.shape))]
        return made

    backend.table["scatter_add"] = kernel


@caught_by("test_error", "gather")
def clamps_positions(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A position outside of its dimension reads the last element instead of being refused."""
    backend.replace(
        "gather", lambda honest: lambda a, index, dim: honest(a, np.clip(index, 0, max(a.shape[dim] - 1, 0)), dim)
    )


@caught_by("test_values", "sort")
def sorts_equal_elements_in_any_order(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Equal elements change places."""

    def kernel(a: Any, dim: int, descending: bool) -> Any:
        values, places = honest(a, dim, descending)
        if a.ndim and a.shape[dim] > 1:
            same = np.take(values, [0], dim) == np.take(values, [1], dim)
            first, second = np.take(places, [0], dim), np.take(places, [1], dim)
            places = np.concatenate(
                [np.where(same, second, first), np.where(same, first, second), np.delete(places, [0, 1], dim)], dim
            )
        return values, places

    honest = NumpyBackend().as_kernel("sort").function  # type: ignore[union-attr]
    backend.table["sort"] = kernel


@caught_by("check_large_sorting")
@caught_by("test_values", "sort")
def turns_a_sorted_row_around(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A descending sort is an ascending one read backwards, so that equal elements change their order."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: int, descending: bool) -> Any:
            if not descending or not a.ndim:
                return honest(a, dim, descending)
            return tuple(np.flip(one, dim).copy() for one in honest(a, dim, False))

        return kernel

    backend.replace("sort", make)


@caught_by("test_special", "sort")
def sorts_nan_to_the_front(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """NaN is smaller than every number."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: int, descending: bool) -> Any:
            values, places = honest(a, dim, descending)
            if a.dtype.kind != "f" or not a.ndim or descending:
                return values, places
            count = np.isnan(values).sum(dim, keepdims=True)
            turned = (np.arange(a.shape[dim]).reshape([-1 if d == dim else 1 for d in range(a.ndim)]) - count) % max(
                a.shape[dim], 1
            )
            turned = np.broadcast_to(turned, values.shape)
            return np.take_along_axis(values, turned, dim), np.take_along_axis(places, turned, dim)

        return kernel

    backend.replace("sort", make)


@caught_by("test_values", "nn.functional.max_pool2d")
def pads_pooling_with_zeros(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The border of a maximum pooling counts as 0."""
    backend.replace(
        "max_pool_with_indices",
        lambda honest: lambda a, *rest: (lambda pair: (np.maximum(pair[0], 0), pair[1]))(honest(a, *rest)),
    )


@caught_by("test_values", "nn.functional.conv2d")
def turns_the_window_of_a_convolution(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A convolution is one in the mathematician's sense, not a correlation."""
    backend.replace(
        "convolution", lambda honest: lambda a, weight, *rest: honest(a, weight[..., ::-1, ::-1].copy(), *rest)
    )


@caught_by("test_values", "where")
def reads_one_condition_for_a_row(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A condition is read at the beginning of each row alone."""
    backend.replace(
        "where",
        lambda honest: (
            lambda mask, a, b: honest(np.broadcast_to(mask[..., :1], mask.shape).copy() if mask.ndim else mask, a, b)
        ),
    )
