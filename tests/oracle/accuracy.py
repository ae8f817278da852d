"""How far apart the two libraries' results may be.

Both round. With u = eps / 2, a result that went through ``steps`` operations is off by about ``steps * eps`` times the
largest magnitude on the way, and a sum of ``length`` terms adds ``length * eps(accumulator)``; see
`polyad_conformance.tolerance`, from which the figures of each op are taken (the largest of its samples). Two results
may be off in opposite directions:

    allowed = 2 * ((steps + 1) * eps(dtype) + length * eps(accumulator)) * magnitude + smallest_normal(dtype)

A difference beyond that is excused in one case only: where PyTorch itself is that far from the truth. The truth is
what the conformance sample's reference gives (NumPy, SciPy or mpmath, in wide arithmetic), and polyad's result must be
within the bound of it. For a call in float16, bfloat16, float32 or complex64 it is also what PyTorch gives for the same
call in float64 or complex128; polyad may be as far from that as the bound says, or twice as far as PyTorch is. In
float64 and complex128 there is the conditioning: where changing the inputs by a relative eps (which is what any
rounding on the way in does) changes PyTorch's own result, polyad may be off by eight times that change.

Gradients: the same with twice the steps, and the largest gradient plus 1 for magnitude, since incoming gradients are of
size 1. Integers and bool are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyad.base.dtypes import (
    DType,
    bfloat16,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
)
from polyad.interop.numpy import polyad_dtype
from polyad_conformance.tolerance import eps, is_inexact, largest, wide

from .calls import Call, Given, leaves, mapped


@dataclass(frozen=True)
class Bound:
    """What is known about a function's accuracy.

    Attributes:
        steps: roundings on the way to a result.
        sums: whether elements are added up, as many as there are in the inputs and the result.
        values: False where only dtype and shape are defined, as for random numbers.
        memory: False where strides and sharing are not compared.
    """

    steps: int = 2
    sums: bool = False
    values: bool = True
    memory: bool = True


def difference(kind: str, where: str, ours: np.ndarray, theirs: np.ndarray, call: Call, bound: Bound) -> list[Any]:
    """A list of one `Mismatch`, or of none."""
    from .outcomes import Mismatch

    if not bound.values and (kind != "written" or call.form in ("in place", "out")):
        return []
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return [Mismatch(kind, f"{where}: {ours.dtype} {ours.shape}, PyTorch {theirs.dtype} {theirs.shape}")]
    if ours.tobytes() == theirs.tobytes():
        return []
    dtype = polyad_dtype(ours.dtype)
    if not is_inexact(dtype):
        wrong = ours != theirs
        return [Mismatch(kind, _text(where, ours, theirs, wrong))] if wrong.any() else []
    if call.form in ("in place", "out"):
        dtype = computed_in(call, dtype)
    left, right = np.asarray(wide(ours)), np.asarray(wide(theirs))
    allowed = allowance(dtype, right, call, bound, kind)
    wrong = unequal(left, right, allowed, dtype)
    if wrong.any():
        wrong = wrong & ~_excused(kind, where, left, right, allowed, dtype, call, bound)
    if not wrong.any():
        return []
    if kind == "gradient" and not np.isfinite(right[wrong]).any():
        kind = "gradient that is lost"
    return [Mismatch(kind, _text(where, left, right, wrong, allowed), wrong)]


def computed_in(call: Call, dtype: DType) -> DType:
    """The dtype in which the call rounds, if its result is written to a tensor of *dtype*: the inputs' coarsest."""
    inputs = [
        value.dtype
        for value in leaves((call.args, {k: v for k, v in call.kwargs.items() if k != "out"}))
        if isinstance(value, Given)
    ]
    floats = [one for one in inputs if is_inexact(one)] or [get_default_dtype()]
    return max((*floats, dtype), key=eps)


def allowance(dtype: DType, expected: np.ndarray, call: Call, bound: Bound, kind: str) -> np.ndarray:
    """What the module's docstring derives, for each element."""
    accumulator = float32 if dtype in (float16, bfloat16) else dtype
    steps, length = bound.steps + 1, 0
    values = [wide(given.values) for given in call.givens()]
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(expected), np.abs(expected), 0)
    if bound.sums:
        length = max([value.size for value in values] + [1]) + expected.size
        size = np.maximum(size, largest(values, [expected]))
    if call.magnitude is not None and kind in ("value", "written"):
        size = np.maximum(size, _evaluated(call, call.magnitude, expected.shape))
    if kind == "gradient":
        steps, size = 2 * (steps + 1), np.maximum(size, largest([expected]) + 1)
    return 2 * (steps * eps(dtype) + length * eps(accumulator)) * size + finfo(dtype).smallest_normal


def _evaluated(call: Call, function: Callable[..., Any], shape: tuple[int, ...]) -> Any:
    """What a sample's function gives for the call's arguments, 0 if they are none that it knows."""
    kwargs = {key: value for key, value in call.kwargs.items() if key != "out"}
    args, kwargs = mapped((tuple(call.args), kwargs), Given, lambda given: wide(given.values))
    try:
        with np.errstate(all="ignore"):
            found = np.nan_to_num(np.asarray(function(*args, **kwargs), float), posinf=0.0)
        return np.broadcast_to(found, shape)
    except Exception:
        return 0.0


