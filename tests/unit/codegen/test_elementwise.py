"""Generated kernels compute what eager ops compute, in every dialect that can run here."""

import math
import platform
import shutil
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import polyad
from polyad import codegen
from polyad.codegen import CUDA_C, GPU, OPENCL_C, C, DeviceDescription, Iota, Literal, Operand, Scalar, apply, cast
from polyad.codegen.formulas import OPS as FORMULAS
from polyad.dispatch.op import OPS
from polyad.dispatch.structure import is_elementwise
from polyad.interop.numpy import numpy_dtype

from .compiled import fast_flags, needs_compiler, run_elementwise, targets

RNG = np.random.default_rng(0)
LAYOUTS = {
    "contiguous": lambda: (RNG.standard_normal((5, 7)), RNG.standard_normal((5, 7))),
    "row broadcast": lambda: (RNG.standard_normal((5, 37)), RNG.standard_normal(37)),
    "column broadcast": lambda: (RNG.standard_normal((5, 1)), RNG.standard_normal((5, 7))),
    "transposed": lambda: (RNG.standard_normal((7, 5)).T, RNG.standard_normal((5, 7))),
    "sliced": lambda: (RNG.standard_normal((5, 34))[:, 1::2], RNG.standard_normal((11, 17))[1::2]),
    "rank 4": lambda: (RNG.standard_normal((2, 3, 4, 5)).transpose(2, 0, 3, 1), RNG.standard_normal((2, 1, 3))),
    "0-d": lambda: (RNG.standard_normal(()), RNG.standard_normal(())),
    "empty": lambda: (RNG.standard_normal((0, 3)), RNG.standard_normal((0, 3))),
}


@pytest.mark.parametrize("target", targets())
def test_a_fused_chain_over_any_layout(target, tmp_path: Path) -> None:
    a, b = Operand(0, polyad.float32), Operand(1, polyad.float32)
    chain = apply("maximum", a * b + apply("exp", -a), Literal(0, polyad.float32))
    for layout, arrays in LAYOUTS.items():
        x, y = (np.asarray(v, np.float32) if v.ndim == 0 else _as_float32(v) for v in arrays())
        out = np.zeros(np.broadcast_shapes(x.shape, y.shape), np.float32)
        run_elementwise([chain], (x, y), (out,), target, tmp_path)
        wide, other = x.astype(np.float64), y.astype(np.float64)
        expected = np.maximum(wide * other + np.exp(-wide), 0)
        # Four float32 roundings, of which exp may be off by three units: seven units of the largest intermediate.
        bound = 7 * np.finfo(np.float32).eps * (np.abs(wide * other) + np.exp(-wide))
        assert np.all(np.abs(out - expected) <= bound), layout


