"""Generated row-wise kernels against NumPy's, over all patterns of memory, in every dialect that can run here."""

import math
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from polyad_cuda_on_host import KernelFault

import polyad
from polyad.codegen import (
    CUDA_C,
    GPU,
    OPENCL_C,
    C,
    DeviceDescription,
    Expression,
    Iota,
    Operand,
    RowValue,
    Scalar,
    Stage,
    apply,
    cast,
    rowwise,
    rowwise_plan,
    where,
)
from polyad.codegen.expression import leaves_of
from polyad.codegen.variants import Variant
from polyad.interop.numpy import numpy_dtype

from .compiled import fast_flags, needs_compiler, run_rowwise, targets

RNG = np.random.default_rng(0)
EPS = 2.0**-24


@dataclass
class Case:
    """Row-wise work: its parts, from one dtype, and what NumPy makes of wide arrays (elements, then rows)."""

    build: Callable[[polyad.dtype], tuple[list[Stage], list[Expression], list[Expression]]]
    arrays: int
    expected: Callable[..., list[np.ndarray]]
    size: Callable[..., Any] = lambda *arrays: 1  # of the numbers whose rounding shows in the result


def _softmax(dtype: polyad.dtype, log: bool = False) -> Any:
    x = _wide(Operand(0, dtype))
    top, total = RowValue(0, x.dtype), RowValue(1, x.dtype)
    power = apply("exp", x - top)
    stages = [Stage(x, "amax", x.dtype), Stage(power, "sum", x.dtype)]
    return stages, [cast(x - top - apply("log", total) if log else power / total, dtype)], []


def _logsumexp(dtype: polyad.dtype) -> Any:
    stages, _, _ = _softmax(dtype)
    top, total = RowValue(0, stages[0].dtype), RowValue(1, stages[0].dtype)
    return stages, [], [cast(apply("log", total) + top, dtype)]


def _layer_norm(dtype: polyad.dtype) -> Any:
    x, weight, bias = (_wide(Operand(n, dtype)) for n in range(3))
    count, eps = Scalar(0, x.dtype), Scalar(1, x.dtype)
    mean, var = RowValue(1, x.dtype), RowValue(3, x.dtype)
    far = x - mean
    stages = [
        Stage(x, "sum", x.dtype),
        Stage(RowValue(0, x.dtype) / count, None, x.dtype),
        Stage(far * far, "sum", x.dtype),
        Stage(RowValue(2, x.dtype) / count, None, x.dtype),
    ]
    scale = 1 / apply("sqrt", var + eps)
    return stages, [cast(far * scale * weight + bias, dtype)], [mean, var]


def _layer_norm_backward(dtype: polyad.dtype) -> Any:
    """The input's gradient, from the output's, the input, the weight, and mean and scale as arrays."""
    grad, x, weight, mean, scale = (_wide(Operand(n, dtype)) for n in range(5))
    count = Scalar(0, x.dtype)
    unit = (x - mean) * scale
    inner = grad * weight
    stages = [Stage(inner, "sum", x.dtype), Stage(inner * unit, "sum", x.dtype)]
    first, second = RowValue(0, x.dtype), RowValue(1, x.dtype)
    return stages, [cast((inner - first / count - unit * (second / count)) * scale, dtype)], []


def _variance(dtype: polyad.dtype) -> Any:
    x, count = _wide(Operand(0, dtype)), Scalar(0, _wide(Operand(0, dtype)).dtype)
    far = x - RowValue(0, x.dtype) / count
    stages = [Stage(x, "sum", x.dtype), Stage(far * far, "sum", x.dtype)]
    return stages, [], [cast(RowValue(1, x.dtype) / count, dtype)]


def _wide(x: Expression) -> Expression:
    return cast(x, polyad.float32) if x.dtype.itemsize == 2 else x


