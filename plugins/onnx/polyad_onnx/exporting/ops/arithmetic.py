"""Ops on each element by itself."""

from __future__ import annotations

import math
from typing import Any

import polyad as torch

from ..registry import translates
from .effects import filled

PLAIN = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "reciprocal": "Reciprocal", "sin": "Sin", "cos": "Cos", "tan": "Tan",
    "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh",
    "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid", "abs": "Abs", "neg": "Neg",
    "sub": "Sub", "pow": "Pow", "where": "Where", "isnan": "IsNaN",
}  # fmt: skip
"""Ops that are an operator with the same operands."""


def _operator(name: str, operator: str) -> None:
    @translates(name)
    def plain(to: Any, *operands: Any) -> Any:
        return to.op(operator, *operands)


for _name, _called in PLAIN.items():
    _operator(_name, _called)


@translates("add")
def add(to: Any, input: Any, other: Any) -> Any:
    """A sum; of two truths, whether one holds."""
    return to.op("Or" if to.result.dtype is torch.bool else "Add", input, other)


@translates("mul")
def mul(to: Any, input: Any, other: Any) -> Any:
    """A product; of two truths, whether both hold."""
    return to.op("And" if to.result.dtype is torch.bool else "Mul", input, other)


@translates("cast")
def cast(to: Any, input: Any, dtype: Any) -> Any:
    """Another dtype."""
    return to.cast(input, dtype)


@translates("copy", "copy_strided")
def copy(to: Any, input: Any, *strides: Any) -> Any:
    """The same elements."""
    return input


TRUTHS = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "logical_not": "Not"}


def _logical(name: str, operator: str) -> None:
    @translates(name)
    def logical(to: Any, *operands: Any) -> Any:
        return to.op(operator, *[to.cast(one, torch.bool) for one in operands])


for _name, _called in TRUTHS.items():
    _logical(_name, _called)


@translates("sign")
def sign(to: Any, input: Any) -> Any:
    """-1, 0 or 1, for nan 0; a truth itself."""
    if to.result.dtype is torch.bool:
        return input
    found = to.op("Sign", input)
    if not is_floating(to, input):
        return found
    return to.op("Where", to.op("IsNaN", input), number(to, 0), found, dtype=to.result.dtype)


