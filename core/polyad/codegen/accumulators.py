"""What reductions, and stages over rows, accumulate in: where it begins, how two are combined, in statements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..base.dtypes import BOOL, FLOATING, DType, iinfo
from ..base.layout import Strides
from ..errors import ArgumentError, NotSupported
from .complex_numbers import LOWERED
from .dialects import Dialect
from .expression import Apply, Expression, Local, apply
from .formulas import formula, is_cheap
from .frame import factor, independent
from .writer import Writer, computed_in, letter_of

SEGMENT = 1024
"""Elements that are accumulated before they join the total."""

UNROLLED = 4
"""Vectors a step: a chain of additions has a latency of four."""

_FEW = 8
"""Ops on an element that hide no latency."""

COMBINED_BY = {
    "sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum", "any": "maximum", "all": "minimum",
}  # fmt: skip
"""The op that combines two elements, by reduction."""


def identity(reducer: str, dtype: DType) -> bool | int | float:
    """What changes no element: the result of reducing nothing.

    >>> import polyad
    >>> identity("amax", polyad.int8), identity("prod", polyad.float32)
    (-128, 1)
    """
    if reducer in ("sum", "any"):
        return 0
    if reducer in ("prod", "all"):
        return 1
    if dtype.category == BOOL:
        return reducer == "amin"
    if dtype.category == FLOATING:
        return -math.inf if reducer == "amax" else math.inf
    return iinfo(dtype).min if reducer == "amax" else iinfo(dtype).max


def check_reducer(reducer: str, dtype: DType) -> None:
    """Raises ValueError for an unknown reducer, NotImplementedError for one that *dtype* does not have."""
    if reducer not in COMBINED_BY:
        raise ArgumentError(f"codegen: no reduction {reducer}", fix=f"use one of {', '.join(COMBINED_BY)}")
    if dtype.is_complex and COMBINED_BY[reducer] not in LOWERED:
        raise NotSupported(f"codegen: {reducer} of {dtype.name}", fix="reduce the real and imaginary parts")


def reduction_clause(writer: Writer, reducer: str, dtype: DType, names: Sequence[str]) -> str:
    """OpenMP's clause that declares *names* the accumulators of a loop; empty for a language that has none.

    Complex numbers are not for it: their two accumulators depend on each other.
    """
    dialect = writer.dialect
    if not dialect.loop:
        return ""
    own = computed_in(dtype)
    spelled = f"{reducer}_{dtype.name}"
    template = formula(COMBINED_BY[reducer], letter_of(dtype))
    assert template is not None
    writer.functions.setdefault(
        spelled,
        dialect.combination.format(
            name=spelled, type=dialect.types[own], value=writer.filled(template, dtype, *dialect.combined),
            nothing=writer.constant(identity(reducer, dtype), dtype),
        ),
    )  # fmt: skip
    return "".join(dialect.accumulated.format(name=spelled, place=name) for name in names)


def symmetric(reducer: str, dtype: DType) -> bool:
    """Whether combining a and b gives the bits of combining b and a: not where zeros have signs, or numbers parts."""
    return dtype.category < FLOATING or (reducer in ("sum", "prod") and not dtype.is_complex)


def combine(writer: Writer, reducer: str, dtype: DType, a: Sequence[str], b: Sequence[str]) -> tuple[str, ...]:
    """The variables that hold the combination of two elements."""
    writer.known = {}
    return writer.value(apply(COMBINED_BY[reducer], Local(tuple(a), dtype), Local(tuple(b), dtype)))


def fold_lanes(
    single: Writer, totals: Sequence[str], packed: str, lanes: int, reducer: str, dtype: DType, lane: str = "lane"
) -> tuple[tuple[str, ...], list[str]]:
    """Statements that combine the *lanes* of the *totals*, by halves; *packed* is their type in memory, *lane* what
    the variables are called.
    """
    element, parts = single.type_of(dtype), len(totals)
    lines = []
    for part, total in enumerate(totals):
        lines.append(f"{element} {lane}{part}[{lanes}]; (({packed} *){lane}{part})->v = {total};")
    left = [f"{lane}{part}[at]" for part in range(parts)]
    right = [f"{lane}{part}[at + apart]" for part in range(parts)]
    combined = combine(single, reducer, dtype, left, right)
    lines.append(f"for (int apart = {lanes // 2}; apart > 0; apart /= 2)")
    lines.append("    for (int at = 0; at < apart; ++at) {")
    lines += [f"        {line}" for line in single.lines]
    lines += [f"        {lane}{part}[at] = {text};" for part, text in enumerate(combined)]
    lines.append("    }")
    single.lines = []
    return tuple(f"{lane}{part}[0]" for part in range(parts)), lines


class Accumulators:
    """What a kernel accumulates one reduction in: for every vector of a step, a total, and the block that joins it when
    a segment ends. Each is as many variables as an element has parts.

    Across, in a language without vectors, they are arrays with an element for each of *width* columns side by side,
    counted by ``c``. *prefix* tells the variables of several reductions apart.
    """

    def __init__(
        self,
        writer: Writer,
        reducer: str,
        dtype: DType,
        unroll: int,
        inner: Strides | None,
        width: int,
        prefix: str = "",
    ) -> None:
        self.reducer, self.dtype = reducer, dtype
        self._dialect, self._inner, self._width = writer.dialect, inner, width
        self._type = writer.type_of(dtype)
        parts = factor(dtype)
        self.identity = [writer.constant(identity(reducer, dtype), dtype), writer.constant(0, dtype)][:parts]
        column = "[c]" if width > 1 else ""
        self.blocks, self.totals = (
            [[f"{name}{prefix}{part}_{u}{column}" for part in range(parts)] for u in range(unroll)]
            for name in ("block", "total")
        )

    def declare(self, accumulators: Sequence[Sequence[str]]) -> list[str]:
        """Statements that declare the totals, or the blocks, with nothing in them."""
        pairs = [pair for names in accumulators for pair in zip(names, self.identity, strict=True)]
        if self._width == 1:
            return [f"{self._type} {name} = {zero};" for name, zero in pairs]
        declared = [f"{self._type} {name.replace('[c]', f'[{self._width}]')};" for name, _ in pairs]
        cleared = [f"{name} = {zero};" for name, zero in pairs]
        return [*declared, *for_columns(self._dialect, self._inner, self._width, cleared)]

    def add(self, writer: Writer, into: Sequence[str], others: Sequence[str]) -> list[str]:
        """What *writer* has written, then statements that add *others* to *into*."""
        combined = combine(writer, self.reducer, self.dtype, into, others)
        lines = [*writer.lines, *(f"{name} = {text};" for name, text in zip(into, combined, strict=True))]
        writer.lines = []
        return lines

    def join_blocks(self, writer: Writer) -> list[str]:
        """Statements that add the blocks to the totals."""
        writer.lines = []
        pairs = zip(self.totals, self.blocks, strict=True)
        return [line for total, block in pairs for line in self.add(writer, total, block)]

    def fold_totals(self, writer: Writer) -> list[str]:
        """Statements that add the totals of a step's vectors to the first."""
        writer.lines = []
        return [line for total in self.totals[1:] for line in self.add(writer, self.totals[0], total)]

    def mask(self, writer: Writer, values: Sequence[str]) -> tuple[str, ...]:
        """The vectors *values* with the identity in the lanes from *m* on, which hold no elements."""
        keep = _define_keep(writer, self.dtype)
        pairs = zip(values, self.identity, strict=True)
        return tuple([writer.declare(self.dtype, f"{keep}({value}, {zero}, m)") for value, zero in pairs])


