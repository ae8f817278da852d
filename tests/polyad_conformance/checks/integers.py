"""Integers that no narrower type holds, through kernels that move, compare, add and multiply them.

A kernel that computes or keeps int64 in float64 or in 32 bits is right for the small numbers of samples; so is one that
takes uint8 for int8, lets products saturate, or forgets that the smallest integer has no negative.

Of the dtypes of 8 bits there are no more than 65,536 pairs, so every op of one or two operands is given all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import DType
from polyad.dispatch.structure import Pointwise

from ..calls import Expected, Target, draw, function_of, kwargs_of, result_dtypes
from ..layouts import contiguous, to_host
from ..sample import INTEGERS, Sample
from ..samples import families
from ..tolerance import assert_equal, is_inexact, wide
from .lengths import is_long, op_of
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


# ------------------------------------------------------------------------------------------------ all pairs

DIVISIONS = frozenset({"div", "floor_divide", "fmod", "remainder"})
"""Ops that refuse integers divided by zero."""

FEW = 512
"""Elements that a device may compute in another way than 65,536 of them."""


@cache
def _paired() -> frozenset[int]:
    """For each public function on elements, and each way of calling it, one sample of tensors alone."""
    chosen = {}
    for samples, _ in families().values():
        for sample in samples:
            op = op_of(sample)
            if op is None or not isinstance(op.structure, Pointwise) or sample.call is not None:
                continue
            integers = [dtype for dtype in sample.dtypes if dtype in INTEGERS]
            args = draw(sample, integers[-1], 0) if len(integers) > 1 else (None,)
            if all(is_long(one) and one.dtype == integers[-1].name for one in args):
                chosen.setdefault((sample.op, repr(sorted(sample.kwargs.items()))), sample)
    return frozenset(map(id, chosen.values()))


def pair_dtypes(sample: Sample) -> tuple[DType, ...]:
    """The integer dtypes of a sample of elements that gives integers or bools."""
    if id(sample) not in _paired():
        return ()
    return tuple(
        dtype
        for dtype in sample.dtypes
        if dtype in INTEGERS and not any(is_inexact(result) for result in result_dtypes(sample, dtype))
    )


def edges(dtype: DType) -> np.ndarray:
    """Integers around zero, the limits of a dtype, their halves and their roots."""
    limits, bits = np.iinfo(dtype.name), dtype.itemsize * 8
    centres = [0, *(sign * 2**power for power in (bits // 2, bits - 2, bits - 1, bits) for sign in (1, -1))]
    near = {centre + step for centre in centres for step in (-2, -1, 0, 1, 2)} | {3, 7, 10, 100}
    return np.array(sorted(one for one in near if limits.min <= one <= limits.max), dtype.name)


def _pairs_of(dtype: DType, operands: int) -> np.ndarray:
    """All tuples of so many operands if they are few, else those of `edges`, as often as a block of work has place."""
    limits = np.iinfo(dtype.name)
    whole = dtype.itemsize == 1 and operands < 3
    values = np.arange(limits.min, limits.max + 1).astype(dtype.name) if whole else edges(dtype)
    grid = np.stack(np.meshgrid(*[values] * operands, indexing="ij")).reshape(operands, -1)
    return np.resize(grid.T, (max(grid.shape[1], 2049), operands)).T


def check_pairs(sample: Sample, dtype: DType, target: Target) -> None:
    """All pairs of operands of 8 bits, and pairs of the extremes of wider ones: at once, a few at a time, one of the
    operands a single number.
    """
    operands = _pairs_of(dtype, len(draw(sample, dtype, target.seed)))
    if sample.op in DIVISIONS:
        operands = operands[:, operands[1] != 0]
    kwargs, wide_kwargs = kwargs_of(sample, dtype, target.device, tuple(operands))
    expected = Expected.of(sample, dtype, wide(tuple(operands)), wide_kwargs)
    reference, result = expected.references[0], expected.dtypes[0]
    function, what = function_of(sample), f"{sample.label} {dtype.name}"
    tensors = [polyad.tensor(one, device=target.device) for one in operands]
    with target.watching():
        at_once = function(*tensors, **kwargs)
    assert_equal(to_host(at_once), reference, result, what=f"{what}, all pairs{_shown(at_once, reference, operands)}")
    with target.unwatched():
        parts = [function(*some, **kwargs) for some in zip(*[one.split(FEW) for one in tensors])]
        few = to_host(polyad.cat(parts))
    assert_equal(few, reference, result, what=f"{what}, all pairs, {FEW} at a time{_shown(few, reference, operands)}")
    if len(operands) == 2:
        _check_single(function, operands, kwargs, target, reference, result, what)


def _check_single(
    function: Any, operands: np.ndarray, kwargs: Any, target: Target, reference: Any, result: DType, what: str
) -> None:
    """One of two operands a 0-d tensor."""
    limits = np.iinfo(operands.dtype)
    for place in (0, 1):
        for number in {int(limits.min), -1, 2, int(limits.max)} & set(operands[place].tolist()):
            here = operands[place] == number
            args = [polyad.tensor(one[here], device=target.device) for one in operands]
            args[place] = args[place][0]
            with target.unwatched():
                got = to_host(function(*args, **kwargs))
            assert_equal(got, reference[here], result, what=f"{what}, operand {place} the number {number}")


def _shown(got: Any, reference: Any, operands: np.ndarray) -> str:
    """The first operands whose result is wrong."""
    values = got if isinstance(got, np.ndarray) else to_host(got)
    with np.errstate(all="ignore"):
        wrong = np.flatnonzero(values != reference.astype(values.dtype)) if values.shape == reference.shape else []
    return f" (first {operands[:, wrong[0]].tolist()})" if len(wrong) else ""
