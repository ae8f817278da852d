"""Comparing tensors in tests, and making them, under PyTorch's path ``polyad.testing``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Number, Real
from typing import Any

from .base import provided
from .base.device import Device
from .base.dtypes import (
    FLOATING,
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int64,
    promote_types,
)
from .base.memory_formats import MemoryFormat, strided
from .base.shapes_and_strides import Shape, normalize_shape
from .base.state import warn_user
from .errors import ArgumentError, ArgumentTypeError, describe, wrong_type
from .functions import as_tensor, empty, isclose, randint, view_as_real
from .tensor import Tensor

TOLERANCES: dict[DType, tuple[float, float]] = {
    float16: (1e-3, 1e-5),
    bfloat16: (1.6e-2, 1e-5),
    float32: (1.3e-6, 1e-5),
    float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5),
    complex128: (1e-7, 1e-7),
}
"""Relative and absolute tolerance by dtype, PyTorch's; other dtypes are compared exactly."""


@dataclass(frozen=True)
class _Rules:
    """What counts as close, and where in nested containers the comparison is."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    subclasses: bool
    msg: str | Callable[[str], str] | None

    def tolerance(self, *dtypes: DType) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        each = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in each), max(atol for _, atol in each)

    def fail(self, what: str, lines: Mapping[str, str], path: str) -> AssertionError:
        lines = dict(lines) | ({"item": path} if path else {})
        width = max(map(len, lines), default=0)
        text = "\n".join([f"assert_close: {what}", *(f"    {name:<{width}}  {line}" for name, line in lines.items())])
        if self.msg is None:
            return AssertionError(text)
        return AssertionError(self.msg(text) if callable(self.msg) else self.msg)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless *actual* and *expected* are equal up to rounding.

    Tensors, numbers, arrays, and sequences and mappings of them, however nested. Elements are close if
    ``abs(actual - expected) <= atol + rtol * abs(expected)``, infinities if they are equal, NaN never but with
    *equal_nan*. Without tolerances they follow from the dtypes (`TOLERANCES`); bool and integers are compared exactly.
    Shapes must be equal; device, dtype and (on request) strides too unless the ``check_`` arguments say otherwise.
    *msg* replaces the message, or is a function of it.

    Raises ValueError if only *rtol* or only *atol* is given, TypeError for what cannot be compared.

    >>> import polyad
    >>> polyad.testing.assert_close(polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 2.0000001]))
    >>> polyad.testing.assert_close(polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 2.5]))
    Traceback (most recent call last):
        ...
    AssertionError: assert_close: 1 of 2 elements differs (50.0%)
        greatest absolute difference  0.5 at (1,): actual 2.0, expected 2.5 (1e-05 allowed)
        greatest relative difference  0.2 at (1,): actual 2.0, expected 2.5 (1.3e-06 allowed)
        actual                        float32 (2,) on cpu
        expected                      float32 (2,) on cpu
    """
    tolerances: dict[str, Any] = {"rtol": rtol, "atol": atol}
    for name, tolerance in tolerances.items():
        if tolerance is not None and not isinstance(tolerance, Real):
            raise wrong_type("assert_close", name, tolerance, "a number")
    if not (msg is None or isinstance(msg, str) or callable(msg)):
        raise wrong_type("assert_close", "msg", msg, "a string or a function of the message")
    if (rtol is None) != (atol is None):
        raise ArgumentError(
            f"assert_close: rtol is {rtol} and atol is {atol}",
            fix="give both, or none: then they follow from the dtype",
        )
    rules = _Rules(rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride, allow_subclasses, msg)
    # All pairs first: what cannot be compared is a mistake in the test, whatever the values.
    for left, right, path in list(_pairs(actual, expected, rules, "")):
        _compare(left, right, rules, path)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str | None = "",
) -> None:
    """`assert_close` under its older rules: numbers and lists become tensors, dtypes may differ and NaN equals NaN.

    Deprecated. Raises AssertionError as `assert_close` does.

    >>> import polyad
    >>> polyad.testing.assert_allclose(polyad.tensor([1.0]), [1])
    """
    warn_user("assert_allclose: deprecated; use assert_close", FutureWarning)
    left = as_tensor(actual)
    right = expected if isinstance(expected, Tensor) else as_tensor(expected, dtype=left.dtype)
    assert_close(
        left, right, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, msg=msg or None
    )


