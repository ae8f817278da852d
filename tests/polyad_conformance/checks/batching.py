"""vmap: what a function of one sample gives for each sample of a batch, against the function called with each."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import DType, bfloat16, float16
from polyad.func import vjp, vmap
from polyad.transforms.batching import LoopWarning, Unbatchable

from ..calls import Target, draw, function_of, kwargs_of, magnitude_of, outputs_of, reference_of
from ..layouts import contiguous, place, to_host
from ..sample import FLOATS, OnlyShape, Sample
from ..tolerance import allowed_error, assert_equal, eps, is_inexact, wide
from .gradients import at, differentiable, floating, replaced

BATCH = 2

DECIDED_BY_DATA = {
    "_index", "_index_put", "argwhere", "bincount", "ctc_loss", "histc", "histogram", "masked_scatter", "masked_select",
    "nn.functional.ctc_loss", "nn.functional.embedding_bag", "nn.functional.one_hot", "nonzero", "repeat_interleave",
    "unique", "unique_consecutive",
}  # fmt: skip
"""Functions that read the data of some argument, since the shape of what they compute depends on it: they may refuse to
be mapped over that argument, and over nothing else."""


def batching_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtypes in which the sample is mapped: floating ones but halves, or the last of others."""
    wide = tuple(dtype for dtype in sample.dtypes if dtype in FLOATS and dtype not in (float16, bfloat16))
    return wide or sample.dtypes[-1:]


def gradient_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtypes in which the sample's gradient is taken inside of vmap."""
    return tuple(dtype for dtype in batching_dtypes(sample) if dtype in FLOATS) if sample.gradient else ()


def check_batch(sample: Sample, dtype: DType, target: Target) -> None:
    """The sample mapped over all arrays, and if there are several, over each but the first and over the first alone."""
    drawn = [draw(sample, dtype, target.seed + number) for number in range(BATCH)]
    if len({str(_frame(args)) for args in drawn}) > 1:
        drawn = [drawn[0]] * BATCH
    count = _count(drawn[0])
    everything = set(range(count))
    # The batch is the first dimension, or the last: then samples lie interleaved in memory.
    last = -1 if sample.layouts else 0
    batches = [(everything, 0), ({0}, last), (everything - {0}, 0)] if count > 1 else [({0}, last)] if count else []
    for mapped, dim in batches:
        try:
            _check(sample, dtype, target, drawn, mapped, dim)
        except Unbatchable:
            if sample.op not in DECIDED_BY_DATA:
                raise


def _check(
    sample: Sample, dtype: DType, target: Target, drawn: list[tuple[Any, ...]], mapped: set[int], dim: int
) -> None:
    # What is not mapped is the first draw's, for all samples.
    args = [_mixed(one, drawn[0], mapped, [0]) for one in drawn]
    tensors, _, _ = place(_stacked(args, mapped, dim, [0]), (contiguous,), target.device)
    kwargs, _ = kwargs_of(sample, dtype, target.device, drawn[0])
    function = function_of(sample)
    flat: list[Any] = []
    rebuilt = _taken_apart(tensors, flat)

    def of_one(*given: Any) -> Any:
        return outputs_of(function(*_put_together(rebuilt, iter(given)), **kwargs))

    dims = tuple(dim if number in mapped else None for number in range(len(flat)))
    what = f"{sample.label} {dtype.name} over {sorted(mapped)}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopWarning)
        results = vmap(of_one, in_dims=dims, randomness="same")(*flat)
    for number, one in enumerate(args):
        tensors, wide_args, _ = place(one, (contiguous,), target.device)
        kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, one)
        alone = outputs_of(function(*tensors, **kwargs))
        reference = reference_of(sample, wide_args, wide_kwargs)
        magnitude = magnitude_of(sample, wide_args, wide_kwargs, reference)
        assert len(alone) == len(results), f"{what}: {len(results)} results, {len(alone)} of a sample alone"
        for got, expected, defined in zip(results, alone, reference):
            assert got.dtype is expected.dtype, f"{what}: {got.dtype}, of a sample alone {expected.dtype}"
            if isinstance(defined, OnlyShape):
                assert tuple(got.shape[1:]) == defined.shape, f"{what}: shape {tuple(got.shape)}"
                continue
            near = wide(to_host(expected))
            allowed: Any = 0.0
            if is_inexact(got.dtype):
                # Each of the two may be off by as much.
                allowed = 2 * allowed_error(
                    got.dtype, near, steps=sample.steps, length=sample.length, magnitude=magnitude
                )
            assert_equal(to_host(got[number]), near, got.dtype, allowed, what)


