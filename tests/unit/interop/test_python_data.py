"""Dtypes of Python data, and what is refused."""

import math

import numpy as np
import pytest

import polyad


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([1, 2.5], polyad.float32),
        ([1, True], polyad.int64),
        ([np.float64(1.5)], polyad.float64),
        ([np.float32(1.5), 2.5], polyad.float32),
        ([np.float64(1.5), 2], polyad.float64),
        ([np.int32(3)], polyad.int32),
        ([np.int32(3), 4], polyad.int64),
        ([np.bool_(True)], polyad.bool),
        ([[np.float64(1), 2], [3, 4]], polyad.float64),
        ([np.array([1, 2]), np.array([3, 4])], polyad.int64),
        ([polyad.tensor(1), polyad.tensor(2.5, dtype=polyad.float64)], polyad.float64),
        ([], polyad.float32),
    ],
)
def test_numbers_keep_their_dtypes_in_lists(data, dtype):
    assert polyad.tensor(data).dtype is dtype


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([300], polyad.uint8),
        ([-129], polyad.int8),
        (math.inf, polyad.int32),
        ([1e10], polyad.int16),
        ([2**40], polyad.int32),
    ],
)
def test_numbers_outside_an_integer_dtype_are_refused(data, dtype):
    with pytest.raises(RuntimeError):
        polyad.tensor(data, dtype=dtype)


@pytest.mark.parametrize("call", [(math.nan,), (math.inf,), (0, 1, 0), (1, 0), (0, 1, -1)])
def test_ranges_that_lead_nowhere_are_refused(call):
    with pytest.raises(RuntimeError, match="does not lead"):
        polyad.arange(*call)