def _pairs(actual: Any, expected: Any, rules: _Rules, path: str) -> Iterator[tuple[Any, Any, str]]:
    """The leaves of nested containers, side by side; raises if containers differ or leaves cannot be compared."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, extra = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or extra:
            lines = {"only in expected": repr(sorted(missing, key=repr))} if missing else {}
            lines |= {"only in actual": repr(sorted(extra, key=repr))} if extra else {}
            raise rules.fail("the keys differ", lines, path)
        for key in expected:
            yield from _pairs(actual[key], expected[key], rules, f"{path}[{key!r}]")
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise rules.fail("the lengths differ", {"actual": str(len(actual)), "expected": str(len(expected))}, path)
        for place, (left, right) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(left, right, rules, f"{path}[{place}]")
    elif _are_comparable(actual, expected, rules):
        yield actual, expected, path
    else:
        raise _not_comparable(actual, expected, path)


def _are_comparable(actual: Any, expected: Any, rules: _Rules) -> bool:
    if actual is None or expected is None:
        return True
    if isinstance(actual, Tensor) and isinstance(expected, Tensor):
        return type(actual) is type(expected) or rules.subclasses
    if isinstance(actual, Number) and isinstance(expected, Number):
        return True
    return hasattr(actual, "__array__") and type(actual) is type(expected)


def _compare(actual: Any, expected: Any, rules: _Rules, path: str) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            raise rules.fail("one is None", {"actual": describe(actual), "expected": describe(expected)}, path)
    elif isinstance(actual, Number) and isinstance(expected, Number):
        left, right = _as_tensor(actual), _as_tensor(expected)
        if rules.check_dtype and left.dtype is not right.dtype:
            types = {"actual": describe(actual), "expected": describe(expected)}
            raise rules.fail("the numbers are of different types", types, path)
        _compare_tensors(left, right, rules, path)
    else:
        _compare_tensors(as_tensor(actual), as_tensor(expected), rules, path)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, Tensor))


def _as_tensor(number: Any) -> Tensor:
    """A bool, integer, real or complex number as Python's type, in double precision."""
    if isinstance(number, bool):
        return as_tensor(number, device="cpu")
    if isinstance(number, Integral):
        return as_tensor(int(number), device="cpu")
    if isinstance(number, Real):
        return as_tensor(float(number), dtype=float64, device="cpu")
    return as_tensor(complex(number), dtype=complex128, device="cpu")


def _not_comparable(actual: Any, expected: Any, path: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"assert_close: {type(actual).__name__} and {type(expected).__name__} cannot be compared",
        operands={"actual": actual, "expected": expected},
        notes={"item": path} if path else None,
        fix="give both as tensors, numbers, arrays, or as sequences or mappings of them",
    )


