"""The generator of elementwise kernels: `elementwise` writes them, `elementwise_plan` says how they walk given arrays.

One source serves all shapes and strides of up to `rank` collapsed dimensions: everything that depends on layout is in
one argument by value, the *geometry*, a struct of int64:

    units, chunks a row, elements a chunk, elements a row, sizes of the outer dimensions,
    then for every array (results, then operands in order): offset, inner stride, outer strides

The elements along the inner dimension are a *row*, a part of it a *chunk*. Chunks are handed out to the instances;
where a chunk lies is worked out once for it, not once an element. Elements next to each other are loaded as vectors,
others are gathered into them, and the last vector of a chunk may be partly filled: one loop body does it all, which
keeps kernels small, since compiling them is what a first call pays for. On CPUs there are two or three kernels: one for
any inner strides, and, for arrays that are worth it, those for the inner strides of most calls, where every result is
dense and every operand dense or constant along a row; with very many elements these write past the caches.

The kernel's parameters, in order: the results' pointers, the operands' pointers (none for a `Iota`), the scalars (a
complex number is two, a bool or integer an int64), the geometry.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.layout import Shape, Strides
from .collapse import by_memory, inner_first, outer_sizes
from .dialects import Dialect
from .expression import Expression, Iota, Operand
from .frame import (
    MIN_CHUNK,
    KernelSource as KernelSource,
    Leaves as Leaves,
    Parameters,
    declare_scalars,
    factor,
    independent,
    interleaved,
    kernel_source,
    lanes_for as lanes_for,
    load_operand,
    neighbouring,
    padded_rank as padded_rank,
)
from .hardware import CPU, DeviceDescription
from .packs import Packs, packs_fit
from .writer import Writer


def elementwise(
    expressions: Sequence[Expression],
    dialect: Dialect,
    device: DeviceDescription | None = None,
    rank: int = 1,
    inner: Strides | None = None,
    stream: bool = False,
    pack: int = 1,
    name: str = "kernel_",
) -> KernelSource:
    """The kernel that writes each of *expressions* to a result of its own.

    Args:
        expressions: what to compute, from common operands and numbers.
        dialect: the language.
        device: decides the number of lanes; by default a CPU.
        rank, inner, stream, pack: what the arrays' `ElementwisePlan` says.
        name: of the kernel function.

    Raises ValueError for positions with gaps, RuntimeError for a dtype that the language lacks.

    >>> import polyad
    >>> from polyad.codegen import OPENCL_C, Operand
    >>> x, y = Operand(0, polyad.float32), Operand(1, polyad.float32)
    >>> elementwise([x + y], OPENCL_C).lanes
    8
    """
    device = device or DeviceDescription()
    leaves = Leaves.of(expressions)
    lanes = lanes_for(expressions, dialect, device)
    results = [expression.dtype for expression in expressions]
    parameters = Parameters.of(dialect, results, leaves)
    text = _ElementwiseText(expressions, dialect, leaves, lanes, rank, inner)
    body = text.body(stream, pack, keep_loop=device.kind != CPU)
    head = neighbouring(dialect) if device.kind == CPU else interleaved(dialect)
    body = [*text.lifted, *head, *(f"    {line}" for line in (*text.head(), *body)), "}"]
    functions = text.writer.functions.values()
    return kernel_source(dialect, name, parameters, text.base(len(text.apart)), functions, body, lanes=lanes, rank=rank)


class _ElementwiseText:
    """The statements of a kernel, of which results and operands are numbered together."""

    def __init__(
        self,
        expressions: Sequence[Expression],
        dialect: Dialect,
        leaves: Leaves,
        lanes: int,
        rank: int,
        inner: Strides | None,
    ) -> None:
        self.expressions, self.dialect, self.leaves, self.rank, self.inner = expressions, dialect, leaves, rank, inner
        count = len(expressions) + len(leaves.operands)
        self.apart = [f"s{n}" for n in range(count)] if inner is None else [str(inner[n]) for n in range(count)]
        self.writer = Writer(dialect, lanes)
        declare_scalars(self.writer, leaves.scalars)
        self.lifted, self._scalars = self.writer.lines, dict(self.writer.known)

    def base(self, n: int) -> int:
        """Where the geometry has array *n*."""
        return 3 + self.rank + n * (self.rank + 1)

    def head(self) -> list[str]:
        """Where the unit's chunk begins in every array."""
        index, outer = self.dialect.wide, self.rank - 1
        lines = [
            f"{index} row = {'unit / g.at[1]' if outer else '0'};",
            f"const {index} first = (unit - row * g.at[1]) * g.at[2];",
            f"const {index} last = first + g.at[2] < g.at[3] ? first + g.at[2] : g.at[3];",
        ]
        for n in range(len(self.apart)):
            lines.append(f"{index} at{n} = g.at[{self.base(n)}];")
            if self.inner is None:
                lines.append(f"const {index} s{n} = g.at[{self.base(n) + 1}];")
        for dim in range(outer - 1, -1, -1):
            size = f"g.at[{4 + dim}]"
            lines.append(f"{{ const {index} rest = row / {size}, at = row - rest * {size}; row = rest;")
            lines += [f"  at{n} += at * g.at[{self.base(n) + 2 + dim}];" for n in range(len(self.apart))]
            lines.append("}")
        return lines

    def body(self, stream: bool, pack: int, keep_loop: bool) -> list[str]:
        """The loop over the chunk; it is to *keep_loop* where it is only what a pack leaves over."""
        index, lanes = self.dialect.wide, self.writer.lanes
        step = self._take_vector(stream)
        lines = [*(self._take_pack(pack) if pack > 1 else ()), *independent(self.dialect, self.inner)]
        if self.dialect.turns and keep_loop:
            lines.append(self.dialect.turns)
        lines.append(f"for ({index} j = first; j < last; j += {lanes}) {{")
        if lanes > 1:
            lines.append(f"    const int m = last - j < {lanes} ? (int)(last - j) : {lanes};")
        return [*lines, *(f"    {line}" for line in step), "}"]

    def _take_vector(self, stream: bool) -> list[str]:
        """Statements that compute a vector, which begins at j, or a single element."""
        writer = self.writer
        writer.lines, writer.known = [], dict(self._scalars)
        for n, operand in enumerate(self.leaves.operands):
            at = len(self.expressions) + n
            writer.known[operand] = load_operand(
                writer, operand, f"in{n}", _element(at, self.apart[at], operand), self.apart[at], "m"
            )
        values = [writer.value(expression) for expression in self.expressions]
        for n, (expression, value) in enumerate(zip(self.expressions, values, strict=True)):
            place = _element(n, self.apart[n], Operand(n, expression.dtype))
            writer.lines += writer.store(expression.dtype, value, f"out{n} + {place}", self.apart[n], "m", stream)
        return writer.lines

    def _take_pack(self, pack: int) -> list[str]:
        """Statements that compute a chunk that is a whole pack."""
        writer = self.writer
        packs = Packs(writer, pack)
        writer.lines, writer.known = [], dict(self._scalars)
        for n, operand in enumerate(self.leaves.operands):
            at = len(self.expressions) + n
            pointer, place, apart = f"in{n}", _element(at, self.apart[at], operand, "(first + c)"), self.apart[at]
            if isinstance(operand, Operand) and apart == "1":
                pointer, place = packs.load(operand.dtype, f"pack{at}", f"in{n} + at{at} + first"), "c"
            writer.known[operand] = load_operand(writer, operand, pointer, place, apart, "1")
        values = [writer.value(expression) for expression in self.expressions]
        for n, (expression, value) in enumerate(zip(self.expressions, values, strict=True)):
            pointer = packs.store(expression.dtype, f"pack{n}", f"out{n} + at{n} + first")
            writer.lines += writer.store(expression.dtype, value, f"{pointer} + c", "1", "1")
        step = [f"        {line}" for line in packs.around(writer.lines)]
        return [f"    if (last - first == {pack}) {{", *step, "        continue;", "    }"]


