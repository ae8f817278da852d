"""What running programs need: tests of types, errors that a program raises, instances of its classes."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import polyad
from polyad.base.dtypes import DType
from polyad.base.state import state
from polyad.errors import PolyadError

from ..types import types as t
from ..types.annotations import type_of_annotation
from ..types.types import Type
from .futures import Future

__all__ = ["Error", "Future", "as_dtype", "constructor", "error_of", "instance_test", "is_value_of"]

DTYPES = dict(enumerate((
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64", "complex128",
    "bool", "qint8", "quint8", "qint32", "bfloat16",
))) | {23: "float8_e5m2", 24: "float8_e4m3fn", 25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz", 27: "uint16", 28: "uint32",
       29: "uint64"}  # fmt: skip
"""The dtypes by the numbers that archives have for them."""
CODES = {name: number for number, name in DTYPES.items()}
"""The numbers by the dtypes' names."""


class Error(RuntimeError):
    """What a scripted program raises; it is also of the class that the program names."""


@cache
def error_of(kind: Any) -> Any:
    """The class of what ``raise kind(...)`` raises: `Error` and *kind*."""
    if kind is None or issubclass(Error, kind):
        return Error
    try:
        return type(kind.__name__, (Error, kind), {"__module__": kind.__module__, "__init__": _init})
    except TypeError:  # layouts of two builtin classes that differ
        return kind


def _init(self: Any, message: str = "") -> None:
    Exception.__init__(self, message)
    if isinstance(self, PolyadError):
        PolyadError.__init__(self, message)


def as_dtype(value: Any) -> Any:
    """The dtype that a number of an archive stands for.

    >>> as_dtype(6)
    polyad.float32
    """
    if value is None or isinstance(value, DType):
        return value
    if not hasattr(polyad, DTYPES.get(value, "")):
        raise PolyadError(f"script: there is no dtype with the number {value}")
    return getattr(polyad, DTYPES[value])


def number_of(value: Any) -> int:
    """The number that archives have for a dtype or a layout.

    >>> number_of(polyad.float32), number_of(polyad.strided)
    (6, 0)
    """
    name = str(value).removeprefix("polyad.")
    if name not in CODES and name not in LAYOUTS:
        raise PolyadError(f"script: archives have no number for {value}")
    return CODES[name] if name in CODES else LAYOUTS[name]


LAYOUTS = {"strided": 0, "sparse_coo": 1, "sparse_csr": 2, "sparse_csc": 4, "sparse_bsr": 5, "sparse_bsc": 6}
"""The numbers that archives have for layouts, by the layouts' names."""

MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
"""The memory formats by the numbers that archives have for them."""


def as_memory_format(value: Any) -> Any:
    """The memory format that a number of an archive stands for.

    >>> as_memory_format(0)
    polyad.contiguous_format
    """
    if not isinstance(value, int):
        return value
    if not 0 <= value < len(MEMORY_FORMATS):
        raise PolyadError(f"script: there is no memory format with the number {value}")
    return getattr(polyad, MEMORY_FORMATS[value])


def as_layout(value: Any) -> Any:
    """The layout that a number of an archive stands for."""
    if not isinstance(value, int):
        return value
    name = next((name for name, number in LAYOUTS.items() if number == value), "")
    if not hasattr(polyad, name):
        raise PolyadError(f"script: polyad has no layout with the number {value}")
    return getattr(polyad, name)


NUMBERED: dict[Type, Callable[[Any], Any]] = {
    t.DTYPE: as_dtype,
    t.LAYOUT: as_layout,
    t.MEMORY_FORMAT: as_memory_format,
}
"""By a type that archives write as a number, what makes one of it."""


def items_of(sequence: Any) -> Iterator[Any]:
    """The items of a class with ``__len__`` and ``__getitem__``."""
    return iter([sequence[index] for index in range(len(sequence))])


