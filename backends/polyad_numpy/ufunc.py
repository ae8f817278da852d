"""Kernels that are a single NumPy ufunc.

A ufunc of 0-d arrays returns a NumPy scalar, not an array; a signature without dimensions therefore gets a wrapped
form, so that the usual call pays for nothing. The same goes for two more signatures that NumPy reads differently: an
integer beside integers wraps around as PyTorch's does (NumPy refuses it), and a Python float beside bfloat16 gives
bfloat16 (NumPy, to which the dtype is foreign, says float32).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import INTEGER, DType, bfloat16, complex64, float16, float32, float64, iinfo
from polyad.interop.numpy import numpy_dtype

from .order import arranged, arranging
from .quiet import quiet, quiet_ufunc

Call = Callable[..., Any]

_OWN_FLOATS = {float16, float32, float64}


def ufunc(
    function: np.ufunc,
    *,
    out: bool = True,
    warns: bool = True,
    to_bool: bool = False,
    exact_numbers: tuple[int, ...] = (),
) -> Kernel:
    """The kernel of an elementwise op that *function* computes with the right semantics for every dtype.

    Say ``warns=False`` for a ufunc that sets no floating point flag (comparisons, bit operations), ``to_bool=True``
    for a ufunc whose result is bool, and as *exact_numbers* where a number beside float16 is not to be rounded to it.
    """
    return elementwise(
        function,
        function.nin,
        out=out,
        to_bool=to_bool,
        arrays_only=True,
        warns=warns,
        exact_numbers=exact_numbers,
    )


def with_out(function: Call) -> Call:
    """*function* with floating point warnings off, for any number of operands."""

    @quiet
    def run(args: tuple[Any, ...], out: Any) -> Any:
        return function(*args, out=out)

    return lambda *args, out=None: run(args, out)


def elementwise(
    function: Call,
    operands: int,
    *,
    out: bool = True,
    to_bool: bool = False,
    arrays_only: bool = False,
    warns: bool = True,
    exact_numbers: tuple[int, ...] = (),
) -> Kernel:
    """As `ufunc`, for a function of one to three operands called like a ufunc: ``function(*operands, out=None)``.

    *arrays_only* says that it need not see numbers as such.
    """
    plain = quiet_ufunc(function, operands)
    made_for = {
        (decides, quietly): arranging(function, operands, decides, quietly)
        for decides in (0, 1)
        for quietly in {warns, True}
    }

    def specialize(types: Signature) -> Any:
        dtype = next(entry.dtype for entry in types if isinstance(entry, TensorType))
        dimensioned = [position for position, entry in enumerate(types) if not _has_no_dimensions(entry)]
        # Loops of bfloat16, which are not NumPy's own, set flags in any case; numbers become complex64 with warnings.
        quietly = warns or dtype is bfloat16 or dtype is complex64
        call = made_for[min(dimensioned[0], 1), quietly] if dimensioned else plain
        if dtype.category == INTEGER and int in types:
            call = _wrapping_numbers(call, types, dtype)
        elif arrays_only and dtype in _OWN_FLOATS and len(types) == 2 and not {float, int}.isdisjoint(types):
            if dtype is float16 and any(types[place] in (float, int) for place in exact_numbers):
                call = _in_float32(_with_zero_dim_numbers(call, types, np.float32))
            else:
                call = _with_zero_dim_numbers(call, types, numpy_dtype(dtype))
        if dtype is bfloat16 and not {float, int}.isdisjoint(types) and not to_bool:
            call = _rounding_to(call, numpy_dtype(dtype))
        return call if dimensioned else _as_array(call)

    return Kernel(function, out=out, specialize=specialize)


def _has_no_dimensions(entry: Any) -> bool:
    return not isinstance(entry, TensorType) or entry.zero_dim


def _as_array(call: Call) -> Call:
    def zero_dim(*args: Any, out: Any = None) -> Any:
        return np.asarray(call(*args, out=out))

    return zero_dim


def _wrapping_numbers(call: Call, types: Signature, dtype: DType) -> Call:
    """*call* with its only integer taken modulo 2**bits into the dtype's range."""
    limits = iinfo(dtype)
    low, high, count = limits.min, limits.max, 2**limits.bits

    def wrapped_first(a: Any, b: Any, out: Any = None) -> Any:
        return call(a if low <= a <= high else (a - low) % count + low, b, out=out)

    def wrapped_second(a: Any, b: Any, out: Any = None) -> Any:
        return call(a, b if low <= b <= high else (b - low) % count + low, out=out)

    return wrapped_first if types[0] is int else wrapped_second


def _with_zero_dim_numbers(call: Call, types: Signature, dtype: Any) -> Call:
    """*call* with its number as a 0-d array, which NumPy takes in half the time; those that were met are kept."""
    met: dict[Any, Any] = {}
    zero = np.zeros((), dtype)

    @quiet
    def kept(number: Any) -> Any:
        array = np.array(number, dtype)
        if len(met) < 256:  # a loop over ever new numbers must not fill the memory
            met[number] = array
        return array

    def converted(number: Any) -> Any:
        if number:
            return kept(number)
        # 0.0 and -0.0 would be the same key.
        return zero if math.copysign(1.0, number) > 0 else -zero

    def first(a: Any, b: Any, out: Any = None) -> Any:
        number = met.get(a)
        if number is None:
            number = converted(a)
        return call(number, b) if out is None else call(number, b, out=out)

    def second(a: Any, b: Any, out: Any = None) -> Any:
        number = met.get(b)
        if number is None:
            number = converted(b)
        return call(a, number) if out is None else call(a, number, out=out)

    return first if not isinstance(types[0], TensorType) else second


@quiet
def _to_float16(array: Any) -> Any:
    return array.astype(np.float16)  # which may overflow


def _in_float32(call: Call) -> Call:
    """*call* with its float16 array in float32, and its result rounded."""

    def widened(a: Any, b: Any, out: Any = None) -> Any:
        result = _to_float16(
            call(
                a.astype(np.float32) if isinstance(a, np.ndarray) else a,
                b.astype(np.float32) if isinstance(b, np.ndarray) else b,
            )
        )
        if out is None:
            # The order of an expanded array is not that of its copy in float32.
            array = a if isinstance(a, np.ndarray) else b
            return result if array.flags.c_contiguous else arranged(result, array)
        np.copyto(out, result)
        return out

    return widened


def _rounding_to(call: Call, dtype: Any) -> Call:
    def rounded(*args: Any, out: Any = None) -> Any:
        # An int would be rounded to bfloat16 by NumPy.
        result = call(*[float(arg) if arg.__class__ is int else arg for arg in args])
        if out is None:
            return result.astype(dtype)
        out[...] = result
        return out

    return rounded
