"""Kernels that move elements or go over rows, on sizes that no conformance sample has; and functions of float."""

import math
import platform

import numpy as np
import pytest

import polyad
from polyad.dispatch.catalogue import OPS
from polyad.nn import functional
from polyad_native import compiler
from polyad_native.kernels.random import sampling as native_sampling
from polyad_numpy.kernels.nn import interpolate
from polyad_numpy.kernels.random import sampling

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")

rng = np.random.default_rng(0)
CLASSES = rng.integers(0, 65, 700)
ROWS = rng.integers(0, 900, 3000)


def seeded(*shape):
    return polyad.tensor(np.random.default_rng(math.prod(shape)).standard_normal(shape).astype(np.float32))


def gradient(kernel, *shape):
    x = seeded(*shape).requires_grad_()
    result = kernel(x)
    result.backward(seeded(*result.shape))
    return x.grad


def dropped(x):
    polyad.manual_seed(5)
    return functional.dropout(x, 0.3)


WORK = {
    "largest of windows": lambda: functional.max_pool2d(seeded(7, 9, 33, 40), 3, 2, 1),
    "pool of four": lambda: gradient(lambda x: functional.max_pool2d(x, 2), 7, 9, 33, 40),
    "overlapping pool": lambda: gradient(lambda x: functional.max_pool2d(x, 3, 2, 1), 7, 9, 33, 40),
    "resampling": lambda: functional.interpolate(seeded(2, 3, 61, 90), (100, 31), mode="bicubic"),
    "its way back": lambda: gradient(lambda x: functional.interpolate(x, (100, 131), mode="bilinear"), 2, 3, 61, 90),
    "embedding": lambda: gradient(lambda w: functional.embedding(polyad.tensor(ROWS), w), 900, 24),
    "index_add": lambda: seeded(900, 24).index_add(0, polyad.tensor(ROWS), seeded(3000, 24)),
    "inner index_add": lambda: seeded(9, 900, 5).index_add(1, polyad.tensor(ROWS), seeded(9, 3000, 5)),
    "gather": lambda: seeded(900, 24).gather(0, polyad.tensor(ROWS.reshape(125, 24))),
    "inner gather": lambda: seeded(3, 900).gather(1, polyad.tensor(ROWS.reshape(3, 1000))),
    "scatter": lambda: seeded(900, 24).scatter(0, polyad.tensor(ROWS.reshape(125, 24)), seeded(125, 24)),
    "inner scatter": lambda: seeded(90, 900).scatter(1, polyad.tensor(np.tile(ROWS[:300], (90, 1))), 1.5),
    "sums at rows": lambda: seeded(900, 24).index_put((polyad.tensor(ROWS),), seeded(3000, 24), accumulate=True),
    "bags": lambda: functional.embedding_bag(polyad.tensor(ROWS.reshape(60, 50)), seeded(900, 24)),
    "largest few": lambda: seeded(300, 400).topk(7, 0).indices,
    "running extreme": lambda: seeded(201, 333).cummax(1).indices,
    "outer running extreme": lambda: seeded(333, 701).cummin(0).values,
    "running product": lambda: seeded(201, 333).cumprod(1),
    "running sum": lambda: seeded(201, 333).cumsum(1),
    "outer running sum": lambda: seeded(333, 701).cumsum(0),
    "cross entropy": lambda: functional.cross_entropy(seeded(700, 65), polyad.tensor(CLASSES), reduction="none"),
    "its gradient": lambda: gradient(lambda x: functional.cross_entropy(x, polyad.tensor(CLASSES)), 700, 65),
    "turned copy": lambda: seeded(301, 517).t().contiguous(),
    "copy of heads": lambda: seeded(9, 65, 4, 24).transpose(1, 2).contiguous(),
    "joining": lambda: polyad.cat([seeded(300, 41), seeded(300, 7), seeded(300, 190)], 1),
    "dropout": lambda: dropped(seeded(300, 401)),
}


@pytest.fixture
def threads():
    before = polyad.get_num_threads()
    yield polyad.set_num_threads
    polyad.set_num_threads(before)


