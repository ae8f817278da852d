"""Comparisons, and questions about single elements. Results are bool and have no gradient.

Operands are compared in their common dtype. An integer number that the dtype of an integer tensor cannot hold is
first taken modulo 2**bits, as PyTorch does: ``uint8`` compared with -1 is compared with 255.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...base.dtypes import FLOATING
from ...dispatch.op import alias, composite, function, primitive
from ...dispatch.promotion import comparison, not_complex, to_bool
from ...dispatch.structure import as_operands, pointwise, pointwise_stored
from ...errors import DTypeError, OptionError
from ...tensor import Tensor
from ...tensor.tensor import check_same_device, check_tensor
from ..creation.factories import full_like
from ..declaring.checks import check_least
from .bitwise import bitwise_and, logical_not

if TYPE_CHECKING:
    Number = bool | int | float | complex


@primitive(dtype=comparison, structure=pointwise_stored, inplace=True)
def eq(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are equal; nan equals nothing. The operator ``==``.

    Shapes broadcast. Raises RuntimeError when shapes do not broadcast or devices differ.

    >>> import polyad
    >>> polyad.eq(polyad.tensor([1, 2, 3]), 2)
    tensor([False,  True, False])
    """


@composite(dtype=comparison, structure=pointwise_stored, inplace=True)
def ne(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements differ; nan differs from everything. The operator ``!=``.

    Shapes broadcast. Raises RuntimeError when shapes do not broadcast or devices differ.

    >>> import polyad
    >>> polyad.ne(polyad.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
    return logical_not(eq(input, other))


not_equal = alias("not_equal", ne)


@primitive(dtype=not_complex("lt", comparison), structure=pointwise, inplace=True)
def lt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the element of *input* is smaller. The operator ``<``.

    Shapes broadcast. Raises RuntimeError for complex operands and when shapes do not broadcast or devices differ.

    >>> import polyad
    >>> polyad.lt(polyad.tensor([1, 2, 3]), 2)
    tensor([ True, False, False])
    """


less = alias("less", lt)


@primitive(dtype=not_complex("le", comparison), structure=pointwise, inplace=True)
def le(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the element of *input* is smaller or equal. The operator ``<=``.

    Shapes broadcast. Raises RuntimeError for complex operands and when shapes do not broadcast or devices differ.

    >>> import polyad
    >>> polyad.le(polyad.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """


less_equal = alias("less_equal", le)


@composite(dtype=not_complex("gt", comparison), structure=pointwise, strides=as_operands, inplace=True)
def gt(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the element of *input* is larger. The operator ``>``.

    Shapes broadcast. Raises RuntimeError for complex operands and when shapes do not broadcast or devices differ.

    >>> import polyad
    >>> polyad.gt(polyad.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
    return lt(other, input)


greater = alias("greater", gt)


@composite(dtype=not_complex("ge", comparison), structure=pointwise, strides=as_operands, inplace=True)
def ge(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the element of *input* is larger or equal. The operator ``>=``.

    Shapes broadcast. Raises RuntimeError for complex operands and when shapes do not broadcast or devices differ.

    >>> import polyad
    >>> polyad.ge(polyad.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
    return le(other, input)


greater_equal = alias("greater_equal", ge)


@composite(dtype=to_bool, structure=pointwise)
def isnan(input: Tensor) -> Tensor:
    """Whether each element (either part of a complex number) is nan.

    >>> import polyad
    >>> polyad.isnan(polyad.tensor([1.0, float("nan"), float("inf")]))
    tensor([False,  True, False])
    """
    return ne(input, input)


@composite(dtype=to_bool, structure=pointwise)
def isinf(input: Tensor) -> Tensor:
    """Whether each element (either part of a complex number) is infinite.

    >>> import polyad
    >>> polyad.isinf(polyad.tensor([1.0, float("nan"), float("-inf")]))
    tensor([False, False,  True])
    """
    return eq(_finite_magnitude(input), math.inf)


@composite(dtype=to_bool, structure=pointwise)
def isfinite(input: Tensor) -> Tensor:
    """Whether each element (both parts of a complex number) is neither infinite nor nan.

    >>> import polyad
    >>> polyad.isfinite(polyad.tensor([1.0, float("nan"), float("inf")]))
    tensor([ True, False, False])
    """
    return lt(_finite_magnitude(input), math.inf)


def _finite_magnitude(input: Tensor) -> Tensor:
    return abs(input) if input._type.dtype.category >= FLOATING else full_like(input, 0)


@function()
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is inf. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.isposinf(polyad.tensor([1.0, float("inf"), float("-inf")]))
    tensor([False,  True, False])
    """
    return ge(check_tensor(input, "isposinf", "input"), math.inf)


@function()
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is -inf. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.isneginf(polyad.tensor([1.0, float("inf"), float("-inf")]))
    tensor([False, False,  True])
    """
    return le(check_tensor(input, "isneginf", "input"), -math.inf)


@function()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether the tensors have one shape and equal elements. Raises RuntimeError when devices differ, TypeError for
    other operands.

    >>> import polyad
    >>> polyad.equal(polyad.tensor([1, 2]), polyad.tensor([1, 2]))
    True
    """
    check_tensor(input, "equal", "input")
    check_tensor(other, "equal", "other")
    check_same_device("equal", input=input, other=other)
    return input._array.shape == other._array.shape and bool(eq(input, other).all().item())


@function()
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether ``abs(input - other) <= atol + rtol * abs(other)``; equal infinities are close, and nan to nan if
    *equal_nan*.

    Shapes broadcast. Raises RuntimeError when dtypes differ, ValueError for a negative tolerance.

    >>> import polyad
    >>> polyad.isclose(polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    check_tensor(input, "isclose", "input")
    check_tensor(other, "isclose", "other")
    if input._type.dtype is not other._type.dtype:
        raise DTypeError(
            "isclose: the dtypes differ",
            operands={"input": input, "other": other},
            fix="convert one of them with .to(dtype)",
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        check_least("isclose", name, value, 0, OptionError, fix="give tolerances that are not negative")
    close = eq(input, other)
    if equal_nan:
        close = close | bitwise_and(isnan(input), isnan(other))
    if rtol == 0 and atol == 0:
        return close
    if input._type.dtype.category < FLOATING:
        # Differences of unsigned integers would wrap around.
        input, other = input * 1.0, other * 1.0
    distance = abs(input - other)
    return close | bitwise_and(isfinite(distance), le(distance, abs(other) * rtol + atol))


@function()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close in the sense of `isclose`, and raises as it does.

    >>> import polyad
    >>> polyad.allclose(polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 2.0 + 1e-6]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())
