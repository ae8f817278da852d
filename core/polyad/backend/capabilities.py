"""What a backend declares about itself, once; dispatch, error messages, the conformance suite and the docs read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..base.dtypes import ALL, DType

FEATURES = {
    "shared_host_memory": "the host reads and writes device memory in place",
    "asynchronous": "calls return before their work is done; an error may come as late as the next synchronisation",
    "ordered_results": "results lie in memory in the order that ops declare (Op.strides); else they may be row-major",
    "approximate_division": "quotients and square roots in floating dtypes are not always the nearest number",
    "streams": "work goes to several queues, in the order that events give",
    "pinned_memory": "there is host memory that copies start from and end in while the program goes on",
    "graphs": "captured calls are compiled as a whole",
}
"""What dispatch, the conformance suite or the user's functions treat in another way. Dtypes tell about arithmetic."""

LEFT = dict.fromkeys(("atomics", "fp16", "fp64", "graphs", "streams"), (1, 2))
"""Features that the interface listed up to a version, and that nothing read. Some names came back with a meaning."""


@dataclass(frozen=True, slots=True)
class Quirk:
    """A known bug of a driver or library that a backend works around or suffers, with a link to its report."""

    name: str
    reason: str
    link: str = ""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a device can do.

    Attributes:
        dtypes: the dtypes that tensors on the device may have; any other is refused by name.
        features: a subset of the keys of `FEATURES`.
        limits: numbers such as ``{"max_allocation": 2**31}``, in bytes where they measure memory. An array of more
            bytes than ``max_allocation`` has to be refused; others are for listings.
        quirks: known bugs.
        autocast: functions that `polyad.autocast` is to treat otherwise on the device than the table in
            ``polyad.amp.autocast_policies`` says: by name, a policy of that table, or "as given".
    """

    dtypes: frozenset[DType] = frozenset(ALL)
    features: frozenset[str] = frozenset()
    limits: Mapping[str, int] = field(default_factory=dict)
    quirks: tuple[Quirk, ...] = ()
    autocast: Mapping[str, str] = field(default_factory=dict)

    def unknown_features(self) -> list[str]:
        """Features that this polyad does not know. Checked after api_version, since a later polyad may know them."""
        return sorted(set(self.features) - FEATURES.keys() - LEFT.keys())

    def left_features(self, api_version: tuple[int, int]) -> list[str]:
        """Features that mean nothing any more in the declaration of a backend that was written for *api_version*."""
        return sorted(
            name for name in self.features if name in LEFT and (name not in FEATURES or api_version <= LEFT[name])
        )

    def current(self, api_version: tuple[int, int]) -> Capabilities:
        """The same without `left_features`."""
        left = self.left_features(api_version)
        return replace(self, features=self.features - set(left)) if left else self


@dataclass(frozen=True, slots=True)
class BackendInfo:
    """The cheap part of a backend: what can be said without touching hardware or heavy imports.

    Attributes:
        name: the device type, equal to the entry point's name.
        api_version: the (major, minor) of `polyad.backend.API_VERSION` that the backend was written for.
        capabilities: what its devices can do at most; ``Backend.capabilities`` may say less of a device.
        install: the command that brings what may be missing, shown when loading fails.
        indexed: whether devices are counted (``opencl:0``); a backend with a single, unnumbered device says False.
        description: one line for listings.
        requires: importable modules without which it cannot load and which an extra brings, such as ``("pyopencl",)``.
            Where a module is missing the backend counts as not installed, which is no problem to report.
        dlpack: DLPack's numbers (DLDeviceType) of the memory that `Backend.from_dlpack` takes, first the number that
            tensors of this backend have; 12 (kDLExtDev) is for hardware that DLPack does not list. Empty if the
            backend has no part in DLPack. Which device of that type an array is on is said by `Backend.dlpack_id`.
    """

    name: str
    api_version: tuple[int, int]
    capabilities: Capabilities = field(default_factory=Capabilities)
    install: str = ""
    indexed: bool = True
    description: str = ""
    requires: tuple[str, ...] = ()
    dlpack: tuple[int, ...] = ()

    def lacking(self) -> list[str]:
        """The modules among `requires` that are not installed."""
        from importlib.util import find_spec

        return [module for module in self.requires if find_spec(module) is None]
