"""Elements and sums at indices, running sums and cross entropy, by the engine's threads."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from polyad.backend.interface import Signature, TensorType

from .choosing import Call, NotNative
from .engine import function, gathering

_PACK = struct.Struct("7q").pack
_FOUR = struct.Struct("4q").pack


def _of(types: Signature, name: str) -> Any:
    """The function *name* for a dtype that all floating operands have."""
    found = {entry.dtype for entry in types if isinstance(entry, TensorType) and entry.dtype.is_floating_point}
    return function(gathering, name, found.pop()) if len(found) == 1 else None


def _added(
    add: Any, out: Any, source: Any, index: Any, outer: int, rows: int, size: int, count: int, *, skipped: int = -1,
    zeroed: bool = False, each: bool = False,
) -> Any:  # fmt: skip
    if index.dtype != np.int64 or not add(
        out,
        np.ascontiguousarray(source),
        np.ascontiguousarray(index),
        _PACK(outer, rows, size, count, skipped, zeroed, each),
    ):
        raise NotNative
    return out


def embedding_backward(types: Signature) -> Call | None:
    """The kernel of `embedding_backward`."""
    add = _of(types, "add_at")

    def call(gradient: Any, index: Any, rows: int, padding_idx: int, by_frequency: bool) -> Any:
        if by_frequency or not index.size or not gradient.size:
            raise NotNative
        size = gradient.shape[-1]
        out = np.empty((rows, size), gradient.dtype)
        return _added(add, out, gradient, index, 1, rows, size, index.size, skipped=padding_idx, zeroed=True)

    return None if add is None else call


def index_add(types: Signature) -> Call | None:
    """The kernel of `index_add`."""
    add = _of(types, "add_at")

    def call(array: Any, index: Any, source: Any, dim: int) -> Any:
        shape = array.shape
        if index.ndim != 1 or not source.size or source.shape != (*shape[:dim], index.size, *shape[dim + 1 :]):
            raise NotNative
        outer, size = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
        return _added(add, array.copy(order="C"), source, index, outer, shape[dim], size, index.size)

    return None if add is None else call


def scatter_add(types: Signature) -> Call | None:
    """The kernel of `scatter_add`."""
    add = _of(types, "add_at")

    def call(array: Any, index: Any, source: Any, dim: int) -> Any:
        shape, places = array.shape, index.shape
        if not index.size or source.shape != places or len(places) != len(shape):
            raise NotNative
        if places[:dim] != shape[:dim] or places[dim + 1 :] != shape[dim + 1 :]:
            raise NotNative
        outer, size = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
        return _added(add, array.copy(order="C"), source, index, outer, shape[dim], size, places[dim], each=True)

    return None if add is None else call


def gather(types: Signature) -> Call | None:
    """The kernel of `gather`."""
    run = _of(types, "gather")

    def call(array: Any, index: Any, dim: int) -> Any:
        shape, places = array.shape, index.shape
        if not index.size or not array.size or len(places) != len(shape) or index.dtype != np.int64:
            raise NotNative
        if places[:dim] != shape[:dim] or places[dim + 1 :] != shape[dim + 1 :]:
            raise NotNative
        out = np.empty(places, array.dtype)
        sizes = _FOUR(math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]), places[dim])
        if not run(out, np.ascontiguousarray(array), np.ascontiguousarray(index), sizes):
            raise NotNative
        return out

    return None if run is None else call


def cumsum(types: Signature) -> Call | None:
    """The kernel of `cumsum`."""
    run = _of(types, "running_sum")

    def call(array: Any, dim: int) -> Any:
        if not array.size or not array.ndim:
            raise NotNative
        array = np.ascontiguousarray(array)
        out = np.empty(array.shape, array.dtype)
        run(out, array, math.prod(array.shape[:dim]), array.shape[dim], math.prod(array.shape[dim + 1 :]))
        return out

    return None if run is None else call


def _entropy(run: Any, out: Any, x: Any, target: Any, weight: Any, ignored: int, smoothing: float, *grad: Any) -> int:
    """How many targets count."""
    if x.ndim != 2 or weight is not None or smoothing or target.shape != x.shape[:1] or target.dtype != np.int64:
        raise NotNative
    if not x.size:
        raise NotNative
    counting: int = run(out, np.ascontiguousarray(x), np.ascontiguousarray(target), ignored, *grad)
    if counting <= 0:
        raise NotNative
    return counting


def cross_entropy(types: Signature) -> Call | None:
    """The kernel of `cross_entropy`."""
    run = _of(types, "cross_entropy")

    def call(x: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float) -> Any:
        losses = np.empty(target.shape, x.dtype)
        counting = _entropy(run, losses, x, target, weight, ignore_index, smoothing)
        if reduction == "none":
            return losses
        total = np.add.reduce(losses)
        return np.asarray(total / counting if reduction == "mean" else total, x.dtype)

    return None if run is None else call


def cross_entropy_backward(types: Signature) -> Call | None:
    """The kernel of `cross_entropy_backward`."""
    run = _of(types, "cross_entropy")

    def call(g: Any, x: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float) -> Any:
        if g.shape != (target.shape if reduction == "none" else ()):
            raise NotNative
        out = np.empty(x.shape, x.dtype)
        mean = (1,) if reduction == "mean" else ()
        _entropy(run, out, x, target, weight, ignore_index, smoothing, np.ascontiguousarray(g) if g.ndim else g, *mean)
        return out

    return None if run is None else call
