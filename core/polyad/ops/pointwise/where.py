"""Elements of either operand, as a condition says: `where`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature, TensorType
from ...base.dtypes import bool_, uint8
from ...dispatch.forward import linear_in
from ...dispatch.op import function, gradient, method, primitive
from ...dispatch.promotion import Typing, common_dtype
from ...dispatch.structure import pointwise_stored
from ...errors import ArgumentTypeError, DTypeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor

if TYPE_CHECKING:
    Number = bool | int | float | complex


def _where_dtype(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = common_dtype(types[1:])
    only_numbers = not any(isinstance(entry, TensorType) for entry in types[1:])
    return Typing((bool_, dtype, dtype), (dtype,), number=1 if only_numbers else None)


@primitive(dtype=_where_dtype, structure=pointwise_stored)
def _where(condition: Tensor, input: Tensor | Number, other: Tensor | Number) -> Tensor:
    """input where condition, else other."""


gradient(_where, input=lambda g, condition: _where(condition, g, 0), other=lambda g, condition: _where(condition, 0, g))
linear_in(_where, "input", "other")


@function(method=False, also={"self": "input"})
def where(
    condition: Tensor,
    input: Tensor | Number | None = None,
    other: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Any:
    """The element of *input* where *condition* holds, else that of *other*; with *condition* alone, the indices where
    it holds.

    Shapes broadcast; the dtypes of input and other promote. Raises RuntimeError unless *condition* is bool (or
    uint8), or when shapes do not broadcast. The method is ``input.where(condition, other)``.

    >>> import polyad
    >>> x = polyad.tensor([-1.0, 2.0])
    >>> polyad.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    dtype = check_tensor(condition, "where", "condition")._type.dtype
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise ArgumentTypeError(
            "where: input and other go together",
            operands={"condition": condition, "input": input, "other": other},
            fix="give both, or neither for the indices",
        )
    if dtype is not bool_ and dtype is not uint8:
        raise DTypeError(
            f"where: condition is {dtype.name}, not bool",
            operands={"condition": condition},
            fix="compare first, such as condition != 0",
        )
    return _where(condition, input, other)


@method("where")
def where_method(self: Tensor, condition: Tensor, other: Tensor | Number) -> Tensor:
    """The elements of this tensor where *condition* holds, else those of *other*: `polyad.where` with its operands
    rearranged.
    """
    result: Tensor = where(condition, self, other)
    return result
