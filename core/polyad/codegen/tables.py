"""The generator of kernels over tables: the same expressions for the elements of many arrays, in a single launch.

What an optimizer does to its parameters is little work on each of many: a launch for each would cost more than the
work. The arrays come as addresses among the numbers of the geometry, so the language has to let a number be a pointer:

    units, rows,
    then for every row, and once more behind the last: the number of its first unit
    then for every row: how many elements it has
    then for every array (results, then operands) and every row: the address

A row is an array for each result and operand; all are dense and have as many elements, but for operands with one
element for the whole row. A unit is a pack of a row's elements, of which the last may be partly filled.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from ..loops.elements import over_rows_of_table
from .dialects import Dialect
from .expression import Expression
from .frame import KernelSource, Leaves, Parameters
from .printer import source_of

_ARGUMENTS = 3968
"""Bytes that all arguments of a launch may have, less what numbers take."""


def rows_of_a_table(arrays: int) -> int:
    """How many rows of so many arrays fit into a geometry.

    >>> rows_of_a_table(7)
    54
    """
    return (_ARGUMENTS // 8 - 3) // (arrays + 2)


def over_table(
    expressions: Sequence[Expression], single: Sequence[bool], dialect: Dialect, pack: int = 1, name: str = "kernel_"
) -> KernelSource:
    """The kernel that writes each of *expressions*, of operands of which some have a *single* element for a row.

    Raises ValueError for positions with gaps, RuntimeError for a dtype that the language lacks.

    >>> import polyad
    >>> from .dialects import CUDA_C
    >>> from .expression import Operand
    >>> x = Operand(0, polyad.float32)
    >>> over_table([x + x], [False], CUDA_C).arrays
    ()
    """
    leaves = Leaves.of(expressions)
    results = [expression.dtype for expression in expressions]
    parameters = Parameters.of(dialect, results, leaves)
    arrays, rows = len(results) + len(leaves.operands), rows_of_a_table(len(results) + len(leaves.operands))
    body = over_rows_of_table(expressions, leaves.operands, single, pack, rows)
    parameters = Parameters((), (), parameters.numbers, parameters.scalars)
    numbers = 3 + (2 + arrays) * rows
    return source_of(body, dialect, parameters, leaves.scalars, numbers, name=name, lanes=1, rank=1)


def table(counts: Sequence[int], addresses: Sequence[Sequence[int]], pack: int) -> tuple[int, bytes]:
    """How many units there are, and the geometry: for each row how many elements, and an address for each array.

    >>> units, geometry = table([10, 3], [[4096, 8192], [4608, 8704]], 4)
    >>> units, len(geometry) // 8 - 3 == 4 * rows_of_a_table(2)
    (4, True)
    """
    rows = rows_of_a_table(len(addresses[0]))
    begins = [0]
    for count in counts:
        begins.append(begins[-1] + -(-count // pack))
    missing = (0,) * (rows - len(counts))
    numbers = [begins[-1], len(counts), *begins, *missing, *counts, *missing]
    for array in zip(*addresses, strict=True):
        numbers += (*array, *missing)
    return begins[-1], struct.pack(f"{len(numbers)}q", *numbers)
