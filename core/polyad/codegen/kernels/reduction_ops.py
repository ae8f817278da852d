"""Kernels of the primitives that reduce: sums, products, means, extremes and their positions, truth.

float16 and bfloat16 accumulate in float32, integers and bool in int64; nan is the largest and the smallest. Results are
row-major, whatever the order of the input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...backend.interface import Kernel, Signature
from ...base.dtypes import FLOATING, INTEGER, DType, bool_, float32, int32, int64, uint8
from ...base.shapes_and_strides import contiguous_strides
from ..complex_numbers import either
from ..expression import Expression, Iota, Operand, Scalar, apply, cast, where
from .pointwise import PointwiseKernel
from .pointwise_ops import RuntimeOf, unspecialized
from .reduction import ReductionKernel

Call = Callable[..., Any]


def accumulated(x: Expression) -> Expression:
    """*x* in the dtype in which its elements add up."""
    dtype = x.dtype
    return cast(x, int64 if dtype.category <= INTEGER else float32 if dtype.itemsize == 2 else dtype)


def _truth(x: Expression) -> Expression:
    return cast(x, bool_)


def _as_it_is(x: Expression) -> Expression:
    return x


REDUCERS: dict[str, Callable[[Expression], Expression]] = {
    "sum": accumulated, "prod": accumulated, "amax": _as_it_is, "amin": _as_it_is, "any": _truth, "all": _truth,
}  # fmt: skip
"""What each reduction reduces of its operand's elements."""


def reduced_dtype(op: str, dtype: DType) -> DType:
    """The dtype of a reduction's result."""
    if op in ("sum", "prod"):
        return int64 if dtype.category <= INTEGER else dtype
    if op in ("any", "all"):
        return uint8 if dtype is uint8 else bool_
    return dtype


def _reducing(runtime_of: RuntimeOf, op: str, of_all: bool = False) -> Kernel:
    extreme = op in ("amax", "amin")

    def specialize(types: Signature) -> Call:
        dtype = types[0].dtype
        what = f"{op} of {dtype.name}"
        run = ReductionKernel(
            runtime_of(types[0].device), what, REDUCERS[op](Operand(0, dtype)), op, reduced_dtype(op, dtype)
        )

        def reduce(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
            if extreme and 0 in array.shape:
                _check_extreme(array, dims)
            return run((array,), dims, keepdim)

        return (lambda array: reduce(array, tuple(range(array.ndim)), False)) if of_all else reduce

    return Kernel(unspecialized, specialize=specialize)


def _check_extreme(array: Any, dims: tuple[int, ...]) -> None:
    if any(array.shape[dim] == 0 for dim in dims):
        raise ValueError("no elements have no extreme")


def _position(runtime_of: RuntimeOf, op: str) -> Kernel:
    """Where the extreme is: the extreme first, then the smallest position at which it stands."""

    def specialize(types: Signature) -> Call:
        dtype, runtime = types[0].dtype, runtime_of(types[0].device)
        what, best_of = f"{op} of {dtype.name}", "amax" if op == "argmax" else "amin"
        extreme = ReductionKernel(runtime, what, Operand(0, dtype), best_of, dtype)
        x, best = Operand(0, dtype), Operand(1, dtype)
        same: Expression = apply("eq", x, best)
        if dtype.category == FLOATING:
            same = either(same, apply("isnan", x))

        def finder(place: DType) -> ReductionKernel:
            return ReductionKernel(runtime, what, where(same, Iota(2, place), _LAST[place]), "amin", int64)

        short, long = finder(int32), finder(int64)

        def position(array: Any, dim: int | None, keepdim: bool) -> Any:
            rank = array.ndim
            dims = tuple(range(rank)) if dim is None else (dim,)
            _check_extreme(array, dims)
            counted = array.shape if dim is None else tuple([1 if d != dim else array.shape[d] for d in range(rank)])
            places = tuple([step if d in dims else 0 for d, step in enumerate(contiguous_strides(counted))])
            found = extreme((array,), dims, True)
            run = short if math.prod(counted) < 2**31 else long
            return run((array, found, places), dims, keepdim)

        return position

    return Kernel(unspecialized, specialize=specialize)


_LAST = {int32: 2**31 - 1, int64: 2**63 - 1}


def _mean(runtime_of: RuntimeOf) -> Kernel:
    def specialize(types: Signature) -> Call:
        dtype, runtime = types[0].dtype, runtime_of(types[0].device)
        what, wide = f"mean of {dtype.name}", accumulated(Operand(0, dtype))
        total = ReductionKernel(runtime, what, wide, "sum", wide.dtype)
        share = PointwiseKernel(runtime, what, [cast(Operand(0, wide.dtype) / Scalar(0, wide.dtype), dtype)])

        def mean(array: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
            count = math.prod([array.shape[dim] for dim in dims])
            return share((total((array,), dims, keepdim),), (count,))[0]

        return mean

    return Kernel(unspecialized, specialize=specialize)


def reduction_ops(runtime_of: RuntimeOf) -> dict[str, Kernel]:
    """The kernel of every primitive that reduces, by op name."""
    return {
        **{op: _reducing(runtime_of, op) for op in REDUCERS},
        "max_all": _reducing(runtime_of, "amax", of_all=True),
        "min_all": _reducing(runtime_of, "amin", of_all=True),
        "mean": _mean(runtime_of),
        "argmax": _position(runtime_of, "argmax"),
        "argmin": _position(runtime_of, "argmin"),
    }
