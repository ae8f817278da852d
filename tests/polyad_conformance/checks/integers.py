"""Integers that no narrower type holds, through kernels that move, compare, add and multiply them.

A kernel that computes or keeps int64 in float64 or in 32 bits is right for the small numbers of samples; so is one that
takes uint8 for int8, lets products saturate, or forgets that the smallest integer has no negative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import polyad
from polyad.dtypes import DType

from ..calls import Target, draw, result_dtypes
from ..layouts import contiguous, to_host
from ..sample import INTEGERS, Sample
from ..tolerance import is_inexact
from .values import check_call

WIDE = (np.arange(24).reshape(4, 6) * 0x123456789ABCD - 2**50) | 1
"""Numbers of 51 bits and more, near each other in pairs once 1 is taken from some; their sums have less than 63."""

Pairs = list[tuple[str, Callable[..., Any], Any]]


def _pairs(device: Any) -> Pairs:
    near = WIDE - 2 * (np.arange(WIDE.size).reshape(WIDE.shape) % 2) + 2**60
    other = near[::-1].copy()
    order = np.argsort(near[:, ::-1], axis=1)
    place = np.arange(24).reshape(4, 6) % 4
    scattered = np.zeros((4, 6), np.int64)
    np.add.at(scattered, (place, np.arange(6)[None, :].repeat(4, 0)), WIDE)
    with np.errstate(over="ignore"):
        product = WIDE @ WIDE.T

    def on(values: Any) -> Any:
        return polyad.tensor(values, device=device)

    return [
        ("maximum", lambda: polyad.maximum(on(near), on(near - 1)), near),
        ("minimum", lambda: polyad.minimum(on(near), on(near - 1)), near - 1),
        ("where", lambda: polyad.where(on(near > other), on(near), on(other)), np.where(near > other, near, other)),
        ("sort", lambda: on(near[:, ::-1].copy()).sort(1).values, np.take_along_axis(near[:, ::-1], order, 1)),
        ("cumsum", lambda: on(WIDE).cumsum(1), WIDE.cumsum(1)),
        ("sum", lambda: on(WIDE).sum(0), WIDE.sum(0)),
        ("prod", lambda: on(np.array([3, 2**31 + 1, 715827883])).prod(), np.int64(3 * (2**31 + 1) * 715827883)),
        ("pow", lambda: on(np.array([3, -7, 2097151])) ** 3, np.array([27, -343, 2097151**3])),
        ("matmul", lambda: on(WIDE) @ on(WIDE).T, product),  # modulo 2**64
        ("scatter_add", lambda: on(WIDE * 0).scatter_add(0, on(place), on(WIDE)), scattered),
        ("gather", lambda: on(near).gather(0, on(place)), np.take_along_axis(near, place, 0)),
        ("index_select", lambda: on(near).index_select(1, on(np.array([5, 0]))), near[:, [5, 0]]),
        ("cat", lambda: polyad.cat([on(near), on(other)]), np.concatenate([near, other])),
        ("amin", lambda: on(near).amin(0), near.min(0)),
        ("clone", lambda: on(near).T.clone(), near.T),
    ]


def check_wide_integers(target: Target) -> None:
    """Every bit of int64 results."""
    for name, call, expected in _pairs(target.device):
        with target.watching():
            result = call()
        got = to_host(result)
        wrong = np.flatnonzero(got.reshape(-1) != np.asarray(expected).reshape(-1))
        assert got.shape == np.shape(expected), f"{name} of wide integers: shape {got.shape}"
        assert not wrong.size, (
            f"{name} of wide integers is wrong in {wrong.size} of {got.size} elements: "
            f"{got.reshape(-1)[wrong[0]]}, expected {np.asarray(expected).reshape(-1)[wrong[0]]}"
        )


MANY = 2**25
"""More elements than this are not added up here: the largest bool or byte needs 2**31 and 2**23."""


def check_wide_sums(target: Target) -> None:
    """Sums and products of small integers that are past 2**31, of the largest and of the smallest number."""
    for dtype in (one for one in INTEGERS if one in target.dtypes):
        limits = np.iinfo(dtype.name)
        for number in {int(limits.max), int(limits.min)} - {0}:
            count = 2**31 // abs(number) + 1025
            if dtype.itemsize == 8 or count > MANY:
                continue
            what = f"of {count} times {number} ({dtype.name})"
            row = polyad.full((1,), number, dtype=dtype, device=target.device)
            factors = polyad.full((2, 7), number, dtype=dtype, device=target.device)
            with target.watching():
                found = {
                    f"sum {what}": (row.expand(count).sum(), number * count),
                    f"sum over a dimension {what}": (row.expand(2, count).sum(1)[1], number * count),
                    f"last cumsum {what}": (row.expand(min(count, 2**17)).cumsum(0)[-1], number * min(count, 2**17)),
                    f"prod of 4 times {number} ({dtype.name})": (factors[:, :4].prod(1)[1], number**4),
                    f"last cumprod of 4 times {number} ({dtype.name})": (factors[1, :4].cumprod(0)[-1], number**4),
                }
            for name, (result, expected) in found.items():
                expected = (expected + 2**63) % 2**64 - 2**63
                assert result.dtype is polyad.int64, f"{name} is {result.dtype}"
                assert int(to_host(result)) == expected, f"{name} is {int(to_host(result))}, expected {expected}"


def _bytes(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_bytes(one) for one in value]
    return value.tobytes() if isinstance(value, np.ndarray) else None


def _draws(sample: Sample, dtype: DType) -> bool:
    return _bytes(draw(sample, dtype, 0)) != _bytes(draw(sample, dtype, 0, whole_range=True))


def whole_range_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The dtype under which a sample is run with all integers of its dtypes: the widest, if the sample leaves it to the
    maker which integers it draws, and gives integers or bools.
    """
    integers = [dtype for dtype in sample.dtypes if dtype in INTEGERS]
    if not integers or any(is_inexact(result) for result in result_dtypes(sample, integers[-1])):
        return ()
    return (integers[-1],) if _draws(sample, integers[-1]) else ()


def check_whole_range(sample: Sample, widest: DType, target: Target) -> None:
    """Any integers, the smallest and the largest among them, in each dtype of integers; results wrap."""
    for dtype in (one for one in sample.dtypes if one in INTEGERS and one in target.dtypes):
        args = draw(sample, dtype, target.seed, whole_range=True)
        check_call(sample, dtype, target, args, (contiguous,), f"{sample.label} {dtype.name} of its whole range")
