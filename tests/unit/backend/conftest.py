"""Devices for tests: one that only stores, one with a queue; and packages made on the spot, found by
importlib.metadata.
"""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from polyad_tier0.backend import StorageOnly

from polyad import backends
from polyad.devices import registry


class ToyBackend(StorageOnly):
    """Tier 0: memory, copies, fill. Every op falls back to the host."""

    devices = 2
    why = ""

    def device_count(self) -> int:
        return self.devices

    def probe(self) -> str:
        return self.why


@pytest.fixture
def toy() -> Iterator[ToyBackend]:
    """Device type "toy" with two devices."""
    backend = ToyBackend()
    with backends.register("toy", backend):
        backends.reset_fallback_report()
        yield backend
    backends.reset_fallback_report()


@pytest.fixture
def make_toy() -> type[ToyBackend]:
    return ToyBackend


Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install(name, source, backends=..., plugins=...)`` puts a package on sys.path, as pip would leave it there."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    made: list[str] = []

    def put(package: str, source: str = "", *, backends: str = "", plugins: str = "", version: str = "1.2.3") -> Path:
        module = package.replace("-", "_")
        path = site / f"{module}.py"
        path.write_text(textwrap.dedent(source))
        info = site / f"{module}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        groups = [("polyad.backends", backends), ("polyad.plugins", plugins)]
        points = [f"[{group}]\n{name} = {module}\n" for group, name in groups if name]
        (info / "entry_points.txt").write_text("\n".join(points))
        made.append(module)
        importlib.invalidate_caches()
        registry.forget()
        return path

    yield put
    monkeypatch.undo()
    for module in made:
        sys.modules.pop(module, None)
    importlib.invalidate_caches()
    registry.forget()


@pytest.fixture
def fake() -> Iterator[Any]:
    """Device type "fake" with two devices of a megabyte; ``fake.devices`` are for asking for faults."""
    from polyad_fake.backend import FakeBackend

    backend = FakeBackend(devices=2, memory=1 << 20)
    with backends.register("fake", backend):
        yield backend
        for device in backend.devices:
            device.stop("the test is over")
