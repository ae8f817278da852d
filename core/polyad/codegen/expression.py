"""Expressions: what a fused elementwise kernel computes, as a tree of ops by their declared names.

Dtypes have been promoted before: an op's arguments all have the dtype that dispatch would cast them to, and casts are
explicit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..dtypes import DType
from ..errors import DTypeError, NotSupported
from .tables import COMPARISONS, TEMPLATES


@dataclass(frozen=True, slots=True)
class Operand:
    """The element of tensor operand number *position* at the current index."""

    position: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Literal:
    """A number written into the source."""

    value: bool | int | float
    dtype: DType


@dataclass(frozen=True, slots=True)
class Apply:
    """Op *op* applied to arguments, giving *dtype*."""

    op: str
    arguments: tuple[Expression, ...]
    dtype: DType


Expression = Operand | Literal | Apply


def apply(op: str, *arguments: Expression, dtype: DType | None = None) -> Apply:
    """*op* of *arguments*; the result dtype follows from the op unless it is a cast.

    Raises NotImplementedError for an op the generator has no formula for, RuntimeError for arguments of several dtypes.

    >>> import polyad
    >>> from polyad.codegen import Operand, apply
    >>> x = Operand(0, polyad.float32)
    >>> apply("mul", x, apply("exp", x)).dtype
    polyad.float32
    """
    from ..dtypes import bool_

    if op not in TEMPLATES:
        raise NotSupported(
            f"codegen: no formula for {op}",
            fix=f"use one of {', '.join(sorted(TEMPLATES))}, or run it as a kernel of its own",
        )
    values = arguments[1:] if op == "where" else arguments
    if len({argument.dtype for argument in values}) != 1:
        found = ", ".join(argument.dtype.name for argument in values)
        raise DTypeError(
            f"codegen: {op} gets arguments of several dtypes: {found}",
            fix='promote them first: apply("cast", x, dtype=...)',
        )
    if op == "cast":
        if dtype is None:
            raise DTypeError("codegen: cast needs a dtype", fix='write apply("cast", x, dtype=polyad.float32)')
        return Apply(op, arguments, dtype)
    return Apply(op, arguments, bool_ if op in COMPARISONS else values[0].dtype)


def operands_of(expression: Expression) -> Iterator[Operand]:
    """Every operand that occurs, as often as it occurs."""
    if isinstance(expression, Operand):
        yield expression
    elif isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from operands_of(argument)
