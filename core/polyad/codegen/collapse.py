"""Fewer, longer dimensions for the same elements, so that inner loops are long."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.shapes_and_strides import (
    Shape,
    Strides,
    broadcast_strides as broadcast_strides,
    result_strides as result_strides,
)


def collapse(shape: Shape, strides: Sequence[Strides]) -> tuple[Shape, tuple[Strides, ...]]:
    """*shape* without size-1 dimensions and with neighbours merged where every operand steps through both
    as through a single one.

    >>> collapse((4, 1, 6), [(6, 6, 1), (0, 0, 1)])
    ((4, 6), ((6, 1), (0, 1)))
    >>> collapse((4, 6), [(6, 1), (6, 1)])
    ((24,), ((1,), (1,)))
    """
    sizes: list[int] = []
    found: list[list[int]] = []  # for each dimension of the result, every operand's stride
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        own = [stride[dim] for stride in strides]
        if sizes and all(outer == inner * size for outer, inner in zip(found[-1], own, strict=True)):
            sizes[-1] *= size
            found[-1] = own
        else:
            sizes.append(size)
            found.append(own)
    if not sizes:
        return (1,), ((0,),) * len(strides)
    return tuple(sizes), tuple(zip(*found, strict=True)) if strides else ()


def by_memory(shape: Shape, strides: Sequence[Strides]) -> tuple[Shape, tuple[Strides, ...]]:
    """*shape* and *strides* with the dimensions in the order in which the first operand lies in memory, then collapsed.

    For work that may visit elements in any order: a transposed array is then a single long dimension.

    >>> by_memory((4, 6), [(1, 4), (1, 4)])
    ((24,), ((1,), (1,)))
    """
    if len(shape) > 1:
        first = strides[0]
        order = sorted(range(len(shape)), key=lambda dim: -abs(first[dim]))
        if order != list(range(len(shape))):
            shape = tuple([shape[dim] for dim in order])
            strides = [tuple([operand[dim] for dim in order]) for operand in strides]
    return collapse(shape, strides)


def outer_sizes(sizes: Shape, rank: int) -> Shape:
    """The sizes of all dimensions but the inner one, for a kernel that walks *rank* dimensions.

    >>> outer_sizes((5, 6), 4)
    (1, 1, 5)
    """
    return (1,) * (rank - len(sizes)) + sizes[:-1]


def inner_first(strides: Strides, rank: int) -> Strides:
    """An array's strides in the order of a geometry: the inner one, then the outer ones of *rank* dimensions.

    >>> inner_first((6, 1), 4)
    (1, 0, 0, 6)
    """
    return (strides[-1], *(0,) * (rank - len(strides)), *strides[:-1])
