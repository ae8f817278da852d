"""Kernels over many arrays in a single launch, on devices whose language lets a number be a pointer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...backend.runtime import Runtime
from ..expression import Expression
from ..packs import PACK_BYTES, pack_for
from ..tables import over_table, rows_of_a_table, table


class TableKernel:
    """Expressions of arrays on the device of *runtime*, for many rows of arrays: ``kernel(rows, counts, numbers)``.

    Operands have an element for each of the results', or a *single* one. *what* names the kernel in errors.
    """

    __slots__ = ("_compiled", "_pack", "expressions", "runtime", "single", "what")

    def __init__(self, runtime: Runtime, what: str, expressions: Sequence[Expression], single: Sequence[bool]) -> None:
        self.runtime = runtime
        self.what = what
        self.expressions = tuple(expressions)
        self.single = tuple(single)
        self._pack = pack_for(self.expressions, runtime.dialect, runtime.description)
        self._compiled: dict[int, Any] = {}

    def __call__(self, rows: Sequence[Sequence[Any]], counts: Sequence[int], numbers: tuple[bytes, ...]) -> None:
        """Compute the results of each row, which come before its operands; the first have *counts* elements."""
        runtime = self.runtime
        address = runtime.backend.data_ptr
        most = rows_of_a_table(len(rows[0]))
        for begin in range(0, len(rows), most):
            addresses = [[address(array) for array in row] for row in rows[begin : begin + most]]
            pack = self._pack
            if pack > 1 and (max(counts) < pack or any(each % PACK_BYTES for row in addresses for each in row)):
                pack = 1
            units, geometry = table(counts[begin : begin + most], addresses, pack)
            if units:
                instances = min(units, 2 * runtime.description.workers)
                arrays = [array for row in rows[begin : begin + most] for array in row]
                runtime.launch_over(self._kernel(pack), instances, geometry, arrays, numbers)

    def _kernel(self, pack: int) -> Any:
        found = self._compiled.get(pack)
        if found is None:
            source = over_table(self.expressions, self.single, self.runtime.dialect, pack)
            found = self._compiled[pack] = self.runtime.compile(source, f"{self.what}, of many arrays")
        return found