def check_batch_gradient(sample: Sample, dtype: DType, target: Target) -> None:
    """Gradients taken inside of vmap against those of each sample alone; and a batch of incoming gradients at once."""
    drawn = [draw(sample, dtype, target.seed + number) for number in range(BATCH)]
    if len({str(_frame(args)) for args in drawn}) > 1:
        drawn = [drawn[0]] * BATCH
    paths = differentiable(sample, dtype, drawn[0])
    kwargs, _ = kwargs_of(sample, dtype, target.device, drawn[0])
    function = function_of(sample)
    tensors, _, _ = place(drawn[0], (contiguous,), target.device)
    batches = [polyad.tensor(np.stack([at(args, path) for args in drawn]), device=target.device) for path in paths]

    def results(*inputs: Any) -> Any:
        called = tensors
        for path, one in zip(paths, inputs):
            called = replaced(called, path, one)
        return tuple(one for _, one in floating(function(*called, **kwargs)))

    def gradients(*inputs: Any) -> Any:
        outputs, vjp_fn = vjp(results, *inputs)
        return vjp_fn(tuple(polyad.ones_like(one) for one in outputs))

    def alone(number: int) -> Any:
        nonlocal tensors  # a generator among them begins again
        tensors, _, _ = place(draw(sample, dtype, target.seed), (contiguous,), target.device)
        return vjp(results, *[batch[number] for batch in batches])

    what = f"{sample.label} {dtype.name}: gradient"
    terms, singles = 0, []
    for number in range(BATCH):
        outputs, vjp_fn = alone(number)
        terms = sum(one.numel() for one in outputs)
        singles.append(vjp_fn(tuple(polyad.ones_like(one) for one in outputs)))
    outputs, vjp_fn = alone(0)
    factors = (1.0, -0.5)
    incoming = tuple(polyad.stack([polyad.full_like(one, factor) for factor in factors]) for one in outputs)
    expected_of_rows = [vjp_fn(tuple(one[number] for one in incoming)) for number in range(len(factors))]
    tensors, _, _ = place(draw(sample, dtype, target.seed), (contiguous,), target.device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopWarning)
        mapped = vmap(gradients, randomness="same")(*batches)
        rows = vmap(vjp_fn, randomness="same")(incoming)
    for got, wanted, name in ((mapped, singles, what), (rows, expected_of_rows, f"{what} of a batch of gradients")):
        for number, single in enumerate(wanted):
            for of_all, of_one in zip(got, single):
                expected = wide(to_host(of_one))
                size = float(np.abs(expected).max(initial=0.0)) + 1.0
                # The bound of checks.gradients, twice, as either may be off by as much.
                allowed = 2 * size * (4 * (sample.steps + 2) * eps(dtype) + (sample.length + terms) * eps(dtype))
                assert_equal(to_host(of_all[number]), expected, dtype, np.full(expected.shape, allowed), name)


def _frame(value: Any) -> Any:
    """What two draws must have in common to be samples of one batch."""
    if isinstance(value, (list, tuple)):
        return [_frame(one) for one in value]
    return (value.shape, value.dtype) if isinstance(value, np.ndarray) else value


def _count(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum(_count(one) for one in value)
    return int(isinstance(value, np.ndarray))


def _mixed(value: Any, constant: Any, mapped: set[int], counter: list[int]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_mixed(one, other, mapped, counter) for one, other in zip(value, constant))
    if not isinstance(value, np.ndarray):
        return value
    counter[0] += 1
    return value if counter[0] - 1 in mapped else constant


def _stacked(values: Any, mapped: set[int], dim: int, counter: list[int]) -> Any:
    """The arrays of several draws in the structure of one, those that are mapped with a dimension more."""
    first = values[0]
    if isinstance(first, (list, tuple)):
        return type(first)(_stacked([value[at] for value in values], mapped, dim, counter) for at in range(len(first)))
    if not isinstance(first, np.ndarray):
        return first
    counter[0] += 1
    return np.stack(values, dim) if counter[0] - 1 in mapped else first


def _taken_apart(value: Any, flat: list[Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_taken_apart(one, flat) for one in value)
    if isinstance(value, polyad.Tensor):
        flat.append(value)
        return _TENSOR
    return value


def _put_together(value: Any, given: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_put_together(one, given) for one in value)
    return next(given) if value is _TENSOR else value


_TENSOR = object()
