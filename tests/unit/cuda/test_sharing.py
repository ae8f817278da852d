"""Memory that device "cuda" shares with other libraries: CUDA's array interface, and DLPack where it begins oddly."""

import gc

import pytest

import polyad
from polyad.errors import DeviceError

N = 4096


class Lent:
    """What another library would hand over: a description of a tensor's memory."""

    def __init__(self, tensor, **changes):
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, **changes}


@pytest.mark.parametrize(
    ("dtype", "typestr"),
    [
        (polyad.bool, "|b1"), (polyad.uint8, "|u1"), (polyad.int8, "|i1"), (polyad.int16, "<i2"), (polyad.int32, "<i4"),
        (polyad.int64, "<i8"), (polyad.float16, "<f2"), (polyad.bfloat16, "<V2"), (polyad.float32, "<f4"),
        (polyad.float64, "<f8"), (polyad.complex64, "<c8"), (polyad.complex128, "<c16"),
    ],
)  # fmt: skip
def test_there_and_back(dtype, typestr):
    x = polyad.tensor([[1, 0, 1], [0, 1, 1]], device="cuda", dtype=dtype)
    said = x.__cuda_array_interface__
    assert said == {
        "shape": (2, 3), "typestr": typestr, "data": (x.data_ptr(), False), "strides": None, "stream": 1, "version": 3,
    }  # fmt: skip
    y = polyad.as_tensor(Lent(x))
    assert (y.data_ptr(), y.dtype, y.device, y.shape) == (x.data_ptr(), dtype, x.device, x.shape)
    y[0, 1] = 1
    assert x[0, 1].item() == 1


def test_steps_offsets_and_empty_arrays():
    x = polyad.arange(12.0, device="cuda").reshape(3, 4)
    for view in (x.T, x[1:, ::2], x[2, 3], x[:, :1].expand(3, 5), x[0]):
        said = view.__cuda_array_interface__
        steps = tuple(4 * step for step in view.stride())
        assert said["strides"] == (None if view.is_contiguous() else steps)
        assert said["data"][0] == view.data_ptr()
        again = polyad.as_tensor(Lent(view))
        assert again.stride() == view.stride() or view.is_contiguous()
        assert again.tolist() == view.tolist()
    empty = polyad.zeros(0, 3, device="cuda")
    assert empty.__cuda_array_interface__["data"] == (0, False)
    assert polyad.as_tensor(Lent(empty)).shape == (0, 3)


