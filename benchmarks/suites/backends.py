"""The backend as a benchmark parameter."""

from __future__ import annotations

from importlib import metadata
from typing import ClassVar

import polyad


def available() -> list[str]:
    """The device types that are installed and have a device here; the others are named on standard error."""
    import sys

    found = []
    for point in metadata.entry_points(group="polyad.backends"):
        try:
            polyad.zeros(1, device=point.name)
        except polyad.errors.BackendError as error:
            print(f"benchmarks: {point.name} left out: {error.message}", file=sys.stderr)
        else:
            found.append(point.name)
    return sorted(found)


class PerBackend:
    """Base of benchmarks that run on every backend: ``setup(device, *rest)`` gets the device first.

    Timed methods end with ``self.wait(device)``, so that asynchronous work is counted.
    """

    params: ClassVar[list[list[str]]] = [available()]
    param_names: ClassVar[list[str]] = ["device"]

    def wait(self, device: str) -> None:
        from polyad.devices import registry

        where = registry.resolve_device(device)
        registry.get(where.type).synchronize(where)
