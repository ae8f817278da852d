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

The kernel's parameters, in order: the results' pointers, the operands' pointers (none for a `Place`), the scalars (a
complex number is two, a bool or integer an int64), the geometry.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.layout import Shape, Strides
from .collapse import by_memory
from .dialects import Dialect
from .expression import Expression, Operand, Place
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
    wide, outer = dialect.wide, rank - 1
    base, step = 4 + outer, rank + 1
    dtypes = [*results, *(operand.dtype for operand in leaves.operands)]
    places = range(len(dtypes))
    head = neighbouring(dialect) if device.kind == CPU else interleaved(dialect)
    head.append(f"    {wide} row = {'unit / g.at[1]' if outer else '0'};")
    head.append(f"    const {wide} first = (unit - row * g.at[1]) * g.at[2];")
    head.append(f"    const {wide} last = first + g.at[2] < g.at[3] ? first + g.at[2] : g.at[3];")
    apart = [f"s{n}" if inner is None else str(inner[n]) for n in places]
    for n in places:
        head.append(f"    {wide} at{n} = g.at[{base + n * step}];")
        if inner is None:
            head.append(f"    const {wide} s{n} = g.at[{base + n * step + 1}];")
    for dim in range(outer - 1, -1, -1):
        head.append(f"    {{ const {wide} rest = row / g.at[{4 + dim}], at = row - rest * g.at[{4 + dim}]; row = rest;")
        head += [f"      at{n} += at * g.at[{base + n * step + 2 + dim}];" for n in places]
        head.append("    }")
    writer = Writer(dialect, lanes)
    declare_scalars(writer, leaves.scalars)
    lifted, writer.lines, declared = writer.lines, [], dict(writer.known)
    for n, operand in enumerate(leaves.operands):
        at = len(results) + n
        writer.known[operand] = load_operand(
            writer, operand, f"in{n}", _element(at, apart[at], operand), apart[at], "m"
        )
    values = [writer.value(expression) for expression in expressions]
    for n, (dtype, value) in enumerate(zip(results, values, strict=True)):
        place = _element(n, apart[n], Operand(n, dtype))
        writer.lines += writer.store(dtype, value, f"out{n} + {place}", apart[n], "m", stream)
    scalar = writer.lines
    whole: list[str] = []
    if pack > 1:
        packs = Packs(writer, pack)
        writer.lines, writer.known = [], declared
        for n, operand in enumerate(leaves.operands):
            at = len(results) + n
            if isinstance(operand, Operand) and apart[at] == "1":
                pointer = packs.loaded(operand.dtype, f"pack{at}", f"in{n} + at{at} + first")
                writer.known[operand] = load_operand(writer, operand, pointer, "c", "1", "1")
            else:
                place = _element(at, apart[at], operand, "(first + c)")
                writer.known[operand] = load_operand(writer, operand, f"in{n}", place, apart[at], "1")
        values = [writer.value(expression) for expression in expressions]
        for n, (dtype, value) in enumerate(zip(results, values, strict=True)):
            pointer = packs.stored(dtype, f"pack{n}", f"out{n} + at{n} + first")
            writer.lines += writer.store(dtype, value, f"{pointer} + c", "1", "1")
        taken = [f"        {line}" for line in packs.around(writer.lines)]
        whole = [f"    if (last - first == {pack}) {{", *taken, "        continue;", "    }"]
        writer.lines = scalar
    loop = [f"    {line}" for line in (*whole, *independent(dialect, inner))]
    if dialect.turns and device.kind != CPU:  # what a pack leaves over
        loop.append(f"    {dialect.turns}")
    loop.append(f"    for ({wide} j = first; j < last; j += {lanes}) {{")
    if lanes > 1:
        loop.append(f"        const int m = last - j < {lanes} ? (int)(last - j) : {lanes};")
    body = [*lifted, *head, *loop, *(f"        {line}" for line in writer.lines), "    }", "}"]
    numbers = base + len(dtypes) * step
    return kernel_source(dialect, name, parameters, numbers, writer.functions.values(), body, lanes=lanes, rank=rank)


def _element(n: int, stride: str, operand: Operand | Place, j: str = "j") -> str:
    place = {"0": f"at{n}", "1": f"at{n} + {j}"}.get(stride, f"at{n} + {j} * {stride}")
    if isinstance(operand, Place):
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
    sizes, steps = by_memory(shape, strides)
    rank = padded_rank(len(sizes))
    if rank > len(sizes):
        pad = rank - len(sizes)
        sizes, steps = (1,) * pad + sizes, tuple([(0,) * pad + step for step in steps])
    length, rows = sizes[-1], 1
    for size in sizes[:-1]:
        rows *= size
    inner, stream = None, False
    if device.kind == CPU:
        # Chunks are handed out as instances get to them: more than there are cores, so that none waits for the last.
        share = -(-rows * length // device.workers)
        chunk = max(share, MIN_CHUNK) if share < length else length
        chunk = -(-chunk // lanes) * lanes
        inner = known_inner(steps, lanes, results, rows * length)
        if (
            inner is not None
            and lanes > 1
            and rows * length * len(steps) * (device.vector_bytes // lanes) > device.cache_bytes
        ):
            stream = not any(
                place % lanes for step, offset in zip(steps[:results], offsets) for place in (offset, *step[:-1])
            )
        pack = 1
    else:
        inner = known_inner(steps, lanes, results, rows * length) if pack > 1 else None
        if inner is None or (rows > 1 and length % pack) or length < pack or not packs_fit(pack, steps, offsets):
            inner, pack = None, 1
        chunk = pack
    chunks = -(-length // chunk)
    units = rows * chunks
    numbers = [units, chunks, chunk, length, *sizes[:-1]]
    for offset, step in zip(offsets, steps, strict=True):
        numbers += (offset, step[-1], *step[:-1])
    if device.kind != CPU or chunks > 1:
        instances = units
    else:
        # Rows are short: several an instance.
        instances = max(1, min(units, units * length // MIN_CHUNK))
    instances = min(instances, 2 * device.workers)
    return ElementwisePlan(rank, inner, stream, instances, struct.pack(f"{len(numbers)}q", *numbers), pack)


def known_inner(steps: Sequence[Strides], lanes: int, results: int, elements: int) -> Strides | None:
    """The inner strides, if a CPU's kernel for just these is worth having: vectors are loaded whole or repeat a number.

    Without vectors in the language, they are the compiler's, which needs to know the strides.

    >>> known_inner([(1,), (0,)], 8, 1, 10000), known_inner([(1,), (2,)], 8, 1, 10000), known_inner([(1,)], 8, 1, 100)
    ((1, 0), None, None)
    """
    if lanes > 1 and elements < MIN_CHUNK:
        return None
    inner = tuple([step[-1] for step in steps])
    for n, step in enumerate(inner):
        if step != 1 and (step or n < results):
            return None
    return inner
