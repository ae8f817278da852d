"""Ops of polyad's that are several of PyTorch's: products of two matrices or of two batches of them, and subscripts.

polyad's ``linear`` and ``gemm`` are ops of their own. A class that holds its weights in a form of its own wants to be
asked about ``aten.mm`` and ``aten.addmm``, so here they are made of these and of views.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..dispatch.catalogue import OPS, PUBLIC
from ..tensor import Tensor


def _op(name: str, *values: Any) -> Any:
    return OPS[name].call(*values)


def _turned(input: Tensor) -> Any:
    ndim = len(input._array.shape)
    return _op("permute", input, (*range(ndim - 2), ndim - 1, ndim - 2))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
    """``input @ weight.T + bias`` by ``t``, and ``addmm`` or ``mm`` of a matrix with all rows of *input*."""
    shape = input._array.shape
    rows = input if len(shape) == 2 else PUBLIC["reshape"].call(input, (math.prod(shape[:-1]), shape[-1]))
    turned = _turned(weight)
    made = _op("mm", rows, turned) if bias is None else _op("addmm", bias, rows, turned, 1, 1)
    return made if len(shape) == 2 else _op("reshape_view", made, (*shape[:-1], weight._array.shape[0]))


def gemm(input: Tensor, other: Tensor, transpose_input: bool, transpose_other: bool) -> Any:
    """A product of batches of matrices by ``mm`` or ``bmm``."""
    a = _turned(input) if transpose_input else input
    b = _turned(other) if transpose_other else other
    left, right = a._array.shape, b._array.shape
    if len(right) == 2:
        rows = a if len(left) == 2 else PUBLIC["reshape"].call(a, (math.prod(left[:-1]), left[-1]))
        made = _op("mm", rows, b)
        return made if len(left) == 2 else _op("reshape_view", made, (*left[:-1], right[-1]))
    batch = PUBLIC["broadcast_shapes"].call(left[:-2], right[:-2])
    count = math.prod(batch)
    pair = [
        PUBLIC["reshape"].call(PUBLIC["broadcast_to"].call(one, (*batch, *one._array.shape[-2:])), (count, *shape[-2:]))
        for one, shape in ((a, left), (b, right))
    ]
    return _op("reshape_view", _op("bmm", *pair), (*batch, left[-2], right[-1]))


def subscript(input: Tensor, entries: tuple[Any, ...]) -> Any:
    """``input[entries]`` by ``select``, ``slice`` and ``unsqueeze``."""
    made, dim = input, 0
    for entry in entries:
        if entry is None:
            made = _op("unsqueeze", made, dim)
        elif isinstance(entry, tuple):
            start, size, step = entry
            if (start, size, step) != (0, made._array.shape[dim], 1):
                made = _op("slice", made, dim, start, size, step)
        else:
            made = _op("select", made, dim, entry)
            continue
        dim += 1
    return made if made is not input else _op("reshape_view", input, input._array.shape)


SPLIT: dict[str, Callable[..., Any]] = {"linear": linear, "gemm": gemm, "subscript": subscript}
"""What takes the place of an op, by its name."""
