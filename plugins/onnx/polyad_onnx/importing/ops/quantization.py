"""Quantised numbers: to and from them, and products of them.

Products of 8-bit integers are computed as floating point numbers, which hold their sums exactly: the sum of 256
products of numbers below 256 is below 2^24. Longer sums are made of such.
"""

from __future__ import annotations

from typing import Any

import polyad
from polyad import Tensor

from ..elements import ElementType, element_type, of_dtype
from ..operators import Compute, Node, described, operator
from .arithmetic import bounded
from .casting import brought
from .convolution import convolved
from .windows import Windows

__all__: list[str] = []

EXACT = 256
"""How many products of two numbers below 256 have a sum that float32 holds exactly."""


def _shaped(each: Tensor, x: Tensor, axis: int, block: int) -> Tensor:
    """Scales or zero points, for all, for places along an axis or for blocks of it, in a shape to go with *x*."""
    if each.numel() == 1:
        return each.reshape(())
    if each.ndim == 1 and not block:
        return each.reshape([-1 if dim == axis % x.ndim else 1 for dim in range(x.ndim)])
    if each.ndim == x.ndim:
        size = x.shape[axis]
        count = block or -(-size // each.shape[axis])
        return each.repeat_interleave(count, axis).narrow(axis, 0, size)
    return each


def _integer_range(kind: ElementType) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    bits = kind.bits or 8 * kind.dtype.itemsize
    signed = kind.dtype.is_signed
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def quantized(x: Tensor, zero: Tensor | None, kind: ElementType, saturate: bool = True) -> Tensor:
    """Numbers that were divided by their scale, as numbers of *kind*."""
    if kind.dtype.is_floating_point:
        return brought(x if zero is None else x + zero.to(x.dtype), kind, saturate)
    made = x.round()
    if zero is not None:
        made = made + zero.to(made.dtype)
    return bounded(made, *_integer_range(kind)).to(kind.dtype)


@operator("QuantizeLinear", state=(1,))
def quantize_linear(node: Node) -> Compute:
    axis, block, saturate = node.integer("axis", 1), node.integer("block_size", 0), bool(node.integer("saturate", 1))
    code, precision = node.integer("output_dtype", 0), node.integer("precision", 0)
    kind = element_type(code, f"node {described(node.proto)}") if code else node.element(2)
    node.result = kind
    wide = element_type(precision, f"node {described(node.proto)}").dtype if precision else None

    def call(x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
        made = kind or of_dtype(polyad.uint8 if zero is None else zero.dtype)
        dtype = wide or (scale.dtype if scale.dtype.computes else polyad.float32)
        if not x.dtype.is_floating_point or dtype.itemsize < 4:
            dtype = polyad.float32
        by = _shaped(scale.to(dtype), x, axis, block)
        shift = None if zero is None else _shaped(_numbers(zero), x, axis, block)
        return quantized(x.to(dtype) / by, shift, made, saturate)

    return call


def _numbers(x: Tensor) -> Tensor:
    return x if x.dtype.computes else x.to(polyad.float32)


@operator("DequantizeLinear", state=(1,))
def dequantize_linear(node: Node) -> Compute:
    axis, block = node.integer("axis", 1), node.integer("block_size", 0)
    code = node.integer("output_dtype", 0)
    dtype = element_type(code, f"node {described(node.proto)}").dtype if code else None

    def call(x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
        result = dtype or scale.dtype
        wide = polyad.float32 if scale.dtype is not polyad.float64 else polyad.float64
        made = x.to(wide)
        if zero is not None:
            made = made - _shaped(zero.to(wide), x, axis, block)
        return (made * _shaped(scale.to(wide), x, axis, block)).to(result)

    return call


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> Compute:
    return quantize_dynamically


def quantize_dynamically(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """*x* as uint8, with the scale and the zero point that its own range gives."""
    least, most = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = (most - least) / 255
    zero = (-least / scale).round().clamp(0, 255).nan_to_num(0)
    by = polyad.where(scale == 0, 1.0, scale)
    made = bounded((x / by).round() + zero, 0, 255)
    return made.to(polyad.uint8), scale, zero.to(polyad.uint8)


class Prepared:
    """A tensor in the form in which it is computed with, made anew when somebody has written to it."""

    def __init__(self) -> None:
        self.source: tuple[Any, ...] = ()
        self.made: Any = None

    def of(self, *tensors: Tensor | None, make: Any) -> Any:
        """What *make* makes of the *tensors*."""
        key = tuple(None if each is None else (id(each), each._version) for each in tensors)
        if not self.source or self.source[0] != key:
            self.source, self.made = (key, tensors), make(*tensors)
        return self.made


def less_zero_point(x: Tensor, zero: Tensor | None, dim: int) -> Tensor:
    """Integers less their zero point, as float32; a zero point for each place lies along *dim*."""
    made = x.to(polyad.float32)
    if zero is None:
        return made
    shift = zero.to(polyad.float32)
    if shift.numel() == 1:
        return made - shift.reshape(())
    if shift.ndim == 1:
        shift = shift.reshape([-1 if index == dim % x.ndim else 1 for index in range(x.ndim)])
    return made - shift


def _exact_product(a: Tensor, b: Tensor) -> Tensor:
    """The product of matrices of whole numbers below 256, exactly, as int32."""
    size = a.shape[-1]
    if size <= EXACT:
        return polyad.matmul(a, b).to(polyad.int32)
    made = None
    for start in range(0, size, EXACT):
        count = min(EXACT, size - start)
        rows = b.narrow(-2, start, count) if b.ndim > 1 else b.narrow(0, start, count)
        part = polyad.matmul(a.narrow(-1, start, count), rows).to(polyad.int32)
        made = part if made is None else made.add_(part)
    assert made is not None
    return made


@operator("MatMulInteger")
def matmul_integer(node: Node) -> Compute:
    prepared = Prepared()

    def call(a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None) -> Tensor:
        right = prepared.of(b, b_zero, make=lambda b, zero: less_zero_point(b, zero, -1))
        return _exact_product(less_zero_point(a, a_zero, -2), right)

    return call


@operator("QLinearMatMul", state=(1, 4, 6))
def qlinear_matmul(node: Node) -> Compute:
    prepared = Prepared()

    def call(
        a: Tensor,
        a_scale: Tensor,
        a_zero: Tensor,
        b: Tensor,
        b_scale: Tensor,
        b_zero: Tensor,
        scale: Tensor,
        zero: Tensor,
    ) -> Tensor:
        right = prepared.of(b, b_zero, make=lambda b, zero: less_zero_point(b, zero, -1))
        made = _exact_product(less_zero_point(a, a_zero, -2), right).to(polyad.float32)
        by = _shaped(a_scale.float(), a, -2, 0) * _shaped(b_scale.float(), b, -1, 0) / _shaped(scale.float(), a, -2, 0)
        return quantized(made * by, _shaped(zero, a, -2, 0), of_dtype(zero.dtype))

    return call


@operator("ConvInteger")
def conv_integer(node: Node) -> Compute:
    windows, groups = Windows.of(node), node.integer("group", 1)
    prepared = Prepared()

    def call(x: Tensor, weight: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None) -> Tensor:
        kernel = prepared.of(weight, w_zero, make=lambda weight, zero: less_zero_point(weight, zero, 0))
        long = weight[0].numel() > EXACT
        data = less_zero_point(x, x_zero, 1)
        if long:
            return convolved(data.double(), kernel.double(), None, windows, groups).to(polyad.int32)
        return convolved(data, kernel, None, windows, groups).to(polyad.int32)

    return call


@operator("QLinearConv", state=(1, 4, 6))
def qlinear_conv(node: Node) -> Compute:
    windows, groups = Windows.of(node), node.integer("group", 1)
    prepared = Prepared()

    def call(
        x: Tensor, x_scale: Tensor, x_zero: Tensor, w: Tensor, w_scale: Tensor, w_zero: Tensor, scale: Tensor,
        zero: Tensor, bias: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        # float32 for sums of any length: what it rounds is far below the step of the 8-bit result.
        kernel = prepared.of(w, w_zero, make=lambda w, zero: less_zero_point(w, zero, 0))
        shift = None if bias is None else bias.to(polyad.float32)
        made = convolved(less_zero_point(x, x_zero, 1), kernel, shift, windows, groups)
        by = _shaped((x_scale.float() * w_scale.float() / scale.float()), made, 1, 0)
        return quantized(made * by, zero, of_dtype(zero.dtype))

    return call
