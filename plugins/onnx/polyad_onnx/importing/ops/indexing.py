"""Elements taken from, and written to, places that tensors name."""

from __future__ import annotations

from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import ArgumentError

from ..operators import REQUIRED, Compute, Node, operator

__all__: list[str] = []


def _wrapped(indices: Tensor, size: int) -> Tensor:
    """Places counted from the end, counted from the start."""
    places = indices.to(polyad.int64)
    return polyad.where(places < 0, places + size, places)


@operator("Gather")
def gather(node: Node) -> Compute:
    axis = node.integer("axis", 0)

    def call(x: Tensor, indices: Tensor) -> Tensor:
        dim = axis % x.ndim
        places = _wrapped(indices, x.shape[dim])
        if indices.ndim == 1:
            return x.index_select(dim, places)
        if indices.ndim == 0:
            return x.index_select(dim, places.reshape(1)).squeeze(dim)
        made = x.index_select(dim, places.reshape(-1))
        return made.reshape(*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :])

    return call


@operator("GatherElements")
def gather_elements(node: Node) -> Compute:
    axis = node.integer("axis", 0)
    return lambda x, indices: x.gather(axis, _wrapped(indices, x.shape[axis]))


@operator("GatherND")
def gather_nd(node: Node) -> Compute:
    batch = node.integer("batch_dims", 0)

    def call(x: Tensor, indices: Tensor) -> Tensor:
        return x[_places(x, indices, batch)]

    return call


def _places(x: Tensor, indices: Tensor, batch: int = 0) -> tuple[Tensor, ...]:
    """The indices of a tensor that ONNX keeps in one, a coordinate after the other in its last dimension."""
    rank = indices.ndim - 1
    firsts = []
    for dim in range(batch):
        each = polyad.arange(x.shape[dim], device=x.device)
        firsts.append(each.reshape([-1 if index == dim else 1 for index in range(rank)]))
    count = indices.shape[-1]
    rest = [_wrapped(indices[..., index], x.shape[batch + index]) for index in range(count)]
    return tuple(polyad.broadcast_tensors(*firsts, *rest)) if firsts else tuple(rest)


