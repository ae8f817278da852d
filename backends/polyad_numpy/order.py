"""The order in memory of an elementwise result, which is PyTorch's (`polyad.base.shapes_and_strides.result_strides`).

NumPy's own rule differs where operands disagree, and where one is expanded. Results of row-major operands are
row-major in both, so kernels ask only about others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.base.shapes_and_strides import broadcast_strides, result_strides

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
        return _once(lambda array: thread.run(function, array), a)

    def plainly(a: Any, out: Any = None) -> Any:
        if out is not None:
            return function(a, out)
        return function(a) if a.flags.c_contiguous else _once(function, a)

    return quietly if warns else plainly


def _once(function: Callable[..., Any], a: Any) -> Any:
    """``function(a)``, `arranged`; elements that an expanded dimension repeats are computed once."""
    strides, shape = a.strides, a.shape
    if 0 in strides and a.size > 1:
        result = function(a[tuple([slice(0, 1) if not stride else slice(None) for stride in strides])])
        result = np.broadcast_to(result, shape).copy()
    else:
        result = function(a)
    return arranged(result, a)


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
    steps = [
        broadcast_strides(operand.shape, operand.strides, shape)
        for operand in operands
        if isinstance(operand, np.ndarray)
    ]
    expected, itemsize = result_strides(shape, steps), result.itemsize
    if all(a * itemsize == b or size == 1 for a, b, size in zip(expected, result.strides, shape)):
        return result
    outermost_first = sorted(range(rank), key=expected.__getitem__, reverse=True)
    ordered = np.empty([shape[dim] for dim in outermost_first], result.dtype)
    ordered = ordered.transpose(np.argsort(outermost_first))
    ordered[...] = result
    return ordered
