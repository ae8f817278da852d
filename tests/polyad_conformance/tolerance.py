"""How far a result may be off, and the comparison with a reference. The derivation stands here and nowhere else.

An operation that rounds correctly is off by at most u = eps / 2, relative to its result; a library function of good
quality by eps. A result that went through ``steps`` such operations in its own dtype is off by at most about
``steps * eps`` times the largest magnitude on the way. A sum of ``length`` terms is taken in an accumulator (float32
for float16 and bfloat16, else the dtype itself); with terms of size m and random signs the partial sums reach about
sqrt(length) * m, and length rounding errors of that size and random signs add up to about length * u * m. Therefore

    allowed = (steps * eps(dtype) + length * eps(accumulator)) * magnitude + smallest_normal(dtype)

where magnitude is what the sample's ``magnitude`` function says (for a product of matrices |a| @ |b|, element by
element), or else the reference's own magnitude; a sum without a ``magnitude`` function takes the largest magnitude
among reference and inputs. The last term lets a device flush subnormal numbers to zero. Integers and bool are exact.

For gradients the same bound holds with the operations of forward and backward together, and with the error of the
finite differences: central differences with step h are off by h**2 / 6 times the third derivative plus eps(float64) / h
times the function's value, which h = 1e-5 balances at about 1e-10; 1e-7 leaves room for steep functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.base.dtypes import DType, bfloat16, finfo, float16, float32
from polyad.interop.numpy import numpy_dtype

FINITE_DIFFERENCE_STEP = 1e-5
FINITE_DIFFERENCE_ERROR = 1e-7


def wide(value: Any) -> Any:
    """A NumPy array in the widest dtype of its kind, which is what references compute in; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return type(value)(wide(item) for item in value)
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "b":
        return value
    if value.dtype.kind in "iu":
        return value.astype(np.int64)
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)


def is_inexact(dtype: DType) -> bool:
    """Whether *dtype* is floating point or complex."""
    return dtype.is_floating_point or dtype.is_complex


def eps(dtype: DType) -> float:
    """The distance from 1 to the next number of a floating point or complex dtype."""
    return finfo(dtype).eps


def largest(*values: Any) -> float:
    """The largest finite magnitude in arrays and nested lists of arrays; 0 if there is none."""
    found = 0.0
    for value in values:
        if isinstance(value, (list, tuple)):
            found = max(found, largest(*value))
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            magnitudes = np.abs(value)
            finite = magnitudes[np.isfinite(magnitudes)]
            found = max(found, float(finite.max()) if finite.size else 0.0)
    return found


def allowed_error(dtype: DType, reference: np.ndarray, *, steps: int, length: int, magnitude: Any) -> np.ndarray:
    """The bound that the module's docstring derives, for each element; a *magnitude* of None means the reference's."""
    accumulator = float32 if dtype in (float16, bfloat16) else dtype
    with np.errstate(all="ignore"):
        size = np.abs(reference) if magnitude is None else np.maximum(np.abs(magnitude), np.abs(reference))
    size = np.where(np.isfinite(size), size, 0)
    return (steps * eps(dtype) + length * eps(accumulator)) * size + finfo(dtype).smallest_normal


def assert_equal(
    got: np.ndarray, reference: np.ndarray, dtype: DType, allowed: Any = 0.0, what: str = "result"
) -> None:
    """Assert dtype, shape and values; *reference* is wide and is converted to *dtype* as polyad's casts would."""
    twin = numpy_dtype(dtype)
    assert got.dtype == twin, f"{what} has memory of dtype {got.dtype}, expected {dtype}"
    assert got.shape == reference.shape, f"{what} has shape {got.shape}, expected {reference.shape}"
    if not is_inexact(dtype):
        with np.errstate(all="ignore"):
            expected = reference.astype(twin)
        wrong = got != expected
        if twin.kind == "b":
            wrong = wrong | (got.view(np.uint8) > 1)  # a byte of 2 is no True: adding such bytes up shows it
        assert not wrong.any(), _difference(what, got, expected, wrong)
        return
    value = wide(got)
    with np.errstate(all="ignore"):
        overflow = (
            np.isinf(value) & (np.abs(reference) >= finfo(dtype).max * (1 - eps(dtype))) & _same_sign(value, reference)
        )
        not_numbers = np.isnan(value) & np.isnan(reference)
        infinite = (value == reference) | (
            np.isinf(value) & np.isinf(reference) if np.iscomplexobj(reference) else False
        )
        near = np.abs(value - reference) <= allowed
        wrong = ~(overflow | not_numbers | infinite | near)
    assert not wrong.any(), _difference(what, value, reference, wrong, allowed)


def _same_sign(value: np.ndarray, reference: np.ndarray) -> Any:
    return True if np.iscomplexobj(value) or np.iscomplexobj(reference) else np.signbit(value) == np.signbit(reference)


def _difference(what: str, got: np.ndarray, expected: np.ndarray, wrong: np.ndarray, allowed: Any = None) -> str:
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    line = f"{what} is wrong in {int(wrong.sum())} of {wrong.size} elements"
    line = f"{line}; at {place}: {got[place]}, expected {expected[place]}"
    if allowed is None:
        return line
    limit = float(np.broadcast_to(allowed, wrong.shape)[place])
    return f"{line}, off by {abs(got[place] - expected[place]):.3g}, allowed {limit:.3g}"
