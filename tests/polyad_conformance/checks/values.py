"""What an op returns: value, dtype, shape, in any layout; and what it must leave alone."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import DType
from polyad.base.shapes_and_strides import has_internal_overlap
from polyad.dispatch.op import PUBLIC

from ..calls import (
    Expected,
    Target,
    UnsupportedByDeclaration,
    as_called,
    draw,
    function_of,
    generator,
    kwargs_of,
    outputs_of,
)
from ..layouts import LAYOUTS, Placed, contiguous, place, to_host
from ..sample import REAL_FLOATS, OnlyShape, Sample
from ..tolerance import assert_equal
from . import abstract


def assert_results(
    sample: Sample, expected: Expected, results: Any, args: Any, kwargs: dict[str, Any], what: str
) -> None:
    """Assert that *results* are what is expected for wide *args*."""
    got = outputs_of(results)
    assert len(got) == len(expected.references), f"{what}: {len(got)} results, expected {len(expected.references)}"
    host = []
    for position, (one, reference, dtype, allowed) in enumerate(
        zip(got, expected.references, expected.dtypes, expected.allowed)
    ):
        name = what if len(got) == 1 else f"{what}: result {position}"
        assert isinstance(one, polyad.Tensor), f"{name} is {type(one).__name__}, not a tensor"
        assert one.dtype is dtype, f"{name} has dtype {one.dtype}, expected {dtype}"
        values = to_host(one)
        host.append(values)
        assert tuple(one.shape) == reference.shape, f"{name} has shape {tuple(one.shape)}, expected {reference.shape}"
        if not isinstance(reference, OnlyShape):
            assert_equal(values, reference, dtype, allowed, name)
            if sample.op in SIGNS_OF_ZERO and dtype in REAL_FLOATS:
                assert_signs_of_zero(values, reference, name)
    if sample.holds is not None:
        sample.holds(*host, *args, **kwargs)


SIGNS_OF_ZERO = frozenset(
    {
        "abs", "add", "ceil", "copysign", "div", "floor", "fmod", "frac", "mul", "neg", "remainder", "round", "sqrt",
        "sub", "trunc",
    }
)  # fmt: skip
"""Ops of which IEEE 754 or C says whether a result that is zero is 0 or -0; all dtypes and devices agree."""


def assert_signs_of_zero(got: np.ndarray, reference: Any, what: str) -> None:
    """Assert that zeros have the signs of the reference's; what underflows is not looked at."""
    zero = (got == 0) & (np.asarray(reference) == 0)
    wrong = zero & (np.signbit(got) != np.signbit(reference))
    assert not wrong.any(), f"{what}: {int(wrong.sum())} of {int(zero.sum())} zeros have the wrong sign"


def assert_aliasing(sample: Sample, results: Any, placed: list[Placed], what: str) -> None:
    """Assert that writing into the results reaches the inputs exactly if the sample says so."""
    if sample.aliasing == "maybe":
        return
    for one in outputs_of(results):
        if not one.numel() or has_internal_overlap(one.shape, one.stride()):
            continue
        values = to_host(one)
        with polyad.no_grad():
            one.fill_(False if values.dtype.kind == "b" and values.any() else 1 if not np.all(values == 1) else 0)
        changed = any(to_host(put.memory).tobytes() != put.before for put in placed)
        if sample.aliasing == "view":
            assert changed, f"{what}: the result is a copy, expected a view of the input"
        else:
            assert not changed, f"{what}: the result shares memory with an input"


def check_call(
    sample: Sample,
    dtype: DType,
    target: Target,
    args: tuple[Any, ...],
    layouts: Any,
    what: str,
    expected: Expected | None = None,
) -> Expected:
    """One call in one layout: results, inputs unchanged, aliasing. Returns what was *expected*, found out if None."""
    tensors, wide_args, placed = place(args, layouts, target.device)
    kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, args)
    with target.watching():
        results = function_of(sample)(*tensors, **kwargs)
    for position, put in enumerate(placed):
        put.assert_unchanged(f"{what}: input {position}")
    for one in outputs_of(results):
        if isinstance(one, polyad.Tensor):
            assert one.device == target.full_device, (
                f"{what}: the result is on {one.device}, expected {target.full_device}"
            )
    if expected is None:
        expected = Expected.of(sample, dtype, wide_args, wide_kwargs)
    undeclared = sorted({one.name for one in expected.dtypes if one not in target.dtypes})
    if undeclared:
        raise UnsupportedByDeclaration(
            f"{sample.label} gives {undeclared[0]} where that is declared; {target.full_device} does not declare it"
        )
    assert_results(sample, expected, results, wide_args, wide_kwargs, what)
    if abstract.has_ends(sample, dtype):
        with target.unwatched():
            abstract.check_abstract(sample, tensors, kwargs, results, placed, target, what)
    assert_aliasing(sample, results, placed, what)
    return expected


