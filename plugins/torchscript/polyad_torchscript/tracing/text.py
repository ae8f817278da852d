"""Texts of TorchScript: literals, and variables with what is known of them."""

from __future__ import annotations

import math
from typing import Any

from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.errors import NotSupported, safe_repr
from polyad.graph.values import Value

from ..running.values import CODES

__all__ = ["Text", "Variable", "literal"]


class Text(str):
    """A piece of a program's text."""

    __slots__ = ()


class Variable(Text):
    """A variable that holds a tensor.

    Attributes:
        value: what the graph knows of the tensor.
    """

    __slots__ = ("value",)

    value: Value

    @classmethod
    def of(cls, name: str, value: Value) -> Variable:
        """The variable *name* for *value*."""
        found = cls(name)
        found.value = value
        return found

    @property
    def sizes(self) -> tuple[Any, ...]:
        """The shape; what follows from the sizes of inputs is an expression."""
        return self.value.sizes

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.value.shape)


def literal(value: Any) -> str:
    r"""*value* as TorchScript writes it.

    Raises NotImplementedError for what it has no text for.

    >>> literal([1, 2.0, None]), literal(float("-inf")), literal("a")
    ('[1, 2., None]', '-inf', '"a"')
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, Text):
        return str(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return _decimal(float(value))
    if isinstance(value, complex):
        sign = "-" if math.copysign(1, value.imag) < 0 else "+"
        return f"{_decimal(value.real)}{sign}{_decimal(abs(value.imag))}j"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, DType) and value.name in CODES:
        return str(CODES[value.name])
    if isinstance(value, Device):
        return f'torch.device("{value}")'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]" if value else "annotate(List[int], [])"
    raise NotSupported(
        f"trace: {safe_repr(value)} of type {type(value).__name__} cannot be written as TorchScript",
        fix="pass numbers, strings, dtypes, devices and tensors to ops",
    )


def _decimal(value: float) -> str:
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    text = repr(value)
    return text.removesuffix("0") if text.endswith(".0") else text


def _quoted(text: str) -> str:
    escaped = (
        text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return f'"{escaped}"'
