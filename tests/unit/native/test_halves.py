"""Products, convolutions and attention of half types: widened where they are packed, rounded once."""

import platform
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import polyad
from polyad.nn import functional
from polyad_native import compiler
from polyad_native.gemm import GEMM
from polyad_native.kernels.nn import attention, convolution, linear
from polyad_native.kernels.nn.pooling.maximum import MAXIMUM
from polyad_native.kernels.products import matmul, mm

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")

HALVES = {"bfloat16": np.dtype(ml_dtypes.bfloat16), "float16": np.dtype(np.float16)}
OLDEST = ("-march=x86-64",)
"""Flags for vectors of 16 bytes, and for no instruction that knows half types."""


@pytest.fixture(params=[(), OLDEST], ids=["this processor", "vectors of 16 bytes"])
def flags(request):
    if request.param and platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("flags of x86-64")
    return request.param


@pytest.fixture(params=HALVES)
def library(request, flags):
    """The products' library of a half type, with its dtype."""
    return GEMM.bound(getattr(polyad, request.param), *flags), HALVES[request.param]


@pytest.fixture(params=HALVES)
def convolving(request, flags):
    """The convolutions' library of a half type, with its dtype."""
    return convolution.CONVOLUTION.bound(getattr(polyad, request.param), *flags), HALVES[request.param]


def product(library, a, b, bias=None):
    out = np.empty((a.shape[0], b.shape[1]), a.dtype)
    assert library.product(out, a, b, bias)
    return out


def layouts(matrix):
    """The same matrix by rows, by columns, and as every second element of each."""
    apart = np.zeros((2 * matrix.shape[0], 2 * matrix.shape[1]), matrix.dtype)
    apart[::2, ::2] = matrix
    return matrix, np.asfortranarray(matrix), apart[::2, ::2]


def test_each_number_is_read_and_written_as_it_is(library) -> None:
    module, dtype = library
    all_bits = np.arange(1 << 16, dtype=np.uint16)
    numbers = all_bits.view(dtype)
    one = np.ones((1, 1), dtype)
    read = numbers.astype(np.float32)
    for found in (
        product(module, numbers[:, None], one)[:, 0],
        product(module, one, numbers[None])[0],
        product(module, numbers[: 1 << 12, None], np.ones((1, 40), dtype))[:, 7],  # tiles with few sums
        product(module, np.ones((40, 1), dtype), numbers[None])[7],
    ):
        wanted = read[: found.size]
        assert np.array_equal(found.astype(np.float32), wanted, equal_nan=True)
        assert np.array_equal(np.signbit(found) | (found == 0), np.signbit(wanted) | (wanted == 0))


def test_a_result_is_rounded_once_to_nearest(library) -> None:
    """Sums of two numbers, which float32 has, and ties among them."""
    module, dtype = library
    random = np.random.default_rng(1)
    first = random.standard_normal(20000).astype(dtype)
    second = (first.astype(np.float32) * np.float32(float(ml_dtypes.finfo(dtype).eps)) / 2).astype(dtype)
    second[::3] = random.standard_normal(len(second[::3])).astype(dtype)
    pairs = np.stack([first, second], 1)
    with np.errstate(over="ignore"):
        wanted = pairs.astype(np.float32).sum(1).astype(dtype)
    assert np.array_equal(product(module, pairs, np.ones((2, 1), dtype))[:, 0], wanted)
    assert np.array_equal(product(module, np.ones((1, 2), dtype), np.ascontiguousarray(pairs.T))[0], wanted)
    assert np.array_equal(product(module, pairs, np.ones((2, 50), dtype))[:, 33], wanted)


def test_what_is_too_large_is_infinite(library) -> None:
    module, dtype = library
    large = np.full((70, 70), ml_dtypes.finfo(dtype).max, dtype)
    assert np.isposinf(product(module, large, large).astype(np.float32)).all()
    assert np.isneginf(product(module, -large[:1], large).astype(np.float32)).all()


@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [
        (1, 40, 1), (3, 7, 5), (4, 9, 4), (5, 64, 30), (2, 100, 17), (40, 33, 50), (90, 400, 70), (130, 1100, 290),
        (1, 700, 600), (33, 300, 3), (100, 600, 2), (900, 70, 40),
    ],
)  # fmt: skip
def test_products_are_right_for_any_layout(library, rows, inner, columns) -> None:
    module, dtype = library
    random = np.random.default_rng(rows)
    a, b = (random.standard_normal(shape).astype(dtype) for shape in ((rows, inner), (inner, columns)))
    bias = random.standard_normal(columns).astype(dtype)
    wide_a, wide_b, wide_bias = (array.astype(np.float64) for array in (a, b, bias))
    exact = wide_a @ wide_b
    sums = (np.abs(wide_a) @ np.abs(wide_b) + np.abs(wide_bias)) * (inner + 2) * 2.0**-24
    for left in layouts(a):
        for right in layouts(b):
            for added in (None, bias):
                wanted = exact if added is None else exact + wide_bias
                bound = sums + np.abs(wanted) * float(ml_dtypes.finfo(dtype).eps) * 0.51
                found = product(module, left, right, added).astype(np.float64)
                assert (np.abs(found - wanted) <= bound).all()


