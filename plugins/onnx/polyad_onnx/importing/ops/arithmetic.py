"""Arithmetic, comparison and logic of elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import polyad
from polyad import Tensor

from ..operators import Compute, Node, operator
from ..unsigned import comparing, computing

__all__: list[str] = []


def _at_axis(node: Node, function: Compute) -> Compute:
    """What sets before 7 say of broadcasting: the second operand begins at the dimension of attribute axis."""
    if node.version >= 7 or not node.integer("broadcast", 0) or node.integer("axis", None) is None:
        return function
    axis = node.integer("axis")

    def call(a: Tensor, b: Tensor) -> Any:
        first = axis if axis >= 0 else a.ndim + axis
        return function(a, b.reshape(*b.shape, *[1] * (a.ndim - first - b.ndim)))

    return call


def _binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    operator(name)(lambda node: _at_axis(node, function))


def _divided(a: Tensor, b: Tensor) -> Tensor:
    if a.dtype.is_floating_point:
        return polyad.div(a, b)
    return polyad.div(a, b, rounding_mode="trunc")


def bounded(x: Tensor, low: float | None, high: float | None) -> Tensor:
    """The elements within bounds. One after the other, each of which compilers make a single instruction of."""
    if low is not None:
        x = polyad.clamp(x, min=low)
    return x if high is None else polyad.clamp(x, max=high)


def _power(a: Tensor, b: Tensor) -> Tensor:
    if a.dtype.is_floating_point and b.dtype == a.dtype:
        return polyad.pow(a, b)
    if b.dtype.is_floating_point:
        return polyad.pow(a.to(polyad.promote_types(a.dtype, b.dtype)), b).to(a.dtype)
    return polyad.pow(a, b).to(a.dtype)


_binary("Add", computing(polyad.add))
_binary("Sub", computing(polyad.sub))
_binary("Mul", computing(polyad.mul))
_binary("Div", computing(_divided, signed=True))
_binary("And", polyad.logical_and)
_binary("Or", polyad.logical_or)
_binary("Xor", polyad.logical_xor)
_binary("BitwiseAnd", computing(polyad.bitwise_and))
_binary("BitwiseOr", computing(polyad.bitwise_or))
_binary("BitwiseXor", computing(polyad.bitwise_xor))
_binary("Equal", comparing(polyad.eq))
_binary("Less", comparing(polyad.lt))
_binary("Greater", comparing(polyad.gt))
_binary("LessOrEqual", comparing(polyad.le))
_binary("GreaterOrEqual", comparing(polyad.ge))


@operator("Mod")
def mod(node: Node) -> Compute:
    return computing(polyad.fmod if node.integer("fmod", 0) else polyad.remainder, signed=True)


@operator("BitShift")
def bit_shift(node: Node) -> Compute:
    left = node.choice("direction", "", "LEFT", "RIGHT") == "LEFT"
    return computing(polyad.bitwise_left_shift) if left else computing(polyad.bitwise_right_shift, signed=True)


UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Abs": polyad.abs, "Neg": polyad.neg, "Floor": polyad.floor, "Ceil": polyad.ceil, "Sqrt": polyad.sqrt, "Exp":
    polyad.exp, "Log": polyad.log, "Reciprocal": polyad.reciprocal, "Round": polyad.round, "Sign": polyad.sign, "Erf":
    polyad.erf, "IsNaN": polyad.isnan, "Not": polyad.logical_not, "Sin": polyad.sin, "Cos": polyad.cos, "Tan":
    polyad.tan, "Asin": polyad.asin, "Acos": polyad.acos, "Atan": polyad.atan, "Sinh": polyad.sinh, "Cosh":
    polyad.cosh, "Tanh": polyad.tanh, "Asinh": polyad.asinh, "Acosh": polyad.acosh, "Atanh": polyad.atanh, "Sigmoid":
    polyad.sigmoid, "Det": polyad.linalg.det,
}  # fmt: skip


@operator(*UNARY)
def unary(node: Node) -> Compute:
    return UNARY[node.proto.op_type]


@operator("BitwiseNot")
def bitwise_not(node: Node) -> Compute:
    return computing(polyad.bitwise_not)


@operator("IsInf")
def is_inf(node: Node) -> Compute:
    negative, positive = node.integer("detect_negative", 1), node.integer("detect_positive", 1)
    if negative and positive:
        return polyad.isinf
    if negative or positive:
        return polyad.isposinf if positive else polyad.isneginf
    return lambda x: polyad.zeros_like(x, dtype=polyad.bool)


@operator("Sum")
def total(node: Node) -> Compute:
    return lambda *xs: reduce(polyad.add, xs)


@operator("Mean")
def mean(node: Node) -> Compute:
    return lambda *xs: reduce(polyad.add, xs) / len(xs)


def _largest(*xs: Tensor) -> Tensor:
    return reduce(polyad.maximum, xs)


def _smallest(*xs: Tensor) -> Tensor:
    return reduce(polyad.minimum, xs)


@operator("Max")
def maximum(node: Node) -> Compute:
    return computing(_largest, ordered=True)


@operator("Min")
def minimum(node: Node) -> Compute:
    return computing(_smallest, ordered=True)


@operator("Pow")
def power(node: Node) -> Compute:
    exponent = node.scalar(1)
    general = _at_axis(node, computing(_power, signed=True))
    if exponent is None:
        return general

    def call(x: Tensor, by: Tensor) -> Tensor:
        return polyad.pow(x, exponent) if x.dtype.is_floating_point else general(x, by)

    return call


@operator("Clip")
def clip(node: Node) -> Compute:
    def by_tensors(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
        if low is not None:
            x = polyad.maximum(x, low)
        return x if high is None else polyad.minimum(x, high)

    general = computing(by_tensors, ordered=True)
    if node.version < 11:
        low, high = node.number("min"), node.number("max")
    elif any(node.has(index) and node.scalar(index) is None for index in (1, 2)):
        return general
    else:
        low, high = node.scalar(1), node.scalar(2)
    return lambda x, *bounds: bounded(x, low, high) if x.dtype.computes else general(x, *bounds)


@operator("Where")
def where(node: Node) -> Compute:
    return polyad.where


@operator("CumSum", host=(1,))
def cum_sum(node: Node) -> Compute:
    return _cumulative(node, polyad.cumsum, 0)


@operator("CumProd", host=(1,))
def cum_prod(node: Node) -> Compute:
    return _cumulative(node, polyad.cumprod, 1)


def _cumulative(node: Node, function: Any, first: int) -> Compute:
    exclusive, backwards = node.integer("exclusive", 0), node.integer("reverse", 0)

    def call(x: Tensor, axis: Any) -> Tensor:
        dim = axis[0]
        turned = x.flip(dim) if backwards else x
        if exclusive and x.shape[dim]:
            start = polyad.full_like(turned.narrow(dim, 0, 1), first)
            turned = polyad.cat([start, turned.narrow(dim, 0, x.shape[dim] - 1)], dim)
        made = function(turned, dim, dtype=x.dtype)
        return made.flip(dim) if backwards else made

    return call
