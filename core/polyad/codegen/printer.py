"""The printer: from loops (`polyad.loops.nodes`) to statements in any dialect."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from ..base.dtypes import FLOATING, DType
from ..loops import nodes
from ..loops.nodes import Accumulator, Body, Index, Load, Loop, Node, Store
from .accumulators import COMBINED_BY, identity
from .dialects import Dialect
from .expression import Apply, Expression, Literal, Local, Operand, Scalar, apply
from .formulas import formula
from .frame import KernelSource, Parameters, declare_scalars, kernel_source
from .packs import PACK_BYTES
from .writer import Writer, computed_in, letter_of

_INFIX = {
    "mul": (" * ", 5), "div": (" / ", 5), "remainder": (" % ", 5), "add": (" + ", 4), "sub": (" - ", 4),
    "lt": (" < ", 3), "le": (" <= ", 3), "gt": (" > ", 3), "eq": (" == ", 2), "logical_and": (" && ", 1),
}  # fmt: skip
"""How indices are written, and how strongly operators bind."""


@lru_cache(4096)
def index_text(index: Index, least: int = 0) -> str:
    """*index* in C, in parentheses if it binds less than *least*."""
    if isinstance(index, Local):
        return index.names[0]
    if isinstance(index, Literal):
        return str(index.value)
    assert isinstance(index, Apply)
    if index.op == "where":
        condition, a, b = index.arguments
        text, strength = f"{index_text(condition, 2)} ? {index_text(a, 1)} : {index_text(b, 1)}", 1
    else:
        sign, strength = _INFIX[index.op]
        text = index_text(index.arguments[0], strength) + sign + index_text(index.arguments[1], strength + 1)
    return text if strength >= least else f"({text})"


def source_of(
    body: Body,
    dialect: Dialect,
    parameters: Parameters,
    scalars: Sequence[Scalar],
    numbers: int,
    *,
    name: str,
    lanes: int,
    rank: int,
    group: int = 1,
    numbers_of_rows: bool = False,
) -> KernelSource:
    """The source of the kernel that does *body*, with a geometry of so many *numbers*.

    *numbers_of_rows* says that single values read *scalars*, too.
    """
    printer = _Printer(dialect, lanes, scalars, numbers_of_rows)
    printer.print(body)
    return kernel_source(
        dialect, name, parameters, numbers, printer.functions.values(), _indented(printer.lines), lanes=lanes,
        rank=rank, group=group,
    )  # fmt: skip


def _may_meet_nan(accumulator: Accumulator) -> bool:
    """Whether it holds extremes of floats."""
    dtype = accumulator.dtype
    return accumulator.reducer in ("amax", "amin") and dtype.category >= FLOATING and not dtype.is_complex


def _indented(lines: Iterable[str]) -> Iterable[str]:
    depth = 0
    for line in lines:
        depth -= line[0] == "}"
        yield "    " * depth + line
        depth += line[-1] == "{"


class _Printer:
    """Writes nodes to `lines`; values with lanes by one writer, single ones by another."""

    def __init__(self, dialect: Dialect, lanes: int, scalars: Sequence[Scalar], numbers_of_rows: bool) -> None:
        self.dialect, self.index = dialect, dialect.wide
        self.vector = self.single = Writer(dialect, lanes)
        self.functions = self.vector.functions
        declare_scalars(self.vector, scalars)
        if lanes > 1:
            self.single = Writer(dialect, 1, self.functions, prefix="u")
            self.single.lines = self.vector.lines
            if numbers_of_rows:
                declare_scalars(self.single, scalars)
        self.lines = self.vector.lines
        self._copies: dict[int, list[dict[Expression, tuple[str, ...]]]] = {}
        self._arrays = 0
        # Around the loop over packs in which nodes are: what stands before and behind it, and how many they hold.
        self._pack: tuple[list[str], list[str], int] = ([], [], 0)
        # The variables of the loop in which nodes are that hold extremes, whose nan is noted apart.
        self._watched: frozenset[str] = frozenset()

    def print(self, body: Iterable[Node]) -> None:
        """Write the statements of *body*."""
        for node in body:
            _PRINTED[type(node)](self, node)

    def _elsewhere(self, write: Callable[[], None]) -> list[str]:
        """What *write* writes, which is not among the lines then."""
        before, after = self.lines, list[str]()
        self.lines = self.vector.lines = self.single.lines = after
        write()
        self.lines = self.vector.lines = self.single.lines = before
        return after

    def _inside(self, body: Iterable[Node]) -> None:
        """*body* as a block: what is known in it is forgotten behind it."""
        writers = {self.vector, self.single}
        known, copies = [(writer, writer.known) for writer in writers], self._copies
        self._copies = dict(copies)
        for writer in writers:
            writer.known = dict(writer.known)
        self.print(body)
        self._copies = copies
        for writer, before in known:
            writer.known = before

    def _writer(self, node: Load | Store | nodes.Give | nodes.Accumulate) -> Writer:
        return self.single if node.single else self.vector

    # ------------------------------------------------------------------------------------------------ indices

    def let(self, node: nodes.Let) -> None:
        value, how = node.value, "" if node.changes else "const "
        text = index_text(value)
        if node.small and isinstance(value, Apply) and value.op == "where":
            condition, a, b = (index_text(each) for each in value.arguments)
            text = f"{condition} ? (int)({a}) : {b}"
        self.lines.append(f"{how}{'int' if node.small else self.index} {node.name} = {text};")

    def set(self, node: nodes.Set) -> None:
        value = node.value
        if isinstance(value, Apply) and value.op == "add" and value.arguments[0] == nodes.var(node.name):
            self.lines.append(f"{node.name} += {index_text(value.arguments[1])};")
        else:
            self.lines.append(f"{node.name} = {index_text(value)};")

    def search(self, node: nodes.Search) -> None:
        self.lines += [
            f"int {node.name} = 0;",
            f"for (int behind = (int){index_text(node.count)}; behind - {node.name} > 1;) {{",
            f"const int middle = ({node.name} + behind) / 2;",
            f"if (g.at[{node.begins} + middle] <= {index_text(node.sought)}) {node.name} = middle;",
            "else behind = middle;",
            "}",
        ]

    def point(self, node: nodes.Point) -> None:
        how = f"{'' if node.name.startswith('out') else 'const '}{self.dialect.types[node.dtype.to_real()]} *"
        self.lines.append(f"{how}const {node.name} = ({how}){index_text(node.address)};")

    # ------------------------------------------------------------------------------------------------ loops

    def loop(self, node: Loop) -> None:
        if node.kind == nodes.PACK:
            self._loop_over_pack(node)
            return
        extremes = [each for each in node.accumulators if self.dialect.loop and _may_meet_nan(each)]
        if node.kind != nodes.VECTOR or not extremes:
            self.lines += self._heads(node)
            self._inside(node.body)
            self.lines.append("}")
            return
        # A vector's largest number waits for a single instruction if nan is looked for apart.
        self._watched = frozenset(name for each in extremes for name in each.local.names)
        self.lines += [f"int nan_{name} = 0;" for name in sorted(self._watched)]
        self.lines += self._heads(node)
        self._inside(node.body)
        self.lines.append("}")
        for each in extremes:
            nan = self.vector.constant(math.nan, each.dtype)
            self.lines += [f"if (nan_{name}) {name} = {nan};" for name in each.local.names]
        self._watched = frozenset()

    def _heads(self, node: Loop) -> list[str]:
        """What stands before a loop's body."""
        dialect, index, name, step = self.dialect, self.index, node.variable, node.step
        begin, end = (
            index_text(each) if isinstance(each, Expression) else str(each) for each in (node.begin, node.end)
        )
        on = f"{name} += {step}" if step > 1 else f"++{name}"
        declared = f"{'int' if node.small else index} {name}"
        if node.kind == nodes.ROWS:
            return [
                f"const {index} many = {dialect.workers}, fair = ({end} + many - 1) / many, "
                f"begin = {dialect.worker} * fair;",
                f"const {index} end = begin + fair < {end} ? begin + fair : {end};",
                f"for ({declared} = begin; {name} < end; ++{name}) {{",
            ]
        if node.kind == nodes.ITEMS:
            return [f"for ({declared} = {dialect.worker}; {name} < {end}; {name} += {dialect.workers}) {{"]
        if node.kind == nodes.GROUPS:
            past = f"{name} * {step}" if step > 1 else name
            member, number = ("id", "0") if step == 1 else (f"id % {node.items}", f"id / {node.items}")
            return [
                f"const int id = {dialect.member}, member = {member}, number = {number};",
                f"for ({declared} = {dialect.group}; {past} < {end}; {name} += {dialect.groups}) {{",
            ]
        if node.kind == nodes.HALVES:
            return [f"for (int {name} = {begin}; {name} > 0; {name} /= 2) {{"]
        if node.kind == nodes.WHOLE:
            return [f"for (; {name} + {step} <= {end}; {on}) {{"]
        if node.kind == nodes.REST:
            return [f"for (; {name} < {end}; {on}) {{"]
        mark = ""
        if node.kind == nodes.ROLLED:
            mark = dialect.turns
        elif node.kind == nodes.VECTOR and dialect.loop:
            mark = dialect.loop + "".join(map(self._clause, node.accumulators))
        return [*filter(None, [mark]), f"for ({declared} = {begin}; {name} < {end}; {on}) {{"]

    def _clause(self, accumulator: Accumulator) -> str:
        """OpenMP's clause that declares what a loop accumulates in."""
        dialect, dtype, reducer = self.dialect, accumulator.dtype, accumulator.reducer
        if accumulator.local.names[0] in self._watched:
            (name,), known = accumulator.local.names, {"amax": "max", "amin": "min"}
            clauses = (known[reducer], name), ("|", f"nan_{name}")
            return "".join(dialect.accumulated.format(name=by, place=place) for by, place in clauses)
        spelled = f"{reducer}_{dtype.name}"
        template = formula(COMBINED_BY[reducer], letter_of(dtype))
        assert template is not None
        self.functions.setdefault(
            spelled,
            dialect.combination.format(
                name=spelled, type=dialect.types[computed_in(dtype)],
                value=self.vector.filled(template, dtype, *dialect.combined), nothing=self._nothing(accumulator)[0],
            ),
        )  # fmt: skip
        return "".join(dialect.accumulated.format(name=spelled, place=name) for name in accumulator.local.names)

    def _loop_over_pack(self, node: Loop) -> None:
        outer, self._pack = self._pack, ([], [], int(str(node.end)))
        inside = self._elsewhere(lambda: self._inside(node.body))
        (before, behind, count), self._pack = self._pack, outer
        head = [*filter(None, [self.dialect.unroll]), f"for (int c = 0; c < {count}; ++c) {{"]
        self.lines += [*before, *head, *inside, "}", *behind]

    def branch(self, node: nodes.If) -> None:
        self.lines.append(f"if ({index_text(node.condition)}) {{")
        self._inside(node.body)
        self.lines += ["continue;", "}"] if node.ends else ["}"]

    def block(self, node: nodes.Block) -> None:
        if node.copy is None:
            self.lines.append("{")
            self._inside(node.body)
            self.lines.append("}")
            return
        writers = [self.vector, self.single]
        outer = [writer.known for writer in writers]
        for writer, known, own in zip(writers, outer, self._copies.get(node.copy, ({}, {})), strict=True):
            writer.known = {**known, **own}
        self.print(node.body)
        self._copies[node.copy] = [writer.known for writer in writers]
        for writer, known in zip(writers, outer, strict=True):
            writer.known = known

    # ------------------------------------------------------------------------------------------------ memory

    def _place(self, array: str, place: Index, dtype: DType) -> str:
        return f"{array} + {index_text(nodes.number(2) * place if dtype.is_complex else place, 4)}"

    def load(self, node: Load) -> None:
        writer, leaf, dtype = self._writer(node), node.leaf, node.leaf.dtype
        stride, count = index_text(node.stride), index_text(node.count)
        if isinstance(leaf, Operand):
            place = self._place(node.array, node.place, dtype)
            if node.packed:
                place = f"{self._pack_of(node.array, dtype, place, False)} + c"
            writer.known[leaf] = writer.load(dtype, place, stride, count)
            return
        vector, scalar = writer.type_of(dtype), self.dialect.types[dtype]
        text = f"({scalar})({index_text(node.place + nodes.var('c') if node.packed else node.place)})"
        if writer.lanes > 1:
            steps = ", ".join(str(lane) for lane in range(writer.lanes))
            text = f"({vector})({text}) + ({vector})({steps}) * ({vector})(({scalar})({stride}))"
        writer.known[leaf] = (writer.declare(dtype, text),)

    def store(self, node: Store) -> None:
        writer, dtype = self._writer(node), node.value.dtype
        value = writer.value(node.value)
        place = self._place(node.array, node.place, dtype)
        if node.packed:
            place = f"{self._pack_of(node.array, dtype, place, True)} + c"
        self.lines += writer.store(dtype, value, place, index_text(node.stride), index_text(node.count), node.stream)

    def _pack_of(self, array: str, dtype: DType, place: str, written: bool) -> str:
        """A pointer to number c of the pack at *place*, which is read before the loop or written behind it."""
        before, behind, count = self._pack
        held, memory, address = self.vector.variable(dtype), self.dialect.types[dtype], self.dialect.address
        own, how = f"Pack{count}_{held.replace(' ', '_')}", "" if written else "const "
        size, name = min(PACK_BYTES, count * dtype.itemsize), f"{'made' if written else 'pack'}_{array}"
        self.functions.setdefault(own, self.dialect.pack.format(type=held, n=count, bytes=size, name=own))
        if written:
            before.append(f"{own} {name};")
            behind.append(f"*({address}{own} *)({place}) = {name};")
        else:
            before.append(f"const {own} {name} = *(const {address}{own} *)({place});")
        return f"{'' if held == memory else f'({how}{memory} *)'}{name}.v"

    # ------------------------------------------------------------------------------------------------ values

    def compute(self, node: nodes.Compute) -> None:
        for value in node.values:
            self.vector.value(value)

    def give(self, node: nodes.Give) -> None:
        writer, found = self._writer(node), tuple[str, ...]()
        if node.lifted and node.name in self.vector.known:
            return
        known = writer.known

        def write() -> None:
            nonlocal found
            writer.known = dict(known)
            self.print(node.loads)
            found = writer.value(node.value)
            writer.known = known

        written = self._elsewhere(write)
        if node.width > 1 and written:
            arrays = [f"kept{self._arrays + part}" for part in range(len(found))]
            self._arrays += len(found)
            self.lines += [f"{writer.type_of(node.value.dtype)} {array}[{node.width}];" for array in arrays]
            self.lines += self._heads(nodes.over_columns(node.kind, ()))
            self.lines += [*written, *(f"{array}[c] = {each};" for array, each in zip(arrays, found, strict=True)), "}"]
            found = tuple([f"{array}[c]" for array in arrays])
        else:
            self.lines += written
        known[node.name] = found
        if node.lifted and self.single is not self.vector:
            dtype = node.value.dtype
            vector = self.vector.type_of(dtype)
            self.vector.known[node.name] = tuple([self.vector.declare(dtype, f"({vector})({each})") for each in found])

    # ------------------------------------------------------------------------------------------------ accumulators

    def _nothing(self, accumulator: Accumulator) -> list[str]:
        dtype, constant = accumulator.dtype, self.vector.constant
        nothing = [constant(identity(accumulator.reducer, dtype), dtype)]
        return [*nothing, constant(0, dtype)] if dtype.is_complex else nothing

    def begin(self, node: nodes.Begin) -> None:
        accumulator = node.accumulator
        pairs = list(zip(accumulator.local.names, self._nothing(accumulator), strict=True))
        of = self.vector.type_of(accumulator.dtype)
        if accumulator.width == 1:
            self.lines += [f"{of} {name} = {nothing};" for name, nothing in pairs]
            return
        self.lines += [f"{of} {name.replace('[c]', f'[{accumulator.width}]')};" for name, _ in pairs]
        self.lines += self._heads(nodes.over_columns(node.kind, ()))
        self.lines += [*(f"{name} = {nothing};" for name, nothing in pairs), "}"]

    def _combined(self, writer: Writer, reducer: str, a: Local, b: Local) -> tuple[str, ...]:
        """The variables that hold the combination of two numbers."""
        known, writer.known = writer.known, {}
        found = writer.value(apply(COMBINED_BY[reducer], a, b))
        writer.known = known
        return found

    def accumulate(self, node: nodes.Accumulate) -> None:
        writer, accumulator = self._writer(node), node.accumulator
        values = writer.value(node.value)
        if node.count is not None:
            keep, pairs = self._define_keep(accumulator.dtype), zip(values, self._nothing(accumulator), strict=True)
            count = index_text(node.count)
            values = tuple(
                [writer.declare(accumulator.dtype, f"{keep}({each}, {zero}, {count})") for each, zero in pairs]
            )
        into = node.into or accumulator.local
        if into.names[0] in self._watched:
            (value,), (name,) = values, into.names
            beyond = ">" if accumulator.reducer == "amax" else "<"
            self.lines += [
                f"{name} = {value} {beyond} {name} ? {value} : {name};",
                f"nan_{name} |= {value} != {value};",
            ]
            return
        found = self._combined(writer, accumulator.reducer, into, Local(values, accumulator.dtype))
        self.lines += [f"{name} = {text};" for name, text in zip(into.names, found, strict=True)]

    def _define_keep(self, dtype: DType) -> str:
        """The name of a function that replaces a vector's lanes from *m* on by those of *nothing*."""
        own, lanes, writer = dtype.to_real(), self.vector.lanes, self.vector
        spelled = f"keep_{own.name}_{lanes}"
        if spelled not in self.functions:
            vector, element = writer.type_of(own), self.single.type_of(own)
            packed = writer.packed(computed_in(own), "")
            self.functions[spelled] = (
                f"{self.dialect.function}{vector} {spelled}(const {vector} v, const {vector} nothing, const int m) {{\n"
                f"    if (m == {lanes}) return v;\n"
                f"    {element} kept[{lanes}], none[{lanes}];\n"
                f"    (({packed} *)kept)->v = v; (({packed} *)none)->v = nothing;\n"
                f"    for (int k = m; k < {lanes}; ++k) kept[k] = none[k];\n"
                f"    return ((const {packed} *)kept)->v;\n}}\n"
            )
        return spelled

    def fold(self, node: nodes.Fold) -> None:
        accumulator, lanes, single = node.accumulator, self.vector.lanes, self.single
        dtype, names = accumulator.dtype, [name.removesuffix("[0]") for name in node.local.names]
        packed, element = self.vector.packed(computed_in(dtype), ""), single.type_of(dtype)
        for name, total in zip(names, accumulator.local.names, strict=True):
            self.lines.append(f"{element} {name}[{lanes}]; (({packed} *){name})->v = {total};")
        left, right = (Local(tuple([f"{name}[{at}]" for name in names]), dtype) for at in ("at", "at + apart"))
        self.lines += [
            f"for (int apart = {lanes // 2}; apart > 0; apart /= 2) {{",
            "for (int at = 0; at < apart; ++at) {",
        ]
        found = self._combined(single, accumulator.reducer, left, right)
        self.lines += [f"{name} = {text};" for name, text in zip(left.names, found, strict=True)]
        self.lines += ["}", "}"]

    # ------------------------------------------------------------------------------------------------ groups

    def shared(self, node: nodes.Shared) -> None:
        self.lines.append(
            f"{self.dialect.shared}{self.dialect.types[computed_in(node.dtype)]} {node.name}[{node.size}];"
        )

    def barrier(self, node: nodes.Barrier) -> None:
        self.lines.append(self.dialect.barrier)

    def move(self, node: nodes.Move) -> None:
        self._assign(node.into, node.value.names, False)

    def exchange(self, node: nodes.Exchange) -> None:
        pattern = self.dialect.exchanged if node.apart else self.dialect.first
        values = [pattern.format(value=name, apart=node.apart, items=node.items) for name in node.value.names]
        self._assign(node.into, values, node.new)

    def _assign(self, into: Local, values: Sequence[str], new: bool) -> None:
        how = f"const {self.dialect.types[computed_in(into.dtype)]} " if new else ""
        self.lines += [f"{how}{name} = {value};" for name, value in zip(into.names, values, strict=True)]


_PRINTED: dict[type[Node], Callable[[_Printer, Any], None]] = {
    nodes.Let: _Printer.let, nodes.Set: _Printer.set, nodes.Search: _Printer.search, nodes.Point: _Printer.point,
    nodes.Loop: _Printer.loop, nodes.If: _Printer.branch, nodes.Block: _Printer.block, nodes.Load: _Printer.load,
    nodes.Store: _Printer.store, nodes.Compute: _Printer.compute, nodes.Give: _Printer.give,
    nodes.Begin: _Printer.begin, nodes.Accumulate: _Printer.accumulate, nodes.Fold: _Printer.fold,
    nodes.Shared: _Printer.shared, nodes.Barrier: _Printer.barrier, nodes.Move: _Printer.move,
    nodes.Exchange: _Printer.exchange,
}  # fmt: skip
