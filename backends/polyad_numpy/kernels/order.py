"""The order in memory of an elementwise result, which is PyTorch's: that of the operands, the first that has a say
deciding.

Two dimensions are compared by the strides of the first operand that is not broadcast along either; between equal
strides the longer dimension is the inner one; where no operand decides, the order is row-major. NumPy's own rule
differs where operands disagree, and where a single one is expanded. Results of row-major operands are row-major in
both, so kernels ask only about others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .quiet import thread


def arranging(function: Callable[..., Any], operands: int, decides: int, warns: bool) -> Callable[..., Any]:
    """The elementwise ``function(*operands, out)`` of one to three operands with its result `arranged`, and with
    floating point warnings off if it *warns*.

    *decides* is the position of the first operand that has dimensions: where that is row-major, NumPy's order is right.
    Written out for each case, since every small op pays for what stands here.
    """
    if operands == 1:
        return _unary(function, warns)
    if operands == 2:
        return _of_second(function, warns) if decides else _of_first(function, warns)

    def three(a: Any, b: Any, c: Any, out: Any = None) -> Any:
        result = thread.run(function, a, b, c, out)
        return result if out is not None else arranged(result, a, b, c)

    return three


def _unary(function: Callable[..., Any], warns: bool) -> Callable[..., Any]:
    def quietly(a: Any, out: Any = None) -> Any:
        if out is not None:
            return thread.run(function, a, out)
        if a.flags.c_contiguous:
            return thread.run(function, a)
        return _once(lambda one: thread.run(function, one), a)

    def plainly(a: Any, out: Any = None) -> Any:
        if out is not None:
            return function(a, out)
        return function(a) if a.flags.c_contiguous else _once(function, a)

    return quietly if warns else plainly


def _once(function: Callable[..., Any], a: Any) -> Any:
    """``function(a)``, `arranged`; elements that an expanded dimension repeats are computed once."""
    strides, shape = a.strides, a.shape
    if 0 in strides and a.size > 1:
        made = function(a[tuple([slice(0, 1) if not stride else slice(None) for stride in strides])])
        made = np.broadcast_to(made, shape).copy()
    else:
        made = function(a)
    return arranged(made, a)


def _of_first(function: Callable[..., Any], warns: bool) -> Callable[..., Any]:
    def quietly(a: Any, b: Any, out: Any = None) -> Any:
        if out is not None:
            return thread.run(function, a, b, out=out)
        result = thread.run(function, a, b)
        return result if a.flags.c_contiguous else arranged(result, a, b)

    def plainly(a: Any, b: Any, out: Any = None) -> Any:
        if out is not None:
            return function(a, b, out=out)
        result = function(a, b)
        return result if a.flags.c_contiguous else arranged(result, a, b)

    return quietly if warns else plainly


def _of_second(function: Callable[..., Any], warns: bool) -> Callable[..., Any]:
    def quietly(a: Any, b: Any, out: Any = None) -> Any:
        if out is not None:
            return thread.run(function, a, b, out=out)
        result = thread.run(function, a, b)
        return result if b.flags.c_contiguous else arranged(result, b)

    def plainly(a: Any, b: Any, out: Any = None) -> Any:
        if out is not None:
            return function(a, b, out=out)
        result = function(a, b)
        return result if b.flags.c_contiguous else arranged(result, b)

    return quietly if warns else plainly


def arranged(result: Any, *operands: Any) -> Any:
    """*result*, a new array, or a copy of it in the order in memory that *operands* give it."""
    shape = result.shape
    rank = len(shape)
    if rank < 2 or not result.size:
        return result
    first = operands[0]
    like = isinstance(first, np.ndarray) and first.shape == shape and first.strides == result.strides
    if like and first.itemsize == result.itemsize:
        return result
    steps = [_steps(operand, shape) for operand in operands if isinstance(operand, np.ndarray)]
    order = list(range(rank - 1, -1, -1))  # the innermost first
    for position in range(1, rank):
        place = position
        for other in range(position - 1, -1, -1):
            later = _later(steps, shape, order[other], order[place])
            if later > 0:
                order[other], order[place] = order[place], order[other]
                place = other
            elif later < 0:
                break
    expected, step = [0] * rank, result.itemsize
    for dim in order:
        expected[dim] = step
        step *= shape[dim]
    if all(a == b or size == 1 for a, b, size in zip(expected, result.strides, shape)):
        return result
    outermost_first = order[::-1]
    made = np.empty([shape[dim] for dim in outermost_first], result.dtype)
    made = made.transpose(np.argsort(outermost_first))
    made[...] = result
    return made


def _steps(operand: Any, shape: tuple[int, ...]) -> list[int]:
    """The operand's strides along the result's dimensions, 0 where it is broadcast."""
    lead = len(shape) - operand.ndim
    return [0] * lead + [
        0 if have == 1 != want else stride for have, want, stride in zip(operand.shape, shape[lead:], operand.strides)
    ]


def _later(steps: list[list[int]], shape: tuple[int, ...], inner: int, outer: int) -> int:
    """1 if dimension *inner* belongs outside of *outer*, -1 if it is where it belongs, 0 if no operand says."""
    for strides in steps:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[inner] > shape[outer]:
            return 1
    return 0