def _as_float32(view: np.ndarray) -> np.ndarray:
    """*view*'s values in float32 memory of the same layout."""
    whole = view
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    begin = (view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // 2
    memory = whole.astype(np.float32)
    steps = tuple(step // 2 for step in view.strides)
    return np.ndarray(view.shape, np.float32, memory, begin, steps)


@pytest.mark.parametrize("target", targets())
def test_numbers_that_compare_equal_stay_what_they_are(target, tmp_path: Path) -> None:
    x = Operand(0, polyad.float64)
    below, above = Literal(-0.0, polyad.float64), Literal(0.0, polyad.float64)
    assert below != above
    assert Literal(math.nan, polyad.float64) == Literal(math.nan, polyad.float64)
    out = np.empty(2)
    run_elementwise([apply("where", x > 0, above, below)], (np.array([1.0, -1.0]),), (out,), target, tmp_path)
    assert np.signbit(out).tolist() == [False, True]


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
def test_a_lane_of_any_size_leaves_the_others_their_digits(target, op: str, tmp_path: Path) -> None:
    x = np.full((5, 16), 1e30, np.float32)
    x[:, :15] = 1.37 * 2.0 ** -np.arange(0, 150, 2).reshape(5, 15)
    x[:, 0] *= [1, -1, 0, -0.0, math.inf]
    out = np.empty_like(x)
    run_elementwise([apply(op, Operand(0, polyad.float32))], (x,), (out,), target, tmp_path)
    with np.errstate(invalid="ignore"):
        exact = getattr(np, op)(x.astype(np.float64))
    # Four units, which is what OpenCL allows a sine, and the last column is there for the others alone.
    np.testing.assert_allclose(out[:, :15], exact[:, :15], rtol=5 * np.finfo(np.float32).eps)
    assert (np.signbit(out[:, :15]) == np.signbit(exact[:, :15]))[~np.isnan(exact[:, :15])].all()


@pytest.mark.parametrize("target", targets())
def test_results_may_be_strided_and_several(target, tmp_path: Path) -> None:
    x = RNG.standard_normal((6, 9)).astype(np.float32)
    memory = np.full((9, 14), 7.0, np.float32)
    first, second = memory[:, 1:13:2].T, np.zeros((6, 9), np.float64)
    a, n = Operand(0, polyad.float32), Scalar(0, polyad.float32)
    run_elementwise([a * n, cast(a, polyad.float64)], (x,), (first, second), target, tmp_path, (3.0,))
    assert np.array_equal(first, x * np.float32(3))
    assert np.array_equal(second, x.astype(np.float64))
    assert np.all(memory[:, 0::2] == 7), "elements between those of the result were written"


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("dtype", [polyad.int8, polyad.uint8, polyad.int64], ids=lambda d: d.name)
def test_integers_wrap_divide_and_shift_as_eager_ones_do(target, dtype: polyad.dtype, tmp_path: Path) -> None:
    limits = polyad.iinfo(dtype)
    x = np.array([limits.min, limits.max, 3, 100, 7, limits.min], dtype.name)
    y = np.array([limits.max, limits.max, 5, 100, 2, limits.max], dtype.name)
    if limits.min:
        y[-1] = -1
    a, b = Operand(0, dtype), Operand(1, dtype)
    ops = ["floor_divide", "remainder", "fmod", "bitwise_left_shift", "bitwise_right_shift", "minimum", "bitwise_xor"]
    outs = [np.zeros(len(x), dtype.name) for _ in range(len(ops) + 1)]
    run_elementwise([a * b + a, *(apply(op, a, b) for op in ops)], (x, y), outs, target, tmp_path)
    eager = polyad.tensor(x) * polyad.tensor(y) + polyad.tensor(x)
    assert outs[0].tolist() == eager.tolist()
    for op, out in zip(ops, outs[1:], strict=True):
        # The least number by -1 has no quotient; NumPy and every processor wrap it.
        assert out.tolist() == getattr(polyad, op)(polyad.tensor(x), polyad.tensor(y)).tolist(), op


@pytest.mark.parametrize("target", targets())
def test_halves_are_rounded_once_and_to_even(target, tmp_path: Path) -> None:
    x = np.array(
        [1.0, 1.00048828125, 1.0009765625, 1.00146484375, 65504, 65519.9, 65520, -65520, 5.96e-8, 2.98e-8, 2.99e-8,
         6.1e-5, 6.0976e-5, -0.0, math.inf, -math.inf, math.nan, 1.00390625, 1.01171875, 3.4e38, 1e-40],
        np.float32,
    )  # fmt: skip
    a = Operand(0, polyad.float32)
    half, brain = np.zeros(len(x), np.float16), np.zeros(len(x), ml_dtypes.bfloat16)
    run_elementwise([cast(a, polyad.float16), cast(a, polyad.bfloat16)], (x,), (half, brain), target, tmp_path)
    with np.errstate(all="ignore"):
        assert np.array_equal(half, x.astype(np.float16), equal_nan=True)
        assert np.array_equal(brain.astype(np.float32), x.astype(ml_dtypes.bfloat16).astype(np.float32), equal_nan=True)
    back, other = np.zeros(len(x), np.float32), np.zeros(len(x), np.float32)
    h, b = Operand(0, polyad.float16), Operand(1, polyad.bfloat16)
    run_elementwise([cast(h, polyad.float32), cast(b, polyad.float32)], (half, brain), (back, other), target, tmp_path)
    assert np.array_equal(back, half.astype(np.float32), equal_nan=True)
    assert np.array_equal(other, brain.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("target", targets())
def test_complex_numbers_are_pairs(target, tmp_path: Path) -> None:
    x = np.array(
        [3 + 4j, -0.75 + 0j, 1e-3 - 2j, -2 - 3j, 0j, 0.3 + 0.1j, 5 - 20j, -0.5 + 2j, 2 + 0.5j, -0.999 + 0.04j],
        np.complex128,
    )
    y = np.array([1e200 + 1e200j, 2j, -1 + 1j, 3 - 1j, 1 + 1j, 0.5 + 0j, -1 - 1j, 2 + 2j, 1j, 1j], np.complex128)
    a, b = Operand(0, polyad.complex128), Operand(1, polyad.complex128)
    unary = [
        "sqrt",
        "exp",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "asin",
        "acos",
        "atan",
        "asinh",
        "acosh",
        "atanh",
    ]
    made = [a * b, apply("div", a, b), apply("abs", a), *(apply(op, a) for op in unary)]
    outs = [np.zeros(len(x), np.float64 if one.dtype is polyad.float64 else np.complex128) for one in made]
    run_elementwise(made, (x, y), outs, target, tmp_path)
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
             "atanh": "arctanh"}  # fmt: skip
    expected = [x * y, x / y, np.abs(x), *(getattr(np, names.get(op, op))(x) for op in unary)]
    for op, got, want in zip(["mul", "div", "abs", *unary], outs, expected, strict=True):
        # A formula of about ten operations on parts of comparable size.
        assert np.all(np.abs(got - want) <= 20 * np.finfo(np.float64).eps * np.abs(want)), (op, got, want)


@pytest.mark.parametrize("target", targets())
def test_nan_passes_through_extremes_and_choices(target, tmp_path: Path) -> None:
    x, y = np.array([math.nan, 1.0, -1.0]), np.array([0.0, math.nan, 2.0])
    a, b = Operand(0, polyad.float64), Operand(1, polyad.float64)
    outs = [np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3, np.bool_)]
    chosen = codegen.where(a < 0.0, math.inf, a)
    run_elementwise(
        [apply("maximum", a, b), apply("minimum", a, b), chosen, apply("isnan", b)], (x, y), outs, target, tmp_path
    )
    assert [np.isnan(out).tolist() for out in outs[:2]] == [[True, True, False]] * 2
    assert outs[2].tolist()[1:] == [1.0, math.inf]
    assert outs[3].tolist() == [False, True, False]


@pytest.mark.parametrize("target", targets())
def test_a_place_counts_where_it_is(target, tmp_path: Path) -> None:
    out = np.zeros((3, 11), np.int64)
    x = np.ones((3, 11), np.int64)
    from polyad.codegen.elementwise import elementwise, elementwise_plan, lanes_for

    from .compiled import description_for, launch

    dialect, device = target[0], description_for(target[0])
    made = [Operand(0, polyad.int64) + Iota(1)]
    lanes = lanes_for(made, dialect, device)
    plan = elementwise_plan(lanes, device, (3, 11), [(11, 1), (11, 1), (100, 2)], [0, 0, 5])
    source = elementwise(made, dialect, device, plan.rank, plan.inner)
    launch(source, target, tmp_path, [out, x], (), plan.geometry, plan.instances)
    assert np.array_equal(out, 1 + 5 + 100 * np.arange(3)[:, None] + 2 * np.arange(11))


def test_every_formula_belongs_to_a_pointwise_op() -> None:
    assert [name for name in FORMULAS if not is_elementwise(OPS[name])] == []


@pytest.mark.parametrize(
    ("op", "dtype", "found"),
    [
        ("mul", polyad.complex64, True),
        ("maximum", polyad.int8, True),
        ("fmax", polyad.complex64, False),
        ("exp", polyad.int32, False),
        ("gelu", polyad.float32, False),
    ],
)
def test_codegen_says_what_it_has_a_formula_for(op: str, dtype: polyad.dtype, found: bool) -> None:
    assert codegen.has_formula(op, dtype) is found


def test_one_source_serves_all_shapes_of_a_rank() -> None:
    add = Operand(0, polyad.float32) + Operand(1, polyad.float32)
    device = DeviceDescription()
    small = codegen.elementwise_plan(8, device, (4, 6), [(6, 1), (6, 1), (0, 1)], [0, 0, 0])
    large = codegen.elementwise_plan(8, device, (50, 70), [(70, 1), (70, 1), (0, 1)], [0, 0, 0])
    assert (small.rank, small.inner, small.stream) == (large.rank, large.inner, large.stream) == (2, None, False)
    assert len(small.geometry) == len(large.geometry)
    assert codegen.elementwise([add], OPENCL_C, device, 2).text == codegen.elementwise([add], OPENCL_C, device, 2).text


def test_dense_operands_and_those_that_repeat_have_kernels_of_their_own() -> None:
    def plan(*strides, offsets=None, **hardware):
        device = DeviceDescription(compute_units=2, **hardware)
        return codegen.elementwise_plan(8, device, (200, 24), strides, offsets or [0] * len(strides))

    assert plan((24, 1), (24, 1), (1, 0)).inner == (1, 1, 0)
    few = codegen.elementwise_plan(8, DeviceDescription(), (20, 24), [(24, 1), (24, 1)], [0, 0])
    assert few.inner is None, "too few elements for a kernel of their own"
    assert plan((24, 1), (48, 2)).inner is None
    assert plan((48, 2), (24, 1)).inner is None, "a result with gaps"
    assert not plan((24, 1), (24, 1)).stream, "it fits into the caches"
    assert plan((24, 1), (24, 1), cache_bytes=0).stream
    assert not plan((24, 1), (24, 1), offsets=[1, 0], cache_bytes=0).stream, "vectors of the result are not aligned"
    assert not plan((25, 1), (24, 1), cache_bytes=0).stream, "nor are those of later rows"
    gpu = codegen.elementwise_plan(1, DeviceDescription(GPU, 8), (200, 24), [(24, 1), (24, 1)], [0, 0])
    assert (gpu.inner, gpu.stream) == (None, False)


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "float64", "int8", "int64", "bool", "complex64"])
def test_results_that_exceed_the_caches_are_written_past_them(target, name: str, tmp_path: Path) -> None:
    dtype = getattr(polyad, name)
    x = np.asarray(RNG.integers(0, 2, (5, 5003)), numpy_dtype(dtype))
    scale, out = np.asarray(RNG.integers(0, 2, 5003), numpy_dtype(dtype)), np.zeros((5, 5003), numpy_dtype(dtype))
    product = Operand(0, dtype) * Operand(1, dtype)
    run_elementwise([product], (x[0], scale), (out[0],), target, tmp_path, cache_bytes=0)
    run_elementwise([product], (x, scale), (out,), target, tmp_path, cache_bytes=0)
    assert np.array_equal(out, x * scale)