def constructor(of: t.ClassType) -> Callable[..., Any]:
    """What makes an instance of a scripted class."""
    init = of.method("__init__")
    python = of.python

    def construct(*given: Any) -> Any:
        made = python.__new__(python)
        if init is not None:
            init.run(made, *given)
        return made

    return construct


@cache
def forward_caller(run: Callable[..., Any]) -> Callable[..., Any]:
    """What calls ``forward`` of a submodule, which *run* is: as a module where hooks or modes are to know."""

    def call(module: Any, *given: Any) -> Any:
        if module._call_hooks or state.watchers or state.modes:
            return module(*given)
        try:
            return run(module, *given)
        except PolyadError as error:
            module._locate(error)
            raise

    return call


@cache
def method_caller(name: str) -> Callable[..., Any]:
    """What calls the method *name* of an instance of a class that only an interface is known of."""

    def call(instance: Any, *given: Any) -> Any:
        known = getattr(instance, "_script_type", None)
        method = None if known is None else known.method(name)
        return getattr(instance, name)(*given) if method is None else method.run(instance, *given)

    return call


_BASIC: dict[Type, Any] = {
    t.TENSOR: polyad.Tensor, t.INT: int, t.FLOAT: float, t.BOOL: bool, t.STR: str, t.COMPLEX: complex,
    t.NONE: type(None), t.DEVICE: polyad.device, t.DTYPE: DType, t.GENERATOR: polyad.Generator,
}  # fmt: skip


def is_value_of(type: Type, value: Any) -> bool:
    """Whether a Python value is one of *type*, elements included.

    >>> is_value_of(t.ListType(t.INT), [1, 2]), is_value_of(t.ListType(t.INT), ["a"])
    (True, False)
    """
    if type == t.ANY:
        return True
    if type == t.INT:
        return (isinstance(value, int) and not isinstance(value, bool)) or isinstance(value, DType)
    if type == t.NUMBER:
        return isinstance(value, (int, float, complex)) and not isinstance(value, bool)
    if type in _BASIC:
        return isinstance(value, _BASIC[type])
    if isinstance(type, t.UnionType):
        return any(is_value_of(member, value) for member in type.members)
    if isinstance(type, t.ListType):
        return isinstance(value, (list, polyad.Size)) and all(is_value_of(type.element, one) for one in value)
    if isinstance(type, t.DictType):
        return isinstance(value, dict) and all(
            is_value_of(type.key, key) and is_value_of(type.value, one) for key, one in value.items()
        )
    return _is_instance(type, value)


def _is_instance(type: Type, value: Any) -> bool:
    if isinstance(type, t.TupleType):
        if type.python is not None and not isinstance(value, type.python):
            return False
        return (
            isinstance(value, tuple)
            and len(value) == len(type.elements)
            and all(map(is_value_of, type.elements, value))
        )
    if isinstance(type, t.EnumType):
        return isinstance(value, type.python)
    if isinstance(type, t.FutureType):
        return isinstance(value, Future)
    if isinstance(type, t.InterfaceType):
        return all(hasattr(value, name) for name in type.methods)
    if isinstance(type, t.ClassType):
        known = getattr(value, "_script_type", None)
        return known is type or (type.python is not None and builtins.type(value) is type.python)
    if isinstance(type, t.Basic):
        python = {"AnyList": list, "AnyTuple": tuple, "AnyDict": dict}.get(type.name)
        return python is None or isinstance(value, python)
    return False


def is_instance(value: Any, annotation: Any) -> bool:
    """Whether *value* is of the type of an annotation, or of one of a tuple of them."""
    annotations = annotation if isinstance(annotation, tuple) else (annotation,)
    return any(
        is_value_of(type_of_annotation(one, lambda cls: t.ClassType(cls.__name__, python=cls)), value)
        for one in annotations
    )


def instance_test(types: Sequence[Type]) -> Callable[[Any], bool]:
    """A function that tells whether a value is of one of *types*."""

    def test(value: Any) -> bool:
        return any(is_value_of(type, value) for type in types)

    return test
