"""Numbers of one type as numbers of another."""

from __future__ import annotations

from typing import Any

import onnx

import polyad
from polyad import Tensor

from ..elements import ElementType, element_type, of_dtype
from ..operators import REQUIRED, Compute, Node, described, operator

__all__ = ["brought"]

LARGEST = {
    polyad.float8_e4m3fn: 448.0,
    polyad.float8_e4m3fnuz: 240.0,
    polyad.float8_e5m2: 57344.0,
    polyad.float8_e5m2fnuz: 57344.0,
}


def brought(x: Tensor, kind: ElementType, saturate: bool = True, round_mode: str = "up") -> Tensor:
    """*x* as numbers of *kind*: cut to integers, wrapped to few bits, and brought into the range of 8-bit numbers."""
    if kind.bits:
        return _few_bits(x, kind)
    if kind.name == "float4e2m1":
        return _four_bits(x.to(polyad.float32))
    if kind.name == "float8e8m0":
        return _power_of_two(x.to(polyad.float32), saturate, round_mode)
    if kind.dtype in LARGEST and x.dtype is not kind.dtype:
        return _eight_bits(x.to(polyad.float32), kind.dtype, saturate)
    return x if x.dtype is kind.dtype else x.to(kind.dtype)


def _few_bits(x: Tensor, kind: ElementType) -> Tensor:
    whole = x.to(polyad.int64 if not x.dtype.is_floating_point else polyad.float32).to(polyad.int64)
    if kind.dtype is polyad.uint8:
        return (whole & ((1 << kind.bits) - 1)).to(polyad.uint8)
    half = 1 << (kind.bits - 1)
    return (((whole + half) & (2 * half - 1)) - half).to(polyad.int8)


def _four_bits(x: Tensor) -> Tensor:
    """The nearest numbers with one bit of mantissa and two of exponent; of two, the one whose last bit is 0."""
    size = x.abs()
    step = polyad.where(size < 2, 0.5, polyad.where(size < 4, 1.0, 2.0))
    made = (size / step).round() * step
    return polyad.copysign(polyad.where(made > 6, 6.0, made), x)


def _eight_bits(x: Tensor, dtype: Any, saturate: bool) -> Tensor:
    largest = LARGEST[dtype]
    if saturate:
        return x.clamp(-largest, largest).to(dtype)
    made = x.clamp(-largest, largest).to(dtype)
    # Beyond half a step above the largest number.
    step = {polyad.float8_e4m3fn: 16.0, polyad.float8_e4m3fnuz: 8.0}.get(dtype, 4096.0)
    beyond = x.abs() > largest + step if dtype is polyad.float8_e4m3fn else x.abs() >= largest + step
    over = polyad.full_like(x, float("inf") if dtype is polyad.float8_e5m2 else float("nan")).copysign(x)
    return polyad.where(beyond, over, made.to(polyad.float32)).to(dtype)


def _power_of_two(x: Tensor, saturate: bool, round_mode: str) -> Tensor:
    """Exponents alone. The rules are those of ONNX's Cast for float8e8m0, whose zero is the smallest number."""
    fraction, exponent = polyad.frexp(x.abs())
    power = exponent - 1
    exact = fraction == 0.5
    if round_mode == "up":
        power = polyad.where(exact, power, power + 1)
    elif round_mode == "nearest":
        power = polyad.where(fraction >= 0.75, power + 1, power)
    bits = (power + 127).clamp(0, 254)
    bits = polyad.where(x == 0, 0, bits)
    if not saturate:
        bits = polyad.where(power > 127, 255, bits)
    bits = polyad.where(x.isinf(), 254 if saturate else 255, bits)
    return polyad.where(x.isnan(), 255, bits).to(polyad.uint8).view(polyad.float8_e8m0fnu)


@operator("Cast")
def cast(node: Node) -> Compute:
    if node.version < 6:
        code = dict(onnx.TensorProto.DataType.items()).get(node.text("to", REQUIRED), -1)
    else:
        code = node.integer("to", REQUIRED)
    kind = element_type(code, f"node {described(node.proto)}")
    return _cast_to(node, kind)


def _cast_to(node: Node, kind: ElementType) -> Compute:
    saturate, mode = bool(node.integer("saturate", 1)), node.text("round_mode", "up")
    node.result = kind
    if not kind.bits and kind.dtype.computes and kind.name != "float4e2m1":
        dtype = kind.dtype
        return lambda x: x.to(dtype)
    return lambda x: brought(x, kind, saturate, mode)


@operator("CastLike")
def cast_like(node: Node) -> Compute:
    saturate, mode = bool(node.integer("saturate", 1)), node.text("round_mode", "up")
    kind = node.element(1)
    if kind is not None:
        call = _cast_to(node, kind)
        return lambda x, like: call(x)
    return lambda x, like: brought(x, of_dtype(like.dtype), saturate, mode)


@operator("BitCast")
def bit_cast(node: Node) -> Compute:
    kind = element_type(node.integer("to", REQUIRED), f"node {described(node.proto)}")
    if kind.bits or kind.array_dtype is not None:
        raise node.refused(f"bits of {kind.name} are held in whole bytes")
    return lambda x: x.contiguous().view(kind.dtype)


@operator("Identity")
def identity(node: Node) -> Compute:
    node.result = node.element(0)
    return lambda x: x