def test_a_number_is_an_argument_not_a_text() -> None:
    x = Operand(0, polyad.float32)
    source = codegen.elementwise([x * Scalar(0, polyad.float32)], C)
    assert source.scalars == (polyad.float32,)
    assert codegen.elementwise([x * 3], C).scalars == ()


def test_vectors_are_as_long_as_the_device_has_them() -> None:
    x, wide = Operand(0, polyad.float32), Operand(0, polyad.float64)
    assert codegen.elementwise([x + x], OPENCL_C, DeviceDescription()).lanes == 8
    assert codegen.elementwise([cast(x, polyad.float64)], OPENCL_C, DeviceDescription()).lanes == 4
    assert codegen.elementwise([wide + wide], OPENCL_C, DeviceDescription(vector_bytes=64)).lanes == 8
    assert codegen.elementwise([x + x], OPENCL_C, DeviceDescription(GPU, 8)).lanes == 1
    assert codegen.elementwise([x + x], C).lanes == codegen.elementwise([x + x], CUDA_C).lanes == 1


def test_nodes_that_are_shared_are_written_once() -> None:
    x = Operand(0, polyad.float32)
    shared = apply("exp", x)
    for _ in range(64):
        shared = shared + shared  # 2**64 paths lead from here to exp
    text = codegen.elementwise([shared], C).text
    assert text.count("expf(") == 1


