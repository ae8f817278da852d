"""polyad.array_api against array-api-strict, an implementation of the standard that has nothing beside it."""

import inspect
import math

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import polyad
from polyad import array_api as xp
from polyad.devices import registry

strict.set_array_api_strict_flags(api_version=xp.__array_api_version__)

FOREIGN = {
    "uint16", "uint32", "uint64",  # polyad has no such dtypes
    "Device", "__array_api_version__", "ArrayAPIStrictFlags", "get_array_api_strict_flags",
    "reset_array_api_strict_flags", "set_array_api_strict_flags",
}  # fmt: skip
LATER = {"broadcast_shapes", "eig", "eigvals"}
"""What array-api-strict has of later revisions; polyad's are extras."""

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128")
REAL = DTYPES[1:8]
FLOATING = DTYPES[6:]
NUMERIC = DTYPES[1:]
INTEGRAL = DTYPES[1:6]

UNARY = {
    **dict.fromkeys(["abs", "negative", "positive", "sign", "square"], NUMERIC),
    **dict.fromkeys(["ceil", "floor", "trunc"], REAL),
    "round": NUMERIC,
    **dict.fromkeys(["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1"], FLOATING),
    **dict.fromkeys(["log", "log1p", "log2", "log10", "reciprocal", "sin", "sinh", "sqrt", "tan", "tanh"], FLOATING),
    **dict.fromkeys(["isfinite", "isinf", "isnan"], NUMERIC),
    "signbit": ("float32", "float64"),
    "bitwise_invert": DTYPES[:6],
    "logical_not": ("bool",),
    **dict.fromkeys(["real", "conj"], FLOATING),
    "imag": ("complex64", "complex128"),
}
BINARY = {
    **dict.fromkeys(["add", "subtract", "multiply", "equal", "not_equal"], NUMERIC),
    **dict.fromkeys(["divide", "pow"], FLOATING),
    **dict.fromkeys(["maximum", "minimum", "less", "less_equal", "greater", "greater_equal"], REAL),
    **dict.fromkeys(["floor_divide", "remainder", "atan2", "copysign", "hypot", "logaddexp"], ("float32", "float64")),
    "nextafter": ("float32", "float64"),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor"], DTYPES[:6]),
    **dict.fromkeys(["bitwise_left_shift", "bitwise_right_shift"], INTEGRAL),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor"], ("bool",)),
}
REDUCTIONS = {
    **dict.fromkeys(["sum", "prod"], NUMERIC),
    **dict.fromkeys(["max", "min"], REAL),
    **dict.fromkeys(["mean", "std", "var"], ("float32", "float64")),
    **dict.fromkeys(["all", "any"], DTYPES),
    "count_nonzero": DTYPES,
}


def public(module) -> set[str]:
    return {name for name in module.__all__ if name != "__version__"} - FOREIGN - LATER


@pytest.mark.parametrize("path", ["", "linalg", "fft"])
def test_every_name_of_the_standard_is_there(path) -> None:
    theirs, ours = (getattr(strict, path), getattr(xp, path)) if path else (strict, xp)
    assert not sorted(name for name in public(theirs) if not hasattr(ours, name))


@pytest.mark.parametrize("path", ["", "linalg", "fft"])
def test_every_argument_of_the_standard_is_taken(path) -> None:
    theirs, ours = (getattr(strict, path), getattr(xp, path)) if path else (strict, xp)
    lacking = {}
    for name in public(theirs):
        if not inspect.isfunction(getattr(theirs, name)):
            continue
        wanted = inspect.signature(getattr(theirs, name)).parameters.values()
        keywords = {one.name for one in wanted if one.kind is one.KEYWORD_ONLY}
        taken = inspect.signature(getattr(ours, name)).parameters
        lost = sorted(keywords - taken.keys())
        if lost or len(taken) < len(wanted):
            lacking[name] = lost or "positional"
    assert not lacking


def arrays(dtypes, shapes, **elements):
    def of(dtype):
        kind = np.dtype(dtype).kind
        limits = {"min_value": -5 if kind == "i" else 0, "max_value": 5} if kind in "iu" else {}
        if kind == "f":
            limits = {"min_value": -4, "max_value": 4}
        if kind == "c":
            limits = {"max_magnitude": 4, "allow_nan": False}
        return hnp.arrays(dtype, shapes, elements=hnp.from_dtype(np.dtype(dtype), **(limits | elements)))

    return st.sampled_from(dtypes).flatmap(of)


SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def both(name, *args, module="", **kwargs):
    """The call in both libraries, and whether they agree."""
    theirs = getattr(strict, module) if module else strict
    ours = getattr(xp, module) if module else xp
    wanted = getattr(theirs, name)(*(convert(arg, strict.asarray) for arg in args), **kwargs)
    found = getattr(ours, name)(*(convert(arg, lambda a: xp.asarray(a.copy())) for arg in args), **kwargs)
    agree(name, found, wanted)


def convert(arg, make):
    if isinstance(arg, np.ndarray):
        return make(arg)
    return type(arg)(convert(one, make) for one in arg) if isinstance(arg, (tuple, list)) else arg


def agree(name, found, wanted) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            agree(name, one, other)
        return
    wanted = np.asarray(wanted._array) if hasattr(wanted, "_array") else np.asarray(wanted)
    unsigned = wanted.dtype.name == "uint64"  # sums of uint8: polyad has no wider unsigned dtype
    assert found.dtype.name == ("int64" if unsigned else wanted.dtype.name), (name, found.dtype, wanted.dtype)
    assert tuple(found.shape) == wanted.shape, (name, found.shape, wanted.shape)
    if wanted.dtype.kind in "fc":
        # Both round the same formula in their own order; a term is at most 4 ** 12.
        eps = np.finfo(wanted.dtype).eps
        np.testing.assert_allclose(found.numpy(), wanted, rtol=64 * eps, atol=64 * eps)
    else:
        np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_unary(name, data) -> None:
    near_pole = {"tan", "log1p", "atanh", "reciprocal", "acosh"}
    bounds = {"min_value": 0.25, "max_value": 0.75} if name in near_pole else {}
    dtypes = [d for d in UNARY[name] if not (bounds and d.startswith("complex"))]
    with np.errstate(all="ignore"):
        both(name, data.draw(arrays(dtypes, SHAPES, **bounds)))


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_binary(name, data) -> None:
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4)).input_shapes
    bounds = {}
    if "shift" in name:
        bounds = {"min_value": 0, "max_value": 3}
    elif name in ("divide", "pow", "floor_divide", "remainder", "logaddexp"):
        bounds = {"min_value": 0.25}
    dtypes = [d for d in BINARY[name] if not (bounds and d.startswith("complex"))]
    one = data.draw(arrays(dtypes, shapes[0], **bounds))
    same = [d for d in dtypes if np.result_type(d, one.dtype).name in DTYPES and np.dtype(d).kind == one.dtype.kind]
    other = data.draw(arrays(same, shapes[1], **bounds))
    with np.errstate(all="ignore"):
        both(name, one, other)


@pytest.mark.parametrize("name", BINARY)
def test_a_0d_operand_promotes_like_any_other(name) -> None:
    higher = BINARY[name][-1]
    lower = next(dtype for dtype in BINARY[name] if np.dtype(dtype).kind == np.dtype(higher).kind)
    both(name, np.ones(2, dtype=lower), np.ones((), dtype=higher))


@pytest.mark.parametrize("name", BINARY)
def test_either_operand_may_be_a_number(name) -> None:
    dtype = BINARY[name][-1]
    number = {"b": True, "i": 1, "f": 1.5, "c": 1.5}[np.dtype(dtype).kind]
    x = np.ones(2, dtype=dtype)
    both(name, x, number)
    both(name, number, x)


def test_a_remainder_of_zero_has_the_divisors_sign() -> None:
    found = xp.remainder(xp.asarray([-0.0, 0.0, 4.0, -4.0]), xp.asarray([2.0, -2.0, -2.0, 2.0]))
    assert xp.signbit(found).tolist() == [False, True, True, False]


def test_expm1_of_infinite_complex_numbers() -> None:
    inf, nan = math.inf, math.nan
    found = xp.expm1(xp.asarray([complex(inf, 0), complex(-inf, inf), complex(-inf, nan), 1e-20 + 0j]))
    assert found.tolist() == [complex(inf, 0), -1 + 0j, -1 + 0j, pytest.approx(1e-20)]


def test_quotients_of_infinities_are_rounded() -> None:
    inf = math.inf
    found = xp.floor_divide(xp.asarray([inf, -inf, 5.0, -5.0, 7.0]), xp.asarray([2.0, 2.0, -inf, inf, 2.0]))
    assert found.tolist() == [inf, -inf, 0.0, 0.0, 3.0]
    assert xp.signbit(found).tolist() == [False, True, True, True, False]


