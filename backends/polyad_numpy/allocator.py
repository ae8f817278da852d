"""Keeping freed memory for the next array.

NumPy's arrays come from the C library's malloc. glibc gives a block of more than some hundred kilobytes back to the
kernel when it is freed, so a chain of ops on large arrays has its results mapped and cleared page by page, which takes
several times as long as the arithmetic. `keep_freed_memory` raises the two thresholds that decide it (``mallopt(3)``),
for the process. docs/adr/0010-freed-memory.md says what that costs.

Left alone: other C libraries, a user who has set malloc's own variables, and ``POLYAD_KEEP_FREED_MEMORY=0``.
"""

from __future__ import annotations

import ctypes
import os

LARGEST_KEPT = 64 << 20
"""Blocks above this many bytes go back to the kernel when they are freed."""

MOST_KEPT = 256 << 20
"""So many free bytes at most stay at the top of the heap."""

SWITCH = "POLYAD_KEEP_FREED_MEMORY"

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h
_THEIR_OWN = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Have malloc keep freed blocks for reuse; says whether it will."""
    if os.environ.get(SWITCH) == "0" or any(name in os.environ for name in _THEIR_OWN):
        return False
    try:
        library = ctypes.CDLL(None)
        mallopt = library.mallopt
        library.gnu_get_libc_version  # noqa: B018  other libraries' mallopt counts in other units
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, LARGEST_KEPT)) and bool(mallopt(_TRIM_THRESHOLD, MOST_KEPT))
