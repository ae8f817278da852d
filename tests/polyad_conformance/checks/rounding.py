"""Roundings that IEEE 754 prescribes: +, -, *, / and the square root give the number nearest to the true result.

All floating dtypes and all devices agree about them bit by bit, half types computed in float32 included. A device whose
division or square root is a product of approximations says so by the feature "approximate_division", and has the bound
of samples. Results that are subnormal may be flushed, so that none is drawn.

Numbers from Python, which a kernel gets as they are, count as numbers of the tensor's dtype.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import DType
from polyad.interop.numpy import numpy_dtype, polyad_dtype

from ..calls import Target
from ..layouts import to_host
from ..sample import REAL_FLOATS

COUNT = 2048
APPROXIMATE = ("div", "sqrt")

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": lambda a, b: np.sqrt(np.abs(a)),
}


OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}


def significands(dtype: DType, seed: int) -> np.ndarray:
    """Random significands with few exponents, of either sign: results are far from overflow and underflow."""
    random = np.random.default_rng(seed)
    values = random.uniform(1, 2, COUNT) * 2.0 ** random.integers(-3, 4, COUNT) * random.choice([-1, 1], COUNT)
    return np.asarray(values).astype(numpy_dtype(dtype))


def rounded(operation: Callable[..., Any], a: Any, b: Any, dtype: DType) -> np.ndarray:
    """The nearest number of *dtype*: float32 has digits enough for half types that rounding it again does no harm."""
    if dtype.itemsize == 2:
        return np.asarray(operation(np.asarray(a, np.float32), np.asarray(b, np.float32))).astype(numpy_dtype(dtype))
    return np.asarray(operation(a, b), numpy_dtype(dtype))


def _assert_same(got: np.ndarray, expected: np.ndarray, what: str) -> None:
    wrong = got != expected
    assert not wrong.any(), (
        f"{what} is rounded wrongly in {int(wrong.sum())} of {wrong.size} elements: "
        f"{got[wrong][0]!r}, expected {expected[wrong][0]!r}"
    )


def check_arithmetic(target: Target) -> None:
    """Two tensors, and a tensor and a number on either side."""
    approximate = "approximate_division" in target.backend.capabilities(target.full_device).features
    for dtype in (one for one in REAL_FLOATS if one in target.dtypes):
        for name, operation in OPERATIONS.items():
            if not (approximate and name in APPROXIMATE):
                _check_operation(name, operation, dtype, target)


def _check_operation(name: str, operation: Callable[..., Any], dtype: DType, target: Target) -> None:
    twin = numpy_dtype(dtype)
    a, b = significands(dtype, 1), significands(dtype, 2)
    x, y = (polyad.tensor(values, device=target.device) for values in (a, b))
    what = f"{name} of {dtype.name}"
    if name == "sqrt":
        with target.watching():
            result = polyad.sqrt(x.abs())
        return _assert_same(to_host(result), rounded(operation, a, b, dtype), what)
    with target.watching():
        result = OPERATORS[name](x, y)
    _assert_same(to_host(result), rounded(operation, a, b, dtype), what)
    for number in (3.0, 10.0, 1.7):
        one = np.float32(number).astype(twin)
        with target.watching():
            right, left = OPERATORS[name](x, float(one)), OPERATORS[name](float(one), x)
        _assert_same(to_host(right), rounded(operation, a, one, dtype), f"{what} and {one}")
        _assert_same(to_host(left), rounded(operation, one, a, dtype), f"{what} on the right of {one}")


def check_numbers(target: Target) -> None:
    """Numbers with more digits than float32, or float64, has."""
    integer, real = 2**53 + 1, 0.1
    integers = np.array([0, 1, integer - 1, integer, integer + 1, -integer], np.int64)
    reals = np.array([0.0, 0.1, 1.0, -2.5, float(np.float32(0.1))])
    for number, values in ((integer, integers), (real, reals)):
        if polyad_dtype(values.dtype) not in target.dtypes:
            continue
        one = values.dtype.type(number)
        cases: dict[str, tuple[Callable[[Any], Any], Any]] = {
            "add": (lambda x, n: x + n, values + one),
            "sub": (lambda x, n: n - x, one - values),
            "mul": (lambda x, n: x * n, values * one),
            "eq": (lambda x, n: x == n, values == one),
            "lt": (lambda x, n: x < n, values < one),
            "gt": (lambda x, n: x > n, values > one),
            "where": (lambda x, n: polyad.where(x > 0, n, x), np.where(values > 0, one, values)),
            "clamp": (lambda x, n: x.clamp(max=n), np.minimum(values, one)),
            "masked_fill": (lambda x, n: x.masked_fill(x > 0, n), np.where(values > 0, one, values)),
        }
        if number == integer:
            cases["bitwise_and"] = lambda x, n: x & n, values & one
            cases["bitwise_xor"] = lambda x, n: x ^ n, values ^ one
        tensor = polyad.tensor(values, device=target.device)
        for name, (call, expected) in cases.items():
            with target.watching():
                result = call(tensor, number)
            _assert_same(to_host(result), np.asarray(expected), f"{name} of {values.dtype} and {number}")


CHECKS = (check_arithmetic, check_numbers)
"""Called as ``check(target)``."""
