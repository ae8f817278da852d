"""Ops on each element by itself."""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import translates

PLAIN = {
    "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "reciprocal": "Reciprocal", "floor": "Floor", "ceil": "Ceil",
    "round": "Round", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh",
    "erf": "Erf", "sigmoid": "Sigmoid", "abs": "Abs", "neg": "Neg", "sign": "Sign", "div": "Div", "sub": "Sub",
    "pow": "Pow", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual", "where": "Where",
    "logical_not": "Not", "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor",
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


@translates("eq")
def eq(to: Any, input: Any, other: Any) -> Any:
    """Whether elements are the same."""
    return to.op("Equal", input, other)


@translates("rsqrt")
def rsqrt(to: Any, input: Any) -> Any:
    """One over the root."""
    return to.op("Reciprocal", to.op("Sqrt", input))


@translates("full")
def full(to: Any, shape: tuple[Any, ...], value: Any, dtype: Any, device: Any) -> Any:
    """A number in each place."""
    from .effects import filled

    return filled(to, shape, value, to.result.dtype)


@translates("maximum")
def maximum(to: Any, input: Any, other: Any) -> Any:
    """The larger one."""
    return to.op("Or", input, other) if to.result.dtype is torch.bool else to.op("Max", input, other)


@translates("minimum")
def minimum(to: Any, input: Any, other: Any) -> Any:
    """The smaller one."""
    return to.op("And", input, other) if to.result.dtype is torch.bool else to.op("Min", input, other)
