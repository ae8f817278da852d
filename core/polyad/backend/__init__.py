"""What a backend author reads.

    interface.py     the class a backend derives from, the array handle it brings, and how a kernel is declared
    addresses.py     where the code of a kernel is, for `polyad ops NAME --device D`
    capabilities.py  what a backend says of itself: dtypes, features, limits, quirks
    properties.py    what hardware a device is
    hookspecs.py     the hooks through which pluggy finds it
    api_version.py   which backends work with which polyad
    preparation.py   getting a declared kernel ready for a call signature
    families.py      tables of kernels that load by family
    bounds.py        the error for an index out of range
    memory.py        what a device's memory holds, and the error when it is full
    streams.py       queues of work on a device, and events between them
    waiting.py       warnings where the host waits for a device
    markers.py       ranges with a name, for a vendor's profiler
    runtime.py       what a device does with generated source: compile, launch, allocate
    choosing.py      two kernels of an op, one for large tensors
    graphs.py        a captured call as a backend sees it
    dense.py         devices whose arrays have no strides
    c_compiler.py    the machine's C compiler, for devices whose kernels run on the host
    compilations.py  compilers that run beside this process
    notice.py        what a user is told who waits for compilers

How core finds and uses a backend is in `polyad.devices`. Start with docs/backends.md.
"""

from typing import TYPE_CHECKING, Any

from .addresses import KernelAddress
from .api_version import API_VERSION
from .capabilities import BackendInfo, Capabilities, Quirk
from .families import KernelFamilies, family_of
from .interface import Array, Backend, Kernel, KernelSupply, KernelTable, TensorType, cast_by_rule
from .memory import MemoryStats
from .properties import DeviceProperties

if TYPE_CHECKING:
    from .hookspecs import hookimpl as hookimpl

__all__ = [
    "API_VERSION",
    "Array",
    "Backend",
    "BackendInfo",
    "Capabilities",
    "DeviceProperties",
    "Kernel",
    "KernelAddress",
    "KernelFamilies",
    "KernelSupply",
    "KernelTable",
    "MemoryStats",
    "Quirk",
    "TensorType",
    "cast_by_rule",
    "family_of",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    if name == "hookimpl":  # pluggy is imported only by those who write or load a backend
        from .hookspecs import hookimpl

        return hookimpl
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
