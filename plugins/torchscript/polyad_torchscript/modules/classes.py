"""Scripted classes and interfaces."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from polyad import nn

from ..language.source import UnsupportedError, place_of, source_of
from ..types import types as t
from ..types.annotations import qualified_name
from .functions import ScriptMethod
from .marks import mark_of
from .program import names_seen_by
from .resolving import Resolver

__all__ = ["script_class", "script_interface"]


def script_class(program: Any, cls: Any, frame_names: Any = None) -> t.ClassType:
    """The type of *cls*, whose methods are checked. ``__init__`` says what attributes there are.

    Raises CompileError for a class that inherits, and for what the methods do that TorchScript's rules do not allow.
    """
    known = program._classes.get(cls)
    if known is not None:
        return known
    bases = [base for base in cls.__bases__ if base is not object]
    if bases:
        raise UnsupportedError(
            f"script: {cls.__name__}: a scripted class does not support inheritance: inherit from 'object'",
            fix="hold an instance of the other class",
        )
    source, node = source_of(cls)
    assert isinstance(node, ast.ClassDef)
    resolver = Resolver(program, names_seen_by(cls, {**(frame_names or {}), cls.__name__: cls}), cls)
    made = t.ClassType(qualified_name(cls), python=cls)
    program.register(cls, made)
    try:
        _declare(program, made, cls, node, source, resolver)
        for method in list(made.methods.values()):
            if hasattr(method, "compile"):
                method.compile()
    except BaseException:
        program.forget(cls)
        raise
    return made


def _declare(program: Any, made: t.ClassType, cls: Any, node: ast.ClassDef, source: Any, resolver: Resolver) -> None:
    functions = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            made.attributes[one.target.id] = resolver.annotation(one.annotation, source.place(one), source)
    functions.sort(key=lambda one: one.name != "__init__")
    writes_init = any(one.name == "__init__" for one in functions)
    if hasattr(cls, "__dataclass_fields__") and not writes_init:
        raise UnsupportedError(
            f"script: {cls.__name__}: dataclasses without an __init__ of their own aren't supported",
            source.place(node),
            fix="write __init__",
        )
    for one in functions:
        python = inspect.getattr_static(cls, one.name)
        if isinstance(python, property):
            _declare_property(made, one, python, source, resolver)
            continue
        mark = mark_of(python)
        if mark in ("ignore", "unused"):
            made.methods[one.name] = program.python_function(python, mark, resolver, one.name, source.place(one), made)
            continue
        if isinstance(python, staticmethod):
            made.methods[one.name] = ScriptMethod(
                one.name, f"{made.name}.{one.name}", source, one, resolver, python.__func__
            )
            continue
        if isinstance(python, classmethod):
            raise UnsupportedError(
                f"script: {one.name}: class methods aren't supported", source.place(one), fix="use a function"
            )
        method = ScriptMethod(one.name, f"{made.name}.{one.name}", source, one, resolver, python, self_type=made)
        if one.name == "__init__":
            method.signature.result, method.signature.declared = t.NONE, True
        made.methods[one.name] = method


def _declare_property(
    made: t.ClassType, node: ast.FunctionDef, python: property, source: Any, resolver: Resolver
) -> None:
    is_setter = any(isinstance(one, ast.Attribute) and one.attr == "setter" for one in node.decorator_list)
    method = ScriptMethod(node.name, f"{made.name}.{node.name}", source, node, resolver, None, self_type=made)
    getter, setter = made.properties.get(node.name, (None, None))
    made.properties[node.name] = (getter, method) if is_setter else (method, setter)


def script_interface(program: Any, cls: Any, frame_names: Any = None) -> t.InterfaceType:
    """The type of an interface: what its methods take and give; their bodies are not looked at."""
    resolver = Resolver(program, names_seen_by(cls, {**(frame_names or {}), cls.__name__: cls}), cls)
    made = t.InterfaceType(qualified_name(cls), is_module=issubclass(cls, nn.Module), python=cls)
    program.register(cls, made)
    for name, function in vars(cls).items():
        if inspect.isfunction(function):
            made.methods[name] = program.declared_signature(function, resolver, place_of(function), made)
    return made
