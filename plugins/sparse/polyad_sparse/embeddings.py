"""Rows of a table whose gradient is sparse: it has the rows that were looked up, and no others."""

from __future__ import annotations

from typing import Any

import polyad
from polyad import Tensor
from polyad.autograd import Function

from .patterns import Coordinates
from .tensor import pack


class SparseRows(Function):
    """The rows *index* (n,) of a table. Their gradients count but for the row *padding_idx*, divided by *counts*."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor, padding_idx: int, counts: Tensor | None) -> Tensor:
        ctx.index, ctx.padding_idx, ctx.counts, ctx.shape = index, padding_idx, counts, tuple(table.shape)
        return polyad.index_select(table, 0, index)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        index = ctx.index
        if ctx.counts is not None:
            gradient = gradient / ctx.counts.unsqueeze(1)
        if ctx.padding_idx >= 0:
            counted = (index != ctx.padding_idx).nonzero().reshape(-1)
            gradient, index = gradient[counted], index[counted]
        return pack(gradient, Coordinates(index.unsqueeze(0), ctx.shape, False)), None, None, None


def rows(table: Tensor, index: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
    """The rows that *index* (n,) names; the row *padding_idx* (-1: none) gets no gradient, and with *by_frequency* the
    others theirs divided by how often they are named.
    """
    index = index.long()
    counts = polyad.bincount(index, minlength=table.shape[0])[index].to(table.dtype) if by_frequency else None
    found: Tensor = SparseRows.apply(table, index, padding_idx, counts)
    return found
