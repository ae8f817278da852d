"""Copies and conversions: dtype, device, memory order."""

from __future__ import annotations

import math
import numbers
from typing import Any

from ... import dtypes
from ...backend import registry
from ...device import Device
from ...dispatch.effects import Effect, Result, declare
from ...dispatch.forward import symmetric
from ...dispatch.inplace import check_writable, take_history, write, wrote
from ...dispatch.op import composite, function, gradient, method, primitive
from ...dispatch.promotion import common_dtype, keyed_dtype
from ...dispatch.structure import pointwise
from ...dispatch.views import layout_of
from ...dispatch.wrapped import Wrapped
from ...dtypes import DType, of_python
from ...errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from ...history.node import make_node, record_copy
from ...layout import Strides, contiguous_strides, is_contiguous
from ...memory_formats import (
    MemoryFormat,
    channels_last,
    channels_last_3d,
    check_format,
    contiguous_format,
    copy_strides,
    format_strides,
    is_contiguous_in,
    preserve_format,
)
from ...state import state
from ...tensor import Tensor, check_tensor
from ..shaping.strided import strided_array

Number = bool | int | float | complex


@primitive(dtype=keyed_dtype, structure=pointwise, keyed=("dtype",), grad_name="ToCopyBackward0")
def _cast(input: Tensor, dtype: DType) -> Tensor:
    """A copy in another dtype, rounded to nearest even; complex to real drops the imaginary part."""


gradient(_cast, input=lambda g: g)


@primitive(structure=pointwise, grad_name="CloneBackward0")
def _copy(input: Tensor) -> Tensor:
    """A row-major copy."""


gradient(_copy, input=lambda g: g)


@composite(structure=pointwise, grad_name="CloneBackward0", method=False)
def _copy_strided(input: Tensor, strides: Strides) -> Tensor:
    """A copy that lies in dense memory with *strides*."""
    kind = input._type
    array = strided_array(kind, input._array.shape, strides)
    kind.backend.copy(array, input._array)
    return Tensor._of(array, kind)


gradient(_copy_strided, input=lambda g: g)
symmetric(_cast, _copy, _copy_strided)


@function()
def clone(input: Tensor, *, memory_format: MemoryFormat = preserve_format) -> Tensor:
    """A copy with its own memory; gradients flow through it. Unless another memory format is given, dimensions lie in
    memory in the same order.

    Raises RuntimeError for a format that is not for that many dimensions.

    >>> import polyad
    >>> x = polyad.tensor([1, 2])
    >>> y = polyad.clone(x)
    >>> _ = y.zero_()
    >>> x
    tensor([1, 2])
    """
    layout = layout_of(check_tensor(input, "clone", "input"))
    row_major = contiguous_strides(layout.shape)
    strides = layout.strides
    if memory_format is not preserve_format or strides != row_major:
        strides = copy_strides(layout.shape, strides, check_format(memory_format, "clone"), "clone")
    return _copy(input) if strides == row_major else _copy_strided(input, strides)


@function()
def contiguous(input: Tensor, *, memory_format: MemoryFormat = contiguous_format) -> Tensor:
    """The tensor itself if it lies in memory without gaps and in a format's order, row-major unless another is given,
    else a copy that does.

    Raises RuntimeError for a format that is not for that many dimensions.

    >>> import polyad
    >>> polyad.zeros(2, 3).T.contiguous().stride()
    (2, 1)
    >>> polyad.zeros(2, 3, 4, 5).contiguous(memory_format=polyad.channels_last).stride()
    (60, 1, 15, 3)
    """
    shape, strides, _ = layout_of(check_tensor(input, "contiguous", "input"))
    if memory_format is contiguous_format:
        return input if is_contiguous(shape, strides) else _copy(input)
    if is_contiguous_in(shape, strides, check_format(memory_format, "contiguous")):
        return input
    if memory_format is preserve_format:
        raise ShapeError(
            "contiguous: preserve_format says nothing of order", operands={"input": input}, fix="use contiguous_format"
        )
    return clone(input, memory_format=memory_format)


