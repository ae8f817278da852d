"""What losses have in common: putting the elements' losses together, and checks of their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.dtypes import FLOATING
from ....base.shapes_and_strides import Shape, broadcast_shapes
from ....base.state import warn_user
from ....dispatch.promotion import Typing, common_dtype
from ....errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError, UnsupportedDType, safe_repr
from ....tensor.tensor import check_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....backend.interface import Signature
    from ....tensor import Tensor

REDUCTIONS = ("mean", "sum", "none")


def reduction_of(
    op: str,
    size_average: bool | None,
    reduce: bool | None,
    reduction: str,
    allowed: tuple[str, ...] = REDUCTIONS,
) -> str:
    """How the elements' losses are put together, by the older arguments if any of them is given.

    Raises ValueError for an unknown reduction.
    """
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warn_user(f"{op}: size_average and reduce are deprecated; use reduction={reduction!r}", UserWarning)
    if reduction not in allowed:
        raise ArgumentError(
            f"{op}: reduction {safe_repr(reduction)} is unknown", fix=f"use one of {', '.join(map(repr, allowed))}"
        )
    return reduction


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The elements' losses put together."""
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def weighted(op: str, loss: Tensor, weight: Any, reduction: str, *, by_weight: bool) -> Tensor:
    """Losses times a *weight* for each element; their mean is over the weights if *by_weight*, else over elements.

    Raises ValueError unless weight has the shape of the losses.
    """
    if weight is None:
        return reduced(loss, reduction)
    if check_tensor(weight, op, "weight")._array.shape != loss._array.shape:
        raise ArgumentError(
            f"{op}: weight {tuple(weight.shape)} does not hold one number for each loss of {tuple(loss.shape)}",
            operands={"weight": weight},
            fix=f"expand it to {tuple(loss.shape)}",
        )
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" and by_weight else reduced(loss, reduction)


def check_pair(op: str, input: Any, target: Any, error: type[ArgumentError] | type[ShapeError] = ShapeError) -> None:
    """Raise unless *input* and *target* are tensors of the same shape."""
    check_tensor(input, op, "input")
    check_tensor(target, op, "target")
    if input._array.shape != target._array.shape:
        raise error(
            f"{op}: input {tuple(input.shape)} and target {tuple(target.shape)} must have one shape; "
            "losses do not broadcast",
            operands={"input": input, "target": target},
            fix="reshape, squeeze or expand either to the other's shape",
        )


def broadcast_pair(op: str, input: Any, target: Any) -> tuple[Tensor, Tensor]:
    """*input* and *target* in the shape that they broadcast to, see `check_broadcast`."""
    both = check_broadcast(op, input, target)
    return (input, target) if input._array.shape == target._array.shape else (input.expand(both), target.expand(both))


def check_broadcast(op: str, input: Any, target: Any) -> Shape:
    """The shape to which *input* and *target* broadcast; warns if they differ, since that is seldom meant."""
    shape: Shape = check_tensor(input, op, "input")._array.shape
    other: Shape = check_tensor(target, op, "target")._array.shape
    if shape == other:
        return shape
    try:
        both = broadcast_shapes(shape, other)
    except ShapeError:
        raise ShapeError(
            f"{op}: input {tuple(shape)} and target {tuple(other)} do not broadcast",
            operands={"input": input, "target": target},
            fix="reshape, squeeze or expand either to the other's shape",
        ) from None
    warn_user(
        f"{op}: target {tuple(other)} has another shape than input {tuple(shape)}; they broadcast, which is likely to "
        "give a wrong loss. Give both one shape",
        UserWarning,
    )
    return both


def check_floating(op: str, *tensors: Tensor, complex: bool = False) -> None:
    """Raise unless what the *tensors* promote to is floating point (or complex, if that is allowed)."""
    dtype = common_dtype(tuple(tensor._type for tensor in tensors))
    if dtype.category < FLOATING or (dtype.is_complex and not complex):
        raise UnsupportedDType(
            f"{op}: {dtype.name} elements have no such loss",
            operands={"input": tensors[0]},
            fix="convert them to a floating point dtype",
        )


def check_number(op: str, name: str, value: Any) -> float:
    """*value* if it is a number; raises TypeError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"{op}: {name} is {safe_repr(value)}, not a number", fix="pass a float")
    return value


def check_least(op: str, name: str, value: Any, least: float, *, strict: bool) -> None:
    """Raise unless *value* is a number that is at least *least*, or above it if *strict*."""
    if check_number(op, name, value) < least or (strict and value == least):
        raise ShapeError(
            f"{op}: {name} {value} must be {'greater than' if strict else 'at least'} {least}",
            fix="pass a larger number",
        )


def check_fits(op: str, input: Tensor, **others: Tensor | None) -> None:
    """Raise unless each of *others* that is given broadcasts to the shape of *input* and no further."""
    for name, other in others.items():
        if other is None:
            continue
        sizes = check_tensor(other, op, name)._array.shape
        try:
            fits = broadcast_shapes(input._array.shape, sizes) == input._array.shape
        except ShapeError:
            fits = False
        if not fits:
            raise ShapeError(
                f"{op}: {name} {tuple(sizes)} does not broadcast to input {tuple(input.shape)}",
                operands={"input": input, name: other},
                fix=f"make {name} of input's shape, or of its last dimensions",
            )


def first_floating(op: str) -> Any:
    """The dtype rule of an op whose result has the first operand's dtype, which must be floating point."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        dtype = types[0].dtype
        if dtype.category != FLOATING:
            raise UnsupportedDType(
                f"{op}: input is {dtype.name}, not floating point", fix="convert it first: input.float()"
            )
        return Typing((None,) * len(types), (dtype,))

    return rule


def check_same_dtype(op: str, input: Tensor, **others: Tensor | None) -> None:
    """Raise unless each of *others* that is given has the dtype of *input*."""
    for name, other in others.items():
        if other is not None and check_tensor(other, op, name)._type.dtype is not input._type.dtype:
            raise DTypeError(
                f"{op}: {name} is {other._type.dtype.name}, input is {input._type.dtype.name}",
                operands={"input": input, name: other},
                fix=f"convert it: {name}.to(input.dtype)",
            )