@pytest.mark.parametrize("name", WORK)
def test_results_do_not_depend_on_the_number_of_threads(threads, name) -> None:
    found = []
    for number in (1, 2, 5):
        threads(number)
        found.append(WORK[name]().numpy().tobytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("what", ["random", "of few values", "rising", "with nan"])
def test_the_few_largest_are_in_order_and_the_first_of_equals(dtype, largest, what) -> None:
    array = np.random.default_rng(0).standard_normal((5, 3000)).astype(dtype)
    if what == "of few values":
        array = np.round(array)
    elif what == "rising":
        array = np.sort(array, 1)[:, :: 1 if largest else -1].copy()
    elif what == "with nan":
        array[2, 1234] = np.nan
    order = np.argsort(np.where(np.isnan(array), np.inf, array) * (-1 if largest else 1), 1, kind="stable")[:, :20]
    values, indices = polyad.topk(polyad.tensor(array), 20, 1, largest)
    assert np.array_equal(indices.numpy(), order)
    assert np.array_equal(values.numpy(), np.take_along_axis(array, order, 1), equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.bool_])
@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0)])
def test_a_copy_of_turned_dimensions(dtype, order) -> None:
    x = rng.integers(0, 200, (70, 35, 67)).astype(dtype)
    for part in (np.s_[:], np.s_[1:, :, 3:], np.s_[:, ::2, :]):
        copied = polyad.tensor(x)[part].permute(order).contiguous()
        assert np.array_equal(copied.numpy(), x[part].transpose(order))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.bool_])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_joining(dtype, dim) -> None:
    shapes = [(23, 31, 37) for _ in range(5)]
    for number, size in enumerate((3, 0, 40, 1, 29)):
        shapes[number] = (*shapes[number][:dim], size, *shapes[number][dim + 1 :])
    arrays = [rng.integers(0, 200, shape).astype(dtype) for shape in shapes]
    assert np.array_equal(
        polyad.cat([polyad.tensor(array) for array in arrays], dim).numpy(), np.concatenate(arrays, dim)
    )


