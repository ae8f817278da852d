"""Kernels that are right for the numbers between -9 and 9, and wrong for wide, huge and tiny ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyad.base.dtypes import bfloat16
from polyad.interop.numpy import numpy_dtype

from .saboteur import Saboteur, caught_by, outcome

if TYPE_CHECKING:
    import pytest


def _is_float(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype.kind == "f"


@caught_by("check_arithmetic")
def multiplies_by_the_reciprocal(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """x / y is x * (1 / y), which is rounded twice."""

    def twice(result: Any, a: Any, b: Any) -> Any:
        if result.dtype not in (np.float32, np.float64):
            return result
        one = result.dtype.type(1)
        with np.errstate(all="ignore"):
            product = np.asarray(a, result.dtype) * (one / np.asarray(b, result.dtype))
        return np.where(np.isfinite(product) & (product != 0), product, result)

    backend.replace("div", lambda honest: outcome(honest, twice))


@caught_by("check_arithmetic")
def divides_by_a_number_by_multiplying(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Division by a Python number is a product with its reciprocal."""

    def twice(result: Any, a: Any, b: Any) -> Any:
        if result.dtype not in (np.float32, np.float64) or isinstance(b, np.ndarray) or not b:
            return result
        return np.asarray(a * result.dtype.type(1 / b))

    backend.replace("div", lambda honest: outcome(honest, twice))


