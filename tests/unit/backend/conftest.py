"""A backend of tier 0 with an array class of its own, and packages made on the spot, found by importlib.metadata."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyad import backends
from polyad.backend import Backend, registry
from polyad.device import Device
from polyad.dtypes import DType
from polyad.interop.numpy import numpy_dtype


class ToyArray:
    """A handle of toy memory; NumPy cannot read it by accident."""

    def __init__(self, memory: np.ndarray, view: np.ndarray) -> None:
        self.memory, self.view = memory, view
        self.shape, self.strides, self.ndim = view.shape, view.strides, view.ndim

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the toy's memory was read behind its back")


class ToyBackend(Backend):
    """Tier 0: memory, copies, fill. Every op falls back to the host."""

    devices = 2
    why = ""

    def device_count(self) -> int:
        return self.devices

    def probe(self) -> str:
        return self.why

    def empty(self, shape: tuple[int, ...], dtype: DType, device: Device) -> ToyArray:
        memory = np.empty(shape, numpy_dtype(dtype))
        return ToyArray(memory, memory)

    def from_host(self, data: Any, dtype: DType, device: Device) -> ToyArray:
        memory = np.array(data, numpy_dtype(dtype), order="C")
        return ToyArray(memory, memory)

    def to_host(self, array: ToyArray) -> np.ndarray:
        return array.view.copy()

    def copy(self, target: ToyArray, source: ToyArray) -> None:
        np.copyto(target.view, source.view.copy(), casting="unsafe")

    def fill(self, target: ToyArray, value: bool | int | float | complex) -> None:
        target.view[...] = value

    def root(self, array: ToyArray) -> ToyArray:
        flat = array.memory.reshape(-1)
        return ToyArray(flat, flat)

    def as_strided(self, root: ToyArray, dtype: DType, shape: Any, strides: Any, offset: int) -> ToyArray:
        size = dtype.itemsize
        view = np.ndarray(shape, numpy_dtype(dtype), root.memory, offset * size, [stride * size for stride in strides])
        return ToyArray(root.memory, view)

    def data_ptr(self, array: ToyArray) -> int:
        return int(array.view.ctypes.data)


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
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Device type "fake" with two devices of a megabyte; ``fake.devices`` are for asking for faults."""
    from polyad_fake.backend import FakeBackend

    backend = FakeBackend(devices=2, memory=1 << 20)
    with backends.register("fake", backend):
        yield backend
        for device in backend.devices:
            device.queue.stop("the test is over")