def test_the_gradient_of_a_pool_goes_to_the_last_nan_of_a_window() -> None:
    x = polyad.zeros(1, 4, 32, 32)
    x[0, 0, 0, 0] = x[0, 0, 1, 1] = x[0, 1, 2, 3] = math.nan
    x.requires_grad_()
    functional.max_pool2d(x, 2).sum().backward()
    assert x.grad.sum() == 4 * 256
    places = [(0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 2, 3), (0, 2, 0, 0)]
    assert [x.grad[place].item() for place in places] == [0, 1, 1, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_resampling_has_the_bits_of_numpy(dtype, dim) -> None:
    x = rng.standard_normal((5, 6, 7)).astype(dtype)
    weights, places = rng.standard_normal((3, 9)).astype(dtype), rng.integers(0, x.shape[dim], (3, 9))
    given = polyad.tensor(weights), polyad.tensor(places)
    found = OPS["resample"].call(polyad.tensor(x), *given, dim)
    expected = interpolate.resample(x, weights, places, dim)
    assert found.numpy().tobytes() == expected.tobytes()
    back = OPS["resample_backward"].call(found, *given, x.shape[dim], dim)
    assert (
        back.numpy().tobytes() == interpolate.resample_backward(expected, weights, places, x.shape[dim], dim).tobytes()
    )


def test_rows_are_added_in_order() -> None:
    source = rng.standard_normal((3000, 24)).astype(np.float32)
    expected = np.zeros((900, 24), np.float32)
    np.add.at(expected, ROWS, source)
    found = polyad.zeros(900, 24).index_add(0, polyad.tensor(ROWS), polyad.tensor(source))
    assert np.array_equal(found.numpy(), expected)


@pytest.mark.parametrize(("shape", "dim"), [((3, 900, 7), 1), ((900, 21), 0), ((2, 3, 900), -1), ((900,), 0)])
def test_gathered_elements_are_those_of_the_definition(shape, dim) -> None:
    places = list(shape)
    places[dim] = 3000
    index = rng.integers(0, 900, places)
    x = rng.standard_normal(shape).astype(np.float32)
    found = polyad.tensor(x).gather(dim, polyad.tensor(index))
    assert np.array_equal(found.numpy(), np.take_along_axis(x, index, dim))
    for wrong in (-1, 900):
        index[(-1,) * len(shape)] = wrong
        with pytest.raises(IndexError):
            polyad.tensor(x).gather(dim, polyad.tensor(index))


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation"),
    [
        ((33, 40), 3, 2, 1, 1), ((33, 40), (3, 5), (1, 3), (1, 2), (2, 1)), ((40, 61), 2, 3, 0, 1),
        ((37, 50), 4, 2, 2, 3), ((20, 70), (1, 3), (2, 5), 0, (1, 4)), ((31, 31), 2, 2, 1, 1),
    ],
)  # fmt: skip
def test_the_gradient_of_a_pool_goes_to_the_first_of_the_largest(size, kernel, stride, padding, dilation) -> None:
    x = np.random.default_rng(1).integers(0, 5, (3, 4, *size)).astype(np.float32)
    x[1, :, :, :20] = -np.inf
    x[2, 0, ::5, ::7] = np.nan
    pooled = lambda x: functional.max_pool2d(x, kernel, stride, padding, dilation, return_indices=True)  # noqa: E731
    out, places = pooled(polyad.tensor(x))
    grad = seeded(*out.shape)
    leaf = polyad.tensor(x, requires_grad=True)
    functional.max_pool2d(leaf, kernel, stride, padding, dilation).backward(grad)
    plain = polyad.tensor(x)
    assert np.array_equal(functional.max_pool2d(plain, kernel, stride, padding, dilation).numpy(), out.numpy(), True)
    wanted = np.zeros((12, size[0] * size[1]), np.float32)
    np.add.at(wanted, (np.arange(12)[:, None], places.numpy().reshape(12, -1)), grad.numpy().reshape(12, -1))
    np.testing.assert_allclose(leaf.grad.numpy().reshape(12, -1), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("wrong", [-1, 900])
def test_an_index_out_of_range_is_refused(wrong) -> None:
    index = polyad.tensor([*ROWS.tolist(), wrong])
    with pytest.raises(IndexError):
        polyad.zeros(900, 24).index_add(0, index, polyad.zeros(3001, 24))


def test_the_mask_of_dropout_is_that_of_the_definition() -> None:
    from polyad.random.philox import words

    polyad.manual_seed(7)
    found = functional.dropout(polyad.ones(41, 43), 0.4).numpy().reshape(-1)
    drawn = words(41 * 43, 7, 0)
    assert np.array_equal(found > 0, np.array(drawn) < round(0.6 * 2**32))


def units_off(found, exact):
    """The largest error, in units of the last place of float32."""
    unit = np.spacing(np.maximum(np.abs(exact).astype(np.float32), np.float32(1e-38))).astype(np.float64)
    return np.max(np.abs(found.astype(np.float64) - exact) / unit)


def test_exp_and_erfc_are_accurate_down_to_the_underflow() -> None:
    x = np.linspace(-103, 88.7, 1 << 17).astype(np.float32)
    assert units_off(polyad.exp(polyad.tensor(x)).numpy(), np.exp(x.astype(np.float64))) < 1.5
    x = np.linspace(-6, 11, 1 << 17).astype(np.float32)
    exact = np.array([math.erfc(float(value)) for value in x])
    assert units_off(polyad.erfc(polyad.tensor(x)).numpy(), exact) < 6
    edges = np.tile(np.array([math.inf, -math.inf, math.nan, 0, 200, -200], np.float32), 4096)
    with np.errstate(all="ignore"):
        assert np.array_equal(polyad.exp(polyad.tensor(edges)).numpy(), np.exp(edges), equal_nan=True)


def test_special_numbers_have_the_values_of_the_definitions() -> None:
    payload = np.array([0x7FC00001, 0xFFC00155, 0x7FFFFFFF], np.uint32).view(np.float32)
    places = [math.inf, -math.inf, 0.0, -0.0, 1e-45, -1e-45, 1e-38, -1e-38, 3e38, -3e38, 10.2, 10.21, -10.21]
    x = np.tile(np.concatenate([np.array(places, np.float32), payload]), 1024)
    exact = {"exp": math.exp, "erfc": math.erfc, "erf": math.erf, "tanh": math.tanh}
    for name, function in exact.items():
        found = getattr(polyad, name)(polyad.tensor(x)).numpy()[: len(places)]
        with np.errstate(over="ignore"):
            wanted = np.array([np.exp(v) if name == "exp" else function(v) for v in x[: len(places)].astype(float)])
            wanted = wanted.astype(np.float32)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=2e-45, err_msg=name)
        assert np.array_equal(np.signbit(found), np.signbit(wanted)), name
        assert np.isnan(getattr(polyad, name)(polyad.tensor(x)).numpy()).sum() == 3 * 1024, name
    gelu = functional.gelu(polyad.tensor(x)).numpy()
    np.testing.assert_array_equal(gelu[[0, 2, 3, 8, 9]], [math.inf, 0, 0, x[8], 0])
    assert np.signbit(gelu[3])
    assert np.isnan(gelu[-3:]).all()


