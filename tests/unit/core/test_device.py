"""Device names."""

import copy

import pytest

import polyad
from polyad.devices import accelerators


@pytest.mark.parametrize(
    ("args", "kind", "index", "text"),
    [(("cpu",), "cpu", None, "cpu"), (("opencl:1",), "opencl", 1, "opencl:1"), (("cuda", 0), "cuda", 0, "cuda:0")],
)
def test_reading(args, kind: str, index: int | None, text: str) -> None:
    made = polyad.device(*args)
    assert (made.type, made.index, str(made)) == (kind, index, text)
    assert polyad.device(made) == made
    assert copy.deepcopy(made) == made
    assert hash(polyad.device(*args)) == hash(made)


@pytest.mark.parametrize("args", [("",), ("a b",), ("cuda:x",), ("cuda:-1",), ("cuda:1", 1), ("cuda", -1), (":1",)])
def test_what_cannot_be_read(args) -> None:
    with pytest.raises(RuntimeError, match="cannot read"):
        polyad.device(*args)


def test_wrong_types() -> None:
    with pytest.raises(TypeError, match="not a string"):
        polyad.device(3.5)


@pytest.mark.parametrize(
    "name", [lambda: polyad.device(0), lambda: polyad.ones(2, device=0), lambda: polyad.ones(2).to(0)]
)
def test_a_number_without_an_accelerator(name, monkeypatch) -> None:
    monkeypatch.setattr(accelerators, "current", lambda host=False: "opencl" if host else None)
    with pytest.raises(RuntimeError, match="device 0: there is no accelerator on this machine"):
        name()


def test_naming_a_device_loads_nothing() -> None:
    assert polyad.device("vulkan").type == "vulkan"
    with pytest.raises(RuntimeError, match="no installed backend has this name"):
        polyad.zeros(1, device="vulkan")
    with pytest.raises(RuntimeError, match="no installed backend has this name"):
        polyad.zeros(1, device="nobody_has_this")
