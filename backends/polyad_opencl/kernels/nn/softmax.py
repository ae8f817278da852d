"""Softmax and its gradients in three passes over memory. Complex numbers are left to decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.codegen import Expression, Operand, apply, cast
from polyad.dtypes import FLOATING, float32

from ...array import Array
from ...runtime.device import opened
from ...source.generated import Fused, Reduced
from ..pointwise.elementwise import unspecialized


def _wide(x: Expression) -> Expression:
    return cast(x, float32) if x.dtype.itemsize == 2 else x


def _softmax(op: str) -> Kernel:
    """Shifted by the maximum, so that exp does not overflow: the maximum, the sum, the quotient."""

    def specialize(types: Signature) -> Callable[..., Any] | None:
        dtype, device = types[0].dtype, opened(types[0].device)
        if dtype.category != FLOATING:
            return None
        what = f"{op} of {dtype.name}"
        x, top = Operand(0, dtype), Operand(1, dtype)
        shifted = _wide(x) - _wide(top)
        total = Operand(2, shifted.dtype)
        largest = Reduced(device, what, x, "amax", dtype)
        summed = Reduced(device, what, apply("exp", shifted), "sum", shifted.dtype)
        result = apply("exp", shifted) / total if op == "softmax" else shifted - apply("log", total)
        finish = Fused(device, what, [cast(result, dtype)])

        def softmax(a: Array, dim: int) -> Array:
            if 0 in a.shape:
                return finish((a, a, a))[0] if dtype is shifted.dtype else _empty_like(a)
            dims = (dim,) if a.ndim else ()
            most = largest((a,), dims, True)
            return finish((a, most, summed((a, most), dims, True)))[0]

        return softmax

    return Kernel(unspecialized, specialize=specialize)


def _empty_like(a: Array) -> Array:
    from ...array import new

    return new(a.device, a.shape, a.dtype)


def _softmax_backward(op: str) -> Kernel:
    def specialize(types: Signature) -> Callable[..., Any] | None:
        dtype, device = types[0].dtype, opened(types[0].device)
        if dtype.category != FLOATING:
            return None
        what = f"{op} of {dtype.name}"
        g, out = _wide(Operand(0, dtype)), _wide(Operand(1, dtype))
        first = op == "softmax_backward"
        total = Operand(2, g.dtype)
        summed = Reduced(device, what, g * out if first else _wide(Operand(0, dtype)), "sum", g.dtype)
        finish = Fused(device, what, [cast(out * (g - total) if first else g - apply("exp", out) * total, dtype)])

        def backward(grad: Array, output: Array, dim: int) -> Array:
            if 0 in output.shape:
                return _empty_like(output)
            dims = (dim,) if output.ndim else ()
            sums = summed((grad, output) if first else (grad,), dims, True)
            return finish((grad, output, sums))[0]

        return backward

    return Kernel(unspecialized, specialize=specialize)


KERNELS = {
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "softmax_backward": _softmax_backward("softmax_backward"),
    "log_softmax_backward": _softmax_backward("log_softmax_backward"),
}
