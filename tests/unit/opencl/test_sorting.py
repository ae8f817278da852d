"""Sorting on both sides of every change of method: few and many lines, short and long ones, equal elements, nan."""

import numpy as np
import pytest

from polyad import tensor


def numbers(rng, dtype, shape):
    """Numbers that are equal often enough for stability to show."""
    if np.dtype(dtype).kind != "f":
        limits = np.iinfo(dtype)
        few = rng.integers(0, 9, shape)
        return np.where(rng.random(shape) < 0.5, few, rng.integers(limits.min, limits.max, shape)).astype(dtype)
    made = np.round(rng.standard_normal(shape), 1).astype(dtype)
    for strange in (np.nan, np.inf, -np.inf, -0.0, 0.0, np.copysign(np.nan, -1)):
        made[rng.random(shape) < 0.01] = strange
    return made


def check(machine, x, dim):
    from polyad_kernels.kernels.sorting.sort import sort

    for descending in (False, True):
        values, places = sort(machine.array(x), dim, descending)
        expected = tensor(x).sort(dim, descending)
        np.testing.assert_array_equal(machine.host(places), expected.indices.numpy())
        np.testing.assert_array_equal(machine.host(values), expected.values.numpy())


@pytest.mark.parametrize("lines", [1, 21])
@pytest.mark.parametrize("length", [1, 2, 64, 256, 257, 1000, 40000])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_lengths(machine, dtype, length, lines):
    if length * lines > 200_000:
        lines = 2
    check(machine, numbers(np.random.default_rng(length), dtype, (lines, length)), 1)


@pytest.mark.parametrize("dtype", ["float64", "float16", "uint8", "int8", "int16", "int32"])
@pytest.mark.parametrize("shape", [(40, 30), (300, 4), (30000, 1)])
def test_columns_of_all_dtypes(machine, dtype, shape):
    check(machine, numbers(np.random.default_rng(1), dtype, shape), 0)
