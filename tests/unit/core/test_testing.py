"""`polyad.testing.assert_close`: what passes, what fails, and what the failure says."""

import numpy as np
import pytest

import polyad
from polyad.nn import Parameter
from polyad.testing import TOLERANCES, assert_close


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 2.000002]), {}),
        (polyad.zeros(0), polyad.zeros(0), {}),
        (polyad.tensor([1, 2]), polyad.tensor([1, 2]), {}),
        (polyad.tensor([float("inf")]), polyad.tensor([float("inf")]), {}),
        (polyad.tensor([float("nan")]), polyad.tensor([float("nan")]), {"equal_nan": True}),
        (polyad.ones(2, dtype=polyad.float64), polyad.ones(2), {"check_dtype": False}),
        (polyad.ones(2, 3).T, polyad.ones(3, 2), {}),
        (1.0, 1.0 + 1e-8, {}),
        (np.float64(1.0), 1.0, {}),
        (1, 1.0, {"check_dtype": False}),
        (None, None, {}),
        ([1, polyad.ones(1)], (1, polyad.ones(1)), {}),
        ({"a": [1j]}, {"a": [1j]}, {}),
        (np.ones(2), np.ones(2), {}),
        (Parameter(polyad.ones(1)), polyad.ones(1), {}),
        (polyad.tensor(1.0), polyad.tensor(1.2), {"rtol": 0.0, "atol": 0.3}),
    ],
)
def test_close(actual, expected, options) -> None:
    assert_close(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "options", "says"),
    [
        (polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 2.0001]), {}, r"1 of 2 elements differs \(50\.0%\)"),
        (polyad.tensor([[1.0, 2.0]]), polyad.tensor([[1.0, 9.0]]), {}, r"7 at \(0, 1\): actual 2\.0, expected 9\.0"),
        (polyad.tensor([200], dtype=polyad.uint8), polyad.tensor([100], dtype=polyad.uint8), {}, r"100 at \(0,\)"),
        (polyad.tensor([float("nan")]), polyad.tensor([float("nan")]), {}, "1 of 1"),
        (polyad.tensor([float("inf")]), polyad.tensor([-float("inf")]), {}, "1 of 1"),
        (polyad.ones(2), polyad.ones(3), {}, r"shapes differ: \(2,\) and \(3,\)"),
        (polyad.ones(1), polyad.ones(1, dtype=polyad.float64), {}, "dtypes differ"),
        (polyad.ones(2, 3).T, polyad.ones(3, 2), {"check_stride": True}, r"strides differ: \(1, 3\) and \(2, 1\)"),
        (2, 1, {}, "2 is not close to 1"),
        (1, 1.0, {}, "different types"),
        (None, 1, {}, "one is None"),
        ([1], [1, 2], {}, "lengths differ"),
        ({"a": 1}, {"b": 1}, {}, "only in expected"),
        ({"a": [1, 2]}, {"a": [1, 3]}, {}, r"item +\['a'\]\[1\]"),
        (polyad.ones(1), polyad.zeros(1), {"msg": "mine"}, "^mine$"),
        (polyad.ones(1), polyad.zeros(1), {"msg": lambda text: "mine: " + text}, "^mine: assert_close"),
    ],
)
def test_not_close(actual, expected, options, says) -> None:
    with pytest.raises(AssertionError, match=says):
        assert_close(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "options", "error"),
    [
        (polyad.ones(1), 1.0, {}, TypeError),
        ("a", "a", {}, TypeError),
        (object(), object(), {}, TypeError),
        (np.ones(1), polyad.ones(1), {}, TypeError),
        (Parameter(polyad.ones(1)), polyad.ones(1), {"allow_subclasses": False}, TypeError),
        (polyad.ones(1), polyad.ones(1), {"rtol": 0.1}, ValueError),
    ],
)
def test_what_cannot_be_compared(actual, expected, options, error) -> None:
    with pytest.raises(error, match="assert_close"):
        assert_close(actual, expected, **options)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_the_tolerance_of_each_dtype_is_where_it_says(dtype) -> None:
    rtol, atol = TOLERANCES[dtype]
    one = polyad.ones(1, dtype=polyad.complex128 if dtype.is_complex else polyad.float64)
    inside, outside = one + (rtol + atol) * 0.9, one + (rtol + atol) * 1.1
    assert_close(inside, one, rtol=rtol, atol=atol)
    with pytest.raises(AssertionError):
        assert_close(outside, one, rtol=rtol, atol=atol)
    assert_close((one * (1 + rtol / 2)).to(dtype), one.to(dtype))
    with pytest.raises(AssertionError):
        assert_close((one * (1 + 1.5 * (rtol + atol) + 2 * polyad.finfo(dtype).eps)).to(dtype), one.to(dtype))


def test_the_default_is_exact_for_integers() -> None:
    with pytest.raises(AssertionError):
        assert_close(polyad.tensor([2**53 + 1]), polyad.tensor([2**53]))


@pytest.mark.filterwarnings("ignore:assert_allclose")
def test_the_older_comparison_takes_numbers_and_other_dtypes() -> None:
    polyad.testing.assert_allclose([1.0, float("nan")], polyad.tensor([1, float("nan")], dtype=polyad.float64))
    with pytest.raises(AssertionError, match="1 of 2 elements differs"):
        polyad.testing.assert_allclose([1.0, 2.0], [1, 3])
