"""`cupy.cuda.pinned_memory`."""

from __future__ import annotations

import ctypes

pinned: dict[int, int] = {}


class PinnedMemoryPointer(bytearray):
    """Page-locked memory of the host."""

    def __init__(self, size):
        super().__init__(size)
        self.ptr = ctypes.addressof(ctypes.c_ubyte.from_buffer(self))
        pinned[self.ptr] = size

    def __del__(self):
        pinned.pop(self.ptr, None)


def alloc_pinned_memory(size):
    return PinnedMemoryPointer(size)
