"""Checks of arguments that functions of many families make, each with one message.

All are called ``check(op, name, value, ...)``: the public function, its parameter as the user wrote it, and what was
given. *error* is the class that PyTorch's users expect there, *operands* are the arguments that the message lists
(without any, it lists none). A function that is called for small tensors again and again makes its
check where it stands, without a call.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ...base.dtypes import FLOATING
from ...errors import ArgumentTypeError, DTypeError, OptionError, PolyadError, ShapeError, safe_repr

if TYPE_CHECKING:
    from ...base.dtypes import DType
    from ...tensor import Tensor

Operands = Mapping[str, Any] | None
Error = type[PolyadError]


def check_int(op: str, name: str, value: Any, operands: Operands = None, fix: str = "pass an int") -> int:
    """*value*; TypeError for all but ints."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{op}: {name} is {safe_repr(value)}, not an int", operands=operands, fix=fix)
    return value


def check_number(op: str, name: str, value: Any, operands: Operands = None, fix: str = "pass a float") -> float:
    """*value*; TypeError for all but ints and floats."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"{op}: {name} is {safe_repr(value)}, not a number", operands=operands, fix=fix)
    return value


def check_flag(op: str, name: str, value: Any, operands: Operands = None, fix: str = "pass True or False") -> None:
    """TypeError for all but bools."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{op}: {name} is {safe_repr(value)}, not a bool", operands=operands, fix=fix)


def check_choice(
    op: str,
    name: str,
    value: Any,
    choices: Collection[Any],
    error: Error = OptionError,
    operands: Operands = None,
    fix: str = "",
) -> None:
    """Raise unless *value* is one of *choices*."""
    if value not in choices:
        fix = fix or f"choose one of {', '.join(map(repr, choices))}"
        raise error(f"{op}: {name} is {safe_repr(value)}", operands=operands, fix=fix)


def check_least(
    op: str,
    name: str,
    value: Any,
    least: float,
    error: Error = ShapeError,
    operands: Operands = None,
    fix: str = "",
    *,
    above: bool = False,
) -> None:
    """Raise unless the number *value* is at least *least*, or *above* it; nan is neither."""
    if not (value > least if above else value >= least):
        rule = f"{safe_repr(value)} must be above {least}" if above else f"is {safe_repr(value)}, below {least}"
        fix = fix or f"choose {name} {'>' if above else '>='} {least}"
        raise error(f"{op}: {name} {rule}", operands=operands, fix=fix)


def check_probability(
    op: str, name: str, value: Any, error: Error = ShapeError, operands: Operands = None, fix: str = ""
) -> None:
    """Raise unless the number *value* is in [0, 1]."""
    if not 0 <= value <= 1:
        fix = fix or "pass a number from 0 to 1"
        raise error(f"{op}: {name} {safe_repr(value)} is not in [0, 1]", operands=operands, fix=fix)


def check_ndim(
    op: str,
    name: str,
    tensor: Tensor,
    least: int,
    most: int | None,
    error: Error = ShapeError,
    operands: Operands = None,
    fix: str = "",
) -> None:
    """Raise unless *tensor* has *least* to *most* dimensions; None is any number."""
    ndim = tensor.ndim
    if ndim < least or (most is not None and ndim > most):
        if least == most:
            rule = f"not {least}"
        elif least + 1 == most and least:
            rule = f"not {least} or {most}"
        else:
            rule = f"fewer than {least}" if ndim < least else f"more than {most}"
        raise error(
            f"{op}: {name} has {ndim} dimensions, {rule}",
            operands={name: tensor} if operands is None else operands,
            fix=fix,
        )


def check_dtype(
    op: str,
    name: str,
    tensor: Tensor,
    like: str,
    other: Tensor,
    error: Error = DTypeError,
    operands: Operands = None,
    fix: str = "",
) -> None:
    """Raise unless *tensor* has the dtype of the argument *like*, which is *other*."""
    if tensor._type.dtype is not other._type.dtype:
        raise error(
            f"{op}: {name} must have {like}'s dtype",
            operands={like: other, name: tensor} if operands is None else operands,
            fix=fix or f"convert it: {name}.to({like}.dtype)",
        )


def check_floating(
    op: str,
    name: str,
    dtype: DType,
    error: Error = DTypeError,
    operands: Operands = None,
    fix: str = "",
    *,
    complex: bool = False,
) -> None:
    """Raise unless *dtype*, that of the argument *name*, is a floating point dtype, or with *complex* a complex one."""
    if dtype.category < FLOATING or (dtype.category > FLOATING and not complex):
        fix = fix or f"convert it first: {name}.float()"
        raise error(f"{op}: {name} is {dtype.name}, not floating point", operands=operands, fix=fix)


def check_distinct(op: str, dims: tuple[int, ...], given: Any, operands: Operands = None) -> None:
    """Raise if *dims*, which *given* names, hold a dimension twice."""
    if len(set(dims)) != len(dims):
        raise ShapeError(
            f"{op}: dim {safe_repr(given)} names a dimension twice", operands=operands, fix="name each dimension once"
        )
