"""Products by cuBLASLt, played by NumPy: which layouts it is asked for, and when it is not trusted."""

import functools

import numpy as np
import pytest
from cupy import simulation

import polyad
from polyad.device import Device
from polyad.interop.numpy import numpy_dtype
from polyad_cupy.kernels.products import lt, matmul
from polyad_cupy.libraries import cublaslt
from polyad_cupy.libraries.proofs import Proofs
from polyad_cupy.runtime.device import opened

DTYPES = {number: numpy_dtype(dtype) for dtype, number in cublaslt.TYPES.items()}


class Library:
    """What is called of cuBLASLt. *wrong* is added to results, *failing* is the status of products.

    TF32 keeps *digits* bits behind the point.
    """

    def __init__(self, wrong=0.0, failing=0, digits=10):
        self.wrong, self.failing, self.digits, self.products, self.things = wrong, failing, digits, 0, {}
        self.in_tf32 = self.with_bias = 0

    def cublasLtGetVersion(self):
        return 120903

    def _make(self, place, **thing):
        place._obj.value = number = 1000 + len(self.things)
        self.things[number] = thing
        return 0

    def _set(self, thing, attribute, value, size):
        self.things[thing.value][attribute] = value._obj.value
        return 0

    def cublasLtCreate(self, place):
        return self._make(place)

    def cublasLtMatmulDescCreate(self, place, compute, scale):
        return self._make(place, compute=compute, scale=scale)

    def cublasLtMatrixLayoutCreate(self, place, kind, rows, columns, pitch):
        return self._make(place, dtype=DTYPES[kind], rows=rows, columns=columns, pitch=pitch)

    def cublasLtMatmulPreferenceCreate(self, place):
        return self._make(place)

    cublasLtMatmulDescSetAttribute = cublasLtMatrixLayoutSetAttribute = cublasLtMatmulPreferenceSetAttribute = _set

    def cublasLtMatmulAlgoGetHeuristic(self, handle, operation, a, b, c, d, preference, most, found, count):
        layouts = [self.things[each.value] for each in (a, b, d)]
        assert all(each["pitch"] >= each["rows"] for each in layouts)
        assert self.things[preference.value][cublaslt.CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES] == cublaslt.WORKSPACE
        count._obj.value = 1
        return 0

    def _matrices(self, address, layout):
        found = self.things[layout.value]
        count = found.get(cublaslt.CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1)
        apart = found.get(cublaslt.CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0)
        dtype, size = found["dtype"], found["dtype"].itemsize
        memory = simulation.owner_of(address, size)
        strides = (apart * size, size, found["pitch"] * size)
        shape = (count, found["rows"], found["columns"])
        return np.ndarray(shape, dtype, memory.contents, address - memory.address, strides)

    def _rounded(self, x):
        fraction, power = np.frexp(x)
        steps = 2.0 ** (self.digits + 1)
        return np.ldexp(np.round(fraction * steps) / steps, power)

    def cublasLtMatmul(
        self, handle, operation, alpha, a, A, b, B, beta, c, C, d, D, algorithm, workspace, size, stream
    ):  # fmt: skip
        if self.failing:
            return self.failing
        self.products += 1
        simulation.owner_of(workspace, size)
        left, right, result = (self._matrices(*pair) for pair in ((a, A), (b, B), (d, D)))
        how = self.things[operation.value]
        if how[cublaslt.CUBLASLT_MATMUL_DESC_TRANSA]:
            left = left.swapaxes(1, 2)
        if how[cublaslt.CUBLASLT_MATMUL_DESC_TRANSB]:
            right = right.swapaxes(1, 2)
        in_tf32 = how["compute"] == cublaslt.CUBLAS_COMPUTE_32F_FAST_TF32
        self.in_tf32 += in_tf32
        bias = 0
        if how.get(cublaslt.CUBLASLT_MATMUL_DESC_EPILOGUE) == cublaslt.CUBLASLT_EPILOGUE_BIAS:
            self.with_bias += 1
            address = how[cublaslt.CUBLASLT_MATMUL_DESC_BIAS_POINTER]
            size = result.shape[1] * result.itemsize
            memory = simulation.owner_of(address, size)
            bias = np.ndarray((result.shape[1], 1), result.dtype, memory.contents, address - memory.address)
        wide = np.float64 if how["compute"] == cublaslt.CUBLAS_COMPUTE_64F else np.float32

        def work():
            factors = [self._rounded(x) if in_tf32 else x.astype(wide) for x in (left, right)]
            result[...] = np.matmul(*factors) + bias + wide(self.wrong)

        simulation.queue_of(stream).put(work)
        return 0


@pytest.fixture
def device(monkeypatch, tmp_path):
    monkeypatch.setenv("POLYAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(lt, "_multiplier", functools.cache(cublaslt.Multiplier))
    found = opened(Device("cuda", 0))
    monkeypatch.setattr(found, "proofs", Proofs("test"))
    return found


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
    assert not again.holds(lt.WAY, cublaslt.version, lambda: "it was tried again")
    assert words in again.told
    assert library.products == tried
    assert Proofs("another driver").holds(lt.WAY, cublaslt.version, lambda: "")


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
