"""Conversions to another dtype or device: `to`, and the methods that are named after dtypes."""

from __future__ import annotations

from typing import Any

from ...backend import TensorType
from ...base import dtypes
from ...base.device import Device
from ...base.dtypes import DType, of_python
from ...base.memory_formats import (
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
from ...base.shapes_and_strides import is_contiguous
from ...base.state import state
from ...devices import registry
from ...dispatch.effects import Effect, Result, declare
from ...dispatch.forward import symmetric
from ...dispatch.op import function, gradient, method, primitive
from ...dispatch.promotion import keyed_dtype
from ...dispatch.structure import pointwise_stored
from ...dispatch.views import layout_of
from ...errors import ArgumentError, ArgumentTypeError, NoData, safe_repr
from ...history.node import record_copy
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..shaping.strided import strided_array

Number = bool | int | float | complex


@primitive(dtype=keyed_dtype, structure=pointwise_stored, keyed=("dtype",), grad_name="ToCopyBackward0")
def _cast(input: Tensor, dtype: DType) -> Tensor:
    """A copy in another dtype, rounded to nearest even; complex to real drops the imaginary part."""


gradient(_cast, input=lambda g: g)
symmetric(_cast)


@function()
def to(
    input: Tensor,
    *args: Any,
    dtype: DType | None = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat = preserve_format,
    other: Tensor | None = None,
) -> Tensor:
    """The tensor in another dtype or on another device: ``to(dtype)``, ``to(device)``, ``to(device, dtype)``,
    ``to(other)``; in another order in memory with *memory_format*.

    Itself when nothing changes, unless *copy*. With *non_blocking* a copy from pinned memory (`Tensor.pin_memory`) to a
    device, or from a device to the cpu, may go on after the call: wait for the stream before you change the one or read
    the other. Raises TypeError for arguments that are none of these.

    >>> import polyad
    >>> polyad.tensor([1, 2]).to(polyad.float64)
    tensor([1., 2.], dtype=polyad.float64)
    """
    check_tensor(input, "to", "input")
    flags = 0
    for arg in map(of_python, args if other is None else (*args, other)):
        if isinstance(arg, DType):
            dtype = arg
        elif isinstance(arg, Tensor):
            dtype, device = arg.dtype, arg.device
        elif isinstance(arg, (str, Device)) or arg.__class__ is int:
            device = arg
        elif isinstance(arg, bool):
            flags += 1
            if flags == 1:
                non_blocking = arg
            else:
                copy = arg
        elif arg is not None:
            raise ArgumentTypeError(
                f"to: {safe_repr(arg)} is neither a dtype, a device nor a tensor",
                operands={"input": input},
                fix="write to(polyad.float64), to('cpu') or to(other)",
            )
    result = input
    if dtype is not None and dtype is not input._type.dtype:
        result = _cast(result, dtype)
    if device is not None:
        target = registry.resolve_device(device)
        if target != result._type.device:
            result = to_device(result, target, bool(non_blocking))
    memory_format = check_format(memory_format, "to")
    lies = memory_format is preserve_format or _lies_as(result, memory_format)
    if lies and not (copy and result is input):
        return result
    from .copying import clone

    return clone(result) if lies else clone(result, memory_format=memory_format)


def _lies_as(input: Tensor, memory_format: MemoryFormat) -> bool:
    """Whether ``to`` has nothing to do for a format: everything that is not channels-last passes for row-major."""
    shape, strides, _ = layout_of(input)
    if memory_format is contiguous_format and not is_contiguous(shape, strides):
        return not any(
            is_contiguous_in(shape, strides, channels_format) for channels_format in (channels_last, channels_last_3d)
        )
    if is_contiguous_in(shape, strides, memory_format):
        return True
    format_strides(shape, memory_format, "to")  # raises for another number of dimensions
    return False


def to_device(input: Tensor, device: Device, non_blocking: bool = False) -> Tensor:
    """A copy of *input* on *device*, by way of the host; its gradient travels back.

    Where a mode looks on, the copy is done when this returns, *non_blocking* or not.
    """
    if state.modes:
        return TO_DEVICE.through_modes(input, device)  # type: ignore[no-any-return]
    return _to_device(input, device, non_blocking)


def _to_device(input: Tensor, device: Device, non_blocking: bool = False) -> Tensor:
    source_type = input._type
    result_type = registry.tensor_type(source_type.dtype, device, source_type.zero_dim)
    if not result_type.backend.holds_data:
        strides = copy_strides(*layout_of(input)[:2], preserve_format, "to")
        return _recorded(input, Tensor._of(strided_array(result_type, input._array.shape, strides), result_type))
    try:
        array = _brought(input._array, source_type, result_type, non_blocking)
    except NoData as error:
        error.fix = "make the memory with to_empty(device=...) or empty_like, then load or initialise what it holds"
        raise error.told_by("to", {"input": input}) from None
    return _recorded(input, Tensor._of(array, result_type))


def _recorded(input: Tensor, out: Tensor) -> Tensor:
    if input._node is not None and state.grad_enabled:
        record_copy(input, out)
    return out


def _brought(array: Any, source_type: TensorType, result_type: TensorType, non_blocking: bool) -> Any:
    """The array on the device of *result_type*."""
    source, target, dtype, device = source_type.backend, result_type.backend, source_type.dtype, result_type.device
    has = source.capabilities(source_type.device).features
    takes = target.capabilities(device).features if non_blocking else frozenset()
    if "pinned_memory" in has and "shared_host_memory" in takes:
        return target.adopt(source.to_host_later(array), dtype, device)
    data = source.to_host(array)
    if "shared_host_memory" not in has:
        return target.adopt(data, dtype, device)
    if "pinned_memory" in takes and target.is_pinned(data):
        return target.from_host_later(data, dtype, device)
    return target.from_host(data, dtype, device)


TO_DEVICE = declare(Effect("to_device", to_device, _to_device, reads=(0,), result=Result.COPY))


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
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Without *dtype* the tensor type's old name, such as ``polyad.FloatTensor``, or ``polyad.cuda.FloatTensor`` where
    it is on another device than the cpu; with a dtype, or such a name or type, the tensor in it. A name and a type
    say where the tensor is to be, too.

    Raises ValueError for an unknown name, RuntimeError where there is no such device.

    >>> import polyad
    >>> polyad.zeros(1).type()
    'polyad.FloatTensor'
    """
    place = self._type.device.type
    if dtype is None:
        return f"polyad.{'' if place == 'cpu' else place + '.'}{_TYPE_NAMES[self._type.dtype.name]}Tensor"
    where: str | None
    if dtype is Tensor:
        dtype, where = dtypes.get_default_dtype(), "cpu"
    elif isinstance(dtype, str):
        dtype, where = _of_name(dtype)
    else:
        dtype, where = getattr(dtype, "dtype", dtype), getattr(dtype, "device_type", None)
    moved = where is not None and where != place
    return to(self, dtype, device=where if moved else None, non_blocking=non_blocking)


def _of_name(name: str) -> tuple[DType, str | None]:
    """The dtype and the device type of a tensor type's name; None for a device type that it does not say."""
    *modules, last = name.split(".")
    if last == "Tensor" and modules:
        return dtypes.get_default_dtype(), (*modules[1:], "cpu")[0]
    for dtype, old in _TYPE_NAMES.items():
        if last == dtype or (last == old and not modules):
            return dtypes.named(dtype), None
        if last == f"{old}Tensor":
            return dtypes.named(dtype), (*modules[1:], "cpu")[0] if modules else None
    raise ArgumentError(f"type: {safe_repr(name)} is no type's name", fix="pass a dtype such as polyad.float64")


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
