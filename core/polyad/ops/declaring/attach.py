"""Attaching methods, in-place forms and operators to Tensor, from the declarations."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any

from ...dispatch.front import front
from ...dispatch.inplace import inplace
from ...dispatch.op import PUBLIC, Function, op_of
from ...tensor import Tensor
from ...tensor_methods import TensorMethods
from ..creation import factories as creation
from ..indexing import index_put as advanced_indexing, slicing, subscript, view_scatter
from ..memory import conversion, interchange, placement, storage as memory
from ..pointwise import arithmetic, bitwise, comparison, complex_numbers as complex_parts, powers, selection
from ..products import matmul as linear_algebra
from ..random import inplace as random_inplace
from ..shaping import joining, reshape as shape

_NUMBERS = (Tensor, float, int, complex, numbers.Complex)
"""What an operator takes on its other side; the last are NumPy scalars, fractions and the like."""


def _inplace_form(public: Function) -> Callable[..., Any]:
    name, call = public.name + "_", public.call
    op = public.op or public.fronts

    @functools.wraps(call)
    def form(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace(name, call, op, self, *args, **kwargs)

    form.__name__ = name
    form.__qualname__ = f"Tensor.{name}"
    form.__doc__ = f"In-place form of `polyad.{public.name}`."
    return form


BINARY: dict[str, Callable[..., Any]] = {
    "add": arithmetic._add,
    "sub": arithmetic._sub,
    "mul": arithmetic._mul,
    "truediv": arithmetic._div,
    "floordiv": arithmetic._floor_divide,
    "mod": arithmetic._remainder,
    "pow": powers.pow,
    "and": bitwise.bitwise_and,
    "or": bitwise.bitwise_or,
    "xor": bitwise.bitwise_xor,
    "lshift": bitwise.bitwise_left_shift,
    "rshift": bitwise.bitwise_right_shift,
}
COMPARISONS: dict[str, Callable[..., Any]] = {
    "eq": comparison.eq,
    "ne": comparison.ne,
    "lt": comparison.lt,
    "le": comparison.le,
    "gt": comparison.gt,
    "ge": comparison.ge,
}
UNARY: dict[str, Callable[..., Any]] = {
    "neg": arithmetic._neg,
    "pos": arithmetic.positive,
    "abs": arithmetic.abs,
    "invert": bitwise.invert,
}
METHODS: dict[str, Callable[..., Any]] = {"where": selection.where_method}


def _binary(call: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """An operator: NumPy arrays are taken as tensors, other foreign operands are left to the other side."""

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _NUMBERS):
            return call(self, other)
        array = _from_array(other)
        return NotImplemented if array is None else call(self, array)

    return operator


def _reflected(call: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _NUMBERS):
            return call(other, self)
        array = _from_array(other)
        return NotImplemented if array is None else call(array, self)

    return operator


def _from_array(other: Any) -> Tensor | bool | None:
    """A NumPy array as a tensor, NumPy's bool as a bool, None for anything else."""
    if not hasattr(other, "__array_interface__"):
        return None
    from ...interop.reading import operand

    return operand(other)


def _augmented(name: str, call: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    op = op_of(powers._pow if call is powers.pow else call)

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _NUMBERS):
            return inplace(name, call, op, self, other)
        array = _from_array(other)
        return NotImplemented if array is None else inplace(name, call, op, self, array)

    return operator


def _fronted(name: str, method: Any) -> Any:
    """A method that is no public function, with its errors told as theirs are. Python's protocols, on which much
    depends, tell their own.
    """
    if name.startswith("__") or hasattr(method, "__wrapped__") or hasattr(method, "__polyad_op__"):
        return method
    return front(method)


def attach_methods() -> None:
    """Attach everything; called once, after all families are imported."""
    for public in PUBLIC.values():
        if public.method:
            setattr(TensorMethods, public.name, public.call)
        if public.inplace:
            setattr(TensorMethods, public.name + "_", _inplace_form(public))
    for name, call in BINARY.items():
        setattr(TensorMethods, f"__{name}__", _binary(call))
        setattr(TensorMethods, f"__r{name}__", _reflected(call))
        setattr(TensorMethods, f"__i{name}__", _augmented(f"__i{name}__", call))
    for name, call in COMPARISONS.items():
        setattr(TensorMethods, f"__{name}__", _binary(call))
    for name, call in UNARY.items():
        setattr(TensorMethods, f"__{name}__", call)
    setattr(TensorMethods, "__matmul__", _binary_tensor(linear_algebra._matmul))  # noqa: B010
    setattr(TensorMethods, "__rmatmul__", _binary_tensor(lambda self, other: linear_algebra._matmul(other, self)))  # noqa: B010
    for table in (
        METHODS,
        conversion.METHODS,
        creation.METHODS,
        shape.INPLACE,
        advanced_indexing.METHODS,
        interchange.METHODS,
        joining.METHODS,
        memory.METHODS,
        placement.METHODS,
        random_inplace.METHODS,
        slicing.METHODS,
        subscript.METHODS,
        view_scatter.METHODS,
    ):
        for name, attached in table.items():
            setattr(TensorMethods, name, _fronted(name, attached))
    for name, getter in (shape.PROPERTIES | complex_parts.PROPERTIES | placement.PROPERTIES).items():
        setattr(TensorMethods, name, getter if isinstance(getter, property) else property(getter))
    for method in (conversion.copy_, conversion.fill_, conversion.zero_):
        setattr(TensorMethods, method.__name__, _fronted(method.__name__, method))


def _binary_tensor(call: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, Tensor):
            return call(self, other)
        array = _from_array(other)
        return NotImplemented if array is None else call(self, array)

    return operator
