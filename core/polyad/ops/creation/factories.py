"""New tensors: from Python data, filled with one value, in sequences."""

from __future__ import annotations

import builtins
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...backend import TensorType
from ...base import provided
from ...base.dtypes import INTEGER, DType, dtype_of_number, get_default_dtype, int64
from ...base.memory_formats import (
    MemoryFormat,
    check_format,
    check_layout,
    contiguous_format,
    copy_strides,
    format_strides,
    preserve_format,
    strided,
)
from ...base.shapes_and_strides import Shape, Strides, check_sizes, contiguous_strides, normalize_shape, reach
from ...base.state import state, warn_user
from ...devices import registry
from ...devices.accelerators import pinning
from ...dispatch.effects import Effect, Result, declare
from ...dispatch.op import composite, function, method, primitive
from ...dispatch.promotion import keyed_dtype
from ...dispatch.structure import creation
from ...dispatch.views import layout_of
from ...errors import ArgumentError, ArgumentTypeError, DeviceError, OptionError, ShapeError, wrong_type
from ...tensor import Tensor
from ...tensor.pending import settle
from ...tensor.tensor import check_tensor
from ...transforms.wrapped import Wrapped
from ..memory.copying import element
from ..memory.storage_types import TypedStorage, UntypedStorage
from ..shaping.strided import as_strided, strided_array

if TYPE_CHECKING:
    from ...base.device import Device

    Number = bool | int | float | complex


def _given_shape(shape: Shape, *rest: Any) -> Shape:
    return shape


def _count_shape(start: Any, step: Any, count: int, *rest: Any) -> Shape:
    return (count,)


@composite(dtype=keyed_dtype, structure=creation, shape=_given_shape, keyed=("dtype", "device"), method=False)
def _full(shape: Shape, value: Any, dtype: DType, device: Device) -> Tensor:
    """A tensor filled with a number: tier 0's allocate and fill."""
    type_ = registry.tensor_type(dtype, device, not shape)
    if value.__class__ is not float and not value:  # 0 fits everywhere, and 0.0 may be -0.0
        return Tensor._of(type_.backend.zeros(shape, dtype, device), type_)
    value = element("full", value, dtype)
    array = type_.backend.empty(shape, dtype, device)
    type_.backend.fill(array, value)
    return Tensor._of(array, type_)


@primitive(dtype=keyed_dtype, structure=creation, shape=_count_shape, keyed=("dtype", "device"), method=False)
def _arange(start: Any, step: Any, count: int, dtype: DType, device: Device) -> Tensor:
    """start + step * i for i in [0, count)."""


def with_options(tensor: Tensor, requires_grad: bool | None, pin_memory: bool | None = False) -> Tensor:
    """A new *tensor* with what the caller of every factory may ask for: a gradient, and memory that is pinned."""
    if pin_memory and tensor._type.backend.holds_data:
        tensor = tensor.pin_memory()
    return tensor.requires_grad_() if requires_grad else tensor


def _beside(tensor: Tensor, device: Any) -> Any:
    return tensor.device if device is None else device


def _wrapped_like(input: Tensor, tensor: Tensor, requires_grad: bool | None, pin_memory: bool | None = False) -> Tensor:
    if pin_memory:
        tensor = with_options(tensor, False, True)
    return with_options(input._made_like(tensor) if isinstance(input, Wrapped) else tensor, requires_grad)


