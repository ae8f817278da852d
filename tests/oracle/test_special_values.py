"""Elementwise functions at zeros of both signs, infinities, nan, the largest and smallest numbers, and their gradients
for incoming gradients of 0 and 1.

A call is a sample whose arrays are exchanged for a grid: every special value, or every pair of them. Only what each
element gives by itself is compared, so a sample takes part if PyTorch gives the same for half of the grid.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from polyad.base.dtypes import DType, complex64, complex128, finfo, float16, float32, float64
from polyad.dispatch.op import PUBLIC
from polyad.interop.numpy import numpy_dtype
from polyad_conformance.tolerance import wide

from .calls import Call, Given, contiguous, leaves, mapped
from .forms import basic_form
from .judgement import disagreements, report
from .libraries import POLYAD, TORCH
from .outcomes import Mismatch, Result, observe
from .templates import Template, bound_of, compared_paths, is_random, templates_of

DTYPES = (float16, float32, float64, complex64, complex128)
FEW = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, np.inf, -np.inf, np.nan)
MANY = (*FEW, -0.5, -2.0, 3.0, 1.5, -1.5, 2.5, 6.0, -6.0, 20.0, -20.0, 90.0, -90.0, 1e-3, 1e4, -1e4)
PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan)

SIGNS_LEFT_OPEN = frozenset(
    {
        # Extremes of 0 and -0: PyTorch's differ between dtypes, and between the ends of an array and its middle.
        "maximum", "minimum", "fmax", "fmin", "clamp", "clip", "relu", "relu_", "relu6", "softshrink",
        # Where rounding, or a root in place of a power, leaves a zero.
        "lerp", "logaddexp2", "pow", "soft_margin_loss",
    }
)  # fmt: skip
"""Functions with zeros of which neither C nor IEEE 754 says the sign."""


def grid(dtype: DType, alone: bool) -> np.ndarray:
    """The special numbers of *dtype*, more of them for a function of one."""
    limits = finfo(dtype)
    ends = (limits.max, -limits.max, limits.smallest_normal, -limits.smallest_normal, limits.eps / 8)
    if not dtype.is_complex:
        values = np.array([*(MANY if alone else FEW), *ends])
    else:
        near = (1e-10, 1e10, limits.eps / 8, limits.max) if alone else ()
        parts = (
            (*PARTS, *near) if alone else (*PARTS[:5], np.nan)
        )  # a product of complex infinities is nobody's contract
        values = np.empty(len(parts) ** 2, complex)
        values.real, values.imag = np.array(list(itertools.product(parts, repeat=2))).T
    return values.astype(numpy_dtype(dtype))


def calls(path: str) -> Iterator[Call]:
    """The function's samples, of special values."""
    seen = set()
    for template in templates_of(path):
        dtypes = [dtype for dtype in DTYPES if dtype in template.dtypes]
        if not dtypes or not is_elementwise(with_grid(template, dtypes[0])):
            continue
        for dtype in dtypes:
            if path == "pow" and dtype.is_complex:  # powers of complex infinities are nobody's contract
                continue
            call = basic_form(with_grid(template, dtype))
            shown = repr((dtype, call.args[1:] if len(call.givens()) == 1 else call.args, call.kwargs))
            if shown not in seen:
                seen.add(shown)
                yield call


def with_grid(template: Template, dtype: DType) -> Call:
    """The call with every array of *dtype* exchanged for special values."""
    args, kwargs = template.draw(dtype, 0)
    main = numpy_dtype(dtype)
    arrays = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, np.ndarray)]
    count = sum(array.dtype == main for array in arrays)
    values = grid(dtype, count <= 1)
    size = len(values) ** min(max(count, 1), 2)
    turn = iter(range(len(arrays)))

    def exchanged(array: np.ndarray) -> Given:
        if array.dtype != main:
            return contiguous(np.resize(array, size))
        place = next(turn)
        if place == 0:
            return contiguous(np.tile(values, size // len(values)))
        # From the third on in another order, so that it meets many pairs.
        every = np.repeat(values, size // len(values)) if place == 1 else np.resize(np.roll(values[::-1], place), size)
        return contiguous(every)

    return Call(
        template.path, *(mapped(tree, np.ndarray, exchanged) for tree in (args, kwargs)),
        reference=template.reference, magnitude=template.magnitude,
    )  # fmt: skip


def is_elementwise(call: Call) -> bool:
    """Whether every element of PyTorch's results comes of the elements at its place."""
    if not call.givens():
        return False
    size = call.givens()[0].shape

    def half(given: Given) -> Given:
        return contiguous(given.values[::-2])

    whole = observe(TORCH, call)
    parts = observe(TORCH, replace(call, args=mapped(call.args, Given, half), kwargs=mapped(call.kwargs, Given, half)))
    if whole.error is not None or parts.error is not None or not whole.results:
        return False
    return all(
        isinstance(one, Result)
        and isinstance(one.dtype, DType)
        and one.shape == size
        and np.allclose(wide(one.values)[::-2], wide(part.values), 0.01, 0, equal_nan=True)
        for one, part in zip(whole.results, parts.results)
    )


def wrong_signs(call: Call) -> list[Mismatch]:
    """Zeros whose sign PyTorch has otherwise."""
    found: list[Mismatch] = []
    if call.name in SIGNS_LEFT_OPEN:
        return found
    ours, theirs = observe(POLYAD, call), observe(TORCH, call)
    for one, other in zip(ours.results, theirs.results):
        if not one.dtype.is_floating_point:  # the parts of complex numbers have signs by the order of operations
            continue
        left, right = wide(one.values), wide(other.values)
        wrong = (left == 0) & (right == 0) & (np.signbit(left) != np.signbit(right))
        if wrong.any():
            inputs = [str(given.values[wrong][0]) for given in call.givens()]
            found.append(Mismatch("sign of zero", f"of {', '.join(inputs)}: {left[wrong][0]}", wrong))
    return found


PACKAGES = (".ops.pointwise.", ".ops.special.", ".activation.", ".losses.")
"""Where elementwise functions are declared."""

NOT_COMPARED = frozenset({"i1", "zeta", "polygamma", "igamma", "igammac", "gammainc", "gammaincc"})
"""Functions whose limits at infinity, or at nan, PyTorch gives by conventions of its own, or not at all."""

PATHS = [
    path
    for path in compared_paths()
    if path in PUBLIC
    and path.rpartition(".")[2] not in NOT_COMPARED
    and not is_random(path)
    and any(package in PUBLIC[path].module for package in PACKAGES)
]


@pytest.mark.parametrize("path", PATHS)
def test_special_values(path: str) -> None:
    found = []
    bound = bound_of(path)
    for call in calls(path):
        for one in [call, *(replace(call.with_gradients(), incoming=incoming) for incoming in (0.0, 1.0))]:
            found += [(one, mismatch) for mismatch in disagreements(one, bound)]
        found += [(call, mismatch) for mismatch in wrong_signs(call)]
    assert not found, report(found)
