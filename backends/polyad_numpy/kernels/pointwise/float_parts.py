"""Signs, exponents and neighbours of floating point numbers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature

from ...fused import fused
from ...order import arranged
from ...quiet import quiet
from ...ufunc import elementwise, ufunc

LARGEST_EXPONENT = 5000
"""Beyond this every result is 0 or infinite, whatever the dtype."""


def _ldexp(a: Any, exponent: Any) -> Any:
    finite = np.isfinite(exponent)
    bounded = np.clip(np.where(finite, exponent, 0), -LARGEST_EXPONENT, LARGEST_EXPONENT)
    whole = np.rint(bounded)
    if (whole == bounded).all():
        scaled = np.ldexp(a, whole.astype(np.int32))
    else:
        # The mantissa takes the fraction: it neither overflows by that nor is a subnormal number rounded twice.
        mantissa, own = np.frexp(a)
        scaled = np.ldexp(np.multiply(mantissa, np.exp2(bounded - whole)), own + whole.astype(np.int32))
    return scaled if finite.all() else np.where(finite, scaled, np.multiply(a, np.exp2(exponent)))


def _nextafter(a: Any, b: Any, out: Any = None) -> Any:
    if a.dtype.itemsize > 2:
        return np.nextafter(a, b, out)
    equal = np.equal(a, b)  # of two zeros NumPy's gives the first for half types, C's the second
    result = np.asarray(np.nextafter(a, b, out))
    np.copyto(result, b, where=equal)
    return result


@functools.cache
def _has_no_exponent(dtype: Any) -> bool:
    """Whether this C library's exponent of infinities and nan is 0, which is its own affair."""
    return not np.frexp(np.array([np.inf, -np.inf, np.nan, -np.nan] * 16, dtype))[1].any()


@quiet
def _frexp(a: Any) -> tuple[Any, Any]:
    mantissa, exponent = (np.asarray(part) for part in np.frexp(a))
    if not _has_no_exponent(a.dtype):
        exponent = np.where(np.isfinite(a), exponent, np.int32(0))
    return arranged(mantissa, a), arranged(exponent, a)


def _no_integers(kernel: Kernel) -> Kernel:
    """*kernel*, for floating point alone."""

    def specialize(types: Signature) -> Any:
        assert kernel.specialize is not None
        return kernel.specialize(types) if types[0].dtype.is_floating_point else None

    return Kernel(kernel.function, out=kernel.out, specialize=specialize)


KERNELS = {
    # Up to NumPy 2.4 its signbit writes nonsense to an out with gaps.
    "signbit": _no_integers(ufunc(np.signbit, out=False, warns=False, to_bool=True)),
    "copysign": ufunc(np.copysign, warns=False),
    "nextafter": elementwise(_nextafter, 2),
    "ldexp": fused(_ldexp),
    "frexp": Kernel(_frexp),
}
