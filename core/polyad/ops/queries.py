"""Questions about a tensor that the host answers: its kind of dtype, its number of elements, the dtype of a result.

None of these reads an element, so none is an op, and a device never hears of them. Questions about where a tensor is
are in memory/placement.py; `is_nonzero`, which reads an element, is in reductions/any_all.py.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..base.dtypes import DType, int64
from ..base.memory_formats import MemoryFormat
from ..dispatch.op import function, method, prop
from ..dispatch.promotion import common_dtype
from ..errors import ShapeError, wrong_type
from ..tensor import Tensor
from ..tensor.storage import InferenceView
from ..tensor.tensor import check_tensor
from .creation.factories import tensor

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


@function(
    method=False,
    also={
        "scalar": "tensor1",
        "scalar1": "tensor1",
        "scalar2": "tensor2",
        "other": "tensor2",
        "tensor": ("tensor1", "tensor2"),
    },
)
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
            raise wrong_type("result_type", name, value, "a tensor or a number")
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


# ------------------------------------------------------------------------------- what tensors of polyad never are


def _never(name: str, what: str) -> None:
    def getter(self: Tensor) -> bool:
        return False

    getter.__name__ = name
    getter.__doc__ = f"Whether the tensor is {what}: never."
    prop()(getter)


for _name, _what in {
    "is_ipu": "on a device of this kind",
    "is_maia": "on a device of this kind",
    "is_mkldnn": "in oneDNN's layout",
    "is_mps": "on a device of this kind",
    "is_mtia": "on a device of this kind",
    "is_nested": "a list of tensors",
    "is_quantized": "quantized",
    "is_sparse": "sparse, in coordinates",
    "is_sparse_csr": "sparse, in compressed rows",
    "is_vulkan": "on a device of this kind",
    "is_xla": "on a device of this kind",
    "is_xpu": "on a device of this kind",
}.items():
    _never(_name, _what)


@method()
def dim_order(self: Tensor, *, ambiguity_check: bool | list[MemoryFormat] = False) -> tuple[int, ...]:
    """The dimensions in the order of their strides, the slowest first.

    Raises RuntimeError with *ambiguity_check* where another order is as right, since a dimension has size 1 or the
    stride of its neighbour; with a list of memory formats, where the tensor lies as none or several of them say.

    >>> import polyad
    >>> polyad.ones(2, 3).t().dim_order()
    (1, 0)
    """
    strides = check_tensor(self, "dim_order", "self").stride()
    ambiguous = 1 in self.shape or any(one == other for one, other in pairwise(strides))
    if isinstance(ambiguity_check, (list, tuple)):
        ambiguous = ambiguous and sum(self.is_contiguous(memory_format=one) for one in ambiguity_check) != 1
    if ambiguous and ambiguity_check is not False:
        raise ShapeError(
            f"dim_order: more than one order fits shape {tuple(self.shape)} and strides {strides}",
            operands={"self": self},
            fix="leave out ambiguity_check for one of them",
        )
    return tuple(sorted(range(len(strides)), key=lambda dim: -strides[dim]))


@method()
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same elements of the same memory, in the same shape.

    >>> import polyad
    >>> x = polyad.ones(2)
    >>> x.is_set_to(x.detach()), x.is_set_to(x[1:])
    (True, False)
    """
    check_tensor(tensor, "is_set_to", "tensor")
    return (
        self.shape == tensor.shape
        and self.stride() == tensor.stride()
        and self.storage_offset() == tensor.storage_offset()
        and self.untyped_storage() == tensor.untyped_storage()
    )


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes of *input* as int64 numbers, under the name that PyTorch's programs have for it.

    >>> import polyad
    >>> polyad._shape_as_tensor(polyad.ones(2, 3))
    tensor([2, 3])
    """
    return tensor(list(check_tensor(input, "_shape_as_tensor", "input").shape), dtype=int64)
