"""Questions about a tensor that the host answers: its kind of dtype, its number of elements, the dtype of a result.

None of these reads an element, so none is an op, and a device never hears of them. Questions about where a tensor is
are in memory/placement.py; `is_nonzero`, which reads an element, is in reductions/any_all.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dispatch.op import function
from ..dispatch.promotion import common_dtype
from ..dtypes import DType
from ..errors import ArgumentTypeError
from ..storage import InferenceView
from ..tensor import Tensor, check_tensor

if TYPE_CHECKING:
    Number = bool | int | float | complex


@function()
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating point dtype.

    >>> import polyad
    >>> polyad.is_floating_point(polyad.tensor(1.0))
    True
    """
    return check_tensor(input, "is_floating_point", "input")._type.dtype.is_floating_point


@function(method=False)
def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> DType:
    """The dtype of an arithmetic op of the two: dimensioned tensors count before 0-d ones, those before numbers.

    Raises TypeError for anything but tensors and numbers.

    >>> import polyad
    >>> polyad.result_type(polyad.ones(2, dtype=polyad.int32), 1.0)
    polyad.float32
    """
    types = []
    for name, value in (("tensor1", tensor1), ("tensor2", tensor2)):
        if not isinstance(value, (Tensor, bool, int, float, complex)):
            raise ArgumentTypeError(
                f"result_type: {name} is {type(value).__name__}, not a tensor or a number",
                fix="pass a tensor or number",
            )
        types.append(value._type if isinstance(value, Tensor) else type(value))
    return common_dtype(tuple(types))


@function()
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in `polyad.inference_mode`, and so is barred from recorded work.

    >>> import polyad
    >>> polyad.is_inference(polyad.tensor(1.0))
    False
    """
    return check_tensor(input, "is_inference", "input")._view.__class__ is InferenceView


@function()
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex dtype.

    >>> import polyad
    >>> polyad.is_complex(polyad.tensor(1.0))
    False
    """
    return check_tensor(input, "is_complex", "input")._type.dtype.is_complex


@function()
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers.

    >>> import polyad
    >>> polyad.is_signed(polyad.tensor(1))
    True
    """
    return check_tensor(input, "is_signed", "input")._type.dtype.is_signed


@function(method=False)
def is_tensor(obj: Any) -> bool:
    """Whether *obj* is a tensor.

    >>> import polyad
    >>> polyad.is_tensor([1])
    False
    """
    return isinstance(obj, Tensor)


@function(method=False)
def numel(input: Tensor) -> int:
    """The number of elements.

    >>> import polyad
    >>> polyad.numel(polyad.zeros(2, 3))
    6
    """
    return check_tensor(input, "numel", "input").numel()


# ---------------------------------------------------------------------------------------------------- comparing, naming


@function()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    >>> import polyad
    >>> polyad.zeros(2).is_same_size(polyad.ones(2))
    True
    """
    left, right = check_tensor(input, "is_same_size", "input"), check_tensor(other, "is_same_size", "other")
    return bool(left._array.shape == right._array.shape)