@pytest.mark.parametrize("name", REDUCTIONS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_reductions_over_any_axes(name, data) -> None:
    side = hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4)
    x = data.draw(arrays(REDUCTIONS[name], side))
    axes = st.lists(st.integers(-x.ndim, x.ndim - 1), unique_by=lambda a: a % max(x.ndim, 1), max_size=x.ndim)
    several = axes.map(tuple) if x.ndim else st.just(())
    axis = data.draw(st.none() | several | (st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.none()))
    with np.errstate(all="ignore"):
        both(name, x, axis=axis, keepdims=data.draw(st.booleans()))


@pytest.mark.parametrize("name", ["argmax", "argmin", "sort", "argsort", "cumulative_sum", "cumulative_prod"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_along_one_axis(name, data) -> None:
    x = data.draw(arrays(REAL, hnp.array_shapes(min_dims=1, max_dims=3, max_side=4)))
    kwargs = {"axis": data.draw(st.integers(-x.ndim, x.ndim - 1))}
    if name.startswith("cumulative"):
        kwargs["include_initial"] = data.draw(st.booleans())
    elif name.startswith("arg") and name != "argsort":
        kwargs["keepdims"] = data.draw(st.booleans())
    else:
        kwargs["descending"] = data.draw(st.booleans())
        if name == "argsort" and kwargs["descending"]:
            # The standard leaves open in which order a stable descending sort lists equal elements.
            x = np.random.default_rng(0).permutation(x.size).reshape(x.shape).astype(x.dtype)
    both(name, x, **kwargs)


@settings(max_examples=25, deadline=None)
@given(x=arrays(DTYPES, hnp.array_shapes(min_dims=1, max_dims=2, max_side=5)))
def test_sets(x) -> None:
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        both(name, x)


@settings(max_examples=20, deadline=None)
@given(x=arrays(REAL, hnp.array_shapes(min_dims=1, max_dims=2, max_side=5)))
def test_membership(x) -> None:
    few = x.reshape(-1)[:2]
    found = xp.isin(xp.asarray(x.copy()), xp.asarray(few.copy()), invert=True)
    np.testing.assert_array_equal(found.numpy(), np.isin(x, few, invert=True))


X = np.arange(24.0).reshape(2, 3, 4)
I8 = np.arange(6, dtype=np.int8).reshape(2, 3)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("concat", ([I8, I8.astype(np.int64)],), {"axis": -1}),
        ("concat", ([I8, I8],), {"axis": None}),
        ("stack", ([I8, I8.astype(np.int16)],), {"axis": 1}),
        ("unstack", (X,), {"axis": -1}),
        ("expand_dims", (X,), {"axis": -2}),
        ("squeeze", (X[:1, :, :1],), {"axis": (0, -1)}),
        ("permute_dims", (X, (2, 0, 1)), {}),
        ("moveaxis", (X, (0, 1), (-1, 0)), {}),
        ("reshape", (X, (-1, 6)), {}),
        ("flip", (X,), {}),
        ("flip", (X,), {"axis": (0, -1)}),
        ("roll", (X, 3), {}),
        ("roll", (X, (1, -1)), {"axis": (0, 2)}),
        ("repeat", (I8, 2), {}),
        ("repeat", (I8, np.array([1, 0, 2])), {"axis": 1}),
        ("tile", (I8, (2, 1, 2)), {}),
        ("broadcast_to", (I8, (4, 2, 3)), {}),
        ("meshgrid", (np.arange(3), np.arange(2)), {}),
        ("meshgrid", (np.arange(3), np.arange(2)), {"indexing": "ij"}),
        ("tril", (X,), {"k": -1}),
        ("triu", (X,), {"k": 1}),
        ("take", (X, np.array([2, 0])), {"axis": 1}),
        ("where", (I8 > 2, I8, np.asarray(3, dtype=np.int16)), {}),
        ("clip", (I8,), {}),
        ("vecdot", (I8, I8[:1].astype(np.int16)), {}),
        ("tensordot", (I8, I8.T.astype(np.int32)), {"axes": 1}),
        ("matmul", (X[0], X[1].T.astype(np.float32)), {}),
        ("searchsorted", (np.array([1.0, 2.0]), np.array([0.5], dtype=np.float32)), {}),
        ("sign", (np.array([np.nan, -0.0, -3.0]),), {}),
        ("arange", (-1.0,), {"step": 2}),
        ("take", (np.arange(3.0), np.array([2, 0])), {}),
        ("take_along_axis", (X, np.argsort(-X, -1)), {}),
        ("searchsorted", (np.array([1.0, 2.0, 2.0]), np.array([0.5, 2.0, 9.0])), {"side": "right"}),
        ("searchsorted", (np.array([2.0, 1.0]), np.array([1.5])), {"sorter": np.array([1, 0])}),
        ("nonzero", (I8,), {}),
        ("where", (I8 > 2, I8, I8.astype(np.int32)), {}),
        ("clip", (I8,), {"min": 1, "max": 4}),
        ("clip", (X,), {"max": 4.5}),
        ("diff", (X,), {"n": 2, "axis": 1}),
        ("diff", (np.arange(4),), {"prepend": np.array([9])}),
        ("matmul", (X, X.swapaxes(-1, -2)), {}),
        ("matmul", (I8, I8.T), {}),
        ("matrix_transpose", (X,), {}),
        ("tensordot", (X, X), {"axes": ((0, 1), (0, 1))}),
        ("tensordot", (I8, I8.T), {"axes": 1}),
        ("vecdot", (X[0] + 1j, X[0] - 2j), {"axis": -2}),
        ("arange", (5,), {}),
        ("arange", (1, 2, 0.25), {}),
        ("arange", (3, 0), {}),
        ("arange", (3, 0, -1), {"dtype": "int8"}),
        ("linspace", (0, 1, 5), {}),
        ("linspace", (0, 1, 5), {"endpoint": False}),
        ("eye", (3,), {}),
        ("eye", (2, 4), {"k": -1, "dtype": "int64"}),
        ("full", ((2,), 7), {}),
        ("full", (3, 1j), {}),
        ("zeros", ((2, 0),), {"dtype": "bool"}),
        ("ones", (2,), {}),
        ("full_like", (I8, 3), {}),
        ("zeros_like", (X,), {"dtype": "complex64"}),
    ],
)
def test_examples(name, args, kwargs) -> None:
    def options(make, lib):
        return {key: convert(getattr(lib, value) if key == "dtype" else value, make) for key, value in kwargs.items()}

    before = polyad.get_default_dtype()
    polyad.set_default_dtype(polyad.float64)  # the standard leaves the default open; array-api-strict's is float64
    try:
        wanted = getattr(strict, name)(*(convert(a, strict.asarray) for a in args), **options(strict.asarray, strict))
        found = getattr(xp, name)(*(convert(a, xp.asarray) for a in args), **options(xp.asarray, xp))
    finally:
        polyad.set_default_dtype(before)
    agree(name, found, wanted)