@operator("Scatter", "ScatterElements")
def scatter_elements(node: Node) -> Compute:
    axis, how = node.integer("axis", 0), node.text("reduction", "none")
    names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}

    def call(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        places = _wrapped(indices, x.shape[axis])
        if how == "none":
            return x.scatter(axis, places, updates)
        return x.scatter_reduce(axis, places, updates, names[how], include_self=True)

    return call


@operator("ScatterND")
def scatter_nd(node: Node) -> Compute:
    how = node.text("reduction", "none")
    names = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}

    def call(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        if how == "none":
            return x.index_put(_places(x, indices), updates)
        count = indices.shape[-1]
        flat = polyad.zeros(indices.shape[:-1], dtype=polyad.int64, device=x.device)
        for dim in range(count):
            flat = flat * x.shape[dim] + _wrapped(indices[..., dim], x.shape[dim])
        rest = x.shape[count:]
        rows = x.reshape(-1, *rest) if count else x
        places = flat.reshape(-1, *[1] * len(rest)).expand(flat.numel(), *rest)
        made = rows.scatter_reduce(0, places, updates.reshape(flat.numel(), *rest), names[how], include_self=True)
        return made.reshape(x.shape)

    return call


@operator("Slice", host=(1, 2, 3, 4))
def slices(node: Node) -> Compute:
    first, last, along = node.integers("starts"), node.integers("ends"), node.integers("axes")

    def call(x: Tensor, starts: Any = first, ends: Any = last, axes: Any = along, steps: Any = None) -> Tensor:
        axes = range(len(starts)) if axes is None else axes
        for index, axis in enumerate(axes):
            step = 1 if steps is None else steps[index]
            x = _sliced(x, axis % x.ndim, starts[index], ends[index], step)
        return x

    return call


def _sliced(x: Tensor, dim: int, start: int, end: int, step: int) -> Tensor:
    size = x.shape[dim]
    start, end = start + size if start < 0 else start, end + size if end < 0 else end
    if step > 0:
        start, end = min(max(start, 0), size), min(max(end, 0), size)
        if step == 1:
            return x.narrow(dim, start, max(end - start, 0))
        return x[(*[slice(None)] * dim, slice(start, max(end, start), step))]
    if step == 0:
        raise ArgumentError("Slice: a step is 0", fix="steps are positive or negative")
    start, end = min(start, size - 1), max(end, -1)
    places = polyad.arange(start, end, step, device=x.device) if start > end else polyad.arange(0, device=x.device)
    return x.index_select(dim, places)


@operator("TensorScatter", host=(2,))
def tensor_scatter(node: Node) -> Compute:
    axis, circular = node.integer("axis", -2), node.text("mode", "linear") == "circular"

    def call(past: Tensor, update: Tensor, starts: Any = None) -> Tensor:
        dim = axis % past.ndim
        batch, count = past.shape[0], update.shape[dim]
        first = polyad.tensor(starts or [0] * batch, device=past.device)[:, None]
        places = first + polyad.arange(count, device=past.device)
        if circular:
            places = places.remainder(past.shape[dim])
        shape = [1] * past.ndim
        shape[0], shape[dim] = batch, count
        return past.scatter(dim, places.reshape(shape).expand(update.shape), update)

    return call


@operator("NonZero")
def nonzero(node: Node) -> Compute:
    return lambda x: polyad.nonzero(x if x.ndim else x.reshape(1)).t()


@operator("Compress")
def compress(node: Node) -> Compute:
    axis = node.integer("axis", None)

    def call(x: Tensor, condition: Tensor) -> Tensor:
        places = polyad.nonzero(condition).reshape(-1)
        return x.reshape(-1).index_select(0, places) if axis is None else x.index_select(axis, places)

    return call


@operator("TopK", host=(1,))
def top_k(node: Node) -> Compute:
    axis, largest = node.integer("axis", -1), bool(node.integer("largest", 1))
    fixed = [node.integer("k", REQUIRED)] if node.version < 10 else []

    def call(x: Tensor, k: Any = fixed) -> Any:
        count = k[0]
        # Of equal numbers the first, which a stable sort gives.
        unsigned = x.dtype is polyad.uint64
        values, places = polyad.sort(x.to(polyad.int64) if unsigned else x, dim=axis, descending=largest, stable=True)
        values, places = values.narrow(axis, 0, count), places.narrow(axis, 0, count)
        return values.to(x.dtype), places

    return call


@operator("Unique")
def unique(node: Node) -> Compute:
    axis, in_order = node.integer("axis", None), bool(node.integer("sorted", 1))

    def call(x: Tensor) -> Any:
        values, inverse, counts = polyad.unique(x, sorted=True, return_inverse=True, return_counts=True, dim=axis)
        inverse = inverse.reshape(-1)
        total = counts.numel()
        places = polyad.arange(inverse.numel(), device=x.device)
        first = polyad.full((total,), inverse.numel(), dtype=polyad.int64, device=x.device)
        first = first.scatter_reduce(0, inverse, places, "amin", include_self=True)
        if not in_order:
            order = first.argsort()
            values = values.index_select(axis or 0, order)
            inverse, first, counts = order.argsort()[inverse], first[order], counts[order]
        return values, first, inverse, counts

    return call


@operator("Hardmax")
def hardmax(node: Node) -> Compute:
    axis = node.integer("axis", -1 if node.version >= 13 else 1)

    def call(x: Tensor) -> Tensor:
        if node.version >= 13:
            return _hard(x, axis)
        rows = x.reshape(_leading_size(x, axis), -1)
        return _hard(rows, 1).reshape(x.shape)

    return call


def _leading_size(x: Tensor, axis: int) -> int:
    count = 1
    for size in x.shape[: axis % x.ndim if axis < 0 else axis]:
        count *= size
    return count


def _hard(x: Tensor, dim: int) -> Tensor:
    places = x.argmax(dim, keepdim=True)
    return polyad.zeros_like(x).scatter(dim, places, 1.0)
