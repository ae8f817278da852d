"""Attaching to Tensor what the declarations give it: methods, in-place forms, properties and operators.

What stands on the class at first is a promise of each attribute, which loads the module that declares it and puts the
attribute itself in its own place when it is first used. Operators are named here with the op or function that carries
them out; everything else is declared where it is defined (`polyad.dispatch.op`).
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

from ...dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC
from ...dispatch.inplace import inplace
from ...dispatch.op import Function, Op
from ...dispatch.overriding import check, sources, stands_in, watching
from ...tensor import Tensor
from ...tensor.methods import TensorMethods

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

IN_PLACE = frozenset(
    [
        "abs_",
        "acos_",
        "acosh_",
        "addmv_",
        "arccos_",
        "arccosh_",
        "arcsin_",
        "arcsinh_",
        "arctan_",
        "arctanh_",
        "as_strided_",
        "asin_",
        "asinh_",
        "atan_",
        "atanh_",
        "ceil_",
        "clamp_",
        "clamp_max_",
        "clamp_min_",
        "clip_",
        "conj_physical_",
        "cos_",
        "cosh_",
        "deg2rad_",
        "detach_",
        "erf_",
        "erfc_",
        "exp2_",
        "exp_",
        "expm1_",
        "fill_",
        "fix_",
        "floor_",
        "frac_",
        "gcd_",
        "i0_",
        "index_put_",
        "lcm_",
        "ldexp_",
        "log10_",
        "log1p_",
        "log2_",
        "log_",
        "logit_",
        "nan_to_num_",
        "neg_",
        "negative_",
        "rad2deg_",
        "reciprocal_",
        "relu_",
        "resize_as_",
        "round_",
        "rsqrt_",
        "sigmoid_",
        "sin_",
        "sinc_",
        "sinh_",
        "sqrt_",
        "square_",
        "tan_",
        "tanh_",
        "trunc_",
        "xlogy_",
        "zero_",
    ]
)
"""The in-place methods that PyTorch has as functions."""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = {"neg": "_neg", "pos": "positive", "abs": "abs"}


def attach(names: Iterable[str]) -> None:
    """Put promises of the declared attributes called *names*, and of the operators, on Tensor; and of what is declared
    from now on.
    """
    for name in (*names, *OPERATORS):
        _promise(name)
    ATTRIBUTES.on_new(_promise)


def _promise(name: str) -> None:
    setattr(TensorMethods, name, _Promise(name))


def _used() -> Iterator[tuple[FunctionType, Any]]:
    """The functions and methods that are loaded, with what is reported for each."""
    for public in PUBLIC.loaded():
        yield public.call, None  # type: ignore[misc]
    for name, attribute in list(vars(TensorMethods).items()):
        if isinstance(attribute, FunctionType):
            yield attribute, _reported(name)


sources.append(_used)


class _Promise:
    """Stands for an attribute of Tensor until it is first read, written or called."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<the attribute {self.name} of Tensor, not used yet>"

    def _kept(self) -> Any:
        """The attribute, which stands in the place of the promise from now on."""
        if self.name in OPERATORS:
            path, form = OPERATORS[self.name]
            attribute = form(self.name, OPS[path[1:]] if path.startswith("_") else PUBLIC[path])
        else:
            attribute = ATTRIBUTES[self.name].make()
        setattr(TensorMethods, self.name, attribute)
        if watching and isinstance(attribute, FunctionType):
            check(attribute, _reported(self.name))
        return attribute

    # The attribute is asked itself: to look its name up again would begin at a subclass that overrides it, in the
    # middle of that subclass's call of ``super()``.

    def __get__(self, tensor: Any, cls: type) -> Any:
        attribute = self._kept()
        return attribute.__get__(tensor, cls) if hasattr(attribute, "__get__") else attribute

    def __set__(self, tensor: Any, value: Any) -> None:
        attribute = self._kept()
        if hasattr(attribute, "__set__"):
            attribute.__set__(tensor, value)
        else:
            vars(tensor)[self.name] = value

    def __delete__(self, tensor: Any) -> None:
        attribute = self._kept()
        if hasattr(attribute, "__delete__"):
            attribute.__delete__(tensor)
        else:
            object.__delattr__(tensor, self.name)


def _binary(name: str, declared: Op | Function) -> Callable[[Any, Any], Any]:
    """An operator: NumPy arrays are taken as tensors, other foreign operands are left to the other side."""
    call = declared.call

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _NUMBERS):
            return call(self, other)
        array = from_array(other)
        return _left_to(other, name, self) if array is None else call(self, array)

    return _operator_named(operator, name)


def _reflected(name: str, declared: Op | Function) -> Callable[[Any, Any], Any]:
    call = declared.call

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _NUMBERS):
            return call(other, self)
        array = from_array(other)
        return _left_to(other, name, self) if array is None else call(array, self)

    return _operator_named(operator, name)


def _augmented(name: str, declared: Op | Function) -> Callable[[Any, Any], Any]:
    call = declared.call
    op = declared if isinstance(declared, Op) else declared.op or declared.fronts

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, _NUMBERS):
            return inplace(name, call, op, self, other)
        array = from_array(other)
        return _left_to(other, name, self) if array is None else inplace(name, call, op, self, array)

    return _operator_named(operator, name)


def _operator_named(operator: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    operator.__name__, operator.__qualname__ = name, f"Tensor.{name}"
    return operator


def _left_to(other: Any, name: str, self: Any) -> Any:
    """What *other*, for which an operator knows no tensor, makes of it."""
    return getattr(TensorMethods, name)(self, other) if stands_in((other,), 2) else NotImplemented


def _unary(name: str, declared: Op | Function) -> Callable[..., Any]:
    return declared.call


OPERATORS: dict[str, tuple[str, Callable[[str, Any], Callable[..., Any]]]] = {
    **{f"__{name}__": (path, _binary) for name, path in BINARY.items()},
    **{f"__r{name}__": (path, _reflected) for name, path in BINARY.items()},
    **{f"__i{name}__": (path, _augmented) for name, path in BINARY.items()},
    **{f"__{name}__": (name, _binary) for name in COMPARISONS},
    **{f"__{name}__": (path, _unary) for name, path in UNARY.items()},
}
"""What carries out each operator, as in `BINARY`, and what makes a method of it."""


def _reported(name: str) -> Any:
    """What ``__torch_function__`` gets as ``func`` for the attribute *name*, None for that itself: for an operator the
    function, or the in-place form, that it stands for; so for a reflected one whose operands may change places.
    """
    form = "add" if name == "__radd__" else "mul" if name == "__rmul__" else name.strip("_")
    if not name.startswith("__"):
        return None
    if form in _FUNCTIONS:
        return PUBLIC[_FUNCTIONS[form]].call
    return getattr(Tensor, f"{_FUNCTIONS[form[1:]]}_", None) if form[:1] == "i" and form[1:] in _FUNCTIONS else None


_FUNCTIONS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "neg": "neg", "abs": "abs", "pos": "positive",
    "matmul": "matmul", "mod": "remainder", "pow": "pow", "floordiv": "floor_divide",
    "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
}  # fmt: skip


def from_array(other: Any) -> Tensor | bool | None:
    """A NumPy array as a tensor, NumPy's bool as a bool, None for anything else."""
    if not hasattr(other, "__array_interface__"):
        return None
    from ...interop.reading import operand

    return operand(other)