def test_convolutions_and_their_gradients(convolving) -> None:
    """Images that are taken together, one by one, with groups, and with channels that are alone."""
    single = convolution.CONVOLUTION.module(polyad.float32)
    module, dtype = convolving
    random = np.random.default_rng(4)
    for images, channels, out_channels, groups, size, kernel in [
        (40, 5, 6, 1, (9,), (4,)),
        (2, 40, 70, 1, (12, 11), (3, 3)),
        (1, 8, 12, 2, (30, 31), (3, 2)),
        (3, 6, 6, 6, (14, 14), (3, 3)),
        (2, 4, 9, 1, (5, 6, 7), (2, 3, 3)),
    ]:
        x = random.standard_normal((images, channels, *size)).astype(dtype)
        weight = random.standard_normal((out_channels, channels // groups, *kernel)).astype(dtype)
        bias = random.standard_normal(out_channels).astype(dtype)
        ones = (1,) * len(size)
        out_size = tuple(n + 2 - k + 1 for n, k in zip(size, kernel))
        geometry = convolution._geometry(x.shape, out_channels, kernel, out_size, ones, ones, ones, groups)
        grad = random.standard_normal((images, out_channels, *out_size)).astype(dtype)
        found = np.empty(grad.shape, dtype), np.empty(weight.shape, np.float32)
        wanted = np.empty(grad.shape, np.float32), np.empty(weight.shape, np.float32)
        wide_x, wide_weight, wide_bias, wide_grad = (a.astype(np.float32) for a in (x, weight, bias, grad))
        module.convolve(found[0], x, weight, bias, geometry)
        module.convolve_weight(found[1], grad, x, geometry)
        single.convolve(wanted[0], wide_x, wide_weight, wide_bias, geometry)
        single.convolve_weight(wanted[1], wide_grad, wide_x, geometry)
        eps = float(ml_dtypes.finfo(dtype).eps)
        np.testing.assert_allclose(found[0].astype(np.float32), wanted[0], rtol=0.51 * eps, atol=1e-4)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("rows", [1, 3, 70])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(name, rows, causal) -> None:
    random = np.random.default_rng(rows)
    dtype = getattr(polyad, name)
    shapes = (2, 3, rows, 19), (2, 3, 80, 19), (2, 3, 80, 24), (rows, 80)
    held = [polyad.tensor(random.standard_normal(shape).astype(np.float32)).to(dtype) for shape in shapes]
    given = [x.detach().float() for x in held]
    results = []
    for query, key, value, mask in (held, [*held[:3], held[3].float()], given):
        operands = [x.detach().requires_grad_() for x in (query, key, value)]
        out = functional.scaled_dot_product_attention(*operands, None if causal else mask, is_causal=causal)
        out.backward(polyad.ones_like(out))
        results.append([out.detach(), *(x.grad for x in operands)])
    eps = float(ml_dtypes.finfo(HALVES[name]).eps)
    for found, same, wanted in zip(*results, strict=True):
        assert found.dtype is dtype
        assert polyad.equal(found, same)  # with a mask of float32
        np.testing.assert_allclose(found.float().numpy(), wanted.numpy(), rtol=0.51 * eps, atol=1e-5)


@pytest.mark.parametrize("name", HALVES)
def test_vectors(name) -> None:
    random = np.random.default_rng(2)
    dtype = getattr(polyad, name)
    matrix = polyad.tensor(random.standard_normal((3, 60, 70)).astype(np.float32)).to(dtype)
    vector = polyad.tensor(random.standard_normal(70).astype(np.float32)).to(dtype)
    of_rows = vector[:60]
    for found, a, b in [
        (matrix @ vector, matrix, vector),
        (matrix[0] @ vector, matrix[0], vector),
        (polyad.mv(matrix[1], vector), matrix[1], vector),
        (matrix.mT @ of_rows, matrix.mT, of_rows),
        (of_rows @ matrix, of_rows, matrix),
        (of_rows @ matrix[2], of_rows, matrix[2]),
    ]:
        wanted = a.float().numpy() @ b.float().numpy()
        assert found.dtype is dtype
        assert found.shape == wanted.shape
        eps = float(ml_dtypes.finfo(HALVES[name]).eps)
        np.testing.assert_allclose(found.float().numpy(), wanted, rtol=0.51 * eps, atol=1e-5)


@pytest.mark.parametrize("name", HALVES)
def test_no_whole_operand_is_converted(name) -> None:
    """What NumPy's kernels do, which would give the same numbers."""
    types = (SimpleNamespace(dtype=getattr(polyad, name)),)
    x = np.ones((8, 8, 8), HALVES[name])
    for maker, given in [
        (matmul.gemm, (x, x, False, True)),
        (mm.mm, (x[0], x[0])),
        (mm.bmm, (x, x)),
        (linear.linear, (x, x[0], x[0, 0])),
        (linear.linear_weight_grad, (x, x)),
        (matmul.vector_product, (x[0], x[0, 0])),
        (convolution.convolution, (x, x, None, (1,), (0,), (1,), 1)),
        (convolution.convolution_transposed, (x, x, None, (15,), (1,), (0,), (1,), 1)),
        (attention.attention, (x, x, x, None, False, 1.0)),
    ]:
        call = maker(types)
        assert call is not None, maker
        result = call(*given)
        first = result[0] if isinstance(result, tuple) else result
        assert first.dtype == HALVES[name], maker
        assert first.astype(np.float32).max() in (1, 8, 9, 64), maker


def test_types_that_no_library_is_for_are_left_to_others() -> None:
    integers = (SimpleNamespace(dtype=polyad.int64),)
    assert matmul.gemm(integers) is None
    assert MAXIMUM.function("max_pool", polyad.float16) is None