def _element(n: int, stride: str, operand: Operand | Iota, j: str = "j") -> str:
    place = {"0": f"at{n}", "1": f"at{n} + {j}"}.get(stride, f"at{n} + {j} * {stride}")
    if isinstance(operand, Iota):
        return f"({place})"
    parts = factor(operand.dtype)
    return f"{parts} * ({place})" if parts > 1 else place


@dataclass(frozen=True, slots=True)
class ElementwisePlan:
    """How a kernel walks given arrays.

    Attributes:
        rank: collapsed dimensions that it must walk, see `padded_rank`.
        inner: the inner strides of results and operands, all 0 or 1, if the kernel may rely on them; None: any.
        pack: elements that an instance on a GPU reads and writes at once, see `polyad.codegen.packs`.
        stream: whether the results exceed the caches and lie so that every vector is aligned.
        instances: how many to launch; none if there are no elements.
        geometry: the kernel's last argument.
    """

    rank: int
    inner: Strides | None
    stream: bool
    instances: int
    geometry: bytes
    pack: int = 1


def elementwise_plan(
    lanes: int,
    device: DeviceDescription,
    shape: Shape,
    strides: Sequence[Strides],
    offsets: Sequence[int],
    results: int = 1,
    pack: int = 1,
) -> ElementwisePlan:
    """How a kernel of *lanes* lanes, or of packs of at most *pack* elements, walks arrays of *shape*.

    *strides* (along the dimensions of *shape*) and *offsets*, in elements, are those of the *results*, then of the
    operands.

    >>> plan = elementwise_plan(8, DeviceDescription(), (200, 300), [(300, 1), (300, 1)], [0, 0])
    >>> plan.rank, plan.inner, plan.instances
    (1, (1, 1), 4)
    """
    if 0 in shape:
        return ElementwisePlan(1, None, False, 0, b"")
    sizes, strides = by_memory(shape, strides)
    rank, length, elements = padded_rank(len(sizes)), sizes[-1], math.prod(sizes)
    inner, stream = None, False
    if device.kind == CPU:
        # Chunks are handed out as work items get to them: more than there are cores, so that none waits for the last.
        share = -(-elements // device.workers)
        chunk = max(share, MIN_CHUNK) if share < length else length
        chunk = -(-chunk // lanes) * lanes
        inner, pack = known_inner(strides, lanes, results, elements), 1
        if inner is not None and lanes > 1:
            # Vectors are aligned where packs of as many elements would be.
            exceeds = elements * len(strides) * (device.vector_bytes // lanes) > device.cache_bytes
            stream = exceeds and packs_fit(lanes, strides[:results], offsets[:results])
    else:
        inner = known_inner(strides, lanes, results, elements) if pack > 1 else None
        rows_split = elements > length and length % pack
        if inner is None or rows_split or length < pack or not packs_fit(pack, strides, offsets):
            inner, pack = None, 1
        chunk = pack
    chunks = -(-length // chunk)
    units = elements // length * chunks
    numbers = [units, chunks, chunk, length, *outer_sizes(sizes, rank)]
    for offset, own in zip(offsets, strides, strict=True):
        numbers += (offset, *inner_first(own, rank))
    # Where rows are short, a work item takes several.
    instances = units if device.kind != CPU or chunks > 1 else max(1, min(units, elements // MIN_CHUNK))
    instances = min(instances, 2 * device.workers)
    return ElementwisePlan(rank, inner, stream, instances, struct.pack(f"{len(numbers)}q", *numbers), pack)


def known_inner(strides: Sequence[Strides], lanes: int, results: int, elements: int) -> Strides | None:
    """The inner strides, if a CPU's kernel for just these is worth having: vectors are loaded whole or repeat a number.

    Without vectors in the language, they are the compiler's, which needs to know the strides.

    >>> known_inner([(1,), (0,)], 8, 1, 10000), known_inner([(1,), (2,)], 8, 1, 10000), known_inner([(1,)], 8, 1, 100)
    ((1, 0), None, None)
    """
    if lanes > 1 and elements < MIN_CHUNK:
        return None
    inner = tuple([own[-1] for own in strides])
    for n, stride in enumerate(inner):
        if stride != 1 and (stride or n < results):
            return None
    return inner
