"""Dtypes for memory alone: wide unsigned integers and floating point numbers of 8 bits. Expected bits are PyTorch's."""

import io

import numpy as np
import pytest

import polyad
from polyad.base.dtypes import ALL, FLOAT8, STORED
from polyad.errors import UnsupportedDType

NUMBERS = [0.0, -0.0, 1e-9, 0.0019, 0.3, 449.0, 465.0, 1e6, float("inf"), -500.0, 61440.0]
BITS = {  # of NUMBERS, as PyTorch 2.13 converts them
    "float8_e4m3fn": [0, 128, 0, 1, 42, 126, 126, 126, 126, 254, 126],
    "float8_e4m3fnuz": [0, 0, 0, 2, 50, 128, 128, 128, 128, 128, 128],
    "float8_e5m2": [0, 128, 0, 24, 53, 95, 95, 124, 124, 224, 124],
    "float8_e5m2fnuz": [0, 0, 0, 28, 57, 99, 99, 128, 128, 228, 128],
    "float8_e8m0fnu": [0, 0, 97, 118, 125, 136, 136, 147, 255, 136, 143],
}
each = pytest.mark.parametrize("dtype", STORED, ids=lambda dtype: dtype.name)


@pytest.mark.parametrize("dtype", FLOAT8, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("source", [polyad.float32, polyad.float64])
def test_numbers_are_rounded_as_pytorch_rounds_them(dtype, source):
    found = polyad.tensor(NUMBERS, dtype=source).to(dtype).view(polyad.uint8)
    assert found.tolist() == BITS[dtype.name]


@pytest.mark.parametrize("dtype", FLOAT8, ids=lambda dtype: dtype.name)
def test_every_way_in_rounds_alike(dtype):
    wanted = BITS[dtype.name]
    for made in (
        polyad.tensor(NUMBERS, dtype=dtype),
        polyad.zeros(len(NUMBERS), dtype=dtype).copy_(polyad.tensor(NUMBERS)),
        polyad.stack([polyad.full((), number, dtype=dtype) for number in NUMBERS]),
    ):
        assert made.view(polyad.uint8).tolist() == wanted


@pytest.mark.parametrize("dtype", FLOAT8, ids=lambda dtype: dtype.name)
def test_every_pattern_of_bits_comes_back(dtype):
    patterns = polyad.arange(256).to(polyad.uint8).view(dtype)
    back = patterns.to(polyad.float32).to(dtype)
    number = ~patterns.isnan()
    assert number.sum() >= 250
    assert (back == patterns)[number].all()
    assert back[~number].isnan().all()
    assert (back.view(polyad.uint8) == patterns.view(polyad.uint8))[number].all()


def test_numbers_out_of_range_wrap_as_in_c():
    given = polyad.tensor([-1.0, 70000.0, 3.7])
    assert given.to(polyad.uint16).tolist() == [65535, 4464, 3]
    assert given.to(polyad.uint64).tolist() == [2**64 - 1, 70000, 3]
    assert polyad.tensor([2.0**63, 1.5 * 2.0**63]).to(polyad.uint64).tolist() == [2**63, 3 * 2**62]
    assert polyad.tensor([2**64 - 1], dtype=polyad.uint64).to(polyad.int64).tolist() == [-1]
    with pytest.raises(RuntimeError, match="70000"):
        polyad.tensor([70000], dtype=polyad.uint16)


@each
def test_elements_are_stored_moved_and_compared(dtype):
    x = polyad.tensor([[1, 2], [4, 8]]).to(dtype)
    mask = polyad.tensor([[True, False], [False, True]])
    for moved, wanted in [
        (x.t().contiguous(), [[1, 4], [2, 8]]),
        (polyad.cat([x, x[:1]]), [[1, 2], [4, 8], [1, 2]]),
        (polyad.stack([x[0], x[1]]), [[1, 2], [4, 8]]),
        (x[polyad.tensor([1, 0])], [[4, 8], [1, 2]]),
        (x[mask], [1, 8]),
        (x.gather(1, polyad.tensor([[1], [0]])), [[2], [4]]),
        (x.index_select(0, polyad.tensor([1])), [[4, 8]]),
        (polyad.where(mask, x, x.flip(0)), [[1, 8], [1, 8]]),
        (x.masked_fill(mask, 2), [[2, 2], [4, 2]]),
        (x.clone().fill_(2), [[2, 2], [2, 2]]),
        (polyad.zeros(2, dtype=dtype).copy_(x[0]), [1, 2]),
        (polyad.full((2,), 4, dtype=dtype), [4, 4]),
        (x.roll(1, 0), [[4, 8], [1, 2]]),
        (x.view(polyad.uint8).view(dtype), [[1, 2], [4, 8]]),
    ]:
        assert moved.dtype is dtype
        assert moved.tolist() == wanted
    written = x.clone()
    written[0] = 8
    written[1, 0] = x[0, 1]
    assert written.tolist() == [[8, 8], [2, 8]]
    assert (x == x.clone()).all()
    assert (x != x[:, :1]).tolist() == [[False, True], [False, True]]
    assert polyad.equal(x, x.clone())
    assert bool(x[0, 0])
    assert x.any()
    assert x.all()
    assert x[1, 1].item() == 8
    assert not x.isnan().any()


@each
def test_nothing_computes_with_them(dtype):
    x = polyad.tensor([1, 2]).to(dtype)
    calls = [
        lambda: x + x, lambda: x * 2, lambda: x - x, lambda: -x, lambda: x < x, lambda: x.clamp(1, 2), lambda: x @ x,
        lambda: x.max(), lambda: x.sum(), lambda: x.cumsum(0), lambda: x.sort(), lambda: x.add_(x),
        lambda: polyad.nn.functional.relu(x), lambda: polyad.rand(2, dtype=dtype),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(RuntimeError, match=dtype.name):
            call()
    with pytest.raises(UnsupportedDType, match="nothing computes with") as caught:
        x * x
    assert "fix" in str(caught.value)
    assert "input" in str(caught.value)


@each
def test_promotion_is_refused_where_pytorch_refuses_it(dtype):
    for other in (*ALL, *STORED):
        if other is dtype:
            assert polyad.promote_types(dtype, other) is dtype
        elif dtype not in FLOAT8 and other in (polyad.float16, polyad.bfloat16, polyad.float32, polyad.float64):
            assert polyad.promote_types(dtype, other) is polyad.promote_types(other, dtype) is other
        else:
            for pair in ((dtype, other), (other, dtype)):
                with pytest.raises(RuntimeError, match="no common dtype"):
                    polyad.promote_types(*pair)


def test_unsigned_integers_go_with_floating_point_numbers():
    x = polyad.tensor([1, 2]).to(polyad.uint16)
    assert (x + polyad.ones(2)).tolist() == [2.0, 3.0]
    assert (x / x).dtype is polyad.float32
    assert x.exp().dtype is polyad.float32
    assert (x + 0.5).tolist() == [1.5, 2.5]


def test_gradients_go_through_casts():
    x = polyad.tensor([0.3, 2.0], requires_grad=True)
    y = x.to(polyad.float8_e4m3fn)
    (y.to(polyad.float32) * polyad.tensor([2.0, 3.0])).sum().backward()
    assert y.requires_grad
    assert x.grad.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="uint16"):
        polyad.zeros(2, dtype=polyad.uint16).requires_grad_()


def test_limits():
    about = {name: polyad.finfo(getattr(polyad, name)) for name in BITS}
    assert [(one.max, one.min, one.tiny, one.eps) for one in about.values()] == [
        (448.0, -448.0, 2.0**-6, 0.125),
        (240.0, -240.0, 2.0**-7, 0.125),
        (57344.0, -57344.0, 2.0**-14, 0.25),
        (57344.0, -57344.0, 2.0**-15, 0.25),
        (2.0**127, 2.0**-127, 2.0**-127, 1.0),
    ]
    assert [polyad.iinfo(dtype).max for dtype in STORED[:3]] == [2**16 - 1, 2**32 - 1, 2**64 - 1]
    assert polyad.iinfo(polyad.uint32).min == 0


@each
@pytest.mark.parametrize("form", ["polyad", "torch"])
def test_files_hold_them(dtype, form):
    file = io.BytesIO()
    x = polyad.tensor([[1, 2], [4, 8]]).to(dtype)
    polyad.save({"x": x, "turned": x.t()}, file, format=form)
    file.seek(0)
    found = polyad.load(file)
    assert found["x"].dtype is dtype
    assert found["x"].tolist() == x.tolist()
    assert found["turned"].stride() == (1, 2)
    assert found["turned"].tolist() == [[1, 4], [2, 8]]


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_numpy_shares_memory(name):
    array = np.arange(3, dtype=name)
    x = polyad.from_numpy(array)
    x[0] = 7
    assert array[0] == 7
    assert x.numpy().dtype == name
    assert polyad.from_dlpack(array).dtype is getattr(polyad, name)
    assert polyad.tensor(array).dtype is getattr(polyad, name)


@each
def test_they_print_and_have_shapes_without_data(dtype):
    text = repr(polyad.tensor([1, 2]).to(dtype))
    assert text == f"tensor([1{'.' * dtype.is_floating_point}, 2{'.' * dtype.is_floating_point}], dtype={dtype})"
    without = polyad.empty(2, 3, dtype=dtype, device="meta")
    assert polyad.cat([without, without]).shape == (4, 3)
    assert without.to(polyad.float32).dtype is polyad.float32