@needs_compiler
def test_vectors_of_the_compiler(tmp_path: Path) -> None:
    """C with the flags that make it fast; its math functions are good to four units in the last place."""
    x = RNG.standard_normal((3, 131)).astype(np.float32)
    x[1, 7:10] = math.nan, math.inf, -math.inf
    a, b = Operand(0, polyad.float32), Operand(1, polyad.float32)
    made = [a + b, apply("exp", a), apply("tanh", a), apply("maximum", a, b)]
    outs = [np.zeros_like(x) for _ in made]
    run_elementwise(made, (x, x[::-1]), outs, (C, fast_flags()), tmp_path)
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        for out, want in zip(outs, (x + x[::-1], np.exp(wide), np.tanh(wide), np.maximum(x, x[::-1])), strict=True):
            assert np.allclose(out, want, rtol=2**-20, atol=0, equal_nan=True)


@needs_compiler
def test_every_dtype_is_computed_with(tmp_path: Path) -> None:
    from polyad.base.dtypes import ALL

    for dtype in ALL:
        x = np.array([1, 0, 1], numpy_dtype(dtype))
        out = np.zeros(3, numpy_dtype(dtype))
        a = Operand(0, dtype)
        run_elementwise([a * a + a], (x,), (out,), (C, None), tmp_path)
        assert out.tolist() == (polyad.tensor(x) * polyad.tensor(x) + polyad.tensor(x)).tolist(), dtype


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a, b: apply("sort", a), NotImplementedError, "no formula for sort"),
        (lambda a, b: apply("add", a, Operand(1, polyad.int32)), RuntimeError, "several dtypes: float32, int32"),
        (lambda a, b: apply("cast", a), RuntimeError, "cast needs a dtype"),
        (lambda a, b: codegen.elementwise([b], C), ValueError, r"operands \[1\]"),
        (
            lambda a, b: codegen.elementwise([cast(a, polyad.int32) + Operand(0, polyad.int32)], C),
            RuntimeError,
            "occurs as",
        ),
        (lambda a, b: codegen.elementwise([apply("exp", Operand(0, polyad.int32))], C), RuntimeError, "exp of int32"),
        (lambda a, b: codegen.reduction(a, "median", C), ValueError, "no reduction median"),
        (
            lambda a, b: codegen.elementwise([apply("floor", Operand(0, polyad.complex64))], C),
            NotImplementedError,
            "floor of complex64",
        ),
    ],
)
def test_bad_input_is_named(call, error: type[Exception], words: str) -> None:
    a, b = Operand(0, polyad.float32), Operand(1, polyad.float32)
    with pytest.raises(error, match=words):
        call(a, b)


