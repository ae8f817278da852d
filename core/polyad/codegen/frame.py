"""What every generated kernel has around its loops: operands and numbers, parameters, the geometry, the entry point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..base.dtypes import FLOATING, DType, int64
from ..errors import ArgumentError, DTypeError
from .dialects import Dialect
from .expression import Expression, Iota, Operand, Scalar, dtypes_of, leaves_of
from .hardware import CPU, DeviceDescription
from .writer import Writer, computed_in

MAX_LANES = 16
"""OpenCL C has no longer vectors."""

MIN_CHUNK = 4096
"""Elements below which a CPU's work-item is not worth another, nor an array a kernel for dense vectors alone."""


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A kernel ready to compile.

    Attributes:
        name: the kernel function's name.
        text: the whole source.
        arrays: dtypes of results and operands that have pointers, in order.
        scalars: dtypes in which the numbers are passed, in order; a complex number counts twice.
        lanes: elements that a step of its loop takes.
        rank: collapsed dimensions that it can walk.
        entry: the function through which a host calls it, see `kernel_source`; empty where the language's runtime sets
            arguments.
        group: how many instances must make a group, which cooperates; 1: as many as one likes.
    """

    name: str
    text: str
    arrays: tuple[DType, ...]
    scalars: tuple[DType, ...]
    lanes: int
    rank: int
    entry: str = ""
    group: int = 1


def lanes_for(expressions: Sequence[Expression], dialect: Dialect, device: DeviceDescription) -> int:
    """How many elements a vector of the device has, by the widest dtype that occurs."""
    if not dialect.vector or device.kind != CPU:
        return 1
    widest = max(computed_in(dtype).itemsize for dtype in dtypes_of(*expressions))
    return max(1, min(MAX_LANES, device.vector_bytes // widest))


def padded_rank(rank: int) -> int:
    """The rank of the kernel that serves *rank* collapsed dimensions: few kernels serve all.

    >>> [padded_rank(rank) for rank in (1, 2, 3, 5, 9)]
    [1, 2, 4, 8, 16]
    """
    return 1 if rank <= 1 else 1 << (rank - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Leaves:
    """What a kernel's expressions refer to: operands by position, numbers by position."""

    operands: tuple[Operand | Iota, ...]
    scalars: tuple[Scalar, ...]

    @classmethod
    def of(cls, expressions: Sequence[Expression]) -> Leaves:
        """Raises RuntimeError or ValueError for positions with gaps or with two dtypes."""
        found: dict[type, dict[int, Expression]] = {Operand: {}, Scalar: {}}
        for leaf in leaves_of(*expressions):
            if not isinstance(leaf, (Operand, Iota, Scalar)):
                continue
            before = found[Scalar if isinstance(leaf, Scalar) else Operand].setdefault(leaf.position, leaf)
            if before != leaf:
                raise DTypeError(
                    f"codegen: operand {leaf.position} occurs as {before.dtype.name} and {leaf.dtype.name}",
                    fix="use one dtype, and casts",
                )
        for leaf_type, leaves in found.items():
            if sorted(leaves) != list(range(len(leaves))):
                raise ArgumentError(
                    f"codegen: the expression uses {leaf_type.__name__.lower()}s {sorted(leaves)}",
                    fix="number them from 0 without gaps",
                )
        operands, scalars = (tuple(leaves[n] for n in range(len(leaves))) for leaves in found.values())
        return cls(operands, scalars)  # type: ignore[arg-type]


def scalar_dtypes(scalars: Sequence[Scalar]) -> tuple[DType, ...]:
    """The dtypes in which a kernel gets its numbers."""
    passed: list[DType] = []
    for scalar in scalars:
        own = computed_in(scalar.dtype)
        own = own if own.category == FLOATING else int64
        passed += [own, own] if scalar.dtype.is_complex else [own]
    return tuple(passed)