def _define_keep(writer: Writer, dtype: DType) -> str:
    """The name of a function that replaces a vector's lanes from *m* on by those of *nothing*, the identity."""
    own = dtype.to_real()
    spelled, lanes = f"keep_{own.name}_{writer.lanes}", writer.lanes
    if spelled not in writer.functions:
        vector, element = writer.type_of(own), Writer(writer.dialect, 1).type_of(own)
        packed = writer.packed(computed_in(own), "")
        writer.functions[spelled] = (
            f"{writer.dialect.function}{vector} {spelled}(const {vector} v, const {vector} nothing, const int m) {{\n"
            f"    if (m == {lanes}) return v;\n"
            f"    {element} kept[{lanes}], none[{lanes}];\n"
            f"    (({packed} *)kept)->v = v; (({packed} *)none)->v = nothing;\n"
            f"    for (int k = m; k < {lanes}; ++k) kept[k] = none[k];\n"
            f"    return ((const {packed} *)kept)->v;\n}}\n"
        )
    return spelled


def unroll_for(expression: Expression) -> int:
    """How many vectors of *expression* a step had better take: several if little is computed, so that an addition
    need not wait for the last; one where that is hidden behind work, and more would only take longer to compile.

    >>> import polyad
    >>> from .expression import Operand
    >>> x = Operand(0, polyad.float32)
    >>> unroll_for(x * x), unroll_for(apply("exp", x))
    (4, 1)
    """
    found, waiting = 0, [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Apply):
            found += 1
            cheap = node.op in ("cast", "where") or is_cheap(node.op, letter_of(node.dtype))
            if node.dtype.is_complex or not cheap or found > _FEW:
                return 1
            waiting.extend(node.arguments)
    return UNROLLED


def for_columns(dialect: Dialect, inner: Strides | None, width: int, lines: Sequence[str]) -> list[str]:
    """*lines* for each of up to *width* columns side by side, counted by ``c``."""
    if width == 1 or not lines:
        return list(lines)
    return [*independent(dialect, inner), "for (int c = 0; c < m; ++c) {", *lines, "}"]
