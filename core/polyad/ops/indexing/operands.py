"""What reading and writing at indices asks of its operands.

An index out of range raises IndexError that names its place, value and range (`polyad.backend.bounds`); raising it is
the kernels' part of the contract. Index tensors are int64 when a kernel sees them; masks are bool.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...backend.interface import Signature
from ...base.dtypes import INTEGER, int64
from ...base.shapes_and_strides import Shape, normalize_dim
from ...dispatch.promotion import Typing
from ...dispatch.views import layout_of
from ...errors import DTypeError, IndexOutOfRange, OutOfMemory
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full


def typed_like_input(*, index: int, values: int | None = None) -> Any:
    """The input as it is, the index operand int64, the values of the input's dtype, and so the result."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        casts: list[Any] = [None] * len(types)
        casts[index] = int64
        if values is not None:
            casts[values] = types[0].dtype
        return Typing(tuple(casts), (types[0].dtype,))

    return rule


def _zeros_like(gradient: Tensor, shape: Shape) -> Tensor:
    return _full(shape, 0, gradient._type.dtype, gradient._type.device)


def check_index(op: str, input: Tensor, dim: Any, index: Any, name: str = "index") -> int:
    """*dim* counted from the front; raises unless *index* is a tensor of integers and *input* has that dimension."""
    check_tensor(input, op, "input")
    check_tensor(index, op, name)
    at = normalize_dim(dim, input.ndim, op)
    if index._type.dtype.category != INTEGER:
        raise DTypeError(f"{op}: {name} is {index.dtype.name}, not int64", operands={name: index}, fix="use .long()")
    return at


MOST_REPEATED = 2**36
"""So many elements of an expanded tensor are looked at one by one: it takes a minute or more."""


def check_countable(op: str, input: Tensor) -> None:
    """Raise OutOfMemory for an expanded tensor of so many elements that nobody means to have each of them looked at;
    how many elements the result has follows from their values, so that no memory is asked for before.
    """
    count = math.prod(input._array.shape)
    if count > MOST_REPEATED:
        shape, strides, _ = layout_of(input)
        held = 1 + sum((size - 1) * abs(stride) for size, stride in zip(shape, strides, strict=True))
        if held < count // 2**10:
            raise OutOfMemory(
                f"{op}: {count:,} elements must be looked at, of which only {held:,} are in memory",
                operands={"input": input},
                fix="call it before the tensor is expanded",
            )


def _check_vector(op: str, index: Tensor) -> Tensor:
    if index.ndim > 1:
        raise IndexOutOfRange(
            f"{op}: index has {index.ndim} dimensions, not one", operands={"index": index}, fix="flatten it"
        )
    return index if index.ndim else index.reshape(1)
