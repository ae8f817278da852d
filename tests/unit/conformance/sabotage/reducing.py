"""Reductions, products and normalisations gone wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .saboteur import Saboteur, caught_by, outcome

if TYPE_CHECKING:
    import pytest


@caught_by("test_values", "sum")
def wrong_result_dtype(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel returns memory of another dtype than the op's rule says."""
    backend.replace("sum", lambda honest: lambda *args: honest(*args).astype(np.float64))


@caught_by("test_values", "mean")
def means_stay_in_float32(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The mean of a half type is float32: the wrong dtype of a mean."""
    backend.replace(
        "mean", lambda honest: lambda a, *rest: honest(a, *rest).astype(np.float32 if a.dtype.itemsize < 4 else a.dtype)
    )


@caught_by("test_values", "sum")
def adds_up_in_half(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Sums of float16 are accumulated in float16."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dims: Any, keepdim: bool) -> Any:
            if a.dtype != np.float16 or len(dims) != 1 or keepdim or not a.shape[dims[0]]:
                return honest(a, dims, keepdim)
            return np.asarray(np.take(np.cumsum(a, dims[0], np.float16), -1, dims[0]))

        return kernel

    backend.replace("sum", make)


@caught_by("test_values", "matmul")
def adds_products_up_in_half(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Products of float16 matrices are accumulated in float16."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, *turned: bool) -> Any:
            result = honest(a, b, *turned)
            if a.dtype != np.float16 or a.ndim != 2 or b.ndim != 2 or any(turned):
                return result
            total = np.zeros(result.shape, np.float16)
            for k in range(a.shape[1]):
                total += a[:, k : k + 1] * b[k : k + 1]
            return total

        return kernel

    backend.replace("gemm", make)


@caught_by("check_wide_integers")
def adds_integers_up_in_32_bits(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Running sums of int64 wrap at 2**31."""
    backend.replace(
        "cumsum",
        lambda honest: outcome(
            honest, lambda r, *args: r.astype(np.int32).astype(r.dtype) if r.dtype == np.int64 else r
        ),
    )


@caught_by("check_wide_integers")
def multiplies_integer_matrices_as_doubles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Products of int64 matrices are handed to the BLAS of float64."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, *turned: bool) -> Any:
            if a.dtype != np.int64:
                return honest(a, b, *turned)
            with np.errstate(all="ignore"):
                return honest(a.astype(np.float64), b.astype(np.float64), *turned).astype(np.int64)

        return kernel

    backend.replace("gemm", make)


@caught_by("test_values", "var")
def subtracts_squares_for_a_variance(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A variance is the mean of squares less the square of the mean, of which nothing is left far from 0."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dims: Any, correction: Any, keepdim: bool) -> Any:
            result = honest(a, dims, correction, keepdim)
            if a.dtype != np.float32 or a.ndim != 2 or not a.size:
                return result
            axes, count = tuple(dims), a.dtype.type(a.size / max(result.size, 1))
            squares = np.square(a).sum(axes) - np.square(a.sum(axes)) / count
            with np.errstate(all="ignore"):
                return np.asarray(squares / a.dtype.type(count - correction)).reshape(result.shape)

        return kernel

    backend.replace("var", make)


@caught_by("test_values", "sum")
def adds_half_of_a_long_row(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A reduction loses the half of the elements that its second pass should have added."""
    backend.replace("sum", lambda honest: lambda a, dims, keepdim: honest(a[..., :64] if a.ndim else a, dims, keepdim))


@caught_by("test_values", "sum")
def leaves_sums_of_nothing_unwritten(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A reduction over no elements returns whatever is in memory."""
    backend.replace("sum", lambda honest: outcome(honest, lambda r, a, *rest: r if a.size else r + 7))


@caught_by("test_values", "sum")
def gives_single_numbers_a_dimension(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A result that should be 0-d has the shape (1,)."""
    backend.replace("sum", lambda honest: outcome(honest, lambda r, *args: r if r.ndim else r.reshape(1)))


@caught_by("test_values", "amax")
def begins_maxima_at_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The maximum of negative numbers is 0."""
    backend.replace("amax", lambda honest: outcome(honest, lambda r, *args: np.maximum(r, r.dtype.type(0))))


@caught_by("test_values", "argmax")
def takes_the_last_of_equal_extremes(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Of equal maxima, the last one's position is returned."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: Any, keepdim: bool) -> Any:
            if dim is None or not a.ndim or not a.size:
                return honest(a, dim, keepdim)
            return a.shape[dim] - 1 - honest(np.flip(a, dim), dim, keepdim)

        return kernel

    backend.replace("argmax", make)


@caught_by("test_special", "argmax")
def passes_over_nan(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """argmax finds the largest number where it should find the first NaN."""

    def plain(a: Any) -> Any:
        return np.where(np.isnan(a), -np.inf, a).astype(a.dtype) if a.dtype.kind in "fV" else a

    backend.replace("argmax", lambda honest: lambda a, *rest: honest(plain(a), *rest))


@caught_by("test_values", "cumsum")
def begins_running_sums_with_zero(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A running sum leaves its own element out."""
    backend.replace("cumsum", lambda honest: outcome(honest, lambda r, a, *rest: r - a.astype(r.dtype)))


@caught_by("test_special", "softmax")
@caught_by("test_values", "softmax")
def softmax_without_subtracting_the_maximum(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """softmax overflows for large numbers."""

    def kernel(a: Any, dim: int) -> Any:
        with np.errstate(all="ignore"):
            powers = np.exp(a)
            return (powers / powers.sum(dim, keepdims=True)).astype(a.dtype)

    backend.table["softmax"] = kernel


@caught_by("test_error", "matmul")
def multiplies_what_does_not_fit(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Matrices whose inner sizes differ are cut to the smaller one instead of being refused."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, turned: bool, other_turned: bool) -> Any:
            if turned or other_turned:
                return honest(a, b, turned, other_turned)
            inner = min(a.shape[-1], b.shape[-2])
            return honest(a[..., :inner], b[..., :inner, :], False, False)

        return kernel

    backend.replace("gemm", make)