def declare_scalars(writer: Writer, scalars: Sequence[Scalar]) -> None:
    """Variables that hold the numbers in every lane."""
    parameter = 0
    for scalar in scalars:
        names = []
        for _ in range(2 if scalar.dtype.is_complex else 1):
            own, type_name = computed_in(scalar.dtype), writer.type_of(scalar.dtype)
            names.append(writer.declare(scalar.dtype, f"({type_name})(({writer.dialect.types[own]})c{parameter})"))
            parameter += 1
        writer.known[scalar] = tuple(names)


@dataclass(frozen=True, slots=True)
class Parameters:
    """A kernel's parameters: the types of its pointers and numbers, and the dtypes behind them, in order."""

    pointers: tuple[tuple[str, str], ...]
    arrays: tuple[DType, ...]
    numbers: tuple[str, ...]
    scalars: tuple[DType, ...]

    @classmethod
    def of(cls, dialect: Dialect, results: Sequence[DType], leaves: Leaves) -> Parameters:
        """Results and operands are named out0, out1, ..., in0, in1, ...; numbers c0, c1, ...

        Raises RuntimeError for a dtype that the language lacks.
        """
        for dtype in (*results, *(operand.dtype for operand in leaves.operands)):
            if dtype.to_real() not in dialect.types:
                raise DTypeError(
                    f"codegen: {dialect.name} has no {dtype.name}",
                    fix="cast to a dtype it has, or run the op as a kernel of its own",
                )
        held = [(n, operand) for n, operand in enumerate(leaves.operands) if isinstance(operand, Operand)]
        named = [(dtype, "", f"out{n}") for n, dtype in enumerate(results)]
        named += [(operand.dtype, "const ", f"in{n}") for n, operand in held]
        listed = [(f"{how}{dialect.address}{dialect.types[dtype.to_real()]} *", name) for dtype, how, name in named]
        scalars = scalar_dtypes(leaves.scalars)
        return cls(
            tuple(listed),
            tuple(dtype for dtype, _, _ in named),
            tuple(f"const {dialect.types[dtype]} " for dtype in scalars),
            scalars,
        )


def kernel_source(
    dialect: Dialect,
    name: str,
    parameters: Parameters,
    numbers: int,
    functions: Iterable[str],
    body: Iterable[str],
    *,
    lanes: int,
    rank: int,
    group: int = 1,
) -> KernelSource:
    """The whole source of a kernel with a geometry of *numbers* numbers.

    In C, where nobody sets arguments or counts instances, the kernel is followed by an entry point by which a host
    calls every kernel alike, from as many threads as it likes::

        void NAME_entry(void *const *arrays, const void *const *numbers, const void *geometry,
                        long long worker, long long workers)

    *arrays* are the pointers of results and operands, *numbers* point to a number each, of `KernelSource.scalars`;
    this call does the part of *worker* among *workers*.
    """
    listed = [f"{start}{name}" for start, name in parameters.pointers]
    listed += [f"{start}c{n}" for n, start in enumerate(parameters.numbers)]
    listed += ["const Geometry g", *(f"const {dialect.wide} {name}" for name in dialect.instance)]
    parts = [
        dialect.prologue,
        f"typedef struct {{ {dialect.wide} at[{numbers}]; }} Geometry;\n",
        *functions,
        f"{dialect.kernel}void {name}({', '.join(listed)})\n{{\n",
        *(f"    {line}\n" for line in body),
        "}\n",
    ]
    entry = f"{name}_entry" if dialect.instance else ""
    if entry:
        given = [f"({start})arrays[{n}]" for n, (start, _) in enumerate(parameters.pointers)]
        given += [f"*({start}*)numbers[{n}]" for n, start in enumerate(parameters.numbers)]
        given += ["*(const Geometry *)geometry", *dialect.instance]
        parts.append(
            f"void {entry}(void *const *arrays, const void *const *numbers, const void *geometry, "
            f"{', '.join(f'{dialect.wide} {name}' for name in dialect.instance)})\n"
            f"{{\n    {name}({', '.join(given)});\n}}\n"
        )
    return KernelSource(name, "".join(parts), parameters.arrays, parameters.scalars, lanes, rank, entry, group)
