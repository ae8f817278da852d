"""Fewer, longer dimensions for the same elements, so that inner loops are long."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.layout import Shape, Strides, broadcast_strides as broadcast_strides, result_strides as result_strides


def collapse(shape: Shape, strides: Sequence[Strides]) -> tuple[Shape, tuple[Strides, ...]]:
    """*shape* without size-1 dimensions and with neighbours merged where every operand steps through both
    as through a single one.

    >>> collapse((4, 1, 6), [(6, 6, 1), (0, 0, 1)])
    ((4, 6), ((6, 1), (0, 1)))
    >>> collapse((4, 6), [(6, 1), (6, 1)])
    ((24,), ((1,), (1,)))
    """
    sizes: list[int] = []
    steps: list[list[int]] = []  # an entry for each kept dimension: each operand's stride
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        step = [stride[dim] for stride in strides]
        if sizes and all(outer == inner * size for outer, inner in zip(steps[-1], step, strict=True)):
            sizes[-1] *= size
            steps[-1] = step
        else:
            sizes.append(size)
            steps.append(step)
    if not sizes:
        sizes, steps = [1], [[0] * len(strides)]
    return tuple(sizes), tuple(tuple(step[operand] for step in steps) for operand in range(len(strides)))


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
