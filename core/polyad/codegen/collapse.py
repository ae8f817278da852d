"""Merging dimensions: the same elements in the same order with fewer, longer dimensions, so that inner loops are
long.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..layout import Shape, Strides


def collapse(shape: Shape, strides: Sequence[Strides]) -> tuple[Shape, tuple[Strides, ...]]:
    """*shape* without size-1 dimensions and with neighbours merged where every operand steps through both
    as through one.

    >>> collapse((4, 1, 6), [(6, 6, 1), (0, 0, 1)])
    ((4, 6), ((6, 1), (0, 1)))
    >>> collapse((4, 6), [(6, 1), (6, 1)])
    ((24,), ((1,), (1,)))
    """
    sizes: list[int] = []
    steps: list[list[int]] = []  # one entry a kept dimension: each operand's stride
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
