"""Dtype rules: from the operands' types to the dtype each is cast to and the dtypes of the results.

A rule is a callable ``rule(types, params) -> Typing``: *types* has an entry for each operand
(`polyad.backend.interface.Signature`), *params* are the op's keyed parameters by name. To add a rule, write a function
here or beside the op that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..backend.interface import Signature, TensorType
from ..backend.preparation import flat
from ..base.dtypes import BOOL, FLOATING, INTEGER, DType, bool_, float64, get_default_dtype, int64, result_dtype
from ..errors import UnsupportedDType


class Typing(NamedTuple):
    """What a rule decides: a dtype to cast each operand to (None: leave it), and the dtype of each output.

    A number is cast too, if that dtype is a half type (`polyad.dispatch.half_numbers`); others hold it well enough.

    *number* is the position of a number that has to be a 0-d tensor, where no tensor says in which dtype the kernel
    should work.
    """

    casts: tuple[DType | None, ...]
    outputs: tuple[DType, ...]
    number: int | None = None


Rule = Callable[[Signature, Mapping[str, Any]], Typing]


def common_dtype(types: Signature) -> DType:
    """PyTorch's result_type of the operands; absent operands (NoneType) do not count."""
    dimensioned: list[DType] = []
    zero_dim: list[DType] = []
    numbers: list[type] = []
    for entry in flat(types):
        if isinstance(entry, TensorType):
            (zero_dim if entry.zero_dim else dimensioned).append(entry.dtype)
        elif entry is not type(None):
            numbers.append(entry)
    return result_dtype(dimensioned, zero_dim, numbers)


def promoted(types: Signature, params: Mapping[str, Any]) -> Typing:
    """All operands to their common dtype, which is the result's too."""
    dtype = common_dtype(types)
    return Typing((dtype,) * len(types), (dtype,))


def promoted_float(types: Signature, params: Mapping[str, Any]) -> Typing:
    """As `promoted`, but integers and bool become the default floating dtype."""
    dtype = common_dtype(types)
    if dtype.category < FLOATING:
        dtype = get_default_dtype()
    return Typing((dtype,) * len(types), (dtype,))


def widest(type_: TensorType) -> DType:
    """float64, or on a device without it the tensor type's own dtype."""
    return float64 if float64 in type_.backend.capabilities(type_.device).dtypes else type_.dtype


def comparison(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Operands to their common dtype, the result is bool."""
    return Typing((common_dtype(types),) * len(types), (bool_,))


def to_bool(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Operands as they are, the result is bool."""
    return Typing((None,) * len(types), (bool_,))


def first(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Operands as they are; the result has the first tensor's dtype."""
    return Typing((None,) * len(types), (next(t.dtype for t in flat(types) if isinstance(t, TensorType)),))


def to_int64(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Operands as they are, the result is int64 (positions, counts)."""
    return Typing((None,) * len(types), (int64,))


def summed(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Operands as they are; integers and bool add up in int64, everything else in its own dtype."""
    dtype = types[0].dtype
    return Typing((None,) * len(types), (int64 if dtype.category <= INTEGER else dtype,))


def keyed_dtype(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Operands as they are; the result has the dtype of the op's ``dtype`` parameter."""
    return Typing((None,) * len(types), (params["dtype"],))


def exact_numbers(rule: Rule, *places: int) -> Rule:
    """*rule*, with the numbers at *places* left as they are, also beside a half type."""

    def without_casts(types: Signature, params: Mapping[str, Any]) -> Typing:
        typing = rule(types, params)
        casts = [
            None if place in places and not isinstance(types[place], TensorType) else cast
            for place, cast in enumerate(typing.casts)
        ]
        return Typing(tuple(casts), typing.outputs, typing.number)

    return without_casts


def floating_only(op: str, rule: Rule = promoted) -> Rule:
    """*rule*, refusing integer and bool operands as PyTorch does for op."""

    def checked(types: Signature, params: Mapping[str, Any]) -> Typing:
        typing = rule(types, params)
        if typing.outputs[0].category < FLOATING:
            raise UnsupportedDType(
                f"{op}: input is {typing.outputs[0].name}; only floating point and complex tensors have this",
                fix="convert it first: input.float()",
            )
        return typing

    return checked


def not_bool(op: str, rule: Rule = promoted) -> Rule:
    """*rule*, refusing bool operands as PyTorch does for op."""

    def checked(types: Signature, params: Mapping[str, Any]) -> Typing:
        typing = rule(types, params)
        if typing.outputs[0].category == BOOL:
            raise UnsupportedDType(
                f"{op}: bool tensors have no such operation",
                fix="use logical_not, logical_xor or ^, or convert to an integer dtype",
            )
        return typing

    return checked


def no_bool_operand(op: str, rule: Rule = promoted) -> Rule:
    """*rule*, refusing any bool among the operands, even beside other dtypes."""

    def checked(types: Signature, params: Mapping[str, Any]) -> Typing:
        if any(
            entry is bool or (isinstance(entry, TensorType) and entry.dtype.category == BOOL) for entry in flat(types)
        ):
            raise UnsupportedDType(
                f"{op}: an operand is bool",
                fix="use logical_xor, ^ or ~ to invert a mask, or convert to an integer dtype",
            )
        return rule(types, params)

    return checked


def not_complex(op: str, rule: Rule = promoted) -> Rule:
    """*rule*, refusing complex operands: they have no order, hence no extremes, floors or remainders."""

    def checked(types: Signature, params: Mapping[str, Any]) -> Typing:
        for entry in flat(types):
            if entry is complex or (isinstance(entry, TensorType) and entry.dtype.is_complex):
                raise UnsupportedDType(
                    f"{op}: complex numbers have no order, so they have no such operation",
                    fix="take the real part or the absolute value first",
                )
        return rule(types, params)

    return checked


def integral_only(op: str, rule: Rule = promoted, *, bools: bool = True) -> Rule:
    """*rule*, refusing everything but integers and, if *bools*, bool."""

    def checked(types: Signature, params: Mapping[str, Any]) -> Typing:
        typing = rule(types, params)
        dtype = typing.outputs[0]
        if dtype.category > INTEGER or (dtype.category == BOOL and not bools):
            raise UnsupportedDType(
                f"{op}: operands are {dtype.name}; only integer{' and bool' if bools else ''} tensors have this",
                fix="convert them first, for example with .to(polyad.int64)",
            )
        return typing

    return checked
