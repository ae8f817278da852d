"""Memory that processes share: `Tensor.share_memory_`.

Such memory is a segment (`polyad.files.segments`) that is mapped, and the tensor's storage keeps the file descriptor by
which `polyad.multiprocessing` hands it on.
"""

from __future__ import annotations

import mmap
import os
import socket
import weakref
from typing import Any

from ...base.dtypes import uint8
from ...dispatch.op import method
from ...errors import DeviceError, NotSupported
from ...files.segments import new_segment
from ...history.grad_mode import no_grad
from ...tensor import Tensor
from ...tensor.storage import Storage
from ...tensor.tensor import check_tensor

CAN_SHARE = hasattr(socket, "send_fds")
"""Whether file descriptors can be handed on: not on Windows."""


@method()
def share_memory_(self: Tensor) -> Tensor:
    """Move the tensor's elements to memory that other processes see when they are given the tensor; returns it.

    A process that `polyad.multiprocessing` starts, or that gets the tensor through its queues, reads and writes the
    same elements. Tensors that shared memory with this one before keep the old memory. Nothing happens if it is shared
    already. The memory is gone with the last tensor that shows it, in whichever process.

    Raises RuntimeError for a tensor that is not on the cpu, or a view; NotImplementedError on Windows.

    >>> import polyad
    >>> polyad.zeros(3).share_memory_().is_shared()
    True
    """
    type_ = check_tensor(self, "share_memory_", "self")._type
    if type_.device.type != "cpu":
        raise DeviceError(
            "share_memory_: only memory of the cpu is shared", operands={"self": self}, fix="share tensor.cpu()"
        )
    if not CAN_SHARE:
        raise NotSupported("share_memory_: this system hands no file descriptors on", fix="send tensors as copies")
    if is_shared(self):
        return self
    old = self.untyped_storage()
    with no_grad():
        self.set_(map_segment(_filled(old)), self.storage_offset(), self.shape, self.stride())
    return self


@method()
def is_shared(self: Tensor) -> bool:
    """Whether other processes can be given the tensor's memory; see `polyad.Tensor.share_memory_`.

    >>> import polyad
    >>> polyad.zeros(3).is_shared()
    False
    """
    check_tensor(self, "is_shared", "self")
    storage = self._storage
    return storage is not None and (storage.origin or storage).segment is not None


def _filled(old: Any) -> int:
    """A segment with the bytes of a storage, and one byte if there are none, since nothing empty is mapped."""
    descriptor = new_segment()
    try:
        contents = memoryview(old._bytes().numpy())
        os.truncate(descriptor, max(1, contents.nbytes))
        done = 0
        while done < contents.nbytes:  # not through a mapping: where memory ends, write fails, and a mapping kills
            done += os.pwrite(descriptor, contents[done:], done)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def map_segment(descriptor: int) -> Any:
    """A storage over the memory of a segment; it owns the file descriptor."""
    from ...interop.numpy import frombuffer

    try:
        mapping = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        untyped = frombuffer(mapping, dtype=uint8).untyped_storage()
    except BaseException:
        os.close(descriptor)
        raise
    storage: Storage = untyped._storage
    storage.segment = descriptor
    weakref.finalize(storage, os.close, descriptor)
    return untyped
