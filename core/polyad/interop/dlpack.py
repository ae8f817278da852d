"""Sharing memory with other libraries through DLPack, both ways.

Source: the DLPack specification, and the Python array API standard's ``__dlpack__`` and ``from_dlpack``. Memory of the
cpu travels through NumPy, which implements both sides; a backend with memory of its own declares DLPack's numbers for
it (``BackendInfo.dlpack``) and brings `Backend.to_dlpack` and `Backend.from_dlpack`.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.device import Device
from ..base.shapes_and_strides import int_of, is_contiguous, reach
from ..base.state import state
from ..devices import registry
from ..errors import ArgumentError, ArgumentTypeError, DeviceError, ExportError, PolyadError, safe_repr, wrong_type
from ..tensor.pending import settle
from .foreign import over
from .numpy import from_numpy

if TYPE_CHECKING:
    from ..tensor import Tensor

HOST = "cpu"
"""The device type whose memory NumPy sees."""


def device_of(self: Tensor) -> tuple[int, int]:
    """The device as DLPack counts them: (device type, index).

    >>> import polyad
    >>> polyad.zeros(1, device="cpu").__dlpack_device__()
    (1, 0)
    """
    device, backend = self.device, self._type.backend
    if not backend.info.dlpack:
        raise ExportError(
            f"__dlpack_device__: the backend {device.type!r} declares no DLPack device type",
            operands={"self": self},
            fix="copy it to the cpu first: tensor.cpu()",
        )
    return backend.info.dlpack[0], backend.dlpack_id(device)


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
    for name, pair in (("dl_device", dl_device), ("max_version", max_version)):
        if not (pair is None or (isinstance(pair, tuple) and len(pair) == 2 and None not in map(int_of, pair))):
            raise wrong_type("__dlpack__", name, pair, "a pair of ints")
    if copy is not None and not isinstance(copy, bool):
        raise wrong_type("__dlpack__", "copy", copy, "a bool or None")
    if dl_device is not None and tuple(dl_device) != own:
        raise ExportError(
            f"__dlpack__: device {safe_repr(tuple(dl_device))} is asked for, the tensor is on {own}",
            operands={"self": self},
            fix="move the tensor first: tensor.to(device)",
        )
    type_ = self._type
    settle(self)
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
    except (RuntimeError, TypeError, ValueError) as error:
        if stream is None or isinstance(error, PolyadError):
            raise
        raise ArgumentError(
            f"__dlpack__: {type_.device} does not take this stream: {error}",
            operands={"stream": stream},
            fix="leave stream out, unless the device has streams",
        ) from error


class _Capsule:
    """A bare capsule with the interface of the object that exported it; such capsules are the cpu's here."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return registry.get(HOST).info.dlpack[0], 0


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array: an object with ``__dlpack__``, or a capsule of cpu memory.

    *device* moves the result there; *copy* True copies, False raises where a copy cannot be avoided. Which backend
    takes the memory over follows from the numbers that backends declare; where several declare the same, that of
    *device*. Raises TypeError for an object without ``__dlpack__``, ValueError for memory that is read-only or laid out
    backwards, BufferError for what the memory's backend cannot take over, and RuntimeError for a device that no
    installed backend serves.

    >>> import numpy, polyad
    >>> a = numpy.zeros(2)
    >>> polyad.from_dlpack(a)[0] = 1
    >>> a
    array([1., 0.])
    """
    if copy is not None and not isinstance(copy, bool):
        raise wrong_type("from_dlpack", "copy", copy, "a bool or None")
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__") or not hasattr(ext_tensor, "__dlpack_device__"):
        raise ArgumentTypeError(
            f"from_dlpack: {type(ext_tensor).__name__} has no __dlpack__", fix="use polyad.tensor to copy other data"
        )
    number, index = (int(part) for part in ext_tensor.__dlpack_device__())
    target = None if device is None else registry.resolve_device(device)
    name = _served_by(number, target)
    tensor = _from_host(ext_tensor) if name == HOST else _from_device(ext_tensor, _device_with(name, index))
    target = target or tensor.device
    if copy is False and target != tensor.device:
        raise ArgumentError(
            f"from_dlpack: the array is on {tensor.device}; {target} needs a copy, but copy=False", fix="allow the copy"
        )
    moved: Tensor = tensor.to(target, copy=bool(copy))
    return moved


def _served_by(number: int, target: Device | None) -> str:
    """The device type that takes memory of DLPack's device type *number*; no backend is created to find it out."""
    if target is None and number in registry.get(HOST).info.dlpack:
        return HOST
    infos = [registry.info_of(name) for name in registry.names()]
    known = {info.name: info.dlpack for info in infos if info is not None and info.dlpack}
    found = [name for name, numbers in known.items() if number in numbers]
    for preferred in (HOST if target is None else target.type, HOST):
        if preferred in found:
            return preferred
    if len(found) != 1:
        listed = ", ".join(f"{' and '.join(map(str, numbers))} {name}" for name, numbers in known.items())
        raise DeviceError(
            f"from_dlpack: device type {number} is served by "
            + (f"several backends: {', '.join(found)}" if found else "no installed backend"),
            notes={"served": listed},
            fix=f'name the one it is from: device="{found[0]}"' if found else "copy the array to the cpu first",
        )
    return found[0]


def _device_with(name: str, number: int) -> Device:
    """The device of type *name* that DLPack knows by *number*."""
    backend = registry.get(name)
    count, why = registry.count_devices(backend)
    devices = [registry.resolve_device(Device(name, at if backend.info.indexed else None)) for at in range(count)]
    numbers = {backend.dlpack_id(device): device for device in devices}
    if number not in numbers:
        raise DeviceError(
            f"from_dlpack: the array is on a device {number}, which {name!r} does not have",
            notes={"has": ", ".join(map(str, numbers)) or "none" + (f": {why}" if why else "")},
            fix="copy the array to the cpu first",
        )
    return numbers[number]


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
    from ..tensor import Tensor

    backend = registry.get(device.type)
    try:
        array, dtype = backend.from_dlpack(source, device)
    except BufferError as error:
        raise ExportError(
            f"from_dlpack: {device} cannot take over the {type(source).__name__}: {error}",
            fix="copy it to the cpu first, or to an array of a dtype that the device has",
        ) from error
    shape, steps = array.shape, tuple([stride // dtype.itemsize for stride in array.strides])
    for mode in state.modes:
        mode.shares_memory()
    if is_contiguous(shape, steps):
        return Tensor._of(array, registry.tensor_type(dtype, device, not shape))
    root = backend.as_strided(backend.root(array), dtype, (reach(shape, steps),), (1,), 0)
    return over(backend, root, dtype, device, shape, steps)


def to_dlpack(tensor: Tensor) -> Any:
    """The capsule of ``tensor.__dlpack__()``. Raises what that raises, and TypeError for anything but a tensor.

    >>> import polyad
    >>> polyad.from_dlpack(polyad.to_dlpack(polyad.ones(2)))
    tensor([1., 1.])
    """
    from ..tensor.tensor import check_tensor

    return check_tensor(tensor, "to_dlpack", "tensor").__dlpack__()
