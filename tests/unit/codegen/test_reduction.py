"""Generated reductions against NumPy's, over all patterns of memory, in every dialect that can run here."""

import math
import struct
from pathlib import Path

import numpy as np
import pytest

import polyad
from polyad.codegen import CPU, GPU, OPENCL_C, C, DeviceDescription, Operand, apply, cast, reduction, reduction_plan
from polyad.codegen.accumulators import unroll_for
from polyad.codegen.variants import Variant

from .compiled import fast_flags, needs_compiler, run_reduction, targets

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize(
    ("shape", "dims"),
    [
        ((37,), (0,)),
        ((5, 33), (1,)),
        ((5, 33), (0,)),
        ((200, 130), (0, 1)),
        ((3, 4, 5, 6), (0, 2)),
        ((3, 4, 5, 6), (1, 3)),
        ((30000, 3), (0,)),
        ((2, 20000), (1,)),
        ((3, 40, 45), (1,)),  # several vectors a step, and columns that do not fill the last one
        ((2100, 1003), (0,)),
        ((7, 803), (1,)),
    ],
    ids=str,
)
def test_sums_over_any_dims(target, shape, dims, tmp_path: Path) -> None:
    x = RNG.standard_normal(shape).astype(np.float32)
    for name, view in (("row-major", x), ("transposed", x.T)):
        over = dims if name == "row-major" else tuple(sorted(x.ndim - 1 - dim for dim in dims))
        got = run_reduction(Operand(0, polyad.float32), "sum", [view], over, target, tmp_path)
        wide = view.astype(np.float64)
        # Segments bound how far errors add up: a kilo of terms an accumulator, and as many segments as there are.
        terms = math.prod(view.shape[dim] for dim in over)
        bound = (min(terms, 1024) + terms / 1024) * 2**-24 * np.abs(wide).sum(over)
        assert got.shape == wide.sum(over).shape
        assert np.all(np.abs(got - wide.sum(over)) <= bound), name


@needs_compiler
def test_vectors_of_the_compiler(tmp_path: Path) -> None:
    """C with the flags that make it fast: rows and columns, with tails."""
    x = RNG.standard_normal((70, 131)).astype(np.float32)
    x[3, 130] = math.nan
    a, fast = Operand(0, polyad.float32), (C, fast_flags())
    for dims in ((0,), (1,), (0, 1)):
        got = run_reduction(a, "sum", [x], dims, fast, tmp_path)
        wide = x.astype(np.float64)
        assert np.allclose(got, wide.sum(dims), rtol=1e-4, atol=1e-4, equal_nan=True), dims
        for reducer, function in (("amax", np.max), ("amin", np.min)):
            assert np.array_equal(
                run_reduction(a, reducer, [x], dims, fast, tmp_path), function(x, dims), equal_nan=True
            )


@pytest.mark.parametrize("target", targets())
def test_extremes_truth_and_products(target, tmp_path: Path) -> None:
    x = RNG.standard_normal((9, 21)).astype(np.float32)
    x[2, 3] = math.nan
    a = Operand(0, polyad.float32)
    for dims in ((0,), (1,), (0, 1)):
        with np.errstate(all="ignore"):
            for reducer, function in (("amax", np.max), ("amin", np.min)):
                got = run_reduction(a, reducer, [x], dims, target, tmp_path)
                assert np.array_equal(got, function(x, dims), equal_nan=True), (reducer, dims)
    small = RNG.integers(-2, 3, (7, 19)).astype(np.int8)
    b = Operand(0, polyad.int8)
    for dims in ((0,), (1,)):
        got = run_reduction(cast(b, polyad.int64), "prod", [small], dims, target, tmp_path)
        assert np.array_equal(got, small.prod(dims, dtype=np.int64))
        got = run_reduction(cast(b, polyad.bool_), "all", [small], dims, target, tmp_path)
        assert np.array_equal(got, small.all(dims))
        got = run_reduction(b, "amin", [small], dims, target, tmp_path)
        assert np.array_equal(got, small.min(dims))


@pytest.mark.parametrize("target", targets())
def test_what_is_reduced_may_be_an_expression(target, tmp_path: Path) -> None:
    x, y = RNG.standard_normal((40, 50)), RNG.standard_normal(50)
    a, b = Operand(0, polyad.float64), Operand(1, polyad.float64)
    got = run_reduction(a * b, "sum", [x, y], (1,), target, tmp_path)
    assert np.all(np.abs(got - x @ y) <= 50 * 2**-52 * (np.abs(x) @ np.abs(y)))


@pytest.mark.parametrize("target", targets())
def test_halves_add_up_in_float32_and_complex_in_pairs(target, tmp_path: Path) -> None:
    x = np.full((3, 5000), 0.1, np.float16)
    wide = cast(Operand(0, polyad.float16), polyad.float32)
    got = run_reduction(wide, "sum", [x], (1,), target, tmp_path, polyad.float16)
    assert np.array_equal(got, x.astype(np.float64).sum(1).astype(np.float16))
    z = (RNG.standard_normal((4, 30)) + 1j * RNG.standard_normal((4, 30))).astype(np.complex128)
    for reducer, function in (("sum", np.sum), ("prod", np.prod)):
        got = run_reduction(Operand(0, polyad.complex128), reducer, [z], (1,), target, tmp_path)
        assert np.allclose(got, function(z, 1), rtol=60 * 2**-52 * 30, atol=0), reducer


def test_dense_vectors_are_taken_several_a_step() -> None:
    device, x = DeviceDescription(CPU, 2), Operand(0, polyad.float32)

    def plan(shape, strides, dims, result):
        return reduction_plan(8, device, shape, dims, [strides], [0], result=result, unroll=unroll_for(x)).variant

    columns, rows = plan((50, 100), (100, 1), [0], (1,)), plan((50, 100), (100, 1), [1], (1,))
    assert (columns.across, columns.inner, columns.unroll) == (True, (1,), 4)
    assert (rows.across, rows.inner, rows.unroll) == (False, (1,), 4)
    assert plan((50, 20), (20, 1), [1], (1,)).unroll == 1, "rows shorter than a step"
    sliced = plan((50, 100), (400, 2), [1], (1,))
    assert (sliced.inner, sliced.unroll) == (None, 1)
    assert unroll_for(apply("exp", x)) == 1, "the work hides the latency"
    text = reduction(x, "sum", OPENCL_C, device, variant=Variant(inner=(1,), unroll=4)).text
    assert text.count("((const __global Packed_float8 *)(in0") == 4


def test_a_gpu_whose_work_items_do_not_cooperate_reduces_segments() -> None:
    """Not elements that are counted as if several work items shared them, which would read behind the array."""
    plan = reduction_plan(1, DeviceDescription(GPU, 8), (100, 5000), [1], [(5000, 1)], [0], result=(1,))
    units, splits, share, segments, chunks, *_ = struct.unpack(f"{len(plan.geometry) // 8}q", plan.geometry)
    assert (plan.variant.group, segments, chunks, units) == (1, 5, 5, 100 * splits)
    assert share * splits >= segments
