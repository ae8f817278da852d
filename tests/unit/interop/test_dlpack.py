"""Sharing memory through DLPack, with NumPy on the other side."""

import numpy as np
import pytest

import polyad
from polyad.backend import API_VERSION, BackendInfo
from polyad.devices import registry
from polyad.interop.numpy import polyad_dtype
from polyad.utils.dlpack import from_dlpack, to_dlpack

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_memory_is_shared_both_ways(dtype) -> None:
    x = polyad.ones(3, dtype=getattr(polyad, dtype))
    seen = np.from_dlpack(x)
    assert seen.dtype == dtype
    seen[0] = 0
    assert x[0].item() == 0
    back = polyad.from_dlpack(seen)
    assert back.data_ptr() == x.data_ptr()
    assert back.dtype is x.dtype


def test_strides_travel() -> None:
    a = np.arange(24.0).reshape(4, 6)[::2, 1::2]
    x = polyad.from_dlpack(a)
    assert x.stride() == (12, 2)
    x.T[0, 0] = -1
    assert a[0, 0] == -1
    assert np.from_dlpack(x.T).strides == (16, 96)


def test_a_write_through_the_other_library_reaches_views() -> None:
    x = polyad.zeros(4)
    view = x[2:]
    np.from_dlpack(view)[1] = 7
    assert x.tolist() == [0, 0, 0, 7]


def test_a_copy_is_made_on_request() -> None:
    x = polyad.zeros(2)
    capsule = x.__dlpack__(copy=True)
    polyad.from_dlpack(capsule).fill_(1)
    a = np.zeros(2)
    polyad.from_dlpack(a, copy=True).fill_(1)
    assert x.sum() == 0
    assert a.sum() == 0


def test_a_capsule_is_read_once() -> None:
    capsule = to_dlpack(polyad.ones(2))
    assert from_dlpack(capsule).tolist() == [1, 1]
    with pytest.raises(TypeError, match="read once"):
        from_dlpack(capsule)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: polyad.ones(1, requires_grad=True).__dlpack__(), BufferError, "requires a gradient"),
        (lambda: polyad.ones(1, dtype=polyad.bfloat16).__dlpack__(), BufferError, "bfloat16 cannot be exported"),
        (lambda: polyad.ones(1).__dlpack__(dl_device=(2, 0)), BufferError, r"device \(2, 0\)"),
        (lambda: polyad.from_dlpack([1.0]), TypeError, "list has no __dlpack__"),
        (lambda: polyad.from_dlpack(np.zeros(2)[::-1]), ValueError, "non-negative"),
        (lambda: polyad.from_dlpack(np.zeros(2), device="nowhere"), RuntimeError, "nowhere"),
        (lambda: polyad.to_dlpack(np.zeros(2)), TypeError, "to_dlpack: tensor is ndarray"),
    ],
)
def test_what_cannot_be_shared(call, error, says) -> None:
    with pytest.raises(error, match=says):
        call()


class Elsewhere:
    def __init__(self, number: int, index: int = 0) -> None:
        self.number, self.index = number, index

    def __dlpack__(self, **options):
        raise AssertionError("asked for memory of a device that is not there")

    def __dlpack_device__(self):
        return self.number, self.index


def test_memory_of_a_device_that_is_not_there() -> None:
    with pytest.raises(RuntimeError, match="device type 99 is served by no installed backend") as raised:
        polyad.from_dlpack(Elsewhere(99))
    assert "1 and 3 cpu" in str(raised.value)


class Exporting(type(registry.get("cpu"))):
    """Two devices, which DLPack counts from 7, whose memory NumPy would take for the host's."""

    def __init__(self, name: str) -> None:
        self.info = BackendInfo(name=name, api_version=API_VERSION, dlpack=(12,))

    def device_count(self) -> int:
        return 2

    def dlpack_id(self, device):
        return 7 + device.index

    def from_dlpack(self, source, device):
        if isinstance(source, Elsewhere):
            raise BufferError("it is empty")
        capsule = source.__dlpack__(max_version=(1, 0))
        array = np.from_dlpack(
            type("Host", (), {"__dlpack__": lambda s, **k: capsule, "__dlpack_device__": lambda s: (1, 0)})()
        )
        return array, polyad_dtype(array.dtype)


def test_numbers_come_from_what_a_backend_declares() -> None:
    with registry.register("mine", Exporting("mine")):
        x = polyad.arange(3.0, device="mine:1")
        assert x.__dlpack_device__() == (12, 8)
        y = polyad.from_dlpack(x)
        assert y.device == polyad.device("mine:1")
        y[0] = 9
        assert x.tolist() == [9, 1, 2]
        assert polyad.from_dlpack(x, device="cpu").device.type == "cpu"
        with pytest.raises(RuntimeError, match="on a device 0, which 'mine' does not have"):
            polyad.from_dlpack(Elsewhere(12))
        with pytest.raises(BufferError, match="mine:0 cannot take over the Elsewhere: it is empty"):
            polyad.from_dlpack(Elsewhere(12, 7))


def test_one_number_of_two_backends() -> None:
    with registry.register("mine", Exporting("mine")), registry.register("other", Exporting("other")):
        x = polyad.ones(2, device="other")
        with pytest.raises(RuntimeError, match="several backends: mine, other"):
            polyad.from_dlpack(x)
        assert polyad.from_dlpack(x, device="other").device.type == "other"


def test_a_backend_that_is_not_installed_is_in_nobody_s_way(monkeypatch) -> None:
    monkeypatch.setattr(BackendInfo, "lacking", lambda self: ["pyopencl"] if self.name == "opencl" else [])
    monkeypatch.setattr(registry, "_backends", {"cpu": registry.get("cpu")})
    monkeypatch.setattr(registry, "_quarantine", {})
    assert polyad.from_dlpack(np.ones(2)).tolist() == [1, 1]
    assert polyad.from_dlpack(np.ones(2), device="cpu").tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="needs pyopencl"):
        polyad.from_dlpack(Elsewhere(4))


def test_a_device_without_a_number_cannot_be_exported() -> None:
    with registry.register("unnumbered", type(registry.get("cpu"))()):
        x = polyad.zeros(1, device="unnumbered")
        with pytest.raises(BufferError, match="declares no DLPack device type"):
            x.__dlpack_device__()


def test_capture_says_that_memory_left() -> None:
    from polyad.jit import trace

    with pytest.warns(UserWarning, match=r"__dlpack__\(\) reads data"):
        trace(lambda x: polyad.from_dlpack(x.__dlpack__()) + 1, polyad.ones(1))


def test_asarray_shows_the_memory_of_a_capsule() -> None:
    x = polyad.ones(2)
    polyad.asarray(to_dlpack(x), copy=False).fill_(3)
    assert x.tolist() == [3.0, 3.0]
    assert polyad.asarray(to_dlpack(x), dtype=polyad.float64, copy=True).tolist() == [3.0, 3.0]
