"""Arithmetic of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import INTEGER
from polyad.errors import DivisionByZero

from ...fused import fused
from ...ufunc import elementwise, ufunc
from .where import choose


def _division(op: str, kernel: Kernel) -> Kernel:
    """A quotient or remainder that refuses integers divided by zero, of which NumPy makes 0."""

    def specialize(types: Signature) -> Any:
        assert kernel.specialize is not None
        function = kernel.specialize(types)
        if next(entry.dtype for entry in types if isinstance(entry, TensorType)).category != INTEGER:
            return function
        assert function is not None

        def checked(a: Any, b: Any, out: Any = None) -> Any:
            if not (b.all() if isinstance(b, np.ndarray) else b) and (not isinstance(a, np.ndarray) or a.size):
                raise DivisionByZero(
                    f"{op}: an integer is divided by zero",
                    fix="mask the zeros, or convert to a floating dtype, where the result is inf or nan",
                )
            return function(a, b, out=out)

        return checked

    return Kernel(kernel.function, out=True, specialize=specialize)


def _remainder(a: Any, b: Any, out: Any = None) -> Any:
    """NumPy's remainder gives its zeros the divisor's sign, this one the dividend's."""
    left = np.asarray(np.fmod(a, b))
    apart = np.asarray(np.not_equal(np.less(left, 0), np.less(b, 0)))
    np.logical_and(apart, np.not_equal(left, 0), apart)
    np.add(left, b, left, where=apart)
    if out is None:
        return left
    np.copyto(out, left, casting="same_kind")
    return out


def _remainder_kernel() -> Kernel:
    of_integers, of_floats = _division("remainder", ufunc(np.remainder)), elementwise(_remainder, 2)

    def specialize(types: Signature) -> Any:
        dtype = next(entry.dtype for entry in types if isinstance(entry, TensorType))
        kernel = of_integers if dtype.category == INTEGER else of_floats
        assert kernel.specialize is not None
        return kernel.specialize(types)

    return Kernel(np.remainder, out=True, specialize=specialize)


def _trunc_divide(a: Any, b: Any) -> Any:
    result = np.true_divide(a, b)
    return np.trunc(result, result) if result.dtype.kind == "f" else result


def _sign(a: Any, out: Any = None) -> Any:
    kind = a.dtype.kind
    if kind == "b":
        return np.logical_or(a, a, out)
    if kind in "iu":
        return np.sign(a, out)
    # Comparisons are faster than NumPy's sign, and nan is neither more nor less than 0.
    sign = np.asarray(np.greater(a, 0)).view(np.int8)
    np.subtract(sign, np.asarray(np.less(a, 0)).view(np.int8), sign)
    if out is None:
        return sign.astype(a.dtype)
    np.copyto(out, sign)
    return out


def _lerp(a: Any, end: Any, weight: Any) -> Any:
    step = np.asarray(np.subtract(end, a))
    if weight < 0.5:
        return np.add(a, np.multiply(step, weight, step), step)
    return np.subtract(end, np.multiply(step, 1 - weight, step), step)


def _lerp_by_elements(a: Any, end: Any, weight: Any) -> Any:
    # From the end with the smaller share: a + weight * step, or end + (weight - 1) * step.
    near_end = np.asarray(np.greater_equal(weight, 0.5))
    np.logical_or(near_end, np.less_equal(weight, -0.5), near_end)
    result = np.asarray(np.subtract(end, a))
    share = near_end.astype(weight.dtype)
    np.subtract(weight, share, share)
    if share.shape != result.shape:
        result = np.multiply(result, share)
    else:
        np.multiply(result, share, result)
    return np.add(result, choose(near_end, end, a), result)


def _lerp_kernel() -> Kernel:
    by_number, by_elements = fused(_lerp), fused(_lerp_by_elements)

    def specialize(types: Signature) -> Any:
        kernel = by_elements if isinstance(types[2], TensorType) else by_number
        assert kernel.specialize is not None
        return kernel.specialize(types)

    return Kernel(by_number.function, specialize=specialize)


def _addcmul(a: Any, b: Any, c: Any, value: Any) -> Any:
    product = np.asarray(np.multiply(b, c))
    if value != 1:
        np.multiply(product, value, product)
    return np.add(a, product)


def _addcdiv(a: Any, b: Any, c: Any, value: Any) -> Any:
    quotient = np.asarray(np.true_divide(b, c))
    if value != 1:
        np.multiply(quotient, value, quotient)
    return np.add(a, quotient)


KERNELS = {
    "add": ufunc(np.add),
    "sub": ufunc(np.subtract),
    "mul": ufunc(np.multiply, exact_numbers=(0, 1)),
    "div": ufunc(np.true_divide, exact_numbers=(0, 1)),
    "floor_divide": _division("floor_divide", ufunc(np.floor_divide, exact_numbers=(1,))),
    "trunc_divide": fused(_trunc_divide),
    "remainder": _remainder_kernel(),
    "fmod": _division("fmod", ufunc(np.fmod)),
    # NumPy 2.4 writes a negative to wrong places where both arrays have gaps of 16 or 64 bytes: no out.
    "neg": ufunc(np.negative, out=False),
    "abs": ufunc(np.absolute),
    "sign": elementwise(_sign, 1),
    "conj": ufunc(np.conjugate),
    "lerp": _lerp_kernel(),
    "addcmul": fused(_addcmul),
    "addcdiv": fused(_addcdiv),
}