COMPARED = {"lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "eq": "Equal"}


def _comparison(name: str, operator: str) -> None:
    @translates(name)
    def compared(to: Any, input: Any, other: Any) -> Any:
        if name != "eq" and input.type.dtype.name == "BOOL":
            input, other = to.cast(input, torch.int32), to.cast(other, torch.int32)
        return to.op(operator, input, other)


for _name, _called in COMPARED.items():
    _comparison(_name, _called)


@translates("ne")
def ne(to: Any, input: Any, other: Any) -> Any:
    """Whether elements differ."""
    return to.op("Not", to.op("Equal", input, other))


@translates("isinf")
def isinf(to: Any, input: Any) -> Any:
    """Whether an element is infinite."""
    if is_floating(to, input):
        return to.op("IsInf", to.cast(input, torch.float32) if input.type.dtype.name == "FLOAT16" else input)
    return filled(to, to.result.sizes, False, torch.bool)


def is_floating(to: Any, value: Any) -> bool:
    """Whether a value has floating point numbers."""
    return value.type.dtype.name in ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")


def number(to: Any, value: float, like: Any = None) -> Any:
    """A number in the dtype of *like*, which is that of the present result unless given."""
    return to.constant(value, to.result.dtype if like is None else like)


def _rounding(name: str, operator: str) -> None:
    @translates(name)
    def rounded(to: Any, input: Any) -> Any:
        return to.op(operator, input) if is_floating(to, input) else input


for _name, _called in {"floor": "Floor", "ceil": "Ceil", "round": "Round"}.items():
    _rounding(_name, _called)


@translates("trunc")
def trunc(to: Any, input: Any) -> Any:
    """Rounded towards 0."""
    if not is_floating(to, input):
        return input
    return to.op("Mul", to.op("Sign", input), to.op("Floor", to.op("Abs", input)))


@translates("div")
def div(to: Any, input: Any, other: Any) -> Any:
    """A quotient."""
    return to.op("Div", input, other)


@translates("fmod")
def fmod(to: Any, input: Any, other: Any) -> Any:
    """The remainder of the division rounded towards 0."""
    return to.op("Mod", input, other, fmod=1)


@translates("remainder")
def remainder(to: Any, input: Any, other: Any) -> Any:
    """The remainder of the division rounded down, which has the divisor's sign."""
    if not is_floating(to, input):
        return to.op("Mod", input, other)
    rest = to.op("Mod", input, other, fmod=1)
    zero = number(to, 0)
    other_sign = to.op("Xor", to.op("Less", rest, zero), to.op("Less", other, zero))
    moves = to.op("And", to.op("Not", to.op("Equal", rest, zero)), other_sign)
    return to.op("Where", moves, to.op("Add", rest, other), rest, dtype=to.result.dtype)


@translates("floor_divide")
def floor_divide(to: Any, input: Any, other: Any) -> Any:
    """A quotient rounded down: of what the remainder leaves, which is a multiple."""
    whole = to.op("Div", to.op("Sub", input, remainder(to, input, other)), other)
    if not is_floating(to, input):
        return whole
    by_zero = to.op("Equal", other, number(to, 0))
    return to.op("Where", by_zero, to.op("Div", input, other), to.op("Round", whole), dtype=to.result.dtype)


@translates("expm1")
def expm1(to: Any, input: Any) -> Any:
    """exp(x) - 1, exact also near 0: (u - 1) x / log(u) of u = exp(x), by W. Kahan."""
    one = number(to, 1)
    power = to.op("Exp", input)
    below = to.op("Sub", power, one)
    near = to.op("Div", to.op("Mul", below, input), to.op("Log", power))
    plain = to.op("Or", to.op("Greater", to.op("Abs", input), one), to.op("Equal", power, one))
    simple = to.op("Where", to.op("Equal", power, one), input, below, dtype=to.result.dtype)
    return to.op("Where", plain, simple, near, dtype=to.result.dtype)


@translates("log1p")
def log1p(to: Any, input: Any) -> Any:
    """log(1 + x), exact also near 0: log(u) x / (u - 1) of u = 1 + x, by W. Kahan."""
    one = number(to, 1)
    above = to.op("Add", input, one)
    near = to.op("Div", to.op("Mul", to.op("Log", above), input), to.op("Sub", above, one))
    far = to.op("Where", to.op("Equal", above, one), input, to.op("Log", above), dtype=to.result.dtype)
    plain = to.op("Or", to.op("Equal", above, one), to.op("Greater", input, one))
    return to.op("Where", plain, far, near, dtype=to.result.dtype)


@translates("atan2")
def atan2(to: Any, input: Any, other: Any) -> Any:
    """The angle of (other, input)."""
    zero, half = number(to, 0), number(to, math.pi / 2)
    angle = to.op("Atan", to.op("Div", input, other))
    below = to.op("Less", to.op("Reciprocal", input), zero)  # also of -0
    turn = to.op("Where", below, number(to, -math.pi), number(to, math.pi), dtype=to.result.dtype)
    left = to.op("Where", to.op("Less", other, zero), to.op("Add", angle, turn), angle, dtype=to.result.dtype)
    upright = to.op("Mul", to.op("Sign", input), half)
    return to.op("Where", to.op("Equal", other, zero), upright, left, dtype=to.result.dtype)


def _of_bits(name: str, truths: str, operator: str) -> None:
    @translates(name, when=lambda input, other: _are_bools(input, other))
    def of_truths(to: Any, input: Any, other: Any) -> Any:
        return to.op(truths, input, other)

    @translates(name, since=18)
    def of_bits(to: Any, input: Any, other: Any) -> Any:
        return to.op(truths if to.result.dtype is torch.bool else operator, input, other)


def _are_bools(*operands: Any) -> bool:
    return all(getattr(one, "dtype", type(one)) in (torch.bool, bool) for one in operands)


for _name, _truths, _called in (
    ("bitwise_and", "And", "BitwiseAnd"), ("bitwise_or", "Or", "BitwiseOr"), ("bitwise_xor", "Xor", "BitwiseXor"),
):  # fmt: skip
    _of_bits(_name, _truths, _called)


@translates("bitwise_not")
def bitwise_not(to: Any, input: Any) -> Any:
    """All bits turned; of a signed number -x - 1."""
    if to.result.dtype is torch.bool:
        return to.op("Not", input)
    if to.opset >= 18:
        return to.op("BitwiseNot", input)
    return to.op("Sub", to.op("Neg", input), number(to, 1))


@translates("bitwise_left_shift")
def bitwise_left_shift(to: Any, input: Any, other: Any) -> Any:
    """Times a power of 2."""
    return to.op("Mul", input, to.op("Pow", number(to, 2), other))


@translates("bitwise_right_shift")
def bitwise_right_shift(to: Any, input: Any, other: Any) -> Any:
    """A power of 2 into it, rounded down."""
    return floor_divide(to, input, to.op("Pow", number(to, 2), other))


@translates("clamp")
def clamp(to: Any, input: Any, min: Any, max: Any) -> Any:
    """Within bounds, each of which may be absent; nan stays."""
    if min is not None:
        input = to.op("Max", input, min)
    return input if max is None else to.op("Min", input, max)


@translates("conj")
def conj(to: Any, input: Any) -> Any:
    """A real number itself."""
    return input


@translates("rsqrt")
def rsqrt(to: Any, input: Any) -> Any:
    """One over the root."""
    return to.op("Reciprocal", to.op("Sqrt", input))


@translates("full")
def full(to: Any, shape: tuple[Any, ...], value: Any, dtype: Any, device: Any) -> Any:
    """A number in each place."""
    return filled(to, shape, value, to.result.dtype)


@translates("maximum")
def maximum(to: Any, input: Any, other: Any) -> Any:
    """The larger one."""
    return to.op("Or", input, other) if to.result.dtype is torch.bool else to.op("Max", input, other)


@translates("minimum")
def minimum(to: Any, input: Any, other: Any) -> Any:
    """The smaller one."""
    return to.op("And", input, other) if to.result.dtype is torch.bool else to.op("Min", input, other)
