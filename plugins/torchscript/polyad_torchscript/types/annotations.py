"""The types that annotations mean: Python's objects (``Optional[int]``, ``list[Tensor]``, classes), and text of them.

What is a class of the user's is asked of *find_class*, which scripts it if need be.
"""

from __future__ import annotations

import enum
import types as python_types
import typing
from collections.abc import Callable
from typing import Any

import polyad
from polyad import nn

from . import types as t
from .types import Type

__all__ = ["AnnotationError", "type_of_annotation", "type_of_constant"]

FindClass = Callable[[Any], "Type | None"]


class AnnotationError(RuntimeError):
    """An annotation that means no type; the caller knows the place."""


def _plain_types() -> dict[Any, Type]:
    return {
        polyad.Tensor: t.TENSOR, int: t.INT, float: t.FLOAT, bool: t.BOOL, str: t.STR, complex: t.COMPLEX,
        type(None): t.NONE, None: t.NONE, Any: t.ANY, polyad.device: t.DEVICE, polyad.dtype: t.DTYPE,
        polyad.Size: t.ListType(t.INT), polyad.Generator: t.GENERATOR, polyad.layout: t.LAYOUT,
        polyad.memory_format: t.MEMORY_FORMAT, nn.Parameter: t.TENSOR, polyad.LongTensor: t.TENSOR,
        polyad.FloatTensor: t.TENSOR, polyad.IntTensor: t.TENSOR, polyad.BoolTensor: t.TENSOR,
        typing.NoReturn: t.NONE, polyad.types.Number: t.NUMBER,
    }  # fmt: skip


_PLAIN: dict[Any, Type] = {}


def type_of_annotation(annotation: Any, find_class: FindClass) -> Type:
    """The type that *annotation* means.

    Raises AnnotationError for what means none.
    """
    if not _PLAIN:
        _PLAIN.update(_plain_types())
    if isinstance(annotation, Type):
        return annotation
    try:
        if annotation in _PLAIN:
            return _PLAIN[annotation]
    except TypeError:
        pass
    if any(annotation is one for one in _BARE):
        name = (getattr(annotation, "_name", None) or annotation.__name__).title()
        words, example = ("a contained type", "int") if name != "Dict" else ("contained types", "int, int")
        raise AnnotationError(
            f"Attempted to use {name} without {words}. Please add {words.removesuffix('s')}, e.g. {name}[{example}]"
        )
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is not None:
        return _of_parts(annotation, origin, arguments, find_class)
    if isinstance(annotation, type):
        if issubclass(annotation, enum.Enum):
            return enum_type(annotation)
        if issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
            return named_tuple_type(annotation, find_class)
    found = find_class(annotation)
    if found is None:
        raise AnnotationError(f"unknown type annotation: {annotation!r}")
    return found


_BARE = (list, dict, tuple, typing.List, typing.Dict, typing.Tuple, typing.Optional, typing.Union)  # noqa: UP006


def _of_parts(annotation: Any, origin: Any, arguments: tuple[Any, ...], find_class: FindClass) -> Type:
    def inner(one: Any) -> Type:
        return type_of_annotation(one, find_class)

    if origin in (typing.Union, python_types.UnionType):
        return t.union([inner(one) for one in arguments])
    if origin is list:
        return t.ListType(inner(arguments[0]))
    if origin is dict:
        key = inner(arguments[0])
        if key not in (t.INT, t.FLOAT, t.STR, t.BOOL, t.COMPLEX, t.TENSOR):
            raise AnnotationError(
                f"cannot create dict for key type '{key}': only int, float, complex, Tensor, str and bool are keys"
            )
        return t.DictType(key, inner(arguments[1]))
    if origin is tuple:
        if arguments == ((),):
            return t.TupleType(())
        if Ellipsis in arguments:
            raise AnnotationError(f"unknown type annotation: {annotation}: the number of elements must be known")
        return t.TupleType(tuple([inner(one) for one in arguments]))
    if origin in (typing.Final, typing.ClassVar, typing.Annotated):
        return inner(arguments[0])
    if origin is getattr(polyad.jit, "Future", None):
        return t.FutureType(inner(arguments[0]))
    raise AnnotationError(f"unknown type annotation: {annotation}")


_ENUMS: dict[Any, t.EnumType] = {}


def enum_type(cls: Any) -> t.EnumType:
    """The type of an enumeration, whose values must be of one type."""
    if cls not in _ENUMS:
        kinds = {type(member.value) for member in cls}
        if len(kinds) != 1 or not kinds <= {int, float, str}:
            raise AnnotationError(f"the values of enum {cls.__name__} must all be int, all float or all str")
        value = type_of_annotation(kinds.pop(), lambda _: None)
        _ENUMS[cls] = t.EnumType(qualified_name(cls), value, cls)
    return _ENUMS[cls]


_NAMED: dict[Any, t.TupleType] = {}


def named_tuple_type(cls: Any, find_class: FindClass) -> t.TupleType:
    """The type of a NamedTuple; a field without an annotation is a tensor."""
    if cls not in _NAMED:
        hints = annotations_of(cls)
        elements = [type_of_annotation(hints.get(name, polyad.Tensor), find_class) for name in cls._fields]
        defaults = tuple(getattr(cls, "_field_defaults", {}).values())
        _NAMED[cls] = t.TupleType(tuple(elements), qualified_name(cls), tuple(cls._fields), cls, defaults)
    return _NAMED[cls]


def annotations_of(cls: Any) -> dict[str, Any]:
    """The annotations of a class, those that are text resolved where they can be."""
    try:
        return typing.get_type_hints(cls)
    except Exception:
        return dict(getattr(cls, "__annotations__", {}))


def qualified_name(cls: Any) -> str:
    """``__torch__.module.Class``."""
    name = cls.__qualname__.replace("<locals>.", "")
    module = getattr(cls, "__module__", "__main__")
    return f"__torch__.{name}" if module == "__main__" else f"__torch__.{module}.{name}"


def type_of_constant(value: Any, class_type: Callable[[Any], Type | None] | None = None) -> Type | None:
    """The type of a Python value that a program may hold; None of what it may not.

    *class_type* is asked for the types of classes of the user's, whose objects may be in lists, tuples and dicts.
    """
    if not _PLAIN:
        _PLAIN.update(_plain_types())
    if isinstance(value, enum.Enum):
        return enum_type(type(value))
    if isinstance(value, polyad.Tensor):
        return t.TENSOR
    if isinstance(value, polyad.Size):
        return t.ListType(t.INT)
    if type(value) in _PLAIN:
        return _PLAIN[type(value)]
    if isinstance(value, tuple):
        parts = [type_of_constant(one, class_type) for one in value]
        return None if None in parts else _tuple_of(value, parts)
    if isinstance(value, (list, polyad.Size)):
        element = _common([type_of_constant(one, class_type) for one in value]) if value else t.TENSOR
        return None if element is None else t.ListType(element)
    if isinstance(value, dict):
        if not value:
            return t.DictType(t.STR, t.TENSOR)
        key, item = (_common([type_of_constant(one, class_type) for one in part]) for part in (value, value.values()))
        return None if key is None or item is None else t.DictType(key, item)
    return None if class_type is None else class_type(type(value))


def _tuple_of(value: Any, parts: list[Any]) -> Type:
    if hasattr(value, "_fields"):
        return named_tuple_type(type(value), lambda _: None)
    return t.TupleType(tuple(parts))


def _common(types: list[Type | None]) -> Type | None:
    found = types[0]
    for one in types[1:]:
        if found is None or one is None:
            return None
        found = t.unify(found, one)
    return found
