"""Generated kernels compute what eager ops compute: the C dialect is compiled and run, the others are compiled as
C behind shims.
"""

import ctypes
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import polyad
from polyad import codegen
from polyad.codegen import CUDA_C, OPENCL_C, C, Literal, Operand, apply, generate
from polyad.codegen.tables import TEMPLATES
from polyad.dispatch.op import OPS

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler on PATH to run generated C with")

SHIMS = {
    # One instance that walks every row: enough to run the other dialects' kernels on the host.
    "OpenCL C": (
        "#include <math.h>\n#define __kernel\n#define __global\ntypedef unsigned char uchar;\n"
        "static long get_global_id(int d) { return 0; }\nstatic long get_global_size(int d) { return 1; }\n"
        "#define exp(x) expf(x)\n"
    ),
    "CUDA C": (
        "#include <math.h>\n#define __global__\nstruct dim { int x; };\n"
        "static const struct dim blockIdx = {0}, threadIdx = {0}, blockDim = {1}, gridDim = {1};\n"
    ),
}


def run(expression, arrays, dialect, folder: Path, out_dtype) -> np.ndarray:
    """Broadcast, generate, compile, launch."""
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    spread = [np.broadcast_to(a, shape) for a in arrays]
    out = np.zeros(shape, out_dtype)
    strides = [tuple(s // a.itemsize for s in a.strides) for a in (out, *spread)]
    made = generate(expression, shape, strides[0], strides[1:], dialect)
    source = folder / "kernel.c"
    text = made.text.replace('extern "C" ', "")
    source.write_text(SHIMS.get(dialect.name, "") + text)
    # A library that is loaded must not be overwritten: each gets a name of its own.
    library = folder / f"kernel{len(list(folder.glob('*.so')))}.so"
    subprocess.run(
        [CC, "-O2", "-fwrapv", "-Wall", "-Werror=implicit", "-shared", "-fPIC", "-o", library, source, "-lm"],
        check=True,
    )
    kernel = ctypes.CDLL(str(library))[made.name]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (out, *spread)]
    kernel(*pointers, *(ctypes.c_longlong(n) for n in made.sizes))
    return out


RNG = np.random.default_rng(0)
LAYOUTS = {
    "contiguous": lambda: (RNG.standard_normal((5, 7)), RNG.standard_normal((5, 7))),
    "row broadcast": lambda: (RNG.standard_normal((5, 7)), RNG.standard_normal(7)),
    "column broadcast": lambda: (RNG.standard_normal((5, 1)), RNG.standard_normal((5, 7))),
    "transposed": lambda: (RNG.standard_normal((7, 5)).T, RNG.standard_normal((5, 7))),
    "sliced": lambda: (RNG.standard_normal((5, 14))[:, ::2], RNG.standard_normal((10, 7))[1::2]),
    "rank 4": lambda: (RNG.standard_normal((2, 3, 4, 5)).transpose(2, 0, 3, 1), RNG.standard_normal((2, 1, 3))),
    "0-d": lambda: (RNG.standard_normal(()), RNG.standard_normal(())),
    "empty": lambda: (RNG.standard_normal((0, 3)), RNG.standard_normal((0, 3))),
}


@needs_compiler
@pytest.mark.parametrize("dialect", [C, OPENCL_C, CUDA_C], ids=lambda d: d.name)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_fused_chain_over_any_layout(layout: str, dialect: codegen.Dialect, tmp_path: Path) -> None:
    x, y = (np.asarray(a, np.float32) if a.ndim == 0 else a.astype(np.float32, order="K") for a in LAYOUTS[layout]())
    a, b = Operand(0, polyad.float32), Operand(1, polyad.float32)
    chain = apply("relu", apply("add", apply("mul", a, b), apply("exp", apply("neg", a))))
    got = run(chain, (x, y), dialect, tmp_path, np.float32)
    wide, other = x.astype(np.float64), y.astype(np.float64)
    expected = np.maximum(wide * other + np.exp(-wide), 0)
    # Four float32 roundings, of which exp may be off by two units: six units of the largest intermediate.
    bound = 6 * np.finfo(np.float32).eps * (np.abs(wide * other) + np.exp(-wide))
    assert got.shape == expected.shape
    assert np.all(np.abs(got - expected) <= bound)


@needs_compiler
@pytest.mark.parametrize(
    "dtype", [polyad.int8, polyad.uint8, polyad.int16, polyad.int32, polyad.int64], ids=lambda d: d.name
)
def test_integers_wrap_as_eager_ones_do(dtype: polyad.dtype, tmp_path: Path) -> None:
    limits = polyad.iinfo(dtype)
    x = np.array([limits.min, limits.max, 3, 100], dtype.name)
    y = np.array([limits.max, limits.max, 5, 100], dtype.name)
    expression = apply("add", apply("mul", Operand(0, dtype), Operand(1, dtype)), Operand(0, dtype))
    got = run(expression, (x, y), C, tmp_path, dtype.name)
    eager = polyad.tensor(x) * polyad.tensor(y) + polyad.tensor(x)
    assert got.tolist() == eager.tolist()


@needs_compiler
def test_nan_passes_through_extremes_and_relu(tmp_path: Path) -> None:
    x, y = np.array([math.nan, 1.0, -1.0]), np.array([0.0, math.nan, 2.0])
    a, b = Operand(0, polyad.float64), Operand(1, polyad.float64)
    for op in ("maximum", "minimum"):
        got = run(apply(op, a, b), (x, y), C, tmp_path, np.float64)
        assert np.isnan(got).tolist() == [True, True, False]
    got = run(apply("relu", a), (x,), C, tmp_path, np.float64)
    assert math.isnan(got[0])
    assert got[1:].tolist() == [1.0, 0.0]


@needs_compiler
def test_literals_comparisons_and_casts(tmp_path: Path) -> None:
    x = np.array([-2.5, 0.0, 3.5], np.float32)
    a = Operand(0, polyad.float32)
    chosen = apply("where", apply("lt", a, Literal(0.0, polyad.float32)), Literal(math.inf, polyad.float32), a)
    got = run(apply("cast", chosen, dtype=polyad.float64), (x,), C, tmp_path, np.float64)
    assert got.tolist() == [math.inf, 0.0, 3.5]


def test_every_formula_belongs_to_a_declared_op() -> None:
    assert TEMPLATES.keys() <= OPS.keys()


def test_one_source_serves_all_shapes_of_a_rank() -> None:
    add = apply("add", Operand(0, polyad.float32), Operand(1, polyad.float32))
    small = generate(add, (4, 6), (6, 1), [(6, 1), (0, 1)], C)
    large = generate(add, (50, 70), (70, 1), [(70, 1), (0, 1)], C)
    assert small.text == large.text
    assert small.sizes != large.sizes


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda a, b: apply("sort", a), NotImplementedError, "no formula for sort"),
        (lambda a, b: apply("add", a, Operand(1, polyad.int32)), RuntimeError, "several dtypes: float32, int32"),
        (lambda a, b: apply("cast", a), RuntimeError, "cast needs a dtype"),
        (
            lambda a, b: generate(apply("add", a, b), (2, 3), (3, 1), [(3, 1), (1,)], C),
            ValueError,
            "operand 1 do not match",
        ),
        (lambda a, b: generate(a, (2,), (1,), [(1,), (1,)], C), ValueError, r"operands \[0\]"),
        (lambda a, b: generate(Operand(0, polyad.bfloat16), (2,), (1,), [(1,)], C), RuntimeError, "C has no bfloat16"),
        (
            lambda a, b: generate(apply("exp", Operand(0, polyad.int32)), (2,), (1,), [(1,)], C),
            RuntimeError,
            "exp of int32",
        ),
    ],
)
def test_bad_input_is_named(call, error: type[Exception], words: str) -> None:
    a, b = Operand(0, polyad.float32), Operand(1, polyad.float32)
    with pytest.raises(error, match=words):
        call(a, b)
