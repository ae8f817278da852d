"""`cupy.cuda`: CuPy's names for what `cupy.simulation` does."""

from . import driver as driver, memory as memory, nvrtc as nvrtc, nvtx as nvtx, runtime as runtime
from .allocators import using_allocator as using_allocator
from .graph import Graph as Graph
from .memory import (
    MemoryPointer as MemoryPointer,
    MemoryPool as MemoryPool,
    UnownedMemory as UnownedMemory,
    alloc as alloc,
)
from .pinned_memory import (
    PinnedMemoryPointer as PinnedMemoryPointer,
    alloc_pinned_memory as alloc_pinned_memory,
)
from .stream import (
    Event as Event,
    ExternalStream as ExternalStream,
    Stream as Stream,
    get_current_stream as get_current_stream,
    get_elapsed_time as get_elapsed_time,
)
