"""Where a tensor is: questions about its device, and PyTorch's shortcuts to move it there.

`Tensor.to` moves anywhere; `cpu` stands beside it in conversion.py.
"""

from __future__ import annotations

from typing import Any

from ...backend import Backend
from ...base.device import Device
from ...base.memory_formats import MemoryFormat, preserve_format
from ...devices import registry
from ...devices.accelerators import pinning
from ...devices.streams import Stream, keep_for
from ...dispatch.op import function, method, prop
from ...errors import DeviceError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import pinned_like


@method()
def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: MemoryFormat = preserve_format
) -> Tensor:
    """The tensor on a cuda device: itself if it is there, else a copy.

    *device* is an index, a device or None for the current one. Raises RuntimeError if it is no cuda device or does not
    exist.

    >>> import polyad
    >>> x = polyad.zeros(1)
    >>> y = x.cuda() if polyad.cuda.is_available() else x
    """
    check_tensor(self, "cuda", "self")
    if isinstance(device, int) and not isinstance(device, bool):
        device = Device("cuda", device)
    found = registry.resolve_device("cuda" if device is None else device)
    if found.type != "cuda":
        raise DeviceError(f"cuda: {found} is no cuda device", fix='pass an index, "cuda:0" or None')
    result: Tensor = self.to(found, non_blocking=non_blocking, memory_format=memory_format)
    return result


@function()
def get_device(input: Tensor) -> int:
    """The index of the tensor's device, -1 on the cpu.

    >>> import polyad
    >>> polyad.get_device(polyad.zeros(1, device="cpu"))
    -1
    """
    device = check_tensor(input, "get_device", "input").device
    return -1 if device.index is None else device.index


@method()
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in page-locked memory, from which the accelerator (or *device*) copies while the program goes on.

    Itself if it lies there already, or if there is no accelerator that pins memory. Raises RuntimeError for a tensor
    that is not on the cpu.

    >>> import polyad
    >>> x = polyad.zeros(1, device="cpu").pin_memory()
    >>> y = x.to(polyad.accelerator.current_accelerator() or "cpu", non_blocking=True)
    """
    if check_tensor(self, "pin_memory", "self").device.type != "cpu":
        raise DeviceError("pin_memory: only memory of the cpu is pinned", operands={"self": self}, fix="leave it out")
    backend = pinning(device)
    if backend is None or _lies_in(backend, self):
        return self
    return pinned_like(self, device).copy_(self)


@method()
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the tensor lies in memory that the accelerator (or *device*) has pinned.

    >>> import polyad
    >>> polyad.zeros(1).is_pinned()
    False
    """
    check_tensor(self, "is_pinned", "self")
    backend = pinning(device) if self._type.device.type == "cpu" else None
    return backend is not None and _lies_in(backend, self)


def _lies_in(backend: Backend, tensor: Tensor) -> bool:
    return backend.is_pinned(tensor._type.backend.to_host(tensor._array))


@method()
def record_stream(self: Tensor, s: Stream) -> None:
    """Say that stream *s* uses the tensor: its memory is not given out again before what *s* has then is done.

    Wanted where a tensor of one stream is used in another and freed. Raises RuntimeError for a stream of another
    device.

    >>> import polyad
    >>> x = polyad.zeros(1, device="cpu")
    >>> x.record_stream(polyad.Stream("cpu"))
    """
    check_tensor(self, "record_stream", "self")
    keep_for(self._array, self._type.device, s)


@prop()
def is_cuda(tensor: Tensor) -> bool:
    """Whether the tensor is on a device of type 'cuda'."""
    return tensor.device.type == "cuda"


@prop()
def is_cpu(tensor: Tensor) -> bool:
    """Whether the tensor is on a device of type 'cpu'."""
    return tensor.device.type == "cpu"


@prop()
def is_meta(tensor: Tensor) -> bool:
    """Whether the tensor has no data: it is on device 'meta'."""
    return not tensor._type.backend.holds_data
