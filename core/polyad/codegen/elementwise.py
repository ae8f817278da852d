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

from ..base.shapes_and_strides import Shape, Strides
from ..loops.elements import elements
from .collapse import by_memory, inner_first, outer_sizes
from .dialects import Dialect
from .expression import Expression
from .frame import (
    MIN_CHUNK,
    KernelSource as KernelSource,
    Leaves as Leaves,
    Parameters,
    lanes_for as lanes_for,
    padded_rank as padded_rank,
)
from .hardware import CPU, DeviceDescription
from .packs import packs_fit
from .printer import source_of


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
    on_cpu = device.kind == CPU
    body = elements(expressions, leaves.operands, lanes, rank, inner, stream, pack, on_cpu)
    numbers = 3 + rank + (len(results) + len(leaves.operands)) * (rank + 1)
    return source_of(body, dialect, parameters, leaves.scalars, numbers, name=name, lanes=lanes, rank=rank)


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
