"""Inspection: what the namespace and its devices can do."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import dtypes
from ..base.device import Device
from ..base.dtypes import DType
from ..devices import registry
from ..errors import BackendUnavailable
from .data_types import KINDS, isdtype


class Info:
    """What ``__array_namespace_info__()`` returns."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """What is optional in the standard."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """The device of new tensors."""
        return registry.get_default_device()

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """The dtypes of new tensors of bools, integers, real and complex numbers."""
        real = dtypes.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def devices(self) -> list[Device]:
        """Every device that is found, of every installed backend that works."""
        found = []
        for name in registry.names():
            try:
                backend = registry.get(name)
            except BackendUnavailable:
                continue
            info = registry.info_of(name)
            indexed = info is not None and info.indexed
            for index in range(registry.count_devices(backend)[0]):
                found.append(registry.resolve_device(Device(name, index if indexed else None)))
        return found

    def dtypes(self, *, device: Device | None = None, kind: str | Sequence[str] | None = None) -> dict[str, DType]:
        """The standard's dtypes that a device has, of one or several kinds, by name."""
        found = registry.resolve_device(device)
        has = registry.get(found.type).capabilities(found).dtypes
        every = KINDS["bool"] + KINDS["numeric"]
        wanted = None if kind is None else kind if isinstance(kind, str) else tuple(kind)
        return {d.name: d for d in every if d in has and (wanted is None or isdtype(d, wanted))}


def __array_namespace_info__() -> Info:
    """What the namespace and its devices can do.

    >>> from polyad import array_api as xp
    >>> xp.__array_namespace_info__().dtypes(kind="real floating")
    {'float32': polyad.float32, 'float64': polyad.float64}
    """
    return Info()
