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

from .dialects import Dialect
from .expression import Expression, Operand
from .frame import KernelSource, Leaves, Parameters, declare_scalars, interleaved, kernel_source, load_operand
from .packs import Packs
from .writer import Writer

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
    >>> x = Operand(0, polyad.float32)
    >>> over_table([x + x], [False], CUDA_C).arrays
    ()
    """
    leaves = Leaves.of(expressions)
    results = [expression.dtype for expression in expressions]
    parameters = Parameters.of(dialect, results, leaves)
    dtypes = [*results, *(operand.dtype for operand in leaves.operands)]
    rows = rows_of_a_table(len(dtypes))
    begins, counts, places = 2, 3 + rows, 3 + 2 * rows
    lines = [
        *interleaved(dialect),
        # Begins rise: by halves.
        "int row = 0;",
        "for (int behind = (int)g.at[1]; behind - row > 1;) {",
        "const int middle = (row + behind) / 2;",
        f"if (g.at[{begins} + middle] <= unit) row = middle; else behind = middle;",
        "}",
        f"const {dialect.wide} first = (unit - g.at[{begins} + row]) * {pack}, count = g.at[{counts} + row];",
        f"const {dialect.wide} last = first + {pack} < count ? first + {pack} : count;",
    ]
    pointers = [f"out{n}" for n in range(len(results))] + [f"in{n}" for n in range(len(leaves.operands))]
    for n, (dtype, pointer) in enumerate(zip(dtypes, pointers, strict=True)):
        how = f"{'' if n < len(results) else 'const '}{dialect.types[dtype.to_real()]} *"
        lines.append(f"{how}const {pointer} = ({how})g.at[{places + n * rows} + row];")
    writer = Writer(dialect, 1)
    declare_scalars(writer, leaves.scalars)
    lifted, declared = writer.lines, dict(writer.known)

    def take(packs: Packs | None) -> list[str]:
        """Statements that compute element j, or of a pack element c."""
        writer.lines, writer.known = [], dict(declared)
        for n, operand in enumerate(leaves.operands):
            assert isinstance(operand, Operand)
            pointer, place = f"in{n}", "0" if single[n] else "j"
            if packs is not None and not single[n]:
                pointer, place = packs.load(operand.dtype, f"pack{n}", f"in{n} + first"), "c"
            writer.known[operand] = load_operand(writer, operand, pointer, place, "1", "1")
        values = [writer.value(expression) for expression in expressions]
        for n, (dtype, value) in enumerate(zip(results, values, strict=True)):
            pointer = f"out{n} + j" if packs is None else f"{packs.store(dtype, f'made{n}', f'out{n} + first')} + c"
            writer.lines += writer.store(dtype, value, pointer, "1", "1")
        return writer.lines

    if pack > 1:
        packs = Packs(writer, pack)
        lines += [f"if (last - first == {pack}) {{", *packs.around(take(packs)), "continue;", "}"]
    lines += [f"for ({dialect.wide} j = first; j < last; ++j) {{", *take(None), "}", "}"]
    return kernel_source(
        dialect, name, Parameters((), (), parameters.numbers, parameters.scalars), places + len(dtypes) * rows,
        writer.functions.values(), (*lifted, *lines), lanes=1, rank=1,
    )  # fmt: skip


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
