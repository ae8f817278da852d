"""What a reduction and stages over rows have in common: their iteration space, and which kernel serves given arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..base.shapes_and_strides import Shape, Strides
from .collapse import by_memory, inner_first, outer_sizes
from .frame import padded_rank

WIDTH = 64
"""Columns side by side that are walked together where there are no vectors."""


class Variant(NamedTuple):
    """What a kernel's source depends on, besides its expressions, the language and the device.

    Attributes:
        across: whether vectors lie along the inner kept dimension, so that each lane has a row of its own.
        kept_rank, reduced_rank: collapsed dimensions that the kernel can walk, see `padded_rank`.
        inner: the arrays' strides along the vectors, all 0 or 1, if the kernel may rely on them; None: any.
        unroll: vectors a step, or, across, side by side; in a language without vectors, columns side by side.
        row_items: how many work items share a row; 1 on CPUs.
        group: how many work items a workgroup must have, for those of a row to cooperate; 1: as many as one likes.
        pack: elements that a work item reads at once, see `polyad.codegen.packs`.
    """

    across: bool = False
    kept_rank: int = 1
    reduced_rank: int = 1
    inner: Strides | None = None
    unroll: int = 1
    row_items: int = 1
    group: int = 1
    pack: int = 1


STRIDED = Variant()
"""The kernel for one dimension of either kind, with any strides."""


class Space(NamedTuple):
    """The kept and the reduced dimensions of an iteration space, collapsed, with the strides of every array, and the
    ranks of the kernel that walks them.
    """

    kept_sizes: Shape
    kept: tuple[Strides, ...]
    reduced_sizes: Shape
    reduced: tuple[Strides, ...]
    kept_rank: int
    reduced_rank: int

    @classmethod
    def of(cls, shape: Shape, dims: Sequence[int], kept: Sequence[Strides], reduced: Sequence[Strides]) -> Space:
        """*dims* are reduced; the strides are given along the dimensions that each half has."""
        kept_sizes, kept = by_memory(tuple([size for dim, size in enumerate(shape) if dim not in dims]), kept)
        reduced_sizes, reduced = by_memory(tuple([shape[dim] for dim in dims]), reduced)
        ranks = padded_rank(len(kept_sizes)), padded_rank(len(reduced_sizes))
        return cls(kept_sizes, kept, reduced_sizes, reduced, *ranks)

    def outer_sizes(self) -> list[int]:
        """The geometry's sizes of the outer dimensions."""
        return [*outer_sizes(self.kept_sizes, self.kept_rank), *outer_sizes(self.reduced_sizes, self.reduced_rank)]

    def inner_first(self, kept: Strides, reduced: Strides) -> list[int]:
        """The geometry's strides of an array."""
        return [*inner_first(kept, self.kept_rank), *inner_first(reduced, self.reduced_rank)]


def nearness(strides: Sequence[Strides], length: int) -> float:
    """How well vectors lie along the inner dimension: the operands that lie densely there, if it is long enough."""
    if length == 1:
        return -1
    return sum(1 if near == 1 else 0.5 if near == 0 else 0 for *_, near in strides) + (0.25 if length >= 64 else 0)