def test_an_expression_may_be_deeper_than_pythons_stack() -> None:
    expression = Operand(0, polyad.float32)
    for _ in range(3000):
        expression = apply("add", expression, Operand(0, polyad.float32))
    source = codegen.elementwise([expression], C, DeviceDescription())
    assert source.text.count(" + ") >= 3000


def _loops() -> dict[str, codegen.Expression]:
    """What one kernel each computes: choices and casts, which compilers may leave as branches."""
    x, y, z = (Operand(place, polyad.float32) for place in range(3))
    flag, wide, whole = Operand(0, polyad.bool), Operand(0, polyad.float64), Operand(0, polyad.int32)
    zero, one = Literal(0, polyad.float32), Literal(1, polyad.float32)
    return {
        "maximum": apply("maximum", x, y),
        "fmin": apply("fmin", x, y),
        "clamp": apply("minimum", apply("maximum", x, zero), one),
        "clamp by numbers": apply("minimum", apply("maximum", x, Scalar(0, polyad.float32)), Scalar(1, polyad.float32)),
        "clamp by tensors": apply("minimum", apply("maximum", x, y), z),
        "sign": apply("sign", x),
        "bool to float32": cast(flag, polyad.float32),
        "bool to float64": cast(flag, polyad.float64),
        "bool to int64": cast(flag, polyad.int64),
        "comparison to float32": cast(apply("gt", x, y), polyad.float32),
        "both": apply("bitwise_and", apply("gt", x, y), apply("lt", x, z)),
        "float64 to float32": cast(wide, polyad.float32),
        "float32 to uint8": cast(x, polyad.uint8),
        "int32 to float32": cast(whole, polyad.float32),
        "gradient of relu": apply("where", apply("le", y, zero), zero, x),
        "gradient of clamp": apply("where", apply("bitwise_and", apply("ge", y, zero), apply("le", y, one)), x, zero),
    }


@needs_compiler
def test_compilers_make_vector_instructions_of_loops(tmp_path: Path) -> None:
    """gcc reports of each kernel whether its loop became vector instructions; without, it takes 10 to 40 times as
    long, and no result would tell.
    """
    gcc = shutil.which("gcc")
    if gcc is None or platform.machine() != "x86_64":
        pytest.skip("gcc's report is read, for x86-64")
    for number, (name, expression) in enumerate(_loops().items()):
        source = codegen.elementwise([expression], C, None, name=f"k{number}_", stream=True)
        (tmp_path / f"kernel{number}.c").write_text(f"// {name}\n{source.text}")
    flags = ["-c", "-O3", "-march=x86-64-v4", "-w", *[flag for flag in fast_flags() if not flag.startswith("-march")]]
    found = subprocess.run(
        [gcc, *flags, "-fopt-info-vec-optimized", *sorted(map(str, tmp_path.glob("*.c")))],
        capture_output=True, text=True, cwd=tmp_path, check=True,
    )  # fmt: skip
    assert [name for number, name in enumerate(_loops()) if f"/kernel{number}.c:" not in found.stderr] == []
