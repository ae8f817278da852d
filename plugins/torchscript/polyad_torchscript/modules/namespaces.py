"""What polyad's functions and modules are in a program: operators by their name, and values that stand for modules."""

from __future__ import annotations

import builtins
import types as python_types
import typing
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import polyad
from polyad import nn
from polyad.base.dtypes import DType

from ..checking.builtins import FUNCTIONS, UNSUPPORTED
from ..checking.values import NativeValue, OperatorValue, Plain, Value
from ..checking.written import WRITTEN
from ..language import tree
from ..language.source import CompileError, Place, UnsupportedError
from ..operators.schemas import Argument, Schema, known
from ..types import types as t
from ..types.types import Type

__all__ = [
    "CONSTANTS",
    "MethodOfTensor",
    "ModuleValue",
    "TensorClassValue",
    "ToListValue",
    "TorchValue",
    "builtin_value",
]

CONSTANTS = (DType, polyad.device, polyad.layout, polyad.memory_format)
"""The classes of what is a constant wherever it is from."""


@cache
def _named_functions() -> dict[int, str]:
    """The names of polyad's public functions by the function's id: ``nn.functional.relu``, ``add``."""
    spaces = {
        "nn.functional": nn.functional,
        "linalg": polyad.linalg,
        "special": polyad.special,
        "fft": polyad.fft,
        "": polyad,
        "jit": polyad.jit,
        "overrides": polyad.overrides,
        "autograd": polyad.autograd,
    }
    found: dict[int, str] = {}
    for space, module in spaces.items():
        for name in dir(module):
            if name.startswith("__"):
                continue
            value = getattr(module, name, None)
            if (callable(value) and not isinstance(value, type)) or (space == "jit" and value is not None):
                found[id(value)] = f"{space}.{name}" if space else name
    return found


def builtin_value(value: Any) -> Value | None:
    """What a function of Python's or polyad's is."""
    name = _named_functions().get(id(value))
    if name is not None:
        for candidate in (name, name.rpartition(".")[2] if not name.startswith(("nn", "jit")) else name):
            if candidate in FUNCTIONS and candidate == name and ("." in name or name in ("Size", "_assert")):
                return FUNCTIONS[candidate]
        if name in WRITTEN:
            return WRITTEN[name]
        return _operator_or_native(name, value)
    if isinstance(value, python_types.BuiltinFunctionType) and getattr(value, "__module__", "") == "math":
        return OperatorValue("aten::mathremainder" if value.__name__ == "remainder" else f"aten::{value.__name__}")
    for table in (WRITTEN, FUNCTIONS, UNSUPPORTED):
        short = getattr(value, "__name__", "")
        if short in table and getattr(builtins, short, None) is value:
            return table[short]
    if value is typing.cast:
        return WRITTEN["typing.cast"]
    if value is warnings.warn:
        return OperatorValue("aten::warn")
    return None


_SPACED = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}


def _operator_or_native(name: str, value: Any) -> Value:
    space, _, short = name.rpartition(".")
    operator = f"aten::{_SPACED.get(space, '')}{short}"
    if space != "nn.functional" and known(operator):
        return OperatorValue(operator)
    if space == "nn.functional" and known(operator) and value in _same_functions():
        return OperatorValue(operator)
    return NativeValue(name, value)


@cache
def _same_functions() -> set[Any]:
    """Functions of nn.functional that are operators of PyTorch's, with its arguments."""
    names = (
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "gelu",
        "logsigmoid",
        "adaptive_avg_pool1d",
        "adaptive_avg_pool2d",
        "adaptive_avg_pool3d",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "prelu",
        "pixel_shuffle",
        "pixel_unshuffle",
        "channel_shuffle",
        "cosine_similarity",
        "pairwise_distance",
        "pdist",
        "bilinear",
        "one_hot",
        "softplus",
        "hardshrink",
        "softshrink",
        "scaled_dot_product_attention",
        "pad",
    )
    return {getattr(nn.functional, name) for name in names if hasattr(nn.functional, name)}


class ModuleValue(Value):
    """A module of Python's, such as ``torch`` or ``math``."""

    def __init__(self, resolver: Any, module: Any, name: str) -> None:
        self.resolver, self.module, self.name = resolver, module, name

    def described(self) -> str:
        return f"module '{self.name}'"

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        try:
            value = getattr(self.module, name)
        except AttributeError:
            raise CompileError(
                f"script: {self.described()} has no attribute {name}", place, fix="use what it has"
            ) from None
        return self.resolver.value_of(value, f"{self.name}.{name}", place, member=True)


class TorchValue(Value):
    """``torch`` in text and in the programs of `library`: operators by name, dtypes, and a few modules."""

    def described(self) -> str:
        return "module 'torch'"

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        if known(f"aten::{name}"):
            return OperatorValue(f"aten::{name}")
        value = getattr(polyad, name, None)
        if isinstance(value, python_types.ModuleType):
            return ModuleValue(checker.resolver, value, f"torch.{name}")
        if isinstance(value, CONSTANTS) or name == "no_grad":
            return checker.resolver.value_of(value, name, place)
        raise UnsupportedError(f"script: unknown builtin op: aten::{name}", place, fix="polyad has no such operator")


class TensorClassValue(Value):
    """``torch.Tensor``, whose methods can be called as functions."""

    def described(self) -> str:
        return "class Tensor"

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        if known(f"aten::{name}"):
            return OperatorValue(f"aten::{name}")
        return super().attribute(checker, name, place)

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        raise UnsupportedError(
            "script: torch.Tensor(...) isn't supported", place, fix="use torch.tensor or torch.empty"
        )


class MethodOfTensor(Value):
    """A method that polyad has and PyTorch's declarations have not."""

    def __init__(
        self, name: str, function: Callable[..., Any], object: tree.Expression, result: Type | None = None
    ) -> None:
        self.name, self.function, self.object, self.result = name, function, object, result

    def described(self) -> str:
        return f"method {self.name}"

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        if self.result is not None:
            arguments = [self.object, *[one.expression(checker, place) for one in given]]
            return Plain(tree.NativeCall(self.result, place, f"Generator.{self.name}", self.function, arguments, {}))
        return NativeValue(f"Tensor.{self.name}", self.function).call(
            checker, [Plain(self.object), *given], named, place
        )


class ToListValue(Value):
    """``x.tolist()``, whose type is the annotation of what it is assigned to."""

    def __init__(self, object: tree.Expression) -> None:
        self.object = object

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        wanted = checker.wanted
        if wanted is None:
            raise CompileError("script: Expected type hint for result of tolist()", place,
                               fix="annotate what it is assigned to: x: List[int] = y.tolist()")  # fmt: skip
        schema = Schema("prim::tolist", "", (Argument("self", t.TENSOR),), wanted)
        return Plain(tree.Operator(wanted, place, schema, [self.object]))