def check_values(sample: Sample, dtype: DType, target: Target) -> None:
    """Value, dtype and shape, with inputs that are contiguous and in every layout that their shapes allow."""
    args, what = draw(sample, dtype, target.seed), f"{sample.label} {dtype.name}"
    expected = check_call(sample, dtype, target, args, (contiguous,), what)
    for name, layouts in LAYOUTS.items():
        if sample.layouts and (name != "expanded" or sample.expand):
            same = None if name == "expanded" else expected  # repeating elements changes what must come out
            check_call(sample, dtype, target, args, layouts, f"{what} {name}", same)


def check_special(sample: Sample, dtype: DType, target: Target) -> None:
    """NaN, infinities and signed zeros among the inputs, in all pairs and one at a time."""
    args = draw(sample, dtype, target.seed)
    for what, special in special_inputs(sample, dtype, args, target.seed):
        check_call(sample, dtype, target, special, (contiguous,), f"{sample.label} {dtype.name} with {what}")


def special_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtypes of *sample* in which special values are tested; complex infinities are nobody's contract."""
    return tuple(dtype for dtype in sample.dtypes if dtype in REAL_FLOATS) if sample.special else ()


def special_inputs(
    sample: Sample, dtype: DType, args: tuple[Any, ...], seed: int
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The arguments with special values planted in the floating arrays."""
    floating = [
        i for i, value in enumerate(args) if isinstance(value, np.ndarray) and value.dtype.kind in "fV" and value.size
    ]
    if not floating:
        return
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5]
    for shift in range(len(values) if len(floating) > 1 else 1):
        planted = list(args)
        for rank, position in enumerate(floating):
            array = args[position].copy()
            cells = (
                np.arange(array.size)
                if array.size > 1
                else generator(sample, dtype, seed + shift + 7 * rank).integers(0, 6, 1)
            )
            array.flat = np.take(values, (cells + rank * shift) % len(values)).astype(array.dtype)
            planted[position] = array
        yield "special values everywhere", tuple(planted)
    random = generator(sample, dtype, seed + 1)
    for value in values[:5]:
        for position in floating:
            planted = list(args)
            array = args[position].copy()
            array.flat[random.integers(array.size)] = value
            planted[position] = array
            yield f"one {value} in input {position}", tuple(planted)


def check_method(sample: Sample, dtype: DType, target: Target) -> None:
    """The Tensor method gives, bit for bit, what the function gives."""
    args = draw(sample, dtype, target.seed)
    tensors, _, _ = place(args, (contiguous,), target.device)
    kwargs, _ = kwargs_of(sample, dtype, target.device, args)
    with target.watching():
        from_function = outputs_of(function_of(sample)(*tensors, **kwargs))
        name = sample.op.rpartition(".")[2]
        method = as_called(sample, lambda first, *rest, **named: getattr(first, name)(*rest, **named))
        from_method = outputs_of(method(*tensors, **kwargs))
    for one, other in zip(from_function, from_method, strict=True):
        assert one.dtype is other.dtype, f"method {sample.op} gives {other.dtype}, the function {one.dtype}"
        assert to_host(one).tobytes() == to_host(other).tobytes(), f"method {sample.op} differs from the function"


def has_method(sample: Sample) -> bool:
    """Whether the sample's first argument is a tensor whose method the op is, and nothing in it is random."""
    public = PUBLIC.get(sample.op)
    if public is None or not public.method or "generator" in inspect.signature(public.call).parameters:
        return False
    try:
        first = draw(sample, sample.dtypes[0], 0)[:1]
    except Exception:
        return False
    return bool(first) and isinstance(first[0], np.ndarray)
