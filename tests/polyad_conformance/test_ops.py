"""Tier 1: every sample, through every check that applies to it."""

from __future__ import annotations

from polyad_conformance.checks import (
    batching,
    errors,
    extremes,
    forward,
    gradients,
    guards,
    integers,
    lengths,
    promotion,
    rounding,
    values,
    writing,
)
from polyad_conformance.items import over_checks, over_errors, over_samples


def one_of_each_kind(dtypes):
    """The last dtype of each category and size below 4 bytes: writing to ``out`` is a copy,
    which tier 0 tests for all of them.
    """
    return {(dtype.category, dtype.itemsize < 4): dtype for dtype in dtypes}.values()


@over_samples(lambda sample: sample.dtypes, counts=True)
def test_values(sample, dtype, target):
    values.check_values(sample, dtype, target)


@over_samples(lengths.length_dtypes)
def test_lengths(sample, dtype, target):
    lengths.check_lengths(sample, dtype, target)


@over_samples(extremes.extreme_dtypes)
def test_extremes(sample, dtype, target):
    extremes.check_extremes(sample, dtype, target)


@over_samples(integers.whole_range_dtypes)
def test_whole_range(sample, dtype, target):
    integers.check_whole_range(sample, dtype, target)


@over_samples(integers.pair_dtypes)
def test_pairs(sample, dtype, target):
    integers.check_pairs(sample, dtype, target)


@over_samples(lambda sample: sample.dtypes[-1:] if sample.aliasing == "none" else ())
def test_neighbours(sample, dtype, target):
    guards.check_neighbours(sample, dtype, target)


@over_samples(values.special_dtypes)
def test_special(sample, dtype, target):
    values.check_special(sample, dtype, target)


@over_samples(lambda sample: sample.dtypes[-1:] if values.has_method(sample) else ())
def test_method(sample, dtype, target):
    values.check_method(sample, dtype, target)


@over_samples(lambda sample: sample.dtypes if writing.has_inplace(sample) else ())
def test_inplace(sample, dtype, target):
    writing.check_inplace(sample, dtype, target)


@over_samples(lambda sample: gradients.second_gradient_dtypes(sample) if writing.has_inplace(sample) else ())
def test_inplace_history(sample, dtype, target):
    writing.check_inplace_history(sample, dtype, target)


@over_samples(lambda sample: one_of_each_kind(sample.dtypes) if writing.takes_out(sample) else ())
def test_out(sample, dtype, target):
    writing.check_out(sample, dtype, target)
    writing.check_out_is_input(sample, dtype, target)


@over_samples(gradients.gradient_dtypes)
def test_gradient(sample, dtype, target):
    gradients.check_gradient(sample, dtype, target)


@over_samples(gradients.second_gradient_dtypes)
def test_second_gradient(sample, dtype, target):
    gradients.check_second_gradient(sample, dtype, target)


@over_samples(forward.forward_dtypes, widest=True)
def test_forward(sample, dtype, target):
    forward.check_forward(sample, dtype, target)


@over_samples(forward.second_dtypes)
def test_forward_over_reverse(sample, dtype, target):
    forward.check_forward_over_reverse(sample, dtype, target)


@over_samples(batching.batching_dtypes, widest=True)
def test_batch(sample, dtype, target):
    batching.check_batch(sample, dtype, target)


@over_samples(batching.gradient_dtypes, widest=True)
def test_batch_gradient(sample, dtype, target):
    batching.check_batch_gradient(sample, dtype, target)


@over_errors
def test_error(case, target):
    errors.check_error(case, target)


@over_checks("nearest", "check", rounding.CHECKS, tier=1)
def test_rounding(check, target):
    check(target)


@over_checks("promotion", "op", promotion.OPS, tier=1)
def test_promotion(op, target):
    promotion.check_promotion(op, target)
