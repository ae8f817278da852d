"""Reductions: sums, products, extremes and their positions, truth.

float16 and bfloat16 accumulate in float32, integers and bool in int64; nan is the largest and the smallest. Results are
row-major, whatever the order of the input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.codegen import Expression, Operand, Place, Scalar, apply, cast, where
from polyad.codegen.complex_numbers import either
from polyad.dtypes import FLOATING, INTEGER, DType, bool_, float32, int32, int64, uint8
from polyad.layout import contiguous_strides

from ...array import Array
from ...runtime.device import opened
from ...source.generated import Fused, Reduced, packer

Call = Callable[..., Any]
Before = Callable[[Expression], Expression]


def widened(x: Expression) -> Expression:
    """*x* in the dtype in which its elements add up."""
    dtype = x.dtype
    return cast(x, int64 if dtype.category <= INTEGER else float32 if dtype.itemsize == 2 else dtype)


def _truth(x: Expression) -> Expression:
    return cast(x, bool_)


def _result(op: str, dtype: DType) -> DType:
    if op in ("sum", "prod"):
        return int64 if dtype.category <= INTEGER else dtype
    if op in ("any", "all"):
        return uint8 if dtype is uint8 else bool_
    return dtype


def _reducing(op: str, before: Before = lambda x: x) -> Kernel:
    def specialize(types: Signature) -> Call:
        dtype = types[0].dtype
        run = Reduced(
            opened(types[0].device), f"{op} of {dtype.name}", before(Operand(0, dtype)), op, _result(op, dtype)
        )

        def reduce(array: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
            if extreme and 0 in array.shape:
                _check_extreme(array, dims)
            return run((array,), dims, keepdim)

        return reduce

    extreme = op in ("amax", "amin")
    return Kernel(_unspecialized, specialize=specialize)


def _unspecialized(*operands: Any) -> Any:
    raise AssertionError("written for each signature")


def _check_extreme(array: Array, dims: tuple[int, ...]) -> None:
    if any(array.shape[dim] == 0 for dim in dims):
        raise ValueError("no elements have no extreme")


def _extreme_of_all(op: str) -> Kernel:
    def specialize(types: Signature) -> Call:
        reducing = _reducing(op).specialize
        assert reducing is not None
        reduce = reducing(types)
        assert reduce is not None
        return lambda array: reduce(array, tuple(range(array.ndim)), False)

    return Kernel(_unspecialized, specialize=specialize)


def _position(op: str) -> Kernel:
    """Where the extreme is: the extreme first, then the smallest position at which it stands."""

    def specialize(types: Signature) -> Call:
        dtype, device = types[0].dtype, opened(types[0].device)
        what, best_of = f"{op} of {dtype.name}", "amax" if op == "argmax" else "amin"
        extreme = Reduced(device, what, Operand(0, dtype), best_of, dtype)
        x, best = Operand(0, dtype), Operand(1, dtype)
        same: Expression = apply("eq", x, best)
        if dtype.category == FLOATING:
            same = either(same, apply("isnan", x))

        def finder(place: DType) -> Reduced:
            return Reduced(device, what, where(same, Place(2, place), _LAST[place]), "amin", int64)

        short, long = finder(int32), finder(int64)

        def position(array: Array, dim: int | None, keepdim: bool) -> Array:
            rank = array.ndim
            dims = tuple(range(rank)) if dim is None else (dim,)
            _check_extreme(array, dims)
            counted = array.shape if dim is None else tuple([1 if d != dim else array.shape[d] for d in range(rank)])
            places = tuple([step if d in dims else 0 for d, step in enumerate(contiguous_strides(counted))])
            found = extreme((array,), dims, True)
            run = short if math.prod(counted) < 2**31 else long
            return run((array, found, places), dims, keepdim)

        return position

    return Kernel(_unspecialized, specialize=specialize)


_LAST = {int32: 2**31 - 1, int64: 2**63 - 1}

_TRUTHS: dict[Any, Reduced] = {}


def all_true(array: Array) -> bool:
    """Whether no element is 0. The host waits."""
    key = (array.device, array.dtype)
    run = _TRUTHS.get(key)
    if run is None:
        run = _TRUTHS[key] = Reduced(array.device, "all", _truth(Operand(0, array.dtype)), "all", bool_)
    result = run((array,), tuple(range(array.ndim)), False)
    host = np.empty(1, np.uint8)
    array.device.read(host, result.buffer, 0)
    return bool(host[0])


def _mean(types: Signature) -> Call:
    dtype, device = types[0].dtype, opened(types[0].device)
    wide = widened(Operand(0, dtype))
    total = Reduced(device, f"mean of {dtype.name}", wide, "sum", wide.dtype)
    share = Fused(device, f"mean of {dtype.name}", [cast(Operand(0, wide.dtype) / Scalar(0, wide.dtype), dtype)])
    pack = packer(wide.dtype)

    def mean(array: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
        count = math.prod([array.shape[dim] for dim in dims])
        return share((total((array,), dims, keepdim),), pack(count))[0]

    return mean


KERNELS = {
    "sum": _reducing("sum", widened),
    "prod": _reducing("prod", widened),
    "amax": _reducing("amax"),
    "amin": _reducing("amin"),
    "max_all": _extreme_of_all("amax"),
    "min_all": _extreme_of_all("amin"),
    "mean": Kernel(_unspecialized, specialize=_mean),
    "any": _reducing("any", _truth),
    "all": _reducing("all", _truth),
    "argmax": _position("argmax"),
    "argmin": _position("argmin"),
}