def test_float16_is_rounded_to_nearest() -> None:
    bits = np.arange(0x7C00, dtype=np.uint16)
    halves = bits.view(np.float16).astype(np.float32)
    between = (halves[:-1] + halves[1:]) / 2
    x = np.concatenate([halves, between, np.nextafter(between, np.float32(0)), np.nextafter(between, np.float32(9e9))])
    x = np.concatenate([x, -x, np.array([65519, 65520, 1e30, math.inf, -math.inf, math.nan], np.float32)])
    with np.errstate(all="ignore"):
        assert np.array_equal(polyad.tensor(x).to(polyad.float16).numpy(), x.astype(np.float16), equal_nan=True)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="NumPy's own loops decide for small tensors")
@pytest.mark.parametrize("dtype", [polyad.float32, polyad.float64, polyad.bfloat16, polyad.float16])
@pytest.mark.parametrize("name", ["maximum", "minimum", "clamp_min", "relu"])
def test_the_sign_of_a_zero_does_not_depend_on_the_size(name, dtype):
    function = getattr(polyad, name)
    for sign in (1.0, -1.0):
        found = set()
        for size in (3, 17, 5000):
            zeros = polyad.full((size,), 0.0, dtype=dtype) * sign
            result = function(zeros) if name == "relu" else function(zeros, -zeros)
            found |= set(polyad.signbit(result).tolist())
        assert len(found) == 1


@pytest.mark.parametrize("dtype", [polyad.float32, polyad.bfloat16, polyad.float16])
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_a_zero_as_a_number_has_the_sign_of_its_own_call(first, dtype):
    for number in (first, -first, first):
        zeros = polyad.full((5000,), number, dtype=dtype)
        assert polyad.signbit(polyad.clamp(zeros, max=number)).unique().tolist() == [math.copysign(1, number) < 0]


@pytest.mark.parametrize("blocks", [1, 63, 64, 1000])
@pytest.mark.parametrize("block", [0, 2**32 - 5, 2**64 - 3])
def test_random_words_are_those_of_numpy(blocks, block, monkeypatch) -> None:
    monkeypatch.setattr(native_sampling, "_FEW_WORDS", 0)
    seed = 0x123456789ABCDEF0
    native = native_sampling.random_words(lambda *_: pytest.fail("NumPy computed them"))(seed, block, blocks)
    with np.errstate(over="ignore"):
        wanted = sampling._words_by_numpy(seed, block, blocks)
    assert native.dtype == wanted.dtype
    assert (native == wanted).all()


def test_who_draws_little_compiles_nothing_for_it(monkeypatch) -> None:
    monkeypatch.setattr(native_sampling, "available", lambda *_: pytest.fail("a library was asked for"))
    draw = native_sampling.random_words(lambda seed, block, blocks: blocks)
    assert [draw(0, 0, 1000) for _ in range(10)] == [1000] * 10
