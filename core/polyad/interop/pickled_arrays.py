"""NumPy's numbers, arrays and dtypes in pickles: made of what a pickle says, without calling what it names.

Invariants: a dtype is one of numbers, bool, text or bytes; an array's bytes are as many as its shape says.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

__all__ = ["KNOWN", "is_unfilled", "fill"]

_CODE = re.compile(r"(?P<order>[<>|=]?)(?P<kind>[biufc?SU])(?P<size>[0-9]{0,6})")


def _dtype(code: Any, align: Any = False, copy: Any = False) -> np.dtype[Any]:
    match = _CODE.fullmatch(code) if type(code) is str else None
    if match is None or match["order"] == ">":
        raise ValueError(f"it has a NumPy dtype {str(code)[:20]!r}, which is not of numbers or text on this machine")
    dtype: np.dtype[Any] = np.dtype(code)
    return dtype


def _scalar(dtype: Any, data: Any) -> Any:
    if not isinstance(dtype, np.dtype) or type(data) is not bytes or len(data) != dtype.itemsize:
        raise ValueError("it has a NumPy number that is not of a dtype and its bytes")
    return np.frombuffer(data, dtype, 1)[0] if data else dtype.type()


def _array(cls: Any, shape: Any, code: Any) -> np.ndarray[Any, Any]:
    """The array without elements to which `fill` gives its state."""
    if cls is not np.ndarray or shape != (0,):
        raise ValueError("it makes a NumPy array in another way than NumPy does")
    return np.empty(0, np.int8)


def _array_of_buffer(data: Any, dtype: Any, shape: Any, order: Any) -> np.ndarray[Any, Any]:
    """What protocol 5 has for a contiguous array."""
    if type(data) not in (bytes, bytearray) or not isinstance(dtype, np.dtype) or order not in ("C", "F"):
        raise ValueError("it has a NumPy array that is not of bytes")
    return _shaped(data, dtype, shape, order)


def _shaped(data: Any, dtype: np.dtype[Any], shape: Any, order: Any) -> np.ndarray[Any, Any]:
    fits = type(shape) is tuple and len(shape) <= 64 and all(type(size) is int and size >= 0 for size in shape)
    if not fits or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"it has a NumPy array of shape {str(shape)[:80]} with {len(data)} bytes")
    flat = np.frombuffer(data, dtype) if data else np.empty(0, dtype)
    if dtype.kind == "b" and data and flat.view(np.uint8).max() > 1:
        raise ValueError("it has a NumPy array of bool with values that are neither 0 nor 1")
    return flat.reshape(shape, order=order).copy(order)


def is_unfilled(target: object) -> bool:
    """Whether it is something of NumPy's that takes a state after it was made."""
    return type(target) is np.ndarray or isinstance(target, np.dtype)


def fill(target: Any, state: Any) -> None:
    """Give what was made its state, in place. Raises ValueError."""
    if isinstance(target, np.dtype):
        if type(state) is not tuple or len(state) < 2 or state[1] not in ("<", "|", "="):
            raise ValueError("it has a NumPy dtype of another byte order")
        return
    if type(state) is not tuple or len(state) != 5 or not isinstance(state[1 + 1], np.dtype):
        raise ValueError("it has a NumPy array without dtype and elements")
    _, shape, dtype, is_fortran, data = state
    if type(data) is not bytes or dtype.kind not in "biufcSU" or len(target):
        raise ValueError("it has a NumPy array whose elements are no numbers")
    made = _shaped(data, dtype, shape, "F" if is_fortran else "C")
    target.__setstate__((1, shape, dtype, bool(is_fortran), made.tobytes("F" if is_fortran else "C")))


KNOWN: dict[str, tuple[Any, Any]] = {
    "numpy.dtype": (np.dtype, _dtype),
    "numpy.ndarray": (np.ndarray, None),
}
"""What pickles name: a value, and what is called in its place, if anything may."""
for _module in ("numpy.core", "numpy._core"):
    KNOWN[f"{_module}.multiarray.scalar"] = (_scalar, _scalar)
    KNOWN[f"{_module}.multiarray._reconstruct"] = (_array, _array)
    KNOWN[f"{_module}.numeric._frombuffer"] = (_array_of_buffer, _array_of_buffer)