PD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("cholesky", (PD,), {}),
        ("cholesky", (PD,), {"upper": True}),
        ("cross", (PD[:2], PD[1:]), {}),
        ("det", (PD,), {}),
        ("diagonal", (PD,), {"offset": 1}),
        ("eigvalsh", (PD,), {}),
        ("inv", (PD,), {}),
        ("matrix_norm", (PD,), {"ord": "nuc", "keepdims": True}),
        ("matrix_power", (PD, -2), {}),
        ("matrix_rank", (PD,), {}),
        ("outer", (PD[0], PD[1]), {}),
        ("pinv", (PD[:2],), {}),
        ("slogdet", (PD,), {}),
        ("solve", (PD, PD[:, :2]), {}),
        ("solve", (PD.astype(np.float32), PD[:, :2]), {}),
        ("cross", (PD[:2], PD[0].astype(np.float32)), {}),
        ("outer", (PD[0], PD[1].astype(np.float32)), {}),
        ("svdvals", (PD[:2],), {}),
        ("trace", (PD,), {"offset": -1}),
        ("vector_norm", (PD,), {"axis": (0, 1), "ord": 3}),
        ("vector_norm", (PD,), {"axis": 0, "ord": math.inf, "keepdims": True}),
    ],
)
def test_linear_algebra(name, args, kwargs) -> None:
    both(name, *args, module="linalg", **kwargs)


def test_factorizations_multiply_back() -> None:
    a = xp.asarray(PD[:2])
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    agree("svd", (u * s) @ vh, PD[:2])
    q, r = xp.linalg.qr(a)
    agree("qr", q @ r, PD[:2])
    values, vectors = xp.linalg.eigh(xp.asarray(PD))
    agree("eigh", vectors @ (values[:, None] * vectors.mT), PD)


