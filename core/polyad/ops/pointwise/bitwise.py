"""Operations on bits, for integers and bool, and on truth values, for every dtype. They have no gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.dtypes import INTEGER, bool_
from ...dispatch.op import composite, method, primitive
from ...dispatch.promotion import integral_only, to_bool
from ...dispatch.structure import pointwise
from ...errors import ArgumentTypeError
from ...tensor import Tensor

if TYPE_CHECKING:
    Number = bool | int | float | complex


@primitive(dtype=integral_only("bitwise_and"), structure=pointwise, inplace=True, also={"self": "input"})
def bitwise_and(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits that both operands have; of bools, their conjunction. The operator ``&``.

    Shapes broadcast; dtypes promote. Raises RuntimeError unless operands are integer or bool, and when shapes do not
    broadcast.

    >>> import polyad
    >>> polyad.bitwise_and(polyad.tensor([6, 5]), 3)
    tensor([2, 1])
    """


@primitive(dtype=integral_only("bitwise_or"), structure=pointwise, inplace=True, also={"self": "input"})
def bitwise_or(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits that an operand has; of bools, their disjunction. The operator ``|``.

    Shapes broadcast; dtypes promote. Raises RuntimeError unless operands are integer or bool, and when shapes do not
    broadcast.

    >>> import polyad
    >>> polyad.bitwise_or(polyad.tensor([6, 5]), 3)
    tensor([7, 7])
    """


@primitive(dtype=integral_only("bitwise_xor"), structure=pointwise, inplace=True, also={"self": "input"})
def bitwise_xor(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits that one of the operands has; of bools, whether they differ. The operator ``^``.

    Shapes broadcast; dtypes promote. Raises RuntimeError unless operands are integer or bool, and when shapes do not
    broadcast.

    >>> import polyad
    >>> polyad.bitwise_xor(polyad.tensor([6, 5]), 3)
    tensor([5, 6])
    """


@primitive(
    dtype=integral_only("bitwise_left_shift", bools=False), structure=pointwise, inplace=True, also={"self": "input"}
)
def bitwise_left_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits moved up by *other* places: 0 once all are moved out. The operator ``<<``.

    Shapes broadcast; dtypes promote. Raises RuntimeError unless operands are integer, and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.bitwise_left_shift(polyad.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """


@primitive(
    dtype=integral_only("bitwise_right_shift", bools=False), structure=pointwise, inplace=True, also={"self": "input"}
)
def bitwise_right_shift(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Bits moved down by *other* places, the sign filled in. The operator ``>>``.

    Shapes broadcast; dtypes promote. Raises RuntimeError unless operands are integer, and when shapes do not broadcast.

    >>> import polyad
    >>> polyad.bitwise_right_shift(polyad.tensor([8, -8]), 2)
    tensor([ 2, -2])
    """


@primitive(dtype=integral_only("bitwise_not"), structure=pointwise, inplace=True)
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit inverted; of bools, the negation. The operator ``~``. Raises RuntimeError unless input is integer or
    bool.

    >>> import polyad
    >>> polyad.bitwise_not(polyad.tensor([0, 5]))
    tensor([-1, -6])
    """


@method("__invert__")
def invert(input: Tensor) -> Tensor:
    """The operator ``~``: `bitwise_not`, but TypeError for what has no bits."""
    dtype = input._type.dtype
    if dtype.category > INTEGER:
        raise ArgumentTypeError(
            f"~: {dtype.name} tensors have no bits to invert", operands={"input": input}, fix="compare first: x == 0"
        )
    return bitwise_not(input)


@primitive(dtype=to_bool, structure=pointwise, inplace=True)
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element is zero.

    >>> import polyad
    >>> polyad.logical_not(polyad.tensor([0.0, 2.0]))
    tensor([ True, False])
    """


@composite(dtype=to_bool, structure=pointwise, inplace=True)
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether both elements are nonzero. Raises RuntimeError when shapes do not broadcast.

    >>> import polyad
    >>> polyad.logical_and(polyad.tensor([1, 2, 0]), polyad.tensor([True, False, False]))
    tensor([ True, False, False])
    """
    return bitwise_and(input.to(bool_), other.to(bool_))


@composite(dtype=to_bool, structure=pointwise, inplace=True)
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether an element is nonzero. Raises RuntimeError when shapes do not broadcast.

    >>> import polyad
    >>> polyad.logical_or(polyad.tensor([1, 2, 0]), polyad.tensor([True, False, False]))
    tensor([ True,  True, False])
    """
    return bitwise_or(input.to(bool_), other.to(bool_))


@composite(dtype=to_bool, structure=pointwise, inplace=True)
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one element is nonzero. Raises RuntimeError when shapes do not broadcast.

    >>> import polyad
    >>> polyad.logical_xor(polyad.tensor([1, 2, 0]), polyad.tensor([True, False, False]))
    tensor([False,  True, False])
    """
    return bitwise_xor(input.to(bool_), other.to(bool_))
