"""Sharing memory with other libraries through DLPack, both ways.

Source: the DLPack specification, and the Python array API standard's ``__dlpack__`` and ``from_dlpack``. Memory of the
cpu travels through NumPy, which implements both sides; a backend with memory of its own brings `Backend.to_dlpack` and
`Backend.from_dlpack`.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend import registry
from ..device import Device
from ..errors import ArgumentError, ArgumentTypeError, DeviceError, ExportError, wrong_type
from .numpy import from_numpy

if TYPE_CHECKING:
    from ..tensor import Tensor

DEVICE_TYPES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10}
"""DLPack's numbers (DLDeviceType) of the device types that have a number."""

_NAMES = {number: name for name, number in DEVICE_TYPES.items()} | {3: "cpu"}  # 3: host memory pinned by CUDA


def device_of(self: Tensor) -> tuple[int, int]:
    """The device as DLPack counts them: (device type, index).

    >>> import polyad
    >>> polyad.zeros(1, device="cpu").__dlpack_device__()
    (1, 0)
    """
    device = self.device
    if device.type not in DEVICE_TYPES:
        raise ExportError(
            f"__dlpack_device__: DLPack has no number for {device.type!r}",
            operands={"self": self},
            fix="copy it to the cpu first: tensor.cpu()",
        )
    return DEVICE_TYPES[device.type], device.index or 0


def export(
    self: Tensor,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule of the tensor's memory, which another library's ``from_dlpack`` takes over.

    With *copy* True the capsule holds a copy. Raises BufferError for a tensor that requires a gradient, for a dtype or
    device that DLPack or the bridge does not know (bfloat16), and for another *dl_device* than the tensor's.

    >>> import numpy, polyad
    >>> x = polyad.zeros(2)
    >>> numpy.from_dlpack(x)[0] = 1
    >>> x
    tensor([1., 0.])
    """
    if self.requires_grad:
        raise ExportError(
            "__dlpack__: the tensor requires a gradient, which the other library would not track",
            operands={"self": self},
            fix="export tensor.detach()",
        )
    own = device_of(self)
    if not (dl_device is None or (isinstance(dl_device, tuple) and len(dl_device) == 2)):
        raise wrong_type("__dlpack__", "dl_device", dl_device, "a pair of ints")
    if not (max_version is None or (isinstance(max_version, tuple) and len(max_version) == 2)):
        raise wrong_type("__dlpack__", "max_version", max_version, "a pair of ints")
    if dl_device is not None and tuple(dl_device) != own:
        raise ExportError(
            f"__dlpack__: device {tuple(dl_device)} is asked for, the tensor is on {own}",
            operands={"self": self},
            fix="move the tensor first: tensor.to(device)",
        )
    type_ = self._type
    if self._storage is None:
        self._make_storage()
    array = self.clone()._array if copy else self._array
    try:
        return type_.backend.to_dlpack(array, stream, max_version)
    except BufferError as error:
        raise ExportError(
            f"__dlpack__: {type_.dtype.name} cannot be exported: {error}",
            operands={"self": self},
            fix="convert it to a dtype that DLPack's readers know, such as float32",
        ) from error


class _Capsule:
    """A bare capsule with the interface of the object that exported it; such capsules are the cpu's here."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DEVICE_TYPES["cpu"], 0


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array: an object with ``__dlpack__``, or a capsule of cpu memory.

    *device* moves the result there; *copy* True copies, False raises where a copy cannot be avoided. Raises TypeError
    for an object without ``__dlpack__``, ValueError for memory that is read-only or laid out backwards, and
    RuntimeError for a device type that no installed backend serves.

    >>> import numpy, polyad
    >>> a = numpy.zeros(2)
    >>> polyad.from_dlpack(a)[0] = 1
    >>> a
    array([1., 0.])
    """
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__") or not hasattr(ext_tensor, "__dlpack_device__"):
        raise ArgumentTypeError(
            f"from_dlpack: {type(ext_tensor).__name__} has no __dlpack__", fix="use polyad.tensor to copy other data"
        )
    number, index = (int(part) for part in ext_tensor.__dlpack_device__())
    if number not in _NAMES:
        raise DeviceError(
            f"from_dlpack: device type {number} is not known",
            notes={"known": ", ".join(f"{n} {name}" for n, name in sorted(_NAMES.items()))},
            fix="copy the array to the cpu first",
        )
    name = _NAMES[number]
    tensor = _from_host(ext_tensor) if name == "cpu" else _from_device(ext_tensor, Device(name, index))
    target = tensor.device if device is None else registry.resolve_device(device)
    if copy is False and target != tensor.device:
        raise ArgumentError(
            f"from_dlpack: the array is on {tensor.device}; {target} needs a copy, but copy=False", fix="allow the copy"
        )
    moved: Tensor = tensor.to(target, copy=bool(copy))
    return moved


def _from_host(source: Any) -> Tensor:
    try:
        array = np.from_dlpack(source)
    except (BufferError, RuntimeError, ValueError) as error:
        raise ArgumentTypeError(
            f"from_dlpack: {type(source).__name__} cannot be read: {error}",
            fix="convert it to a dtype that NumPy has, such as float32; a capsule can be read once",
        ) from error
    if isinstance(source, _Capsule):
        array = _writeable(array)
    if not array.flags.writeable:
        raise ArgumentError("from_dlpack: the memory is read-only", fix="pass a copy")
    return from_numpy(array)


def _writeable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array, but writeable: a capsule of DLPack before 1.0 cannot say so, and NumPy assumes not."""
    if array.flags.writeable or any(stride < 0 for stride in array.strides):
        return array
    span = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)) + array.itemsize
    memory = (ctypes.c_char * (span if array.size else 0)).from_address(array.ctypes.data)
    memory.owner = array  # type: ignore[attr-defined]
    return np.ndarray(array.shape, array.dtype, memory, 0, array.strides)  # type: ignore[arg-type]


def _from_device(source: Any, device: Device) -> Tensor:
    from ..interop.numpy import polyad_dtype
    from ..tensor import Tensor

    found = registry.resolve_device(device)
    try:
        array = registry.get(found.type).from_dlpack(source, found)
    except BufferError as error:
        raise ExportError(f"from_dlpack: {error}", fix="move the data to the host first") from None
    type_ = registry.tensor_type(polyad_dtype(np.dtype(array.dtype)), found, not array.ndim)
    return Tensor._of(array, type_)


def to_dlpack(tensor: Tensor) -> Any:
    """The capsule of ``tensor.__dlpack__()``. Raises what that raises, and TypeError for anything but a tensor.

    >>> import polyad
    >>> polyad.from_dlpack(polyad.to_dlpack(polyad.ones(2)))
    tensor([1., 1.])
    """
    from ..tensor import check_tensor

    return check_tensor(tensor, "to_dlpack", "tensor").__dlpack__()