@function(method=False, dtype_of_out=True)
def full(
    size: int | Sequence[int],
    fill_value: Number | Tensor,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """A tensor of *size* filled with *fill_value*, whose type decides the dtype unless *dtype* is given.

    Raises RuntimeError for a negative size.

    >>> import polyad
    >>> polyad.full((2,), 7)
    tensor([7, 7])
    """
    check_layout(layout, "full")
    shape = check_sizes(normalize_shape((size,), "full"), "full")
    if isinstance(fill_value, Tensor) or (isinstance(fill_value, numbers.Number) and hasattr(fill_value, "item")):
        fill_value = fill_value.item()  # a number of NumPy's too
    if type(fill_value) not in (bool, int, float, complex):
        raise wrong_type("full", "fill_value", fill_value, "a number")
    return with_options(
        _full(shape, fill_value, dtype or dtype_of_number(type(fill_value)), registry.resolve_device(device)),
        requires_grad,
        pin_memory,
    )


@function(method=False, dtype_of_out=True)
def zeros(
    *size: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """A tensor of zeros, float32 (the default dtype) unless *dtype* is given.

    >>> import polyad
    >>> polyad.zeros(2, 2)
    tensor([[0., 0.],
            [0., 0.]])
    """
    shape = check_sizes(normalize_shape(size, "zeros"), "zeros")
    if layout is not None and layout is not strided:
        return _sparse("zeros", layout, shape, dtype, device, requires_grad)
    return with_options(
        _full(shape, 0, dtype or get_default_dtype(), registry.resolve_device(device)), requires_grad, pin_memory
    )


def _sparse(op: str, layout: Any, shape: Shape, dtype: Any, device: Any, requires_grad: bool | None) -> Tensor:
    """A tensor without specified elements, in a sparse layout."""
    made: Tensor = provided.sparse_zeros(
        op, layout, shape, dtype or get_default_dtype(), registry.resolve_device(device)
    )
    return with_options(made, requires_grad, False)


@function(method=False, dtype_of_out=True)
def ones(
    *size: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """A tensor of ones, float32 (the default dtype) unless *dtype* is given.

    >>> import polyad
    >>> polyad.ones(2)
    tensor([1., 1.])
    """
    check_layout(layout, "ones")
    shape = check_sizes(normalize_shape(size, "ones"), "ones")
    return with_options(
        _full(shape, 1, dtype or get_default_dtype(), registry.resolve_device(device)), requires_grad, pin_memory
    )


@function(method=False, dtype_of_out=True)
def empty(
    *size: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    memory_format: MemoryFormat = contiguous_format,
    out: Tensor | None = None,
) -> Tensor:
    """A tensor whose elements are not set, in memory as *memory_format* says.

    >>> import polyad
    >>> polyad.empty(2, 3).shape
    polyad.Size([2, 3])
    >>> polyad.empty(2, 3, 4, 5, memory_format=polyad.channels_last).stride()
    (60, 1, 15, 3)
    """
    shape = check_sizes(normalize_shape(size, "empty"), "empty")
    if layout is not None and layout is not strided:
        return _sparse("empty", layout, shape, dtype, device, requires_grad)
    memory_format = check_format(memory_format, "empty", contiguous_format)
    if memory_format is preserve_format:
        raise ShapeError("empty: there is nothing whose memory format to preserve", fix="use contiguous_format")
    strides = format_strides(shape, memory_format, "empty")
    return with_options(
        _allocate(shape, strides, dtype or get_default_dtype(), registry.resolve_device(device), pin_memory),
        requires_grad,
    )


def _allocate(shape: Shape, strides: Strides, dtype: DType, device: Device, pinned: Any = False) -> Tensor:
    if state.modes:
        return EMPTY.through_modes(shape, strides, dtype, device, pinned)  # type: ignore[no-any-return]
    return _allocated(shape, strides, dtype, device, pinned)


def _allocated(shape: Shape, strides: Strides, dtype: DType, device: Device, pinned: Any = False) -> Tensor:
    """Memory that is not set; *pinned* (a device, True for the current accelerator) where its backend does that."""
    type_ = registry.tensor_type(dtype, device, not shape)
    return Tensor._of(
        _pinned(type_, shape, strides, None if pinned is True else pinned)
        if pinned
        else strided_array(type_, shape, strides),
        type_,
    )


def _pinned(type_: TensorType, shape: Shape, strides: Strides, by: Any) -> Any:
    if not type_.backend.holds_data:
        return strided_array(type_, shape, strides)
    if type_.device.type != "cpu":
        raise DeviceError(
            f"pin_memory=True: only memory of the cpu is pinned, and the tensor is to be on {type_.device}",
            fix="leave it out",
        )
    pins = pinning(by)
    if pins is None:
        return strided_array(type_, shape, strides)
    host = type_.backend
    memory = host.adopt(pins.pinned(max(reach(shape, strides), 1), type_.dtype), type_.dtype, type_.device)
    return host.as_strided(host.root(memory), type_.dtype, shape, strides, 0)


def pinned_like(input: Tensor, by: Any) -> Tensor:
    """Memory pinned by a device (None: the current accelerator), not set, in which *input* finds room as it lies."""
    return _allocate(*_place_like("pin_memory", input, None, None, None, preserve_format), by or True)


EMPTY = declare(Effect("empty", _allocate, _allocated, result=Result.FRESH))


def _place_like(
    op: str, input: Tensor, dtype: DType | None, layout: Any, device: Any, memory_format: MemoryFormat
) -> tuple[Shape, Strides, DType, Device]:
    """(shape, strides, dtype, device) of a new tensor like *input*, except for what the arguments set."""
    type_ = check_tensor(input, op, "input")._type
    check_layout(layout, op)
    shape, strides, _ = layout_of(input)
    strides = copy_strides(shape, strides, check_format(memory_format, op), op)
    return shape, strides, dtype or type_.dtype, type_.device if device is None else registry.resolve_device(device)


@composite(dtype=keyed_dtype, structure=creation, shape=_given_shape, keyed=("dtype", "device"), method=False)
def _full_strided(shape: Shape, strides: Strides, value: Any, dtype: DType, device: Device) -> Tensor:
    """As `_full`, lying in dense memory with *strides*."""
    result = _allocated(shape, strides, dtype, device)
    result._type.backend.fill(result._array, value)
    return result


@function(method=False)
def full_like(
    input: Tensor,
    fill_value: Number | Tensor,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:
    """A tensor filled with *fill_value*, with input's shape, dtype, device and order in memory unless others are given.

    >>> import polyad
    >>> polyad.full_like(polyad.zeros(2), 3)
    tensor([3., 3.])
    """
    shape, strides, dtype, where = _place_like("full_like", input, dtype, layout, device, memory_format)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    if strides == contiguous_strides(shape):
        return _wrapped_like(input, _full(shape, fill_value, dtype, where), requires_grad, pin_memory)
    if fill_value:
        fill_value = element("full_like", fill_value, dtype)
    return _wrapped_like(input, _full_strided(shape, strides, fill_value, dtype, where), requires_grad, pin_memory)


@function(method=False)
def zeros_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:
    """Zeros with input's shape, dtype, device and order in memory.

    >>> import polyad
    >>> polyad.zeros_like(polyad.ones(2))
    tensor([0., 0.])
    """
    check_tensor(input, "zeros_like", "input")
    return full_like(
        input,
        0,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
        memory_format=memory_format,
    )


@function(method=False)
def ones_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:
    """Ones with input's shape, dtype, device and order in memory.

    >>> import polyad
    >>> polyad.ones_like(polyad.zeros(2))
    tensor([1., 1.])
    """
    check_tensor(input, "ones_like", "input")
    return full_like(
        input,
        1,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
        memory_format=memory_format,
    )


@function(method=False)
def empty_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:
    """A tensor with input's shape, dtype, device and order in memory whose elements are not set.

    >>> import polyad
    >>> polyad.empty_like(polyad.zeros(2, 3)).shape
    polyad.Size([2, 3])
    """
    result = _allocate(*_place_like("empty_like", input, dtype, layout, device, memory_format), pin_memory)
    return _wrapped_like(input, result, requires_grad)


def _real(op: str, name: str, value: Any) -> int | float:
    """The bound or step *name* of a range as a number of Python's."""
    if value.__class__ is int or value.__class__ is float:
        return value
    if isinstance(value, Tensor):
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise wrong_type(op, name, value, "a real number")
    return int(value) if isinstance(value, numbers.Integral) else float(value)


@function(method=False, dtype_of_out=True, sequence=True)
def arange(
    start: float | Tensor | None = None,
    end: float | Tensor | None = None,
    step: float | Tensor = 1,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """start, start + step, ... below *end*; ``arange(n)`` starts at 0. int64 unless an argument is a float.

    Where an integer *dtype* is asked for, start and step lose their fractions first, and so does end for int64.

    Raises ValueError for a step of 0, a step that leads away from *end*, and numbers that are not finite.

    >>> import polyad
    >>> polyad.arange(1, 6, 2)
    tensor([1, 3, 5])
    """
    import math

    check_layout(layout, "arange")
    if end is None:
        start, end = None, start
    if end is None:
        raise ArgumentTypeError("arange: end is missing", fix="say where it ends: arange(5)")
    start, end, step = (
        _real("arange", name, value)
        for name, value in (("start", 0 if start is None else start), ("end", end), ("step", step))
    )
    if dtype is int64 and all(math.isfinite(value) for value in (start, end, step)):
        start, end, step = int(start), int(end), int(step)
    if step == 0 or not (end - start) * step >= 0 or not math.isfinite((end - start) / step):
        raise OptionError(
            f"arange: step {step} does not lead from {start} to {end}",
            fix="give finite numbers and a step of the right sign that is not 0",
        )
    if dtype is None:
        dtype = (
            get_default_dtype()
            if not all(isinstance(value, numbers.Integral) for value in (start, end, step))
            else dtype_of_number(int)
        )
    count = math.ceil((end - start) / step)
    if dtype.category == INTEGER:
        start, step = int(start), int(step)
    return with_options(_arange(start, step, count, dtype, registry.resolve_device(device)), requires_grad, pin_memory)


@function(method=False, dtype_of_out=True, sequence=True)
def range(
    start: float | Tensor = 0,
    end: float | Tensor | None = None,
    step: float | Tensor = 1,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """start, start + step, ... up to and with *end*, in the default floating dtype; deprecated: use `arange`.

    Raises RuntimeError for a step of 0 or a step that leads away from *end*, TypeError without *end*.

    >>> import polyad
    >>> polyad.range(1, 2, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    import math

    check_layout(layout, "range")
    warn_user("range: deprecated, since it includes its end; use arange, which excludes it", UserWarning)
    if end is None:
        raise ArgumentTypeError("range: end is missing", fix="pass start and end")
    start, end, step = _real("range", "start", start), _real("range", "end", end), _real("range", "step", step)
    if step == 0 or not (end - start) * step >= 0 or not math.isfinite((end - start) / step):
        raise ShapeError(
            f"range: step {step} does not lead from {start} to {end}",
            fix="give finite numbers and a step of the right sign that is not 0",
        )
    count = math.floor((end - start) / step) + 1
    result = _arange(start, step, count, dtype or get_default_dtype(), registry.resolve_device(device))
    return with_options(result, requires_grad, pin_memory)


@function(method=False)
def tensor(
    data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor holding a copy of *data*: numbers, nested lists, a NumPy array, an array on a GPU or a tensor.

    The dtype follows the data (float: the default dtype, int: int64) unless given. What has
    ``__cuda_array_interface__``, such as CuPy's arrays, stays on its device unless *device* is given. The bytes of an
    `polyad.UntypedStorage` are read as elements of *dtype*, and without one as numbers.

    Raises ValueError for ragged lists and TypeError for data that is not numeric.

    >>> import polyad
    >>> polyad.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    from ...interop.reading import host_data

    if isinstance(data, Tensor):
        result = data.detach().to(dtype=dtype, device=device, copy=True)
        settle(result)
        return with_options(result.clone() if result._storage is not None else result, requires_grad, pin_memory)
    if isinstance(data, UntypedStorage) and dtype is not None:  # its bytes are elements of that dtype
        return tensor(
            TypedStorage(wrap_storage=data, dtype=dtype)._elements(),
            device=device,
            requires_grad=requires_grad,
            pin_memory=pin_memory,
        )
    if _describes_gpu_memory(data):
        from ...interop.cuda_array import shared_with

        lent, _ = shared_with(data)
        return with_options(lent.to(dtype=dtype, device=device, copy=True), requires_grad, pin_memory)
    where = registry.resolve_device(device)
    values, found = host_data(data, dtype, copy=bool(state.modes))  # what a mode sees is not the caller's memory
    return with_options(_bring(values, found, where), requires_grad, pin_memory)


_WITHOUT_ATTRIBUTES = frozenset({list, tuple, bool, int, float, complex})
"""Classes of what `tensor` gets most, which describe no memory."""


def _describes_gpu_memory(data: Any) -> bool:
    return data.__class__ not in _WITHOUT_ATTRIBUTES and hasattr(data, "__cuda_array_interface__")


def _bring(values: Any, dtype: DType, device: Device) -> Tensor:
    """A tensor with a copy of the host's *values*."""
    if state.modes:
        return TENSOR.through_modes(values, dtype, device)  # type: ignore[no-any-return]
    return _brought(values, dtype, device)


def _brought(values: Any, dtype: DType, device: Device) -> Tensor:
    type_ = registry.tensor_type(dtype, device, values.ndim == 0)
    return Tensor._of(type_.backend.from_host(values, dtype, device), type_)


TENSOR = declare(Effect("tensor", _bring, _brought, result=Result.FRESH))


@function(method=False)
def scalar_tensor(
    s: Any,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """A 0-d tensor of a number, in the default dtype unless *dtype* is given.

    >>> import polyad
    >>> polyad.scalar_tensor(2)
    tensor(2.)
    """
    return full(
        (),
        s,
        dtype=dtype or get_default_dtype(),
        layout=layout,
        device=device,
        requires_grad=requires_grad,
        pin_memory=pin_memory,
    )


@function(method=False)
def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """*data* as a tensor, without a copy where possible: a tensor itself, the own memory of a NumPy array or of an
    object with ``__cuda_array_interface__``, such as CuPy's arrays; see `tensor`.

    >>> import polyad
    >>> x = polyad.ones(2)
    >>> polyad.as_tensor(x) is x
    True
    """
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    from ...interop.numpy import shared_with

    if _describes_gpu_memory(data):
        from ...interop import cuda_array

        lent, writable = cuda_array.shared_with(data)
        return lent.to(dtype=dtype, device=device, copy=not writable)
    shared = shared_with(data)
    if shared is None:
        return tensor(data, dtype=dtype, device=device)
    return shared.to(dtype=dtype, device=registry.resolve_device(device))


@function(method=False)
def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """*obj* as a tensor: copied if *copy* is True, never if it is False, where necessary if it is None.

    A DLPack capsule is read by `from_dlpack`. The memory of an object with Python's buffer protocol, such as ``bytes``,
    is read as *dtype* (the default dtype unless *dtype* is given), not converted to it.

    Raises ValueError if copy is False and the conversion needs a copy.

    >>> import polyad
    >>> polyad.asarray([1, 2], dtype=polyad.float32)
    tensor([1., 2.])
    >>> polyad.asarray(bytearray([1, 0, 2, 0]), dtype=polyad.int16)
    tensor([1, 2], dtype=polyad.int16)
    """
    from ...interop.numpy import buffer_of, frombuffer, is_numpy, shared_with

    writable = True
    found: Tensor | None
    if isinstance(obj, Tensor):
        found = obj
    elif _describes_gpu_memory(obj):
        from ...interop import cuda_array

        found, writable = cuda_array.shared_with(obj)
    elif type(obj).__name__ == "PyCapsule":
        from ...interop.dlpack import from_dlpack

        found = from_dlpack(obj)
    else:
        found = shared_with(obj)
    memory = None if found is not None or is_numpy(obj) else buffer_of(obj)
    if memory is not None:
        if memory.readonly:
            memory, writable = memoryview(bytearray(memory)), copy is not False
        found = frombuffer(memory, dtype=dtype or get_default_dtype())
    if found is None:
        if copy is False:
            raise ArgumentError(
                f"asarray: {type(obj).__name__} has no memory to share, but copy is False", fix="let copy be None"
            )
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    if copy or (copy is None and not writable):
        return tensor(found, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    if not writable:
        raise ArgumentError("asarray: the memory is read-only, but copy is False", fix="let copy be None")
    result = found.to(dtype=dtype, device=device)
    if copy is False and result is not found:
        raise ArgumentError("asarray: the dtype or device needs a copy, but copy is False", fix="let copy be None")
    return with_options(result.detach(), True) if requires_grad and not result.requires_grad else result


@function(method=False)
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """A tensor of *size* whose elements, not set, lie in memory with *stride*.

    Raises RuntimeError for negative sizes or strides, or if they differ in number.

    >>> import polyad
    >>> polyad.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    check_layout(layout, "empty_strided")
    shape = check_sizes(normalize_shape((size,), "empty_strided"), "empty_strided")
    strides = normalize_shape((stride,), "empty_strided")
    if len(shape) != len(strides) or any(step < 0 for step in strides):
        raise ShapeError(
            f"empty_strided: stride {strides} does not fit size {shape}", fix="give a stride of 0 or more for each size"
        )
    memory = empty((reach(shape, strides),), dtype=dtype, device=device, pin_memory=pin_memory)
    return with_options(as_strided(memory, shape, strides).detach(), requires_grad)


@function(method=False)
def empty_permuted(
    size: Any,
    physical_layout: Sequence[int],
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """A tensor of *size* whose elements, not set, lie without gaps; *physical_layout* has its dimensions, the slowest
    first.

    Raises RuntimeError unless physical_layout names each dimension once.

    >>> import polyad
    >>> polyad.empty_permuted((2, 3, 4), (1, 0, 2)).stride()
    (4, 8, 1)
    """
    check_layout(layout, "empty_permuted")
    shape = check_sizes(normalize_shape((size,), "empty_permuted"), "empty_permuted")
    order = normalize_shape((physical_layout,), "empty_permuted")
    if sorted(order) != list(builtins.range(len(shape))):
        raise ShapeError(
            f"empty_permuted: physical_layout {order} does not name each dimension of size {shape} once",
            fix=f"give an order of 0 to {len(shape) - 1}" if shape else "give ()",
        )
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim], step = step, step * max(shape[dim], 1)
    return empty_strided(shape, strides, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


# ---------------------------------------------------------------------------------------------------- new_zeros, ...


@method()
def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`polyad.full` with this tensor's dtype and device unless others are given."""
    where = _beside(self, device)
    result = full(size, fill_value, dtype=dtype or self.dtype, layout=layout, device=where, pin_memory=pin_memory)
    return _wrapped_like(self, result, requires_grad)


@method()
def new_zeros(
    self: Tensor,
    *size: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`polyad.zeros` with this tensor's dtype and device unless others are given."""
    result = zeros(*size, dtype=dtype or self.dtype, layout=layout, device=_beside(self, device), pin_memory=pin_memory)
    return _wrapped_like(self, result, requires_grad)


@method()
def new_ones(
    self: Tensor,
    *size: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`polyad.ones` with this tensor's dtype and device unless others are given."""
    result = ones(*size, dtype=dtype or self.dtype, layout=layout, device=_beside(self, device), pin_memory=pin_memory)
    return _wrapped_like(self, result, requires_grad)


@method()
def new_empty(
    self: Tensor,
    *size: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`polyad.empty` with this tensor's dtype and device unless others are given."""
    result = empty(*size, dtype=dtype or self.dtype, layout=layout, device=_beside(self, device), pin_memory=pin_memory)
    return _wrapped_like(self, result, requires_grad)


@method()
def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """`polyad.empty_strided` with this tensor's dtype and device unless others are given."""
    result = empty_strided(
        size,
        stride,
        dtype=dtype or self.dtype,
        layout=layout,
        device=_beside(self, device),
        pin_memory=pin_memory,
    )
    return _wrapped_like(self, result, requires_grad)
