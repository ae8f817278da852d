"""Messages between a loader and its workers.

A message is a Python object, pickled. What its tensors and arrays hold is kept out of the pickle (PEP 574) and is put
into a *segment* together with a long pickle: memory without a name, of which the other process gets a file descriptor.
It is written once, and mapped on the other side, where the tensors show it as it is. Short messages need no segment.

A segment is a memfd where the system has them (Linux), else a file that was removed from its folder as soon as it was
created. Either way there is no name by which it could stay behind. Where file descriptors cannot be passed on
(Windows), messages go through the connection as a whole.

A mapping needs a file descriptor as long as it lives. So when a process holds many batches, further ones are copied.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import struct
import weakref
from collections.abc import Callable
from functools import cache
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

from polyad import errors
from polyad.files.segments import new_segment
from polyad.tensor import Tensor

from .failures import SharedMemoryFull

__all__ = ["Packed", "dumped", "pack", "receive"]

INLINE = 1 << 15
"""Bytes that go through the connection; more go into a segment."""
ALIGNMENT = 64
MOST_MAPPED = 64
"""Mappings that a process holds, before it copies."""
FOLDER: str | None = None
"""Where segments are, as removed files; None for memfd where there is such a thing."""

_CAN_PASS = hasattr(socket, "send_fds")
_mapped: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
_HEAD = struct.Struct("<?I")


def _check_history(obj: Any) -> None:
    if isinstance(obj, Tensor) and not obj.is_leaf:
        raise errors.AutogradError(
            "DataLoader: a tensor with history cannot go to another process, its gradient would be lost",
            operands={"tensor": obj},
            fix="detach() it in the dataset, or compute it in the loop",
        )


class _ByName(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        _check_history(obj)
        return NotImplemented


@cache
def _by_value() -> Any:
    """A pickler that writes out functions and classes that nobody can import: local ones, and the main module's."""
    import cloudpickle

    class ByValue(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            _check_history(obj)
            return super().reducer_override(obj)

    return ByValue


class Packed:
    """A message ready to be sent, to one receiver or to several."""

    def __init__(self, head: bytes, segment: int | None) -> None:
        self._head = head
        self._segment = segment

    def send(self, connection: Connection) -> None:
        """Send it; raises OSError if nobody is at the other end."""
        connection.send_bytes(self._head)
        if self._segment is not None:
            reduction.send_handle(connection, self._segment, None)  # a process id on Windows only

    def close(self) -> None:
        """Let go of the segment; receivers keep it."""
        if self._segment is not None:
            os.close(self._segment)
            self._segment = None

    def __enter__(self) -> Packed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def dumped(message: Any, by_value: bool = False) -> tuple[io.BytesIO, list[pickle.PickleBuffer]]:
    """*message* pickled, and the data that is kept out of it. Its classes go by name if they can, unless *by_value*."""
    if not by_value:
        try:
            return _dumped(message, _ByName)
        except (pickle.PicklingError, AttributeError, TypeError):
            pass
    return _dumped(message, _by_value())


def _dumped(message: Any, pickler: Any) -> tuple[io.BytesIO, list[pickle.PickleBuffer]]:
    buffers: list[pickle.PickleBuffer] = []
    text = io.BytesIO()
    pickler(text, protocol=5, buffer_callback=buffers.append).dump(message)
    return text, buffers


def pack(message: Any, by_value: bool = False) -> Packed:
    """*message*, pickled as `dumped` does, its data copied once.

    Raises:
        RuntimeError (SharedMemoryFull): there is no memory for it.
        Whatever pickling raises.
    """
    text, buffers = dumped(message, by_value)
    parts = [text.getbuffer(), *(buffer.raw() for buffer in buffers)]
    sizes = [part.nbytes for part in parts]
    shared = _CAN_PASS and sum(sizes) > INLINE
    head = _HEAD.pack(shared, len(parts)) + struct.pack(f"<{len(parts)}Q", *sizes)
    if not shared:
        return Packed(b"".join((head, *parts)), None)
    return Packed(head, _segment_of(parts))


def receive(connection: Connection, private: bool = False) -> Callable[[], Any] | None:
    """A function that gives the next message of the connection; None for the empty message.

    Args:
        private: writes to the message's tensors are not seen by others that receive the same segment.

    Raises:
        EOFError, OSError: nobody is at the other end.
    """
    frame = connection.recv_bytes()
    if not frame:
        return None
    shared, count = _HEAD.unpack_from(frame)
    sizes = struct.unpack_from(f"<{count}Q", frame, _HEAD.size)
    if not shared:
        return _Message(memoryview(frame)[_HEAD.size + 8 * count :], sizes, 1, copied=True)
    descriptor = reduction.recv_handle(connection)
    try:
        return _Message(memoryview(_contents(descriptor, _total(sizes), private)), sizes, ALIGNMENT, copied=False)
    finally:
        os.close(descriptor)


class _Message:
    """A message as it came, to be unpickled where errors of that can be told."""

    def __init__(self, data: memoryview, sizes: tuple[int, ...], alignment: int, copied: bool) -> None:
        parts, at = [], 0
        for size in sizes:
            parts.append(data[at : at + size])
            at += -(-size // alignment) * alignment
        self._text = parts[0]
        self._buffers: list[Any] = [bytearray(part) for part in parts[1:]] if copied else parts[1:]

    def __call__(self) -> Any:
        return pickle.loads(self._text, buffers=self._buffers)


def _total(sizes: Any) -> int:
    return sum(-(-size // ALIGNMENT) * ALIGNMENT for size in sizes)


def _segment_of(parts: list[memoryview]) -> int:
    """A segment with the *parts* one behind the other, aligned."""
    total = _total(part.nbytes for part in parts)
    try:
        descriptor = new_segment(FOLDER)
        try:
            os.truncate(descriptor, total)
            at = 0
            for part in parts:
                # Written, not copied through a mapping: where memory ends, write fails, and a mapping kills.
                done = 0
                while done < part.nbytes:
                    done += os.pwrite(descriptor, part[done:], at + done)
                at += -(-part.nbytes // ALIGNMENT) * ALIGNMENT
        except BaseException:
            os.close(descriptor)
            raise
    except OSError as error:
        raise SharedMemoryFull(
            f"DataLoader: there is no shared memory for a batch of {total:,} bytes: {error.strerror}",
            fix="use fewer workers, smaller batches or a smaller prefetch_factor; in a container, give it more memory",
        ) from error
    return descriptor


def _contents(descriptor: int, size: int, private: bool) -> Any:
    """The memory of a segment: mapped, or copied where that is too many mappings."""
    if len(_mapped) < MOST_MAPPED:
        # Pages are looked up now, all at once: later they would be one by one.
        flags = (mmap.MAP_PRIVATE if private else mmap.MAP_SHARED) | getattr(mmap, "MAP_POPULATE", 0)
        mapping = mmap.mmap(descriptor, size, flags, mmap.PROT_READ | mmap.PROT_WRITE)
        _mapped.add(mapping)
        return mapping
    data, at = bytearray(size), 0
    while at < size:
        count = os.preadv(descriptor, [memoryview(data)[at:]], at)
        if count == 0:
            raise EOFError("the segment is shorter than it should be")
        at += count
    return data
