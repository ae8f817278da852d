"""Functions of the language whose arguments are looked at as they are written: types, and names of attributes."""

from __future__ import annotations

import ast
from typing import Any

from ..language import tree
from ..language.source import CompileError, Place, UnsupportedError
from ..types import types as t
from ..types.types import Type
from .matching import convert
from .refinement import Condition
from .values import NodeValue, Plain, Value

__all__ = ["WRITTEN"]


def _written_arguments(node: ast.Call, names: tuple[str, ...], place: Place, word: str) -> list[ast.expr]:
    found = dict(zip(names, node.args))
    found.update({one.arg: one.value for one in node.keywords if one.arg})
    if len(found) != len(names) or len(node.args) > len(names):
        raise CompileError(f"script: {word} takes {len(names)} arguments: {', '.join(names)}", place)
    return [found[name] for name in names]


_GENERAL = {"list": t.Basic("AnyList"), "tuple": t.Basic("AnyTuple"), "dict": t.Basic("AnyDict")}


def _isinstance(checker: Any, node: ast.Call, place: Place) -> Condition:
    object, kinds = _written_arguments(node, ("obj", "classinfo"), place, "isinstance")
    listed = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    wanted: list[Type] = []
    for one in listed:
        wanted += _types_of(checker, one, place)
    return checker.isinstance_(object, wanted, place)


def _types_of(checker: Any, node: ast.expr, place: Place) -> list[Type]:
    if isinstance(node, ast.Name) and node.id in _GENERAL:
        return [_GENERAL[node.id]]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_types_of(checker, node.left, place), *_types_of(checker, node.right, place)]
    found = checker.resolver.annotation(node, place, checker.source, True)
    return list(found) if isinstance(found, tuple) else [found]


def _annotate(checker: Any, node: ast.Call, place: Place) -> Value:
    kind, object = _written_arguments(node, ("the_type", "the_value"), place, "annotate")
    wanted = checker.resolver.annotation(kind, place, checker.source)
    value = checker.check(object, wanted)
    found = convert(value, wanted, True)
    if found is None:
        raise CompileError(f"script: expected an expression of type {wanted} but found {value.type}", place,
                           fix="change the type or the value")  # fmt: skip
    return Plain(tree.Convert(wanted, place, found) if found.type != wanted else found)


def _unchecked_cast(checker: Any, node: ast.Call, place: Place) -> Value:
    kind, object = _written_arguments(node, ("typ", "val"), place, "cast")
    wanted = checker.resolver.annotation(kind, place, checker.source)
    return Plain(tree.Convert(wanted, place, checker.check(object, wanted)))


def _uninitialized(checker: Any, node: ast.Call, place: Place) -> Value:
    (kind,) = _written_arguments(node, ("type",), place, "uninitialized")
    return Plain(tree.Uninitialized(checker.resolver.annotation(kind, place, checker.source), place))


def _name_of(checker: Any, node: ast.expr, place: Place) -> str:
    found = checker.check(node)
    if isinstance(found, tree.Constant) and isinstance(found.value, str):
        return found.value
    raise CompileError("script: the name of an attribute must be a string that is known", place)


def _hasattr(checker: Any, node: ast.Call, place: Place) -> Condition:
    object, attribute = _written_arguments(node, ("obj", "name"), place, "hasattr")
    known = _attribute(checker, object, _name_of(checker, attribute, place), place) is not None
    return Condition(checker.constant(known, place), known=known)


def _attribute(checker: Any, object: ast.expr, name: str, place: Place) -> Value | None:
    value = checker.value(object)
    try:
        return value.attribute(checker, name, place)
    except UnsupportedError:
        raise
    except CompileError:
        return None


def _getattr(checker: Any, node: ast.Call, place: Place) -> Value:
    if not 2 <= len(node.args) <= 3 or node.keywords:
        raise CompileError("script: getattr takes 2 or 3 arguments", place)
    name = _name_of(checker, node.args[1], place)
    if len(node.args) == 2:
        return checker.value(node.args[0]).attribute(checker, name, place)
    found = _attribute(checker, node.args[0], name, place)
    return checker.value(node.args[2]) if found is None else found


def _super(checker: Any, node: ast.Call, place: Place) -> Value:
    return checker.resolver.superclass(checker, node, place)


WRITTEN: dict[str, Value] = {
    name: NodeValue(name.rpartition(".")[2], function)
    for name, function in {
        "isinstance": _isinstance, "hasattr": _hasattr, "getattr": _getattr, "super": _super,
        "jit.isinstance": _isinstance, "jit.annotate": _annotate, "typing.cast": _unchecked_cast,
        "unchecked_cast": _unchecked_cast, "uninitialized": _uninitialized,
    }.items()
}  # fmt: skip
"""By the name that Python, polyad or TorchScript's text has for it."""