@function()
def to(
    input: Tensor,
    *args: Any,
    dtype: DType | None = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:
    """The tensor in another dtype or on another device: ``to(dtype)``, ``to(device)``, ``to(device, dtype)``,
    ``to(other)``; in another order in memory with *memory_format*.

    Itself when nothing changes, unless *copy*. Raises TypeError for arguments that are none of these.

    >>> import polyad
    >>> polyad.tensor([1, 2]).to(polyad.float64)
    tensor([1., 2.], dtype=polyad.float64)
    """
    check_tensor(input, "to", "input")
    for arg in map(of_python, args):
        if isinstance(arg, DType):
            dtype = arg
        elif isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.device
        elif isinstance(arg, (str, Device)):
            device = arg
        elif isinstance(arg, bool):
            copy = copy or (arg and arg is args[-1] and len(args) > 2)
        elif arg is not None:
            raise ArgumentTypeError(
                f"to: {arg!r} is neither a dtype, a device nor a tensor",
                operands={"input": input},
                fix="write to(polyad.float64), to('cpu') or to(other)",
            )
    result = input
    if dtype is not None and dtype is not input._type.dtype:
        result = _cast(result, dtype)
    if device is not None:
        target = registry.resolve_device(device)
        if target != result._type.device:
            result = to_device(result, target)
    if memory_format is not preserve_format and not _lies_as(result, check_format(memory_format, "to")):
        return clone(result, memory_format=memory_format)
    return clone(result) if copy and result is input else result


def _lies_as(input: Tensor, memory_format: MemoryFormat) -> bool:
    """Whether ``to`` sees nothing to do for a format: everything that is not channels-last passes for row-major."""
    shape, strides, _ = layout_of(input)
    if memory_format is contiguous_format and not is_contiguous(shape, strides):
        return not any(is_contiguous_in(shape, strides, one) for one in (channels_last, channels_last_3d))
    if is_contiguous_in(shape, strides, memory_format):
        return True
    format_strides(shape, memory_format, "to")  # raises for another number of dimensions
    return False


@function(method=False)
def detach(input: Tensor) -> Tensor:
    """The same memory in a tensor without history; ``input.detach()``.

    >>> import polyad
    >>> polyad.detach(polyad.ones(2, requires_grad=True)).requires_grad
    False
    """
    return check_tensor(input, "detach", "input").detach()


def to_device(input: Tensor, device: Device) -> Tensor:
    """A copy of *input* on *device*, by way of the host; its gradient travels back."""
    if state.modes:
        return TO_DEVICE.through_modes(input, device)  # type: ignore[no-any-return]
    return _to_device(input, device)


def _to_device(input: Tensor, device: Device) -> Tensor:
    kind = input._type
    made_type = registry.tensor_type(kind.dtype, device, kind.zero_dim)
    backend = made_type.backend
    shown = "shared_host_memory" in kind.backend.capabilities(kind.device).features
    bring = backend.from_host if shown else backend.adopt
    array = bring(kind.backend.to_host(input._array), kind.dtype, device)
    out = Tensor._of(array, made_type)
    if input._node is not None and state.grad_enabled:
        record_copy(input, out)
    return out


@method()
def copy_(self: Tensor, src: Tensor | Number, non_blocking: bool = False) -> Tensor:
    """Write *src* into this tensor: it broadcasts, and is converted to this tensor's dtype and device;
    gradients flow to it.

    Raises RuntimeError if its shape does not broadcast to this one's.
    """
    if state.modes:
        return COPY.through_modes(self, src)  # type: ignore[no-any-return]
    return _copy_into(self, src)


def _copy_into(self: Tensor, src: Any) -> Tensor:
    check_writable("copy_", self)
    if isinstance(src, numbers.Complex):
        from ..creation.factories import tensor

        src = tensor(src, device=self._type.device)
    check_tensor(src, "copy_", "src")
    if src._type.device != self._type.device:
        src = to_device(src, self._type.device)
    # What holds no floating point numbers has no gradient, whatever is written to it.
    differentiable = state.grad_enabled and self._type.dtype.category >= dtypes.FLOATING
    recorded = differentiable and (src._node is not None or self._node is not None)
    if recorded or isinstance(self, Wrapped):
        from ..shaping.reshape import _expand

        result = src if src._type.dtype is self._type.dtype else _cast(src, self._type.dtype)
        if result._array.shape != self._array.shape:
            result = _expand(result, self._array.shape)
        # What is written gets a node of its own: hooks on src are not hooks on the copy. What was there before gets a
        # gradient of zeros.
        calls = [
            (node, formula, ()) for node, formula in ((result._node, _same), (self._node, _zeros)) if node is not None
        ]
        if result is src:
            result = src._alias()
        if recorded:
            result._node = make_node("CopyBackwards", calls, result._array.shape, result._type)
        return write("copy_", self, result)
    if src._array.shape != self._array.shape:
        from ..shaping.reshape import _expand

        src = _expand(src, self._array.shape)
    self._type.backend.copy(self._array, src._array)
    wrote("copy_", self)
    return self


@method()
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one number (or a 0-d tensor's value) into every element."""
    if state.modes:
        return FILL.through_modes(self, value)  # type: ignore[no-any-return]
    return _fill(self, value)


def _fill(self: Tensor, value: Any) -> Tensor:
    check_writable("fill_", self, one_value=True)
    if isinstance(value, Tensor):
        if value._array.shape:
            raise ShapeError(
                "fill_: value has dimensions",
                operands={"self": self, "value": value},
                fix="pass a 0-d tensor or a number",
            )
        return copy_(self, value)
    if not isinstance(value, (bool, int, float, complex)):
        raise ArgumentTypeError(
            f"fill_: value is {type(value).__name__}, not a number",
            operands={"self": self},
            fix="pass a number or a 0-d tensor",
        )
    check_fits("fill_", value, self._type.dtype)
    if isinstance(self, Wrapped):
        self._store_number("fill_", value)
    else:
        self._type.backend.fill(self._array, value)
    wrote("fill_", self)
    if state.grad_enabled and self._node is not None:
        take_history(self, None)
    return self


def check_fits(op: str, value: Any, dtype: DType) -> None:
    """Raise DTypeError unless the number *value* can be an element of *dtype*:
    an integer's range, a complex number's parts.
    """
    if dtype.category == dtypes.INTEGER and not isinstance(value, (bool, complex)):
        limits = dtypes.iinfo(dtype)
        if not limits.min <= value < limits.max + 1:
            raise DTypeError(
                f"{op}: {value} is not in [{limits.min}, {limits.max}], the range of {dtype.name}",
                fix="use a number that the dtype can hold, or another dtype",
            )
    elif dtype in (dtypes.float32, dtypes.complex64) and not isinstance(value, bool):
        # Half types take numbers out of their range as infinities.
        limit = dtypes.finfo(dtype).max
        if any(limit < abs(part) < math.inf for part in (value.real, value.imag)):
            raise DTypeError(
                f"{op}: {value} is out of the range of {dtype.name}",
                fix="use infinity if that is meant, or another dtype",
            )
    if isinstance(value, complex) and dtype.category in (dtypes.INTEGER, dtypes.FLOATING):
        raise DTypeError(f"{op}: a complex number does not fit into {dtype.name}", fix="use a complex dtype")


@method()
def zero_(self: Tensor) -> Tensor:
    """Write zeros."""
    return fill_(self, 0)


TO_DEVICE = declare(Effect("to_device", to_device, _to_device, reads=(0,), result=Result.COPY))
COPY = declare(Effect("copy_", copy_, _copy_into, reads=(1,), writes=0, result=Result.TARGET))
FILL = declare(Effect("fill_", fill_, _fill, reads=(1,), writes=0, result=Result.TARGET))


def _same(gradient: Tensor) -> Tensor:
    return gradient


def _zeros(gradient: Tensor) -> Tensor:
    from ..creation.factories import zeros_like

    return zeros_like(gradient)


# ---------------------------------------------------------------------------------------------------- by dtype


def _converting_to(name: str, dtype: DType) -> None:
    """Declare the method *name* that gives the tensor in *dtype*."""

    def converted(self: Tensor, memory_format: MemoryFormat = preserve_format) -> Tensor:
        if memory_format is not preserve_format:
            return to(self, dtype, memory_format=memory_format)
        return self if self._type.dtype is dtype else _cast(self, dtype)

    converted.__name__ = name
    converted.__qualname__ = f"Tensor.{name}"
    converted.__doc__ = f"The tensor in {dtype.name}; itself if it is already."
    method()(converted)


for _name, _dtype in {
    "bool": dtypes.bool_,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float": dtypes.float32,
    "double": dtypes.float64,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():
    _converting_to(_name, _dtype)


@method()
def cpu(self: Tensor, memory_format: MemoryFormat = preserve_format) -> Tensor:
    """The tensor in the host's memory; itself if it is there already."""
    result: Tensor = to(self, device="cpu", memory_format=memory_format)
    return result


@method()
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype and on the device of *other*.

    >>> import polyad
    >>> polyad.tensor([1]).type_as(polyad.tensor(1.0))
    tensor([1.])
    """
    result: Tensor = to(self, check_tensor(other, "type_as", "other"))
    return result


@method("type")
def type_(self: Tensor, dtype: DType | str | None = None) -> Any:
    """Without *dtype* the tensor type's old name, such as ``polyad.FloatTensor``;
    with one (or such a name), the tensor in it.

    Raises ValueError for an unknown name.

    >>> import polyad
    >>> polyad.zeros(1).type()
    'polyad.FloatTensor'
    """
    if dtype is None:
        return f"polyad.{_TYPE_NAMES[self._type.dtype.name]}Tensor"
    if isinstance(dtype, str):
        wanted = dtype.rpartition(".")[2].removesuffix("Tensor")
        found = [dtypes.named(name) for name, old in _TYPE_NAMES.items() if wanted in (old, name)]
        if not found:
            raise ArgumentError(f"type: {dtype!r} is no type's name", fix="pass a dtype such as polyad.float64")
        dtype = found[0]
    return to(self, dtype)


_TYPE_NAMES = {
    "bool": "Bool",
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float32": "Float",
    "float64": "Double",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


@function()
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating point dtype.

    >>> import polyad
    >>> polyad.is_floating_point(polyad.tensor(1.0))
    True
    """
    return check_tensor(input, "is_floating_point", "input")._type.dtype.is_floating_point


@function(method=False)
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """A tensor like *input* filled with *value*, a number or a 0-d tensor; the gradient goes to *value*.

    Raises RuntimeError for a tensor with dimensions, and for a number that the dtype cannot hold.

    >>> import polyad
    >>> polyad.fill(polyad.zeros(2), 3)
    tensor([3., 3.])
    """
    made = clone(check_tensor(input, "fill", "input"))
    return (value._made_like(made) if isinstance(value, Wrapped) else made).fill_(value)


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
    """Whether the tensor is barred from recorded work: never, even if `polyad.inference_mode` was on when it was made.

    >>> import polyad
    >>> polyad.is_inference(polyad.tensor(1.0))
    False
    """
    check_tensor(input, "is_inference", "input")
    return False


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