@caught_by("check_arithmetic")
def cuts_products_of_bfloat16(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Products of bfloat16 are cut to 8 bits and not rounded."""

    def cut(result: Any, a: Any, b: Any) -> Any:
        if result.dtype != numpy_dtype(bfloat16):
            return result
        with np.errstate(all="ignore"):
            wide = np.asarray(np.asarray(a, np.float32) * np.asarray(b, np.float32), np.float32)
        return (wide.view(np.uint32) >> 16).astype(np.uint16).view(result.dtype).reshape(result.shape)

    backend.replace("mul", lambda honest: outcome(honest, cut))


@caught_by("check_arithmetic")
def takes_roots_by_inverse_roots(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """sqrt(x) is x * (1 / sqrt(x)), which is rounded three times."""

    def thrice(result: Any, a: Any) -> Any:
        if result.dtype != np.float32:
            return result
        with np.errstate(all="ignore"):
            product = a * (np.float32(1) / result)
        return np.where(np.isfinite(product) & (product > 0), product, result).astype(np.float32)

    backend.replace("sqrt", lambda honest: outcome(honest, thrice))


@caught_by("test_whole_range", "lt")
def compares_bytes_with_signs(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """uint8 is compared as int8, so that 200 < 100."""

    def signed(a: Any) -> Any:
        return a.view(np.int8) if isinstance(a, np.ndarray) and a.dtype == np.uint8 else a

    backend.replace("lt", lambda honest: lambda a, b: np.asarray(np.less(signed(a), signed(b))))


@caught_by("test_whole_range", "amax")
def finds_the_largest_signed_byte(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The maximum of uint8 is found among int8."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dims: Any, keepdim: bool) -> Any:
            if a.dtype != np.uint8:
                return honest(a, dims, keepdim)
            return np.asarray(a.view(np.int8).max(dims, keepdims=keepdim)).view(np.uint8)

        return kernel

    backend.replace("amax", make)


@caught_by("test_whole_range", "mul")
def lets_products_saturate(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """int8 products stop at -128 and 127 where they should wrap."""

    def clipped(result: Any, a: Any, b: Any) -> Any:
        if result.dtype != np.int8:
            return result
        return np.clip(np.asarray(a, np.int64) * np.asarray(b, np.int64), -128, 127).astype(np.int8)

    backend.replace("mul", lambda honest: outcome(honest, clipped))


@caught_by("test_whole_range", "sort")
def sorts_by_negative_keys(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A descending sort is an ascending one of negative numbers, of which the smallest integer has none."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: int, descending: bool) -> Any:
            if not descending or a.dtype.kind != "i":
                return honest(a, dim, descending)
            with np.errstate(all="ignore"):
                values, places = honest(-a, dim, False)
                return -values, places

        return kernel

    backend.replace("sort", make)


@caught_by("test_whole_range", "floor_divide")
def divides_in_doubles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """int64 numbers are divided as float64."""

    def rounded(result: Any, a: Any, b: Any) -> Any:
        if result.dtype != np.int64:
            return result
        with np.errstate(all="ignore"):
            return np.floor(np.asarray(a, np.float64) / np.asarray(b, np.float64)).astype(np.int64)

    backend.replace("floor_divide", lambda honest: outcome(honest, rounded))


@caught_by("test_whole_range", "bitwise_xor")
def keeps_32_bits(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Bits of int64 beyond the 32nd are those of int32."""
    backend.replace(
        "bitwise_xor",
        lambda honest: outcome(honest, lambda r, *args: r.astype(np.int32).astype(np.int64) if r.dtype == "i8" else r),
    )


@caught_by("test_values", "abs")
def takes_absolutes_in_32_bits(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """abs is C's, of int, and wraps int64 at 2**31."""
    backend.replace(
        "abs",
        lambda honest: outcome(
            honest, lambda r, a: np.abs(a.astype(np.int32)).astype(r.dtype) if r.dtype == "i8" else r
        ),
    )


@caught_by("test_values", "bitwise_left_shift")
def takes_shifts_modulo_the_width(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A shift by the width or more is one by the rest, as processors have it."""

    def masked(result: Any, a: Any, b: Any) -> Any:
        width = result.itemsize * 8
        return np.left_shift(a, np.asarray(b) & (width - 1)).astype(result.dtype)

    backend.replace("bitwise_left_shift", lambda honest: outcome(honest, masked))


@caught_by("check_numbers")
def rounds_numbers_to_float32(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A Python number is handed to a float64 kernel as a float32."""

    def make(honest: Any) -> Any:
        return lambda a, b: honest(a, float(np.float32(b)) if type(b) is float else b)

    for op in ("add", "mul", "sub"):
        backend.replace(op, make)


@caught_by("check_numbers")
def hands_numbers_over_as_doubles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A Python number is handed to an int64 kernel as a float64."""

    def make(honest: Any) -> Any:
        return lambda a, b: honest(a, int(float(b)) if type(b) is int and abs(b) < 2**62 else b)

    for op in ("add", "bitwise_and", "eq", "lt"):
        backend.replace(op, make)


@caught_by("check_large_ranks")
def walks_four_dimensions(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel of more than four dimensions reads its operands as if they were row-major."""

    def dense(array: Any) -> Any:
        if not isinstance(array, np.ndarray) or array.ndim <= 4 or not array.size or 0 in array.strides:
            return array
        strides = [int(np.prod(array.shape[d + 1 :])) * array.itemsize for d in range(array.ndim)]
        return np.lib.stride_tricks.as_strided(array, array.shape, strides)

    backend.replace("add", lambda honest: lambda a, b: honest(dense(a), dense(b)))


@caught_by("test_extremes", "div")
def overflows_in_complex_quotients(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A complex quotient is divided by the square of the divisor's length, which overflows."""

    def naive(result: Any, a: Any, b: Any) -> Any:
        if result.dtype.kind != "c":
            return result
        with np.errstate(all="ignore"):
            b = np.asarray(b, result.dtype)
            return np.asarray(np.asarray(a, result.dtype) * np.conj(b) / (b.real * b.real + b.imag * b.imag))

    backend.replace("div", lambda honest: outcome(honest, naive))


@caught_by("test_extremes", "abs")
def overflows_in_lengths(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The length of a complex number is the root of a sum of squares, which overflow."""

    def naive(result: Any, a: Any) -> Any:
        if a.dtype.kind != "c":
            return result
        with np.errstate(all="ignore"):
            return np.asarray(np.sqrt(a.real * a.real + a.imag * a.imag))

    backend.replace("abs", lambda honest: outcome(honest, naive))


@caught_by("test_extremes", "fmod")
def takes_quotients_for_remainders(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """fmod is a - trunc(a / b) * b, of which nothing is left where a is much larger than b."""

    def naive(result: Any, a: Any, b: Any) -> Any:
        if result.dtype not in (np.float32, np.float64):
            return result
        with np.errstate(all="ignore"):
            return np.asarray(a - np.trunc(a / b) * b, result.dtype)

    backend.replace("fmod", lambda honest: outcome(honest, naive))


@caught_by("test_extremes", "tanh")
def overflows_in_tanh(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """tanh is (exp(2x) - 1) / (exp(2x) + 1), which is NaN for large numbers."""

    def naive(result: Any, a: Any) -> Any:
        if result.dtype not in (np.float32, np.float64) or a.dtype != result.dtype:
            return result
        with np.errstate(all="ignore"):
            powers = np.exp(2 * a)
            return np.where(np.isinf(a), result, (powers - 1) / (powers + 1))

    backend.replace("tanh", lambda honest: outcome(honest, naive))


@caught_by("test_values", "expm1")
def subtracts_one_from_exp(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """expm1 is exp(x) - 1, of which nothing is left near 0."""

    def naive(result: Any, a: Any) -> Any:
        if result.dtype not in (np.float32, np.float64) or a.dtype != result.dtype:
            return result
        with np.errstate(all="ignore"):
            return np.asarray(np.exp(a) - 1, result.dtype)

    backend.replace("expm1", lambda honest: outcome(honest, naive))


@caught_by("test_values", "log1p")
def adds_one_before_the_logarithm(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """log1p is log(1 + x), of which nothing is left near 0."""

    def naive(result: Any, a: Any) -> Any:
        if result.dtype not in (np.float32, np.float64) or a.dtype != result.dtype:
            return result
        with np.errstate(all="ignore"):
            return np.asarray(np.log(1 + a), result.dtype)

    backend.replace("log1p", lambda honest: outcome(honest, naive))


@caught_by("test_extremes", "cosh")
def overflows_before_halving(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """cosh is (exp(x) + exp(-x)) / 2, which overflows where the result would not."""

    def naive(result: Any, a: Any) -> Any:
        if result.dtype not in (np.float32, np.float64) or a.dtype != result.dtype:
            return result
        with np.errstate(all="ignore"):
            return np.asarray((np.exp(a) + np.exp(-a)) / 2, result.dtype)

    backend.replace("cosh", lambda honest: outcome(honest, naive))


@caught_by("test_extremes", "asinh")
def overflows_in_asinh(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """asinh is log(x + sqrt(x * x + 1)), which is lost for negative numbers and overflows for large ones."""

    def naive(result: Any, a: Any) -> Any:
        if result.dtype not in (np.float32, np.float64) or a.dtype != result.dtype:
            return result
        with np.errstate(all="ignore"):
            return np.where(a < 0, -np.log(-a + np.sqrt(a * a + 1)), np.log(a + np.sqrt(a * a + 1))).astype(a.dtype)

    backend.replace("asinh", lambda honest: outcome(honest, naive))


@caught_by("test_values", "any")
def asks_integers_for_truth(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """any takes numbers for integers, so that 0.5 is False."""
    backend.replace("any", lambda honest: lambda a, *rest: honest(np.trunc(a) if _is_float(a) else a, *rest))


@caught_by("test_special", "eq")
def compares_bits(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Numbers are equal if their bits are: 0 is not -0, and NaN is NaN."""

    def same(result: Any, a: Any, b: Any) -> Any:
        if not (_is_float(a) and _is_float(b)) or a.dtype != b.dtype:
            return result
        return result & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)

    backend.replace("eq", lambda honest: outcome(honest, same))


@caught_by("test_lengths", "mean")
def overflows_in_means_of_half(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The sum that a mean of float16 divides is a float16, which overflows."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dims: Any, keepdim: bool) -> Any:
            result = honest(a, dims, keepdim)
            if a.dtype != np.float16 or not result.size:
                return result
            with np.errstate(all="ignore"):
                count = max(a.size // result.size, 1)
                return np.asarray((result.astype(np.float32) * count).astype(np.float16) / np.float16(count))

        return kernel

    backend.replace("mean", make)


@caught_by("test_values", "nn.functional.layer_norm")
def normalizes_by_squares(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """layer_norm takes the mean of squares less the square of the mean for a variance."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, weight: Any, bias: Any, count: int, eps: float) -> Any:
            result, mean, _ = honest(a, weight, bias, count, eps)
            if a.dtype not in (np.float32, np.float64):
                return honest(a, weight, bias, count, eps)
            axes = tuple(range(a.ndim - count, a.ndim))
            variance = np.maximum((a * a).mean(axes, keepdims=True) - mean * mean, 0)
            result = (a - mean) / np.sqrt(variance + a.dtype.type(eps))
            result = result if weight is None else result * weight
            return (result if bias is None else result + bias), mean, variance

        return kernel

    backend.replace("layer_norm", make)


@caught_by("test_values", "log_softmax")
def sums_exponentials_as_they_are(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """log_softmax takes exponentials without subtracting the maximum, and they overflow."""

    def naive(result: Any, a: Any, dim: int) -> Any:
        with np.errstate(all="ignore"):
            return (a - np.log(np.exp(a).sum(dim, keepdims=True))).astype(result.dtype) if a.ndim else result

    backend.replace("log_softmax", lambda honest: outcome(honest, naive))


@caught_by("test_values", "vdot")
def forgets_the_conjugate(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """vdot is dot."""
    backend.replace("vdot", lambda honest: lambda a, b: honest(np.conj(a), b))


@caught_by("test_values", "nn.functional.conv2d")
def takes_two_groups(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A convolution of more than two groups gives the third one the first one's weights."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, weight: Any, *rest: Any) -> Any:
            groups = rest[-1]
            if groups > 2:
                size = weight.shape[0] // groups
                weight = np.concatenate([weight[(g & 1) * size : (g & 1) * size + size] for g in range(groups)])
            return honest(a, weight, *rest)

        return kernel

    backend.replace("convolution", make)


@caught_by("test_gradient", "nn.functional.conv2d")
def forgets_dilation_in_gradients(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The gradient of a convolution's weights is that of one that is not dilated."""
    backend.replace(
        "convolution_weight_grad",
        lambda honest: (
            lambda g, a, kernel, stride, padding, dilation, groups: honest(
                g, a, kernel, stride, padding, tuple(1 for _ in dilation), groups
            )
        ),
    )


@caught_by("test_values", "nn.functional.avg_pool2d")
def divides_by_whole_windows(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The last windows of ceil_mode are divided by what lies outside of the padding too."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool, divisor: Any) -> Any:
            if ceil and include:
                divisor = divisor or int(np.prod(kernel))
            return honest(a, kernel, stride, padding, ceil, include, divisor)

        return kernel

    backend.replace("avg_pool", make)


@caught_by("test_values", "nn.functional.max_pool2d")
def counts_positions_from_the_padding(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The positions of a maximum pooling are those in the padded image."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, window: Any, stride: Any, padding: Any, *rest: Any) -> Any:
            values, places = honest(a, window, stride, padding, *rest)
            return values, places + padding[-1]

        return kernel

    backend.replace("max_pool_with_indices", make)