def _softmax_of(x: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    power = np.exp(x - x.max(dims, keepdims=True))
    return power / power.sum(dims, keepdims=True)


def _log_sum(x: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    top = x.max(dims, keepdims=True)
    return top + np.log(np.exp(x - top).sum(dims, keepdims=True))


def _normalised(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, dims: tuple[int, ...]) -> list[np.ndarray]:
    mean, var = x.mean(dims, keepdims=True), x.var(dims, keepdims=True)
    return [(x - mean) / np.sqrt(var + 1e-5) * weight + bias, mean, var]


def _size(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    largest = np.abs(x).max(dims, keepdims=True)
    return largest / np.sqrt(x.var(dims, keepdims=True) + 1e-5) * np.abs(weight).max() + np.abs(bias).max() + largest**2


def _size_backward(grad: Any, x: Any, weight: Any, mean: Any, scale: Any, dims: tuple[int, ...]) -> Any:
    unit, inner = np.abs(x - mean) * np.abs(scale), np.abs(grad * weight)
    return (inner.max() + (inner * unit).max() * unit) * np.abs(scale)


def _normalised_backward(grad: Any, x: Any, weight: Any, mean: Any, scale: Any, dims: tuple[int, ...]) -> list[Any]:
    unit, inner = (x - mean) * scale, grad * weight
    first, second = inner.mean(dims, keepdims=True), (inner * unit).mean(dims, keepdims=True)
    return [(inner - first - unit * second) * scale]


CASES = {
    "softmax": Case(_softmax, 1, lambda x, dims: [_softmax_of(x, dims)]),
    "log_softmax": Case(lambda d: _softmax(d, log=True), 1, lambda x, dims: [x - _log_sum(x, dims)]),
    "logsumexp": Case(_logsumexp, 1, lambda x, dims: [_log_sum(x, dims)]),
    "layer_norm": Case(_layer_norm, 3, _normalised, _size),
    "layer_norm_backward": Case(_layer_norm_backward, 5, _normalised_backward, _size_backward),
    "variance": Case(_variance, 1, lambda x, dims: [x.var(dims, keepdims=True)]),
}


def _check(case: Case, arrays: list[np.ndarray], dims: tuple[int, ...], target: Any, folder: Path, **how: Any) -> None:
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    places = math.prod(shape[dim] for dim in dims)
    stages, elements, rows = case.build(getattr(polyad, arrays[0].dtype.name))
    leaves = leaves_of(*(stage.expression for stage in stages), *elements, *rows)
    numbers = (places, 1e-5)[: sum(isinstance(leaf, Scalar) for leaf in leaves)]
    got = run_rowwise(stages, elements, rows, arrays, dims, target, folder, numbers, **how)
    with np.errstate(all="ignore"):
        expected = case.expected(*(array.astype(np.float64) for array in arrays), dims)
    size = case.size(*(array.astype(np.float64) for array in arrays), dims)
    unit = float(ml_dtypes.finfo(arrays[0].dtype).eps)
    for have, want in zip(got, expected, strict=True):
        assert have.shape == want.shape
        # Rounding of a sum of so many terms in segments, and of the ten or so operations around it.
        bound = unit * (20 + min(places, 1024) / 8) * (np.abs(want) + size)
        assert np.all(np.abs(have - want) <= bound), np.max(np.abs(have - want) / bound)


def _arrays(name: str, shape: tuple[int, ...], dims: tuple[int, ...], dtype: Any = np.float32) -> list[np.ndarray]:
    """Operands of the case *name*: weights have the shape of a row, means and scales a value a row."""
    row = tuple(size if dim in dims else 1 for dim, size in enumerate(shape))
    kept = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    x = [RNG.standard_normal(shape).astype(dtype)]
    if name == "layer_norm":
        x += [RNG.standard_normal(row).astype(dtype) for _ in range(2)]
    elif name == "layer_norm_backward":
        x += [RNG.standard_normal(each).astype(dtype) for each in (shape, row, kept, kept)]
    return x


SHAPES = [
    ((37,), (0,)),
    ((5, 33), (1,)),
    ((5, 33), (0,)),
    ((7, 803), (1,)),  # several vectors a step
    ((64, 67), (1,)),
    ((200, 130), (0,)),
    ((70, 96), (0,)),  # several vectors side by side
    ((3, 4, 5, 6), (0, 2)),
    ((3, 4, 5, 6), (1, 3)),
    ((8, 6, 11, 13), (0, 2, 3)),
    ((2, 20000), (1,)),  # several segments
    ((2300, 1), (1,)),
]


def _some(name: str, target: Any) -> list[Any]:
    """All shapes for one case and for C, for others a few each: OpenCL's compilers take long."""
    at = sorted(CASES).index(name)
    return SHAPES if name == "layer_norm" or target[0] is C else SHAPES[at::4]


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("name", CASES)
def test_stages_and_what_reads_them(target, name: str, tmp_path: Path) -> None:
    for shape, dims in _some(name, target):
        _check(CASES[name], _arrays(name, shape, dims), dims, target, tmp_path)


@needs_compiler
def test_vectors_of_the_compiler(tmp_path: Path) -> None:
    """C with the flags that make it fast: tails, segments, every stage."""
    for name, shape, dims in (
        ("softmax", (7, 803), (1,)),
        ("layer_norm", (5, 2100), (1,)),
        ("variance", (6, 96), (0,)),
        ("logsumexp", (9, 130), (0,)),
    ):
        _check(CASES[name], _arrays(name, shape, dims), dims, (C, fast_flags()), tmp_path)
    x = RNG.standard_normal((3, 70)).astype(np.float32)
    x[1, 13] = math.nan
    stages = [Stage(Operand(0, polyad.float32), reducer, polyad.float32) for reducer in ("amax", "amin", "prod")]
    rows = [RowValue(n, polyad.float32) for n in range(3)]
    got = run_rowwise(stages, [], rows, [x], (1,), (C, fast_flags()), tmp_path)
    assert np.array_equal(got[0], x.max(1, keepdims=True), equal_nan=True)
    assert np.array_equal(got[1], x.min(1, keepdims=True), equal_nan=True)
    assert np.allclose(got[2], x.prod(1, keepdims=True), rtol=1e-4, equal_nan=True)


@pytest.mark.parametrize("target", [each for each in targets() if each.values[0][0] is OPENCL_C])
def test_a_group_shares_a_row_and_meets_at_barriers(target, tmp_path: Path) -> None:
    for local, (name, shape, dims) in zip(
        (64, 64, 8, 48),
        (
            ("softmax", (5, 803), (1,)),
            ("softmax", (300, 8), (1,)),
            ("layer_norm", (4, 6, 31, 13), (0, 2, 3)),
            ("softmax", (3, 77), (1,)),
        ),
        strict=True,
    ):
        gpu = DeviceDescription(GPU, 2, local)
        _check(CASES[name], _arrays(name, shape, dims), dims, target, tmp_path, description=gpu)


@needs_compiler
@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_any_shape_strides_and_dims(data) -> None:
    rank = data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.sampled_from([1, 2, 3, 5, 8, 16, 17, 33, 65])) for _ in range(rank))
    dims = tuple(sorted(data.draw(st.sets(st.integers(0, rank - 1), max_size=rank))))
    order = data.draw(st.permutations(range(rank)))
    steps = [data.draw(st.sampled_from([1, 2, -1])) for _ in range(rank)]
    name = data.draw(st.sampled_from(sorted(CASES)))
    target = data.draw(st.sampled_from([(C, None), (CUDA_C, None)]))

    def laid(array: np.ndarray) -> np.ndarray:
        """The same values in another layout."""
        sizes = [size * abs(step) for size, step in zip(array.shape, steps, strict=True)]
        memory = np.full([sizes[dim] for dim in order], 7, array.dtype)
        view = memory.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
        view[...] = array
        return view

    arrays = [laid(array) for array in _arrays(name, shape, dims)]
    with tempfile.TemporaryDirectory() as folder:
        _check(CASES[name], arrays, dims, target, Path(folder))


@pytest.mark.parametrize("target", targets())
def test_results_lie_where_the_input_lay(target, tmp_path: Path) -> None:
    for shape, dims in (((5, 33), (1,)), ((70, 67), (1,)), ((9, 70), (0,))):
        x = RNG.standard_normal(shape).astype(np.float32)
        memory = np.full((shape[0], 2 * shape[1]), 7, np.float32)
        view = memory[:, ::2]
        view[...] = x
        stages, elements, _ = _softmax(polyad.float32)
        run_rowwise(stages, elements, [], [view], dims, target, tmp_path, outs=[view], shared=True)
        assert np.allclose(view, _softmax_of(x.astype(np.float64), dims), rtol=1e-5)
        assert np.all(memory[:, 1::2] == 7), "elements between those of the result were written"


@pytest.mark.parametrize("target", targets())
def test_every_dtype(target, tmp_path: Path) -> None:
    for dtype in ("float64", "float16", "bfloat16"):
        x = _arrays("softmax", (5, 37), (1,), numpy_dtype(getattr(polyad, dtype)))
        _check(CASES["softmax"], x, (1,), target, tmp_path)
    numbers = RNG.integers(-100, 100, (7, 67)).astype(np.int8)
    a = Operand(0, polyad.int8)
    wide = cast(a, polyad.int64)
    stages = [Stage(wide, "sum", polyad.int64), Stage(a, "amax", polyad.int8), Stage(a > 0, "any", polyad.bool_)]
    total, top, any_ = (RowValue(n, stage.dtype) for n, stage in enumerate(stages))
    got = run_rowwise(stages, [top - a], [total, any_], [numbers], (1,), target, tmp_path)
    assert np.array_equal(got[0], numbers.max(1, keepdims=True) - numbers)
    assert np.array_equal(got[1], numbers.sum(1, keepdims=True, dtype=np.int64))
    assert np.array_equal(got[2], (numbers > 0).any(1, keepdims=True))
    z = (RNG.standard_normal((4, 70)) + 1j * RNG.standard_normal((4, 70))).astype(np.complex128)
    c = Operand(0, polyad.complex128)
    (got,) = run_rowwise([Stage(c, "sum", c.dtype)], [c / RowValue(0, c.dtype)], [], [z], (1,), target, tmp_path)
    assert np.allclose(got, z / z.sum(1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("target", targets())
def test_places_count_and_nan_spreads(target, tmp_path: Path) -> None:
    """The place of the maximum, the first of several; a NaN is greater than any number."""
    x = RNG.integers(0, 9, (6, 70)).astype(np.float32)
    x[2, 13] = x[2, 40] = math.nan
    x[3] = -math.inf
    a, place = Operand(0, polyad.float32), Iota(1)
    top = RowValue(0, polyad.float32)
    is_top = apply("eq", a, top) + apply("mul", apply("isnan", a), apply("isnan", top))
    stages = [Stage(a, "amax", polyad.float32), Stage(where(is_top, place, 1 << 40), "amin", polyad.int64)]
    got = run_rowwise(stages, [], [RowValue(1, polyad.int64), top], [x, (0, 1)], (1,), target, tmp_path)
    assert np.array_equal(got[0], x.argmax(1, keepdims=True))
    assert np.array_equal(got[1], x.max(1, keepdims=True), equal_nan=True)


@pytest.mark.parametrize("target", targets())
def test_rows_without_places_and_no_rows(target, tmp_path: Path) -> None:
    stages, elements, rows = _variance(polyad.float32)
    (got,) = run_rowwise(stages, elements, rows, [np.zeros((0, 5), np.float32)], (1,), target, tmp_path, (5.0,))
    assert got.shape == (0, 1)
    stage = Stage(Operand(0, polyad.float32), "prod", polyad.float32)
    (got,) = run_rowwise(
        [stage], [], [RowValue(0, polyad.float32)], [np.zeros((3, 0), np.float32)], (1,), target, tmp_path
    )
    assert got.tolist() == [[1], [1], [1]]


# ------------------------------------------------------------------------------------------------ what the tests catch


def _without(line: str, which: int = 0) -> Callable[[str], str]:
    """A source without the occurrence number *which* of *line*."""

    def change(text: str) -> str:
        parts = text.split(line)
        kept = parts[which + 1 :]
        return line.join(parts[: which + 1]) + line.join(kept) if kept else text

    return change


def _read_early(text: str) -> str:
    """A source whose later passes read the first stage's value as it was before the first pass."""
    first, later = text.split("float total1_0_0", 1)
    first = re.sub(r"(float total0_0_0 = .*;\n)", r"\1const float early = total0_0_0;\n", first)
    return first + "float total1_0_0" + later.replace("total0_0_0", "early")


SABOTAGE = {
    "a dropped tail": (C, lambda text: text.replace("j < last; ++j", "j + 1 < last; ++j")),
    "the wrong start of a maximum": (C, lambda text: text.replace("(-1.0f / 0.0f)", "(0.0f)")),
    "a stage that is read before it is written": (C, _read_early),
    "an intermediate of a narrower dtype": (
        C,
        lambda text: re.sub(r"const float (t\d+) = expf", r"const short \1 = expf", text),
    ),
    "rows that are skipped": (C, lambda text: text.replace("++unit", "unit += 2")),
    "a wrong stride": (C, lambda text: text.replace("j * r1", "j")),
    "no barrier after writing": (CUDA_C, _without("__syncthreads();", 0)),
    "no barrier after reading": (CUDA_C, _without("__syncthreads();", 1)),
    "a barrier that some do not reach": (
        CUDA_C,
        lambda text: text.replace("(member % 32 == 0) {", "(member % 32 == 0) { __syncthreads();"),
    ),
    "a shuffle that some do not reach": (
        CUDA_C,
        lambda text: text.replace("for (int apart = 1;", "if (member < 40) for (int apart = 1;"),
    ),
    "half of the warp": (CUDA_C, lambda text: text.replace("apart = 16", "apart = 8")),
    "a member that skips": (CUDA_C, lambda text: re.sub(r"([ej]) \+= 64", r"\1 += 128", text)),
    "a row of work items that have none": (CUDA_C, lambda text: text.replace("here ? g.at[4] : 0", "g.at[4]")),
}
ROWS = {"a row of work items that have none": (201, 70)}


@needs_compiler
@pytest.mark.parametrize("name", SABOTAGE)
def test_a_broken_kernel_is_caught(name: str, tmp_path: Path) -> None:
    dialect, change = SABOTAGE[name]
    count, length = (3, 900) if dialect is CUDA_C and name not in ROWS else ROWS.get(name, (200, 70))
    x = (RNG.standard_normal((count, 2 * length)) - 200).astype(np.float32)[:, ::2]
    _check(CASES["softmax"], [x], (1,), (dialect, None), tmp_path)
    if "do not reach" in name:
        with pytest.raises(KernelFault, match=r"wait|meet"):
            _check(CASES["softmax"], [x], (1,), (dialect, None), tmp_path, change=change)
        return
    with pytest.raises(AssertionError):
        _check(CASES["softmax"], [x], (1,), (dialect, None), tmp_path, change=change)


# ------------------------------------------------------------------------------------------------ plans and text


def test_the_device_decides_the_shape() -> None:
    def plan(device: DeviceDescription, shape: tuple[int, int], dim: int, lanes: int = 1) -> Any:
        strides = [(shape[1], 1)] * 2
        return rowwise_plan(lanes, device, shape, [dim], strides, [0, 0], elements=1, unroll=4)

    cpu, gpu = DeviceDescription(compute_units=4), DeviceDescription(GPU, 8, 256)
    rows, columns = plan(cpu, (50, 100), 1, 8), plan(cpu, (50, 100), 0, 8).variant
    assert (rows.variant, rows.splits) == (Variant(inner=(1, 1), unroll=4), False), "no workgroups on CPUs"
    assert (columns.across, columns.inner, columns.unroll) == (True, (1, 1), 1)
    assert plan(cpu, (1, 100000), 1, 8).splits, "a row for four cores"
    assert not plan(DeviceDescription(), (1, 100000), 1, 8).splits, "nobody to share it with"
    assert (plan(gpu, (50, 1000), 1).variant.group, plan(gpu, (50, 1000), 1).instances) == (128, 50 * 128)
    short = plan(gpu, (5000, 10), 1).variant
    assert (short.row_items, short.group, short.pack) == (4, 128, 1), "several short rows a workgroup"
    across = plan(gpu, (100, 5000), 0).variant
    assert (across.across, across.group) == (True, 1)
    assert plan(gpu, (1, 1 << 20), 1).splits


def test_stages_that_do_not_wait_share_a_pass() -> None:
    """The backward of a norm reads its operands twice: for both sums, and for the result."""
    text = rowwise(*_layer_norm_backward(polyad.float32), C).text
    assert text.count("j < last; ++j") == 2
    assert rowwise(*_softmax(polyad.float32, log=True), C).text.count("logf(") == 1
    before_the_loop, _ = rowwise(*_softmax(polyad.float32, log=True), C).text.split("logf(")
    assert before_the_loop.count("j < last; ++j") == 2, "the logarithm is computed once a row"


@pytest.mark.parametrize(
    ("stages", "result", "error", "words"),
    [
        (
            [Stage(RowValue(0, polyad.float32), None, polyad.float32)],
            None,
            ValueError,
            "stage 0 reads the value of stage 0",
        ),
        ([], RowValue(3, polyad.float32), ValueError, "a result reads the value of stage 3"),
        ([Stage(Operand(0, polyad.float32), "median", polyad.float32)], None, ValueError, "no reduction median"),
        (
            [Stage(Operand(0, polyad.float32), "sum", polyad.float32)],
            RowValue(0, polyad.float64),
            RuntimeError,
            "reads stage 0 as float64, it gives float32",
        ),
        (
            [Stage(Operand(0, polyad.complex64), "amax", polyad.complex64)],
            None,
            NotImplementedError,
            "amax of complex64",
        ),
    ],
)
def test_bad_input_is_named(stages, result, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        rowwise(stages, [result] if result else [], [], C)
