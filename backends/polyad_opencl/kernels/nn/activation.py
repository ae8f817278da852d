"""Activations and their gradients in one pass over memory, softmax in three. Complex numbers are left to
decompositions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.codegen import Expression, Operand, apply, cast, where
from polyad.dtypes import FLOATING, float32

from ...array import Array
from ...runtime.device import opened
from ...source.generated import Fused, Reduced
from ..pointwise.elementwise import fused, is_floating, kernel

ROOT_HALF = 0.5**0.5
ROOT_TWO_OVER_PI = (2 / math.pi) ** 0.5
TANH_CUBIC = 0.044715


def exp(x: Expression) -> Expression:
    return apply("exp", x)


def tanh(x: Expression) -> Expression:
    return apply("tanh", x)


def sigmoid(x: Expression) -> Expression:
    return 1 / (exp(-x) + 1)


def _gelu(x: Expression) -> Expression:
    return x * 0.5 * apply("erfc", x * -ROOT_HALF)


def _gelu_tanh(x: Expression) -> Expression:
    return x * 0.5 * (tanh(_inner(x)) + 1)


def _inner(x: Expression) -> Expression:
    return x * (x * x * TANH_CUBIC + 1) * ROOT_TWO_OVER_PI


def _gelu_backward(g: Expression, x: Expression) -> Expression:
    density = exp(x * x * -0.5) * (ROOT_TWO_OVER_PI / 2)
    return g * (apply("erfc", x * -ROOT_HALF) * 0.5 + x * density)


def _gelu_tanh_backward(g: Expression, x: Expression) -> Expression:
    inner = tanh(_inner(x))
    slope = (x * x * (3 * TANH_CUBIC) + 1) * ROOT_TWO_OVER_PI
    return g * ((inner + 1 + x * slope * (1 - inner * inner)) * 0.5)


def _silu_backward(g: Expression, x: Expression) -> Expression:
    gate = sigmoid(x)
    return g * (gate * (x * (1 - gate) + 1))


def _by_variant(variants: dict[str, Callable[..., Expression]], op: str) -> Kernel:
    """A kernel whose last parameter names one of several expressions."""

    def specialize(types: Signature) -> Callable[..., Any] | None:
        if not is_floating(types[0].dtype):
            return None
        kernels = {name: fused(types, op, build) for name, build in variants.items()}
        return lambda *args: kernels[args[-1]](*args[:-1])

    return Kernel(_unspecialized, specialize=specialize)


def _unspecialized(*operands: Any) -> Any:
    raise AssertionError("written for each signature")


def with_numbers(op: str, build: Callable[..., Expression]) -> Kernel:
    """A kernel whose parameters are numbers: *build* gets them as scalars after the operands' expressions."""

    def specialize(types: Signature) -> Callable[..., Any] | None:
        if not is_floating(types[0].dtype):
            return None
        count = build.__code__.co_argcount - len(types)
        return fused((*types, *(float,) * count), op, build)

    return Kernel(_unspecialized, specialize=specialize)


# ------------------------------------------------------------------------------------------------ softmax


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
        summed = Reduced(device, what, exp(shifted), "sum", shifted.dtype)
        result = exp(shifted) / total if op == "softmax" else shifted - apply("log", total)
        finish = Fused(device, what, [cast(result, dtype)])

        def softmax(a: Array, dim: int) -> Array:
            if 0 in a.shape:
                return finish((a, a, a))[0] if dtype is shifted.dtype else _empty_like(a)
            dims = (dim,) if a.ndim else ()
            most = largest((a,), dims, True)
            return finish((a, most, summed((a, most), dims, True)))[0]

        return softmax

    return Kernel(_unspecialized, specialize=specialize)


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
        finish = Fused(device, what, [cast(out * (g - total) if first else g - exp(out) * total, dtype)])

        def backward(grad: Array, output: Array, dim: int) -> Array:
            if 0 in output.shape:
                return _empty_like(output)
            dims = (dim,) if output.ndim else ()
            sums = summed((grad, output) if first else (grad,), dims, True)
            return finish((grad, output, sums))[0]

        return backward

    return Kernel(_unspecialized, specialize=specialize)


KERNELS = {
    "relu": kernel("relu", lambda x: apply("maximum", x, x.literal(0))),
    "relu_backward": kernel("relu_backward", lambda g, out: where(apply("ne", out, out.literal(0)), g, 0)),
    "sigmoid": kernel("sigmoid", sigmoid, is_floating),
    "sigmoid_backward": kernel("sigmoid_backward", lambda g, out: g * (out * (1 - out)), is_floating),
    "tanh_backward": kernel("tanh_backward", lambda g, out: g * (1 - out * out), is_floating),
    "gelu": _by_variant({"none": _gelu, "tanh": _gelu_tanh}, "gelu"),
    "gelu_backward": _by_variant({"none": _gelu_backward, "tanh": _gelu_tanh_backward}, "gelu_backward"),
    "silu": kernel("silu", lambda x: x * sigmoid(x), is_floating),
    "silu_backward": kernel("silu_backward", _silu_backward, is_floating),
    "glu": kernel("glu", lambda x, gate: x * sigmoid(gate), is_floating),
    "leaky_relu": with_numbers("leaky_relu", lambda x, slope: where(x > 0, x, x * slope)),
    "leaky_relu_backward": with_numbers("leaky_relu_backward", lambda g, x, slope: where(x > 0, g, g * slope)),
    "addcmul": with_numbers("addcmul", lambda a, b, c, value: a + b * c * value),
    "addcdiv": with_numbers("addcdiv", lambda a, b, c, value: a + b / c * value),
    "softmax": _softmax("softmax"),
    "log_softmax": _softmax("log_softmax"),
    "softmax_backward": _softmax_backward("softmax_backward"),
    "log_softmax_backward": _softmax_backward("log_softmax_backward"),
}
