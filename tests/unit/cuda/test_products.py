"""Products by cuBLASLt, played by NumPy: which layouts it is asked for, and when it is not trusted."""

import functools

import numpy as np
import pytest
from cupy.cublaslt import Library

import polyad
from polyad_cupy.kernels.products import cublaslt_matmul, matmul
from polyad_cupy.libraries import cublaslt
from polyad_cupy.libraries.proofs import Proofs


def use(monkeypatch, library):
    monkeypatch.setattr(cublaslt, "library", lambda: library)
    return library


def check(a, b, atol=1e-5):
    wanted = np.matmul(a.cpu().to(polyad.float64).numpy(), b.cpu().to(polyad.float64).numpy())
    np.testing.assert_allclose((a @ b).cpu().to(polyad.float64).numpy(), wanted, atol=atol)


def test_all_layouts_go_to_the_proved_library_as_they_lie(device, monkeypatch):
    library = use(monkeypatch, Library())
    rand = functools.partial(polyad.rand, device="cuda")
    check(rand(5, 7), rand(7, 3))
    assert "products by cuBLASLt: proved" in device.description
    monkeypatch.setattr(matmul, "multiply_safely", None)  # from here on the other way would raise
    before = library.products
    cases = [
        (rand(7, 5).T, rand(7, 3)),
        (rand(5, 7), rand(3, 7).T),
        (rand(9, 12)[2:7, 3:10], rand(7, 1)),
        (rand(1, 7), rand(7, 3)),
        (rand(4, 5, 7), rand(4, 7, 3)),
        (rand(5, 7), rand(4, 3, 7).mT),
        (rand(4, 1, 7, 5).mT, rand(2, 7, 3).expand(4, 2, 7, 3)[:, :1]),
        (rand(4, 5, 7)[1:3], rand(7, 3)),
    ]
    for a, b in cases:
        check(a, b)
    check(rand(5, 7, dtype=polyad.float64), rand(7, 3, dtype=polyad.float64), 1e-14)
    check(rand(5, 7).half(), rand(7, 3).half(), 4e-3)
    check(rand(4, 5, 7).bfloat16(), rand(4, 7, 3).bfloat16(), 4e-2)
    assert library.products - before == len(cases) + 3


def test_what_lies_otherwise_and_other_dtypes_go_the_safe_way(device, monkeypatch):
    library = use(monkeypatch, Library())
    check(polyad.rand(5, 7, device="cuda"), polyad.rand(7, 3, device="cuda"))
    before = library.products
    check(polyad.rand(10, 14, device="cuda")[::2, ::2], polyad.rand(7, 3, device="cuda"))
    check(polyad.arange(6, device="cuda").reshape(2, 3), polyad.arange(6, device="cuda").reshape(3, 2))
    assert library.products == before


@pytest.mark.parametrize(
    ("library", "words"),
    [(Library(wrong=0.5), "differs by"), (Library(wrong=float("nan")), "differs by nan"), (Library(failing=13), "13")],
)
def test_a_library_that_is_wrong_is_not_used_and_that_is_told_and_kept(device, monkeypatch, library, words):
    use(monkeypatch, library)
    check(polyad.rand(5, 7, device="cuda"), polyad.rand(7, 3, device="cuda"))
    assert "products by cuBLASLt: not used" in device.description
    assert words in device.description
    tried = library.products
    again = Proofs("test")
    assert not again.holds(cublaslt_matmul.WAY, cublaslt.version, lambda: "it was tried again")
    assert words in again.told
    assert library.products == tried
    assert Proofs("another driver").holds(cublaslt_matmul.WAY, cublaslt.version, lambda: "")


def test_without_the_library_products_are_cupys(device, monkeypatch):
    def missing():
        raise OSError("cuBLASLt is not installed: pip install nvidia-cublas-cu12")

    monkeypatch.setattr(cublaslt, "library", missing)
    check(polyad.rand(5, 7, device="cuda"), polyad.rand(7, 3, device="cuda"))
    assert "pip install nvidia-cublas-cu12" in device.description


def test_a_product_that_fails_later_is_done_the_safe_way(device, monkeypatch):
    library = use(monkeypatch, Library())
    check(polyad.rand(5, 7, device="cuda"), polyad.rand(7, 3, device="cuda"))
    library.failing = 14
    check(polyad.rand(5, 7, device="cuda"), polyad.rand(7, 3, device="cuda"))
    assert "status 14" in device.description


def test_a_linear_layer_is_one_product_with_its_bias(device, monkeypatch):
    library = use(monkeypatch, Library())
    for shape in ((2, 3, 7), (5, 7), (1, 7), (2, 4, 3, 7)):
        x, weight, bias = polyad.rand(*shape), polyad.rand(6, 7), polyad.rand(6)
        wanted = polyad.nn.functional.linear(x, weight, bias)
        before = library.products, library.with_bias
        got = polyad.nn.functional.linear(x.cuda(), weight.cuda(), bias.cuda())
        polyad.testing.assert_close(got.cpu(), wanted)
        if before[1]:  # the proof is behind us
            assert (library.products - before[0], library.with_bias - before[1]) == (1, 1)
    x = polyad.rand(4, 2, 7)
    for other in (x.transpose(0, 1), x[:, :, ::2], x[:0], x):
        weight = polyad.rand(6, other.shape[-1])
        for bias in (None, polyad.rand(6), polyad.rand(12)[::2], polyad.rand(1)):
            wanted = polyad.nn.functional.linear(other, weight, bias)
            on_device = [None if part is None else part.cuda() for part in (other, weight, bias)]
            polyad.testing.assert_close(polyad.nn.functional.linear(*on_device).cpu(), wanted)


@pytest.fixture
def tf32():
    polyad.backends.cuda.matmul.allow_tf32 = True
    assert polyad.get_float32_matmul_precision() == "high"
    yield
    polyad.set_float32_matmul_precision("highest")
    assert not polyad.backends.cuda.matmul.allow_tf32


def test_tf32_is_used_where_it_is_allowed(device, monkeypatch, tf32):
    library = use(monkeypatch, Library())
    a, b = polyad.rand(5, 7, device="cuda"), polyad.rand(7, 3, device="cuda")
    check(a, b, 2e-3)
    assert "TF32 by cuBLASLt: proved" in device.description
    before = library.in_tf32
    rounded = a @ b
    assert library.in_tf32 == before + 1
    polyad.set_float32_matmul_precision("highest")
    assert (rounded != a @ b).any()
    check(a, b)
    polyad.set_float32_matmul_precision("medium")
    check(a.double(), b.double(), 1e-14)
    check(a.half(), b.half(), 4e-3)
    assert library.in_tf32 == before + 1, "other dtypes have no TF32"


def test_tf32_that_rounds_more_than_it_should_is_not_used(device, monkeypatch, tf32):
    library = use(monkeypatch, Library(digits=5))
    check(polyad.rand(5, 7, device="cuda"), polyad.rand(7, 3, device="cuda"))
    assert "TF32 by cuBLASLt: not used (float32" in device.description
    assert "products by cuBLASLt: proved" in device.description
    assert library.products
