"""What a backend author reads.

    interface.py     the class a backend derives from, the array handle it brings, and how a kernel is declared
    capabilities.py  what a backend says of itself: dtypes, features, limits, quirks
    hookspecs.py     the hooks through which pluggy finds it
    registry.py      how core finds, loads and quarantines backends and plug-ins
    fallback.py      what happens to an op for which a device has no kernel

Start with docs/write-a-backend.md.
"""

from .capabilities import BackendInfo, Capabilities, Quirk
from .hookspecs import API_VERSION
from .interface import Array, Backend, Kernel, KernelTable, TensorType

__all__ = ["API_VERSION", "Array", "Backend", "BackendInfo", "Capabilities", "Kernel", "KernelTable", "Quirk", "TensorType"]
