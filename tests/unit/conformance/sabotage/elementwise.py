"""Elementwise kernels gone wrong."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .saboteur import Saboteur, caught_by, outcome

if TYPE_CHECKING:
    import pytest


@caught_by("test_special", "maximum")
def drops_nan_in_maximum(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The maximum of a number and NaN is the number, as C's fmax has it."""
    backend.replace("maximum", lambda honest: outcome(honest, lambda r, a, b: np.where(np.isnan(r), np.fmax(a, b), r)))


@caught_by("test_special", "exp")
def stops_at_the_largest_number(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """What overflows becomes the largest finite number."""

    def finite(result: Any, a: Any) -> Any:
        if result.dtype.kind != "f":
            return result
        return np.where(np.isposinf(result), np.finfo(result.dtype).max, result)

    backend.replace("exp", lambda honest: outcome(honest, finite))


@caught_by("test_special", "div")
def loses_the_sign_of_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """-0 is read as 0, so that the quotient has the wrong sign at infinity."""
    plain = lambda b: b + b.dtype.type(0) if isinstance(b, np.ndarray) and b.dtype.kind == "f" else b  # noqa: E731
    backend.replace("div", lambda honest: lambda a, b: honest(a, plain(b)))


@caught_by("test_special", "neg")
def negates_by_subtracting_from_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The negative of 0 is 0 - 0, which is not -0."""
    backend.replace("neg", lambda honest: outcome(honest, lambda r, a: 0 - a if r.dtype.kind == "f" else r))


@caught_by("test_values", "ceil")
@caught_by("test_special", "round")
def rounds_to_one_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """What rounds to 0 from below becomes 0, as by way of an integer, and not -0."""
    for name in ("ceil", "round"):
        backend.replace(
            name, lambda honest: outcome(honest, lambda r, *args: r + r.dtype.type(0) if r.dtype.kind == "f" else r)
        )


@caught_by("test_values", "add")
def takes_a_row_for_a_column(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Shapes are aligned at their first dimensions where that is possible."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any) -> Any:
            if np.ndim(a) == 2 and np.ndim(b) == 1 and a.shape[0] == b.shape[0]:
                return honest(a, b[:, None])
            return honest(a, b)

        return kernel

    backend.replace("add", make)


@caught_by("test_special", "where")
def chooses_by_arithmetic(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A choice is a sum of products, into which NaN and infinity leak from the side that was not chosen."""

    def mixed(result: Any, condition: Any, a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            return (a * condition + b * ~condition).astype(result.dtype) if result.dtype.kind == "f" else result

    backend.replace("where", lambda honest: outcome(honest, mixed))


@caught_by("test_values", "floor_divide")
def floors_the_rounded_quotient(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """1 // 0.1 is the floor of 1 / 0.1, which rounds to 10, and not 9."""

    def floored(result: Any, a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.floor(np.divide(a, b)).astype(result.dtype) if result.dtype.kind == "f" else result

    backend.replace("floor_divide", lambda honest: outcome(honest, floored))


@caught_by("test_values", "exp")
def forgets_the_tail(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The last element is not computed where sizes are no multiple of a vector: off by one at the tail."""

    def make(honest: Any) -> Any:
        def kernel(a: Any) -> Any:
            result = honest(a)
            if result.size % 4 and result.size > 4:
                result.reshape(-1)[-1] = 0
            return result

        return kernel

    backend.replace("exp", make)


@caught_by("test_values", "exp")
def computes_doubles_in_single_precision(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """float64 results have the digits of float32."""
    backend.replace(
        "exp",
        lambda honest: outcome(honest, lambda r, a: r.astype(np.float32).astype(r.dtype) if r.dtype == "f8" else r),
    )


@caught_by("test_values", "floor_divide")
def divides_towards_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Integer division truncates where it should floor."""

    def truncated(result: Any, a: Any, b: Any) -> Any:
        inexact = (np.sign(a) * np.sign(b) < 0) & (result * b != a)
        return (result + inexact).astype(result.dtype)

    backend.replace("floor_divide", lambda honest: outcome(honest, truncated))


@caught_by("test_values", "remainder")
def takes_the_sign_of_the_dividend(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """remainder is C's fmod."""
    backend.replace(
        "remainder", lambda honest: outcome(honest, lambda r, a, b: np.fmod(a, b).astype(r.dtype) if r.size else r)
    )


@caught_by("test_values", "sub")
def lets_integers_saturate(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """uint8 arithmetic stops at 0 and 255 where it should wrap."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any) -> Any:
            result = honest(a, b)
            if result.dtype != np.uint8:
                return result
            return np.clip(np.asarray(a, np.int64) - np.asarray(b, np.int64), 0, 255).astype(np.uint8)

        return kernel

    backend.replace("sub", make)


@caught_by("test_values", "add")
def adds_wide_integers_as_doubles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """int64 arithmetic goes through float64 and loses the last bits of large numbers."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any) -> Any:
            result = honest(a, b)
            if result.dtype != np.int64:
                return result
            with np.errstate(all="ignore"):
                return np.asarray(np.add(a, b, dtype=np.float64)).astype(np.int64)

        return kernel

    backend.replace("add", make)


@caught_by("test_values", "gt")
def compares_wide_integers_as_doubles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """int64 numbers that differ in the last bit are equal."""
    backend.replace(
        "gt", lambda honest: lambda a, b: honest(a, b) if np.asarray(a).dtype != "i8" else np.asarray(np.float64(a) > b)
    )


@caught_by("check_wide_integers")
def chooses_integers_by_way_of_doubles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The larger of two int64 numbers is found in float64, and loses its last bits."""
    backend.replace(
        "maximum",
        lambda honest: outcome(
            honest, lambda r, *args: r.astype(np.float64).astype(r.dtype) if r.dtype == np.int64 else r
        ),
    )


@caught_by("test_values", "sin")
def reduces_angles_in_single_precision(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Large angles are brought near 0 with a float32 value of 2 pi."""

    def reduced(result: Any, a: Any) -> Any:
        if result.dtype != np.float32 or not isinstance(a, np.ndarray) or a.dtype != np.float32:
            return result
        with np.errstate(all="ignore"):
            turn = np.float32(2 * np.pi)
            return np.sin(a - turn * np.round(a / turn))

    backend.replace("sin", lambda honest: outcome(honest, reduced))


@caught_by("test_values", "round")
def rounds_halves_away_from_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """round takes 0.5 to 1, as C's round does."""

    def away(result: Any, a: Any, *rest: Any) -> Any:
        if result.dtype.kind != "f" or any(rest):
            return result
        return (np.sign(a) * np.floor(np.abs(a) + a.dtype.type(0.5))).astype(result.dtype)

    backend.replace("round", lambda honest: outcome(honest, away))


@caught_by("test_values", "bitwise_right_shift")
def shifts_zeros_in(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Negative integers shifted to the right lose their sign."""

    def logical(result: Any, a: Any, b: Any) -> Any:
        if result.dtype.kind != "i" or not isinstance(a, np.ndarray):
            return result
        bits = a.astype(f"u{a.itemsize}")
        return np.right_shift(bits, np.asarray(b).astype(bits.dtype)).astype(result.dtype)

    backend.replace("bitwise_right_shift", lambda honest: outcome(honest, logical))


@caught_by("test_values", "sqrt")
def warns(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel lets another library's warning through."""

    def make(honest: Any) -> Any:
        def kernel(a: Any) -> Any:
            warnings.warn("divide by zero encountered in log", RuntimeWarning, stacklevel=1)
            return honest(a)

        return kernel

    backend.replace("sqrt", make)


@caught_by("fallback", "tanh")
def has_no_kernel(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A primitive has no kernel, and runs on the host."""
    del backend.table["tanh"]


@caught_by("test_gradient", "matmul")
def gives_the_wrong_imaginary_part(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The conjugate of a number is the number."""
    backend.replace("conj", lambda honest: lambda a: a.copy())