def _compare_tensors(actual: Tensor, expected: Tensor, rules: _Rules, path: str) -> None:
    both = {"actual": describe(actual), "expected": describe(expected)}
    if actual.shape != expected.shape:
        raise rules.fail(f"the shapes differ: {tuple(actual.shape)} and {tuple(expected.shape)}", both, path)
    if rules.check_device and actual.device != expected.device:
        raise rules.fail(f"the devices differ: {actual.device} and {expected.device}", both, path)
    if rules.check_dtype and actual.dtype is not expected.dtype:
        raise rules.fail(f"the dtypes differ: {actual.dtype} and {expected.dtype}", both, path)
    if actual.layout is not expected.layout:
        if rules.check_layout:
            raise rules.fail(f"the layouts differ: {actual.layout} and {expected.layout}", both, path)
        actual, expected = actual.to_dense(), expected.to_dense()
    if actual.layout is not strided:
        parts = [provided.sparse_parts(one.detach())[0] for one in (actual, expected)]
        for place, (left, right) in enumerate(zip(*parts, strict=True)):
            _compare_tensors(left, right, rules, f"{path}[indices]" if place < len(parts[0]) - 1 else f"{path}[values]")
        return
    if rules.check_stride and actual.stride() != expected.stride():
        raise rules.fail(f"the strides differ: {actual.stride()} and {expected.stride()}", both, path)
    rtol, atol = rules.tolerance(actual.dtype, expected.dtype)
    actual, expected = actual.detach(), expected.detach()
    if actual.device != expected.device:
        actual, expected = actual.to(Device("cpu")), expected.to(Device("cpu"))
    dtype = promote_types(actual.dtype, expected.dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = int64
    actual, expected = actual.to(dtype), expected.to(dtype)
    close = isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
    wrong = int((~close).sum().item())
    if not wrong:
        return
    count = actual.numel()
    off = (actual - expected).abs()
    off = off.where(~close, 0)
    share = off / expected.abs()
    share = share.where(~close, 0)
    lines = {
        f"greatest {measure} difference": _worst(found, actual, expected, allowed)
        for measure, found, allowed in (("absolute", off, atol), ("relative", share, rtol))
    }
    what = f"{wrong} of {count} elements {'differs' if wrong == 1 else 'differ'} ({wrong / count:.1%})"
    if not actual.ndim:
        what = f"{actual.item()} is not close to {expected.item()}"
    raise rules.fail(what, lines | both, path)


def _worst(found: Tensor, actual: Tensor, expected: Tensor, allowed: float) -> str:
    """Where the largest of *found* stands, and between what."""
    flat = int(found.argmax().item())
    index = []
    for size in reversed(found.shape):
        flat, place = divmod(flat, size)
        index.append(place)
    at = tuple(reversed(index))
    value = found[at].item()
    shown = f"{value:.6g}" if isinstance(value, float) and math.isfinite(value) else str(value)
    where = f" at {at}" if at else ""
    return f"{shown}{where}: actual {actual[at].item()}, expected {expected[at].item()} ({allowed:g} allowed)"


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of numbers in [low, high), all equally likely.

    Args:
        low, high: -9 and 9 by default, -9 and 10 for integers, 0 and 10 for unsigned integers, 0 and 2 for bool;
            numbers that the dtype cannot hold become its least and its greatest.
        noncontiguous: whether the elements lie apart in memory, if there are two or more.
        exclude_zero: whether the dtype's smallest normal number, 1 for integers, stands in the place of 0.

    Raises ValueError for a low that is not below high (floating point: a FutureWarning if they are equal), for NaN, for
    bounds outside the dtype, for integers that shall require a gradient, and for *noncontiguous* with *memory_format*.

    >>> import polyad
    >>> x = polyad.testing.make_tensor((2, 3), dtype=polyad.float32, device="cpu", low=0, high=1)
    >>> x.shape, bool(((x >= 0) & (x < 1)).all())
    (polyad.Size([2, 3]), True)
    """
    sizes = normalize_shape(shape, "make_tensor")
    whole = dtype.category < FLOATING
    if noncontiguous and memory_format is not None:
        raise ArgumentError("make_tensor: noncontiguous and memory_format exclude each other", fix="give one of them")
    if requires_grad and whole:
        raise ArgumentError(f"make_tensor: {dtype.name} tensors have no gradient", fix="leave requires_grad out")
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    first, last = _bounds(dtype, low, high)
    result = (
        randint(first, last, sizes, dtype=dtype, device=device)
        if whole
        else _uniform(sizes, dtype, device, first, last)
    )
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if whole else finfo(dtype).tiny
    return result.requires_grad_(requires_grad)


def _bounds(dtype: DType, low: Any, high: Any) -> tuple[Any, Any]:
    """What numbers of *dtype* are drawn between for `make_tensor`."""
    least: float
    most: float
    if dtype is bool_:
        least, most, usual = 0, 2, (0, 2)
    elif dtype.category < FLOATING:
        info = iinfo(dtype)
        least, most, usual = info.min, info.max + (dtype is not int64), (-9, 10)
    else:
        least, most, usual = finfo(dtype).min, finfo(dtype).max, (-9, 9)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if low != low or high != high:
        raise ArgumentError(f"make_tensor: low {low} and high {high} must be numbers", fix="pass numbers")
    if low == high and dtype.category >= FLOATING:
        warn_user("make_tensor: low and high are equal; use full", FutureWarning)
    elif low >= high:
        raise ArgumentError(f"make_tensor: low {low} must be below high {high}", fix="make high larger than low")
    elif high < least or low >= most:
        raise ArgumentError(
            f"make_tensor: {dtype.name} holds [{least}, {most}), nothing in [{low}, {high})", fix="use other bounds"
        )
    low, high = min(max(low, least), most), min(max(high, least), most)
    return (math.ceil(low), math.ceil(high)) if dtype.category < FLOATING else (low, high)


def _uniform(shape: Shape, dtype: DType, device: Any, low: float, high: float) -> Tensor:
    result = empty(shape, dtype=dtype, device=device)
    parts = view_as_real(result) if dtype.is_complex else result
    if high - low >= finfo(dtype).max:  # drawn in half the range, as uniform_ allows
        parts.uniform_(low / 2, high / 2).mul_(2)
    else:
        parts.uniform_(low, high)
    return result