def test_what_is_refused():
    x = polyad.ones(3, device="cuda")
    assert hasattr(x, "__cuda_array_interface__")
    assert not hasattr(x.cpu(), "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="requires a gradient"):
        x.clone().requires_grad_().__cuda_array_interface__  # noqa: B018
    for changes, error, text in (
        ({"mask": x}, NotImplementedError, "it has a mask"),
        ({"strides": (-4,)}, ValueError, "no multiples of 4 bytes"),
        ({"strides": (6,)}, ValueError, "no multiples of 4 bytes"),
        ({"strides": 4}, ValueError, "says strides 4"),
        ({"typestr": ">f4"}, TypeError, "another byte order"),
        ({"typestr": "<U3"}, TypeError, "no twin"),
        ({"typestr": 3.5}, ValueError, "says typestr"),
        ({"shape": [3]}, ValueError, "says shape"),
        ({"shape": (-3,)}, ValueError, "says shape"),
        ({"data": 3}, ValueError, "says data"),
        ({"stream": 0}, ValueError, "says stream 0"),
        ({"data": (x.data_ptr() + 2, False)}, DeviceError, "no multiple of 4 bytes"),
        ({"data": (64, False)}, DeviceError, "in no cuda device's memory"),
    ):
        with pytest.raises(error, match=text):
            polyad.as_tensor(Lent(x, **changes))
    lacking = Lent(x)
    lacking.__cuda_array_interface__ = {"shape": (3,)}
    with pytest.raises(ValueError, match="lacks typestr, data, version"):
        polyad.tensor(lacking)


def test_copies():
    x = polyad.arange(3.0, device="cuda:1")
    for copied in (
        polyad.tensor(Lent(x)),
        polyad.asarray(Lent(x), copy=True),
        polyad.as_tensor(Lent(x, data=(x.data_ptr(), True))),
        polyad.asarray(Lent(x, data=(x.data_ptr(), True))),
    ):
        assert copied.device == x.device
        assert copied.data_ptr() != x.data_ptr()
        assert copied.tolist() == [0.0, 1.0, 2.0]
    assert polyad.asarray(Lent(x), copy=False).data_ptr() == x.data_ptr()
    with pytest.raises(ValueError, match="read-only, but copy is False"):
        polyad.asarray(Lent(x, data=(x.data_ptr(), True)), copy=False)
    assert polyad.tensor(Lent(x), device="cpu", dtype=polyad.int64).tolist() == [0, 1, 2]
    assert polyad.as_tensor(Lent(x), device="cuda:0").device.index == 0


def test_the_taker_waits_for_the_stream_that_is_named():
    side = polyad.cuda.Stream()
    x = polyad.zeros(N, device="cuda")
    polyad.cuda.synchronize()
    with polyad.cuda.stream(side):
        x += 1
        said = Lent(x)
    assert said.__cuda_array_interface__["stream"] == side.cuda_stream
    assert (polyad.as_tensor(said) * 2).sum().item() == 2 * N
    y = polyad.full((N,), 3.0, device="cuda")
    said = Lent(y)
    assert said.__cuda_array_interface__["stream"] == 1
    with polyad.cuda.stream(side):
        assert polyad.tensor(said).sum().item() == 3 * N


def test_nothing_waits_for_what_is_done(monkeypatch):
    """stream=None says that there is nothing to wait for, and a stream need not wait for itself."""
    x = polyad.ones(N, device="cuda")
    polyad.cuda.synchronize()

    def refuse(self, other):
        raise AssertionError("a stream waits")

    monkeypatch.setattr(polyad.Stream, "wait_stream", refuse)
    assert polyad.as_tensor(Lent(x, stream=None)).sum().item() == N
    assert polyad.as_tensor(Lent(x)).sum().item() == N


def test_the_memory_lives_as_long_as_the_tensor():
    x = polyad.ones(N, device="cuda")
    y = polyad.as_tensor(Lent(x))
    del x
    gc.collect()
    polyad.empty(N, device="cuda").fill_(7)
    assert y.sum().item() == N


@pytest.mark.parametrize("take", [polyad.from_dlpack, lambda x: polyad.as_tensor(Lent(x))])
@pytest.mark.parametrize("dtype", [polyad.float32, polyad.float16, polyad.uint8])
def test_memory_that_begins_at_no_multiple_of_16_bytes(take, dtype):
    x = polyad.arange(N + 1, device="cuda").remainder(100).to(dtype)
    y = take(x[1:])
    assert y.data_ptr() == x[1:].data_ptr()
    assert y.is_contiguous()
    assert (y + y).tolist() == [2 * (place % 100) for place in range(1, N + 1)]
    assert y.reshape(2, -1)[1, 0].item() == (N // 2 + 1) % 100
    assert y.to(polyad.float64).sum().item() == sum(place % 100 for place in range(1, N + 1))
    y.fill_(1)
    assert (x[0].item(), x[1].item()) == (0, 1)


def test_dlpack_with_strides():
    x = polyad.arange(24.0, device="cuda:1").reshape(4, 6)
    for view in (x.T, x[1:, ::2], x[:, 3], x[2:3, 1:2].expand(2, 3)):
        taken = polyad.from_dlpack(view)
        assert (taken.tolist(), taken.stride(), taken.data_ptr()) == (view.tolist(), view.stride(), view.data_ptr())
        assert (taken + 1).tolist() == (view + 1).tolist()
    columns = polyad.from_dlpack(x.T)
    columns[0] = 7
    assert x[:, 0].tolist() == [7.0] * 4
    assert columns.T.reshape(-1).data_ptr() == x.data_ptr()


def test_wider_numbers_are_not_read_where_none_may_begin():
    x = polyad.arange(5.0, device="cuda")
    with pytest.raises(DeviceError, match="begins at no multiple of 8 bytes"):
        polyad.from_dlpack(x[1:]).view(polyad.float64)
    assert polyad.from_dlpack(x[1:]).clone().view(polyad.float64).shape == (2,)
    assert polyad.from_dlpack(x[:4]).view(polyad.float64).shape == (2,)
