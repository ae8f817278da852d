"""The generator of elementwise kernels.

The operands' layouts are collapsed first; the last dimension that remains is the inner loop, all others are rows. A
row's position is worked out by divisions once a row, never once an element. Sizes and strides are arguments, so one
source serves all shapes of the same rank; only inner strides of 0 and 1 are written into the source, because they
decide whether the compiler can vectorise.

The kernel's parameters, in order: the output pointer, one pointer an operand, ``rows``, the collapsed sizes, then the
output's and each operand's strides, outermost first, in elements. Offsets belong to the pointers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..dtypes import BOOL, FLOATING, INTEGER, DType, float32
from ..errors import ArgumentError, DTypeError
from ..layout import Shape, Strides
from .collapse import collapse
from .dialects import Dialect
from .expression import Apply, Expression, Literal, Operand, operands_of
from .tables import MATH, TEMPLATES


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A kernel ready to compile and launch.

    Attributes:
        name: the kernel's function name.
        text: the whole source.
        sizes: the integer arguments that follow the pointers: rows, sizes, strides.
        rows: how many independent rows there are, the natural number of instances to launch.
        row_length: elements a row.
    """

    name: str
    text: str
    sizes: tuple[int, ...]
    rows: int
    row_length: int


def generate(
    expression: Expression,
    shape: Shape,
    output_strides: Strides,
    operand_strides: Sequence[Strides],
    dialect: Dialect,
    name: str = "kernel_",
) -> KernelSource:
    """The kernel that writes *expression* over *shape*.

    Args:
        expression: what to compute; its operands are numbered as in *operand_strides*.
        shape: the broadcast shape.
        output_strides: of the output, in elements.
        operand_strides: of each operand, in elements, 0 where it is broadcast.
        dialect: the language.
        name: of the kernel function.

    Raises ValueError for strides of another rank than *shape*, RuntimeError for a dtype that the language lacks.

    >>> import polyad
    >>> from polyad.codegen import OPENCL_C, Operand, apply
    >>> x, y = Operand(0, polyad.float32), Operand(1, polyad.float32)
    >>> made = generate(apply("add", x, y), (4, 6), (6, 1), [(6, 1), (0, 1)], OPENCL_C)
    >>> made.rows, made.row_length
    (4, 6)
    """
    for which, strides in (("output", output_strides), *((f"operand {n}", s) for n, s in enumerate(operand_strides))):
        if len(strides) != len(shape):
            raise ArgumentError(
                f"codegen: strides {strides} of {which} do not match shape {shape}", fix="give one stride a dimension"
            )
    dtypes = _operand_dtypes(expression, len(operand_strides))
    for dtype in (*dtypes, expression.dtype):
        if dtype not in dialect.types:
            raise DTypeError(
                f"codegen: {dialect.name} has no {dtype.name}",
                fix="cast to a dtype it has, or run the op as a kernel of its own",
            )
    sizes, steps = collapse(shape, [output_strides, *operand_strides])
    rank = len(sizes)
    rows = math.prod(sizes[:-1])
    index = dialect.index
    pointers = [f"{dialect.address}{dialect.types[expression.dtype]} *out"]
    pointers += [f"const {dialect.address}{dialect.types[dtype]} *in{n}" for n, dtype in enumerate(dtypes)]
    places = ["o", *(f"i{n}" for n in range(len(dtypes)))]
    numbers = ["rows", *(f"n{d}" for d in range(rank)), *(f"{place}s{d}" for place in places for d in range(rank))]
    parameters = ", ".join(pointers + [f"{index} {number}" for number in numbers])
    lines = [
        f"{dialect.prologue}{dialect.qualifier}void {name}({parameters})",
        "{",
        f"    {dialect.rows} {{",
        f"        {index} rest = row;",
    ]
    lines += [f"        {index} {place} = 0;" for place in places]
    for dim in range(rank - 2, -1, -1):
        lines.append(f"        {{ {index} at = rest % n{dim}; rest /= n{dim};")
        lines.append("          " + " ".join(f"{place} += at * {place}s{dim};" for place in places) + " }")
    inner = rank - 1
    lines.append(f"        for ({index} j = 0; j < n{inner}; ++j) {{")
    for n, dtype in enumerate(dtypes):
        lines.append(
            f"            const {dialect.types[dtype]} x{n} = in{n}[{_place(f'i{n}', inner, steps[n + 1][inner])}];"
        )
    lines.append(f"            out[{_place('o', inner, steps[0][inner])}] = {_write(expression, dialect)};")
    lines += ["        }", "    }", "}", ""]
    arguments = (rows, *sizes, *(stride for operand in steps for stride in operand))
    return KernelSource(name, "\n".join(lines), arguments, rows if 0 not in sizes else 0, sizes[-1])


def _place(base: str, inner: int, stride: int) -> str:
    return {0: base, 1: f"{base} + j"}.get(stride, f"{base} + j * {base}s{inner}")


def _operand_dtypes(expression: Expression, count: int) -> list[DType]:
    found: dict[int, DType] = {}
    for operand in operands_of(expression):
        if found.setdefault(operand.position, operand.dtype) is not operand.dtype:
            raise DTypeError(
                f"codegen: operand {operand.position} occurs as {operand.dtype.name} "
                f"and {found[operand.position].name}",
                fix="use one dtype, and casts",
            )
    if sorted(found) != list(range(count)):
        raise ArgumentError(
            f"codegen: the expression uses operands {sorted(found)}, strides are given for {count}",
            fix="number operands from 0 without gaps",
        )
    return [found[position] for position in range(count)]


def _write(expression: Expression, dialect: Dialect) -> str:
    if isinstance(expression, Operand):
        return f"x{expression.position}"
    if isinstance(expression, Literal):
        return _literal(expression, dialect)
    assert isinstance(expression, Apply)
    arguments = [_write(argument, dialect) for argument in expression.arguments]
    kind = expression.arguments[-1].dtype
    if expression.op == "cast" and expression.dtype.category == BOOL:
        return f"({arguments[0]} != 0)"
    if expression.op in ("add", "mul") and kind.category == BOOL:
        return f"({arguments[0]} {'||' if expression.op == 'add' else '&&'} {arguments[1]})"
    if expression.op in (*MATH, "div") and kind.category < FLOATING:
        raise DTypeError(
            f"codegen: {expression.op} of {kind.name}", fix='promote it first: apply("cast", x, dtype=polyad.float32)'
        )
    text = TEMPLATES[expression.op].format(
        *arguments, type=dialect.types[expression.dtype], **{op: op + dialect.suffixes.get(kind, "") for op in MATH}
    )
    # C computes small integers in int: bring the result back to its own width, where it wraps.
    return (
        f"(({dialect.types[expression.dtype]}){text})"
        if expression.dtype.category == INTEGER and expression.op != "cast"
        else text
    )


def _literal(literal: Literal, dialect: Dialect) -> str:
    value, dtype = literal.value, literal.dtype
    if dtype.category < FLOATING:
        return str(int(value)) if value != -(2**63) else "(-9223372036854775807 - 1)"
    value = float(value)
    if math.isnan(value) or math.isinf(value):
        # Division says NaN and infinity in every dialect without a header.
        suffix = "f" if dtype is float32 else ""
        return f"({'-' if value < 0 else ''}{'0' if math.isnan(value) else '1'}.0{suffix} / 0.0{suffix})"
    return f"({value!r}f)" if dtype is float32 else f"({value!r})"
