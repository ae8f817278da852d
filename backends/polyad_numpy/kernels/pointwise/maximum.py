"""The larger or smaller of two operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.base.dtypes import float16

from ...fused import fused
from ...ufunc import elementwise, ufunc
from .where import choose, keep


def _share(grad: Any, loses: Any, ties: Any) -> Any:
    if ties.any():
        grad = choose(ties, np.multiply(grad, 0.5), grad)
    return keep(grad, np.logical_not(loses), np.zeros((), grad.dtype))


def _second_of_equals(function: np.ufunc) -> Kernel:
    """*function*, of equal zeros with the sign of the second, as NumPy's loops but that of float16 have it."""
    kernel = ufunc(function, warns=False)

    def exchanged(a: Any, b: Any, out: Any = None) -> Any:
        return function(b, a, out=out)

    turned = elementwise(exchanged, 2, arrays_only=True, warns=False)

    def specialize(types: Signature) -> Any:
        dtype = next(entry.dtype for entry in types if isinstance(entry, TensorType))
        made = (turned if dtype is float16 else kernel).specialize
        assert made is not None
        return made(types)

    return Kernel(function, out=True, specialize=specialize)


KERNELS = {
    "maximum": _second_of_equals(np.maximum),
    "minimum": _second_of_equals(np.minimum),
    "fmax": ufunc(np.fmax, warns=False),
    "fmin": ufunc(np.fmin, warns=False),
    "share": fused(_share, integers=True),
}
