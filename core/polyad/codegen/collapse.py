"""Fewer, longer dimensions for the same elements, so that inner loops are long; and the order in memory of results."""

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


def by_memory(shape: Shape, strides: Sequence[Strides]) -> tuple[Shape, tuple[Strides, ...]]:
    """*shape* and *strides* with the dimensions in the order in which the first operand lies in memory, then collapsed.

    For work that may visit elements in any order: a transposed array is then one long dimension.

    >>> by_memory((4, 6), [(1, 4), (1, 4)])
    ((24,), ((1,), (1,)))
    """
    if len(shape) > 1:
        first = strides[0]
        order = sorted(range(len(shape)), key=lambda dim: -abs(first[dim]))
        if order != list(range(len(shape))):
            shape = tuple([shape[dim] for dim in order])
            strides = [tuple([one[dim] for dim in order]) for one in strides]
    return collapse(shape, strides)


def broadcast_strides(shape: Shape, strides: Strides, target: Shape) -> Strides:
    """The strides of an array of *shape* seen in the *target* shape that it broadcasts to: 0 where it repeats.

    >>> broadcast_strides((3, 1), (1, 1), (2, 3, 4))
    (0, 1, 0)
    """
    lead = len(target) - len(shape)
    own = [0 if size == 1 != want else step for size, step, want in zip(shape, strides, target[lead:], strict=True)]
    return (0,) * lead + tuple(own)


def result_strides(shape: Shape, operands: Sequence[Strides]) -> Strides:
    """The strides that a new elementwise result has: dense, in the order in memory of the operands, as PyTorch's are.

    Two dimensions are compared by the strides of the first operand that is not broadcast along either; between equal
    strides the longer dimension is the inner one; where no operand decides, the order is row-major. *operands* are
    strides along the result's dimensions, 0 where an operand is broadcast.

    >>> result_strides((2, 3), [(1, 2)])
    (1, 2)
    """
    rank = len(shape)
    order = list(range(rank - 1, -1, -1))  # the innermost first
    if 0 not in shape:
        for position in range(1, rank):
            place = position
            for other in range(position - 1, -1, -1):
                later = _later(operands, shape, order[other], order[place])
                if later > 0:
                    order[other], order[place] = order[place], order[other]
                    place = other
                elif later < 0:
                    break
    made, step = [0] * rank, 1
    for dim in order:
        made[dim] = step
        step *= max(shape[dim], 1)
    return tuple(made)


def _later(operands: Sequence[Strides], shape: Shape, inner: int, outer: int) -> int:
    """1 if dimension *inner* belongs outside of *outer*, -1 if it is where it belongs, 0 if no operand says."""
    for strides in operands:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0
