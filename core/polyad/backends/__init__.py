"""Which backends are installed, what they found, and what runs where: the user's face of all backends.

    python -m polyad.backends       lists every installed backend and plug-in, and what is wrong with it
    polyad doctor                   the same, with versions and a short self-test of each device
    polyad doctor --device cuda     only that device, and ten seconds of ops of every family on it
    polyad ops [NAME]               the ops that a backend may have kernels for, and what such a kernel has to do
    polyad ops NAME --device cpu    where that op is declared and computed, and why there

`list_backends`, `is_available` and `doctor` answer the same questions in a program. `set_fallback`, `fallback` and
`fallback_report` decide and tell what happens to ops for which a device has no kernel. `register` adds a backend
without a package, for notebooks and tests; `refresh` looks at the installed packages anew.

All of it is defined elsewhere: in `polyad.devices` and `polyad.inspection.diagnosis`. What is here are PyTorch's
switches of libraries (`cuda`, `cudnn`) and questions after them (`mkldnn`, `mps`). Authors of backends read
`polyad.backend`.
"""

from ..backend.families import UnknownKernelWarning
from ..compatibility.absent import lacking
from ..devices.fallback import (
    FallbackRecord,
    FallbackReport,
    FallbackWarning,
    get_policy as get_fallback,
    report as fallback_report,
    reset_report as reset_fallback_report,
    set_policy as set_fallback,
    using_policy as fallback,
)
from ..devices.plugins import BrokenPluginWarning
from ..devices.registry import Registration, forget as refresh, is_available, register, unregister
from ..inspection.diagnosis.doctor import DoctorReport, FamilyTest, SelfTest, doctor
from ..inspection.diagnosis.listing import BackendReport, DeviceReport, Listing, PluginReport, list_backends
from ..inspection.diagnosis.ops import DTypeRow, OpReport, describe_op, list_ops
from ..inspection.diagnosis.ops_address import OpLocation, SourceText, locate_op
from . import cpu as cpu, cuda as cuda, cudnn as cudnn, mkldnn as mkldnn, mps as mps

__all__ = [
    "BackendReport",
    "BrokenPluginWarning",
    "DTypeRow",
    "DeviceReport",
    "DoctorReport",
    "FallbackRecord",
    "FallbackReport",
    "FallbackWarning",
    "FamilyTest",
    "Listing",
    "OpLocation",
    "OpReport",
    "PluginReport",
    "Registration",
    "SelfTest",
    "SourceText",
    "UnknownKernelWarning",
    "describe_op",
    "doctor",
    "fallback",
    "fallback_report",
    "get_fallback",
    "is_available",
    "list_backends",
    "list_ops",
    "locate_op",
    "refresh",
    "register",
    "reset_fallback_report",
    "set_fallback",
    "unregister",
]

__getattr__ = lacking(__name__)
