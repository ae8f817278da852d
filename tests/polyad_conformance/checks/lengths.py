"""Lengths around those of vectors and blocks of work, for every op that says how it may be made longer.

A kernel handles what is no whole vector, or no whole block, by other code than the rest; what lies beyond a block, or
beyond 65,536 elements, is seldom in a sample. An op's own sample is made as long as wanted, in each of its dtypes:

    pointwise    its elements are repeated, and so are those of its reference
    reduction    a row whose last element decides: the extreme, the one that is not zero, NaN; the reference computes it
    rowwise      a row of other numbers than the last one, which is the largest

Where additions would hide an element of many in rounding errors, they are of whole numbers, which are exact, or in
the widest dtype of the device. What has no such structure is in `large`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import DType, float32
from polyad.dispatch.op import OPS, PUBLIC, Op
from polyad.dispatch.structure import Last, Pointwise, Reduction, Rowwise

from ..calls import Expected, Target, draw, function_of, kwargs_of, outputs_of, reference_of
from ..layouts import to_host
from ..sample import BOOL, REAL_FLOATS, Sample
from ..samples import families
from ..tolerance import allowed_error, assert_equal, largest, wide
from .gradients import at, differentiable, floating, gradient_dtypes

TAILS = (3, 5, 8, 15, 17)
BLOCKS = (1023, 1025)
GRID = 65537
"""Lengths that leave one element, or all but one, to the last vector of 4, 8 and 16, to the last block of 1,024, and
one beyond what 16 bits count."""


def op_of(sample: Sample) -> Op | None:
    """The op that a sample calls with that op's own operands, by its or a function's name."""
    name = sample.op.rpartition(".")[2].removeprefix("_")
    public = PUBLIC.get(sample.op)
    if name == "logsigmoid":
        return OPS["log_sigmoid"]
    return OPS.get(name) or (None if public is None else public.op or public.fronts)


def grows(op: Op) -> bool:
    """Whether an op says how it may be made longer."""
    if isinstance(op.structure, Rowwise):
        return isinstance(op.structure.dims, str) and not op.name.startswith("fft_")
    if isinstance(op.structure, Reduction):
        return not isinstance(op.structure.dims, Last)
    return isinstance(op.structure, Pointwise)


def _fits(sample: Sample, op: Op) -> bool:
    """Whether the sample's arrays are the op's operands, of one shape but for single numbers."""
    dtype = sample.dtypes[-1]
    args = draw(sample, dtype, 0)
    if not any(is_long(one) for one in args):
        return False
    if not isinstance(op.structure, Pointwise):
        return is_long(args[0])
    if sample.name == "1-d":
        return True
    whole = _shape(args)
    _, kwargs = kwargs_of(sample, dtype, "cpu", args)
    return whole is not None and reference_of(sample, wide(args), kwargs)[0].shape == whole


def _shape(args: Any) -> tuple[int, ...] | None:
    """The shape to which the arrays with more than one element broadcast; None if they do not."""
    try:
        return np.broadcast_shapes(*[one.shape for one in args if is_long(one)])
    except ValueError:
        return None


def is_long(value: Any) -> bool:
    """Whether a value is an array of more than one element."""
    return isinstance(value, np.ndarray) and value.size > 1


@cache
def representatives() -> dict[str, Sample]:
    """For each op that `grows`, the sample that is made longer: of one dimension if there is such, else the first."""
    found: dict[str, list[Sample]] = {}
    for samples, _ in families().values():
        for sample in samples:
            op = op_of(sample)
            if op is not None and grows(op) and sample.call is None and sample.holds is None and sample.layouts:
                found.setdefault(op.name, []).append(sample)
    chosen = {}
    for name, samples in found.items():
        samples.sort(key=lambda sample: (sample.name != "1-d", len(sample.op)))
        fitting = next((sample for sample in samples if _fits(sample, OPS[name])), None)
        if fitting is not None:
            chosen[name] = fitting
    return chosen


@cache
def _chosen() -> frozenset[int]:
    return frozenset(id(sample) for sample in representatives().values())


def length_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtypes in which a sample is made longer: all of its own, if it is the one of its op for that."""
    return sample.dtypes if id(sample) in _chosen() else ()


def lengths(sample: Sample, dtype: DType, target: Target) -> tuple[int, ...]:
    """All lengths; the largest, which takes most of the time, in float32 and in the widest dtype alone."""
    widest = [one for one in sample.dtypes if one in target.dtypes][-1]
    return (*TAILS, *BLOCKS, GRID) if dtype in (float32, widest) else (*TAILS, *BLOCKS)


def check_lengths(sample: Sample, dtype: DType, target: Target) -> None:
    """Each length gives what the reference, or its repetition, says."""
    op = op_of(sample)
    assert op is not None
    if isinstance(op.structure, Pointwise):
        _check_pointwise(sample, dtype, target)
    else:
        _check_rows(sample, op, dtype, target)


def _call(sample: Sample, dtype: DType, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensors = tuple(polyad.tensor(one, device=target.device) if isinstance(one, np.ndarray) else one for one in args)
    with target.watching():
        return outputs_of(function_of(sample)(*tensors, **kwargs))


# ------------------------------------------------------------------------------------------------ pointwise


def _repeated(value: Any, length: int) -> Any:
    """An array as often as it fits; a number as it is."""
    return np.resize(value, length) if np.ndim(value) else value


def _longer(args: Any, length: int) -> tuple[Any, ...]:
    return tuple(np.resize(one, length) if is_long(one) else one for one in args)


def _check_pointwise(sample: Sample, dtype: DType, target: Target) -> None:
    args = draw(sample, dtype, target.seed)
    kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, args)
    whole = _shape(args)
    flat = tuple(np.broadcast_to(one, whole).reshape(-1) if is_long(one) else one for one in args)
    expected = Expected.of(sample, dtype, wide(flat), wide_kwargs)
    for length in lengths(sample, dtype, target):
        what = f"{sample.label} {dtype.name}, {length} elements"
        results = _call(sample, dtype, target, _longer(flat, length), kwargs)
        for got, reference, result, allowed in zip(results, expected.references, expected.dtypes, expected.allowed):
            assert_equal(to_host(got), _repeated(reference, length), result, _repeated(allowed, length), what)
    if dtype in gradient_dtypes(sample) and dtype.itemsize >= 4:
        _check_gradients(sample, dtype, target, flat, kwargs)