C = (X + 1j * X[::-1]).astype(np.complex64)


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("fft", (C,), {"n": 3, "axis": 1}),
        ("ifft", (C,), {"norm": "ortho"}),
        ("fftn", (C,), {"axes": (0, 2)}),
        ("ifftn", (C,), {"s": (2, 3), "axes": (1, 2)}),
        ("rfft", (X,), {"axis": -1}),
        ("irfft", (C,), {"n": 7}),
        ("rfftn", (X,), {}),
        ("irfftn", (C,), {"norm": "forward"}),
        ("hfft", (C,), {}),
        ("ihfft", (X,), {}),
        ("fftshift", (X,), {}),
        ("ifftshift", (X,), {"axes": (1,)}),
    ],
)
def test_transforms(name, args, kwargs) -> None:
    both(name, *args, module="fft", **kwargs)


def test_frequencies() -> None:
    for name in ("fftfreq", "rfftfreq"):
        agree(name, getattr(xp.fft, name)(7, d=0.5, dtype=xp.float64), getattr(strict.fft, name)(7, d=0.5))


def test_dtypes_and_promotion_are_the_standards() -> None:
    for one in DTYPES:
        for other in DTYPES:
            try:
                wanted = strict.result_type(getattr(strict, one), getattr(strict, other))._np_dtype.name
            except TypeError:
                continue
            if wanted in DTYPES:
                assert xp.result_type(getattr(xp, one), getattr(xp, other)).name == wanted, (one, other)
        for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric"):
            assert xp.isdtype(getattr(xp, one), kind) == strict.isdtype(getattr(strict, one), kind)
    assert xp.can_cast(xp.float32, xp.float64)
    assert not xp.can_cast(xp.ones(1, dtype=xp.int64), xp.int32)
    assert xp.finfo(xp.ones(1, dtype=xp.float64)).eps == 2.0**-52
    assert xp.finfo(xp.complex64).dtype is xp.float32
    assert xp.iinfo(xp.int16).max == 32767
    assert xp.iinfo(xp.int16).dtype is xp.int16


def test_the_namespace_describes_itself() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"]
    assert info.default_device() in info.devices()
    assert info.dtypes(kind=("bool", "complex floating")).keys() == {"bool", "complex64", "complex128"}
    assert info.default_dtypes()["integral"] is xp.int64
    x = polyad.ones(2)
    assert x.__array_namespace__(api_version="2024.12") is xp
    assert x.to_device("cpu") is x


def test_a_backend_that_does_not_work_has_no_devices(monkeypatch) -> None:
    def get(name):
        if name == "opencl":
            raise polyad.errors.BackendUnavailable("backend 'opencl': it needs pyopencl", fix="pip install pyopencl")
        return working(name)

    working = registry.get
    monkeypatch.setattr(registry, "get", get)
    found = xp.__array_namespace_info__().devices()
    assert polyad.device("cpu") in found
    assert "opencl" not in {device.type for device in found}


def test_take_counts_from_the_end_too() -> None:
    x = xp.asarray(X)
    assert bool(xp.all(xp.take(x, xp.asarray([-1, 0]), axis=-1) == x[..., [3, 0]]))


def test_several_tensors_come_as_a_list() -> None:
    assert type(xp.meshgrid(xp.ones(2), xp.ones(3))) is list
    assert type(xp.broadcast_arrays(xp.ones(2), xp.ones(1))) is list


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: xp.vecdot(xp.ones((2, 1)), xp.ones((2, 3))), RuntimeError),
        (lambda: polyad.ones(1).__array_namespace__(api_version="1999.12"), ValueError),
        (lambda: xp.isdtype(xp.int8, "integers"), ValueError),
        (lambda: xp.isdtype(xp.int8, ["bool"]), TypeError),
        (lambda: xp.result_type(1, 2.0), ValueError),
        (lambda: xp.squeeze(xp.ones((2, 1)), axis=0), ValueError),
        (lambda: xp.reshape(xp.ones((2, 3)).T, (6,), copy=False), ValueError),
        (lambda: xp.asarray([1, 2], copy=False), ValueError),
        (lambda: xp.asarray(xp.ones(2), dtype=xp.int8, copy=False), ValueError),
        (lambda: xp.take(xp.ones((2, 2)), xp.asarray([0])), ValueError),
        (lambda: xp.cumulative_sum(xp.ones((2, 2))), ValueError),
        (lambda: xp.nonzero(xp.asarray(1)), ValueError),
        (lambda: xp.matrix_transpose(xp.ones(2)), RuntimeError),
    ],
)
def test_what_is_refused(call, error) -> None:
    with pytest.raises(error):
        call()