def unequal(left: np.ndarray, right: np.ndarray, allowed: np.ndarray, dtype: DType) -> np.ndarray:
    """Where two arrays differ by more than is allowed."""
    with np.errstate(all="ignore"):
        near = np.abs(left - right) <= allowed
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        if left.dtype.kind == "c":
            # What is infinite in one part may be NaN in the other: C leaves that open, and so do both libraries.
            same |= ~np.isfinite(left) & ~np.isfinite(right)
        else:
            # Where one overflows, the other may be just below.
            limit = finfo(dtype).max * (1 - 4 * eps(dtype))
            alike = np.signbit(left) == np.signbit(right)
            same |= alike & (np.abs(left) >= limit) & (np.abs(right) >= limit)
    return np.asarray(~(near | same))


def _excused(
    kind: str,
    where: str,
    left: np.ndarray,
    right: np.ndarray,
    allowed: np.ndarray,
    dtype: DType,
    call: Call,
    bound: Bound,
) -> np.ndarray:
    """Where PyTorch itself is as far from the truth, or its result as sensitive."""
    nothing = np.zeros(left.shape, bool)
    if kind == "written" and call.form not in ("in place", "out"):
        return nothing
    reference = _referenced(call, kind, where)
    if reference is not None and reference.shape == left.shape:
        nothing = ~unequal(left, reference, allowance(dtype, reference, call, bound, kind), dtype)
        if nothing.all():
            return nothing
    if dtype in (float64, complex128):
        moved = [_again(call, kind, where, factor) for factor in (1 + 2 * eps(float64), 1 - 2 * eps(float64))]
        if any(one is None or one.shape != right.shape for one in moved):
            return nothing
        with np.errstate(all="ignore"):
            change = np.maximum(*[np.abs(one - right) for one in moved])
            return nothing | (np.abs(left - right) <= allowed + 8 * change)
    truth = _again(call, kind, where, None)
    if truth is None or truth.shape != right.shape:
        return nothing
    with np.errstate(all="ignore"):
        theirs = np.abs(right - truth)
        worst = np.nanmax(np.where(np.isfinite(theirs), theirs, 0), initial=0.0)
        ours_near = ~unequal(left, truth, allowed, dtype)
        return nothing | ours_near | (np.abs(left - truth) <= 2 * worst)


def _referenced(call: Call, kind: str, where: str) -> np.ndarray | None:
    """What the sample's reference gives for the call's arguments; None if it does not take them."""
    if call.reference is None or kind != "value":
        return None
    args = tuple(mapped(tuple(call.args), Given, lambda given: wide(given.values)))
    kwargs = {key: value for key, value in call.kwargs.items() if key != "out"}
    kwargs = mapped(kwargs, Given, lambda given: wide(given.values))
    try:
        with np.errstate(all="ignore"):
            found = call.reference(*args, **kwargs)
            if isinstance(found, (list, tuple)):
                found = found[int(where.rpartition(" ")[2])]
            return np.asarray(wide(np.asarray(found)))
    except Exception:
        return None


def _again(call: Call, kind: str, where: str, factor: float | None) -> np.ndarray | None:
    """PyTorch's result for float64 inputs (*factor* None) or for inputs times *factor*; None if there is none."""
    from .libraries import TORCH
    from .outcomes import Result, observe

    def changed(given: Given) -> Given:
        memory = given.memory
        if memory.dtype.kind in "iub":
            return given
        if factor is None:
            memory = wide(memory)
        else:
            memory = memory * np.asarray(factor, memory.dtype)
        return replace(given, memory=memory)

    wider = {float16: float64, bfloat16: float64, float32: float64, complex64: complex128}

    def rewritten(tree: Any) -> Any:
        tree = mapped(tree, Given, changed)
        return mapped(tree, DType, lambda one: wider.get(one, one)) if factor is None else tree

    outcome = observe(TORCH, replace(call, args=rewritten(tuple(call.args)), kwargs=rewritten(dict(call.kwargs))))
    if outcome.error is not None:
        return None
    position = int(where.rpartition(" ")[2]) if where[-1].isdigit() else 0
    if kind == "gradient":
        found: Any = outcome.gradients[position] if position < len(outcome.gradients) else None
    elif kind == "written":
        found = outcome.memories[position]
    else:
        result = outcome.results[position]
        found = result.values if isinstance(result, Result) else None
    return None if found is None else np.asarray(wide(found))


def _text(where: str, ours: np.ndarray, theirs: np.ndarray, wrong: np.ndarray, allowed: Any = None) -> str:
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    text = f"{where}{list(place)} is {ours[place]}, PyTorch's {theirs[place]}"
    if allowed is not None:
        limit = float(np.broadcast_to(allowed, wrong.shape)[place])
        text += f"; allowed {limit:.2g}"
    return f"{text}; {int(wrong.sum())} of {wrong.size} differ"
