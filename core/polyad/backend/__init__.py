"""What a backend author reads.

    interface.py     the class a backend derives from, the array handle it brings, and how a kernel is declared
    capabilities.py  what a backend says of itself: dtypes, features, limits, quirks
    hookspecs.py     the hooks through which pluggy finds it
    api_version.py   which backends work with which polyad
    entry_points.py  reading the names that packages declare, importing a package
    registry.py      how core finds, loads and quarantines backends; devices and tensor types
    plugins.py       kernels that other packages bring for a device
    addresses.py     where the code of a kernel is, for `polyad ops NAME --device D`
    preparation.py   getting a declared kernel ready for a call signature
    accelerators.py  which device type is meant where none is named
    runtime.py       what a device does with generated source: compile, launch, allocate
    c_compiler.py    the machine's C compiler, for devices whose kernels run on the host
    streams.py       queues of work on a device, and events between them
    dense.py         devices whose arrays have no strides
    graphs.py        a captured call as a backend sees it
    memory.py        what a device's memory holds, and the error when it is full
    families.py      tables of kernels that load by family
    bounds.py        the error for an index out of range
    fallback.py      what happens to an op for which a device has no kernel

Start with docs/backends.md.
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
    "Kernel",
    "KernelAddress",
    "KernelFamilies",
    "KernelSupply",
    "KernelTable",
    "DeviceProperties",
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
