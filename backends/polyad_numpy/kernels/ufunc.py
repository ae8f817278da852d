"""Kernels that are one NumPy ufunc.

A ufunc of 0-d arrays returns a NumPy scalar, not an array; a signature without dimensions therefore gets a wrapped
form, so that the usual call pays for nothing. The same goes for two more signatures that NumPy reads differently: an
integer beside integers wraps around as PyTorch's does (NumPy refuses it), and a Python float beside bfloat16 gives
bfloat16 (NumPy, to which the dtype is foreign, says float32).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.dtypes import INTEGER, DType, bfloat16, iinfo
from polyad.interop.numpy import numpy_dtype

from .quiet import quiet, quiet_ufunc

Call = Callable[..., Any]


def ufunc(function: np.ufunc, *, out: bool = True, warns: bool = True, to_bool: bool = False) -> Kernel:
    """The kernel of an elementwise op that *function* computes with the right semantics for every dtype.

    Say ``warns=False`` for a ufunc that sets no floating point flag (comparisons, bit operations), ``to_bool=True``
    for one whose result is bool.
    """
    if warns:
        return elementwise(quiet_ufunc(function, function.nin), out=out, to_bool=to_bool)
    # Loops of bfloat16, which are not NumPy's own, set flags in any case.
    return elementwise(function, out=out, to_bool=to_bool, for_bfloat16=with_out(function))


def with_out(function: Call) -> Call:
    """*function* with floating point warnings off, for any number of operands."""

    @quiet
    def run(args: tuple[Any, ...], out: Any) -> Any:
        return function(*args, out=out)

    return lambda *args, out=None: run(args, out)


def elementwise(call: Call, *, out: bool = True, to_bool: bool = False, for_bfloat16: Call | None = None) -> Kernel:
    """As `ufunc`, for a function that is called like one: ``call(*operands, out=None)``."""

    def specialize(types: Signature) -> Any:
        dtype = next(entry.dtype for entry in types if isinstance(entry, TensorType))
        made = call if dtype is not bfloat16 or for_bfloat16 is None else for_bfloat16
        if dtype.category == INTEGER and int in types:
            made = _wrapping_numbers(made, types, dtype)
        if dtype is bfloat16 and float in types and not to_bool:
            made = _rounding_to(made, numpy_dtype(dtype))
        return made if any(isinstance(entry, TensorType) and not entry.zero_dim for entry in types) else _as_array(made)

    return Kernel(call, out=out, specialize=specialize)


def _as_array(call: Call) -> Call:
    def zero_dim(*args: Any, out: Any = None) -> Any:
        return np.asarray(call(*args, out=out))

    return zero_dim


def _wrapping_numbers(call: Call, types: Signature, dtype: DType) -> Call:
    """*call* with its one integer taken modulo 2**bits into the dtype's range."""
    limits = iinfo(dtype)
    low, high, count = limits.min, limits.max, 2**limits.bits

    def wrapped_first(a: Any, b: Any, out: Any = None) -> Any:
        return call(a if low <= a <= high else (a - low) % count + low, b, out=out)

    def wrapped_second(a: Any, b: Any, out: Any = None) -> Any:
        return call(a, b if low <= b <= high else (b - low) % count + low, out=out)

    return wrapped_first if types[0] is int else wrapped_second


def _rounding_to(call: Call, dtype: Any) -> Call:
    def rounded(*args: Any, out: Any = None) -> Any:
        result = call(*args)
        if out is None:
            return result.astype(dtype)
        out[...] = result
        return out

    return rounded
