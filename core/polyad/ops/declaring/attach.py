"""Attaching to Tensor what the declarations give it: methods, in-place forms, properties and operators.

Operators are named here with the op or function that carries them out; everything else is declared where it is defined
(`polyad.dispatch.op`).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from typing import Any

from ...dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC
from ...dispatch.inplace import inplace
from ...dispatch.op import Attribute, Function, Op
from ...tensor import Tensor
from ...tensor_methods import TensorMethods

_NUMBERS = (Tensor, float, int, complex, numbers.Complex)
"""What an operator takes on its other side; the last are NumPy scalars, fractions and the like."""

BINARY = {
    "add": "_add",
    "sub": "_sub",
    "mul": "_mul",
    "truediv": "_div",
    "floordiv": "_floor_divide",
    "mod": "_remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
"""Operators that have a reflected and an in-place form; a name is a public function's, or with a leading underscore an
op's.
"""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = {"neg": "_neg", "pos": "positive", "abs": "abs"}


def attach_methods() -> None:
    """Attach everything; called once, after all families are imported."""
    for name, attribute in attributes().items():
        setattr(TensorMethods, name, attribute.make())


def attributes() -> dict[str, Attribute]:
    """Every attribute that the declarations give Tensor, by name, with the module that it comes from."""
    return {**ATTRIBUTES, **{one.name: one for one in _operators()}}


def _operators() -> Iterator[Attribute]:
    for name, path in BINARY.items():
        yield _operator(f"__{name}__", path, _binary)
        yield _operator(f"__r{name}__", path, _reflected)
        yield _operator(f"__i{name}__", path, _augmented)
    for name in COMPARISONS:
        yield _operator(f"__{name}__", name, _binary)
    for name, path in UNARY.items():
        yield _operator(f"__{name}__", path, lambda _, declared: declared.call)


def _operator(name: str, path: str, form: Callable[[str, Op | Function], Any]) -> Attribute:
    declared = OPS[path[1:]] if path.startswith("_") else PUBLIC[path]
    return Attribute(name, declared.module, lambda: form(name, declared))


def _binary(name: str, declared: Op | Function) -> Callable[[Any, Any], Any]:
    """An operator: NumPy arrays are taken as tensors, other foreign operands are left to the other side."""
    call = declared.call

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _NUMBERS):
            return call(self, other)
        array = from_array(other)
        return NotImplemented if array is None else call(self, array)

    return operator


def _reflected(name: str, declared: Op | Function) -> Callable[[Any, Any], Any]:
    call = declared.call

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _NUMBERS):
            return call(other, self)
        array = from_array(other)
        return NotImplemented if array is None else call(array, self)

    return operator


def _augmented(name: str, declared: Op | Function) -> Callable[[Any, Any], Any]:
    call = declared.call
    op = declared if isinstance(declared, Op) else declared.op or declared.fronts

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _NUMBERS):
            return inplace(name, call, op, self, other)
        array = from_array(other)
        return NotImplemented if array is None else inplace(name, call, op, self, array)

    return operator


def from_array(other: Any) -> Tensor | bool | None:
    """A NumPy array as a tensor, NumPy's bool as a bool, None for anything else."""
    if not hasattr(other, "__array_interface__"):
        return None
    from ...interop.numpy import operand

    return operand(other)