def _gradients(sample: Sample, dtype: DType, target: Target, args: Any, kwargs: Any, period: int) -> list[np.ndarray]:
    """The gradients of the args that have them, for incoming gradients that repeat themselves after *period*."""
    tensors = [polyad.tensor(one, device=target.device) if isinstance(one, np.ndarray) else one for one in args]
    inputs = [at(tensors, path).requires_grad_() for path in differentiable(sample, dtype, args)]
    with target.watching():
        outputs = [one for _, one in floating(function_of(sample)(*tensors, **kwargs))]
        arriving = np.resize([1, -2, 3], period)
        incoming = [
            polyad.tensor(np.resize(arriving, one.shape), dtype=one.dtype, device=target.device) for one in outputs
        ]
        return [to_host(one) for one in polyad.autograd.grad(outputs, inputs, grad_outputs=incoming)]


def _check_gradients(sample: Sample, dtype: DType, target: Target, flat: Any, kwargs: Any) -> None:
    """The gradients of repeated elements are the repeated gradients; those of the few are tested elsewhere."""
    period = max(one.size for one in flat if isinstance(one, np.ndarray))
    few = _gradients(sample, dtype, target, flat, kwargs, period)
    for length in (n for n in lengths(sample, dtype, target) if n > period):
        many = _gradients(sample, dtype, target, _longer(flat, length), kwargs, period)
        for one, other in zip(few, many, strict=True):
            if other.shape != (length,):
                continue
            reference = np.resize(wide(one), length)
            # Both are off from the truth by as much as the sample allows.
            allowed = allowed_error(dtype, reference, steps=4 * sample.steps, length=0, magnitude=largest(wide(one)))
            what = f"{sample.label} {dtype.name}, {length} elements: the gradient"
            assert_equal(other, reference, dtype, allowed, what)


# ------------------------------------------------------------------------------------------------ rows


def _with_last(row: np.ndarray, last: Any, length: int) -> np.ndarray:
    """The elements of *row* that are not *last* again and again, and *last* at the end."""
    others = row[row != last]
    made = np.resize(others if others.size else row, length)
    made[-1] = last
    return made


def _rows(op: Op, sample: Sample, dtype: DType, row: np.ndarray, length: int) -> Iterator[tuple[str, np.ndarray, bool]]:
    """Rows of a *length*, what is special about each, and whether sums of them are exact."""
    structure = op.structure
    combine = structure.combine if isinstance(structure, Reduction) else None
    if combine in ("sum", "mean") or op.name == "cumsum":
        # The sum of what a mean is taken of is past the largest float16.
        number = 128 if combine == "mean" else 1
        values = (np.arange(3) * number).astype(row.dtype)
        yield "whole numbers", _with_last(values, values[1], length), True
        if dtype in BOOL:
            yield "True everywhere", np.ones(length, bool), True
    elif combine == "prod" or op.name == "cumprod":
        yield "1 and -1", _with_last(np.array([1, -1, 1]).astype(row.dtype), row.dtype.type(3), length), True
    elif (isinstance(structure, Reduction) and combine is None) or isinstance(structure, Rowwise):
        key = wide(row)
        largest = row[int(np.argmax(key.real if np.iscomplexobj(key) else key))]
        yield "the largest at the end", _with_last(row, largest, length), False
        if dtype in REAL_FLOATS and dtype.itemsize >= 4:
            # So much larger that exponentials overflow unless it is subtracted.
            yield "a much larger one at the end", _with_last(row, row.dtype.type(1000), length), False
    else:
        key = wide(row)
        for place in (int(np.argmin(key)), int(np.argmax(key))):
            yield f"{row[place]} at the end", _with_last(row, row[place], length), False
            both = _with_last(row, row[place], length)
            both[0] = row[place]
            yield f"{row[place]} at both ends", both, False
        if dtype in REAL_FLOATS and sample.special:
            unknown = np.resize(row, length)
            unknown[-1] = np.nan
            yield "nan at the end", unknown, False
            unknown = np.resize(row, length)
            unknown[0] = np.nan
            yield "nan at the beginning", unknown, False


def _check_rows(sample: Sample, op: Op, dtype: DType, target: Target) -> None:
    args = draw(sample, dtype, target.seed)
    kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, args)
    for given in (kwargs, wide_kwargs):
        if given.get("dim") is not None:
            given["dim"] = 0
    row = args[0].reshape(-1)
    for length in (n for n in lengths(sample, dtype, target) if n > 8):
        for special, values, exact in _rows(op, sample, dtype, row, length):
            long = (values, *args[1:])
            bound = {"length": 0, "magnitude": None} if exact else {"length": length}
            expected = Expected.of(dataclasses.replace(sample, **bound), dtype, wide(long), wide_kwargs)
            results = _call(sample, dtype, target, long, kwargs)
            what = f"{sample.label} {dtype.name}, {length} elements, {special}"
            for got, reference, result, allowed in zip(results, expected.references, expected.dtypes, expected.allowed):
                assert_equal(to_host(got), reference, result, allowed, what)
