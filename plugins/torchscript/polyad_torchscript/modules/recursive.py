"""Scripted modules: the type of a module, its methods, and the module that runs them.

A module's type says what it has: parameters, buffers, attributes, submodules, constants. Methods are
compiled when something calls them: ``forward``, what is marked
with ``export``, and what these call.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
import types as python_types
import typing
from collections import ChainMap
from collections.abc import Callable
from typing import Any

import polyad
from polyad import nn
from polyad.nn.modules.module import Module

from ..checking.values import PythonValue, Value
from ..language import tree
from ..language.source import CompileError, Source, function_source, parsed
from ..library.layers import program_of
from ..types import types as t
from ..types.annotations import AnnotationError, qualified_name, type_of_annotation, type_of_constant
from .functions import ScriptFunction, ScriptMethod
from .marks import mark_of
from .namespaces import TorchValue
from .program import PROGRAM, names_seen_by
from .resolving import Resolver

__all__ = ["RecursiveScriptModule", "ScriptModule", "method_of", "module_type", "script_module"]

_INTERNAL = frozenset(vars(Module())) - {"training"} | {"_script_type", "_attribute_types", "_python", "_unit"}


class ScriptModule(Module):
    """A module whose program is known: what `script` and `trace` give, and what files hold.

    A class derived from it has methods marked with ``jit.script_method``, which are compiled when an instance has been
    made; the instance runs them.

    Attributes:
        code: the program of ``forward`` as text.
        graph, inlined_graph: it as a graph with blocks, the latter with those of what it calls inside.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__ == __name__ or issubclass(cls, RecursiveScriptModule):
            return  # whose program is known already
        original = cls.__init__

        @functools.wraps(original)
        def init(self: Any, *args: Any, **named: Any) -> None:
            original(self, *args, **named)
            if self.__class__ is cls:
                script_in_place(self)

        cls.__init__ = init  # type: ignore[method-assign]

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; one that is a `polyad.jit.Attribute` gets its value, and its type in programs."""
        if isinstance(value, polyad.jit.Attribute):
            self.__dict__.setdefault("_attribute_types", {})[name] = value.type
            value = value.value
        super().__setattr__(name, value)

    def define(self, src: str) -> None:
        """Add the methods of a text.

        Raises CompileError for text that breaks TorchScript's rules.
        """
        define_methods(self, src)

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """Write the module; see `polyad.jit.save`."""
        polyad.jit.save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: Any = None) -> bytes:
        """The bytes of the file that `save` writes."""
        from ..archives.files import save_to_buffer

        return save_to_buffer(self, _extra_files)

    def __getattr__(self, name: str) -> Any:
        """A parameter, buffer or submodule; a method of the program, or of the module that it was made of."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            type = self.__dict__.get("_script_type")
            if type is None or (name.startswith("__") and name not in ("__len__", "__getitem__", "__contains__")):
                raise
        if name in ("code", "graph", "inlined_graph"):
            return getattr(type.method("forward"), name)
        if name in type.constants and not isinstance(type.constants[name], Value):
            return type.constants[name]
        if name in type.properties:
            return type.properties[name][0](self)
        method = type.methods.get(name)
        if isinstance(method, ScriptFunction):
            return python_types.MethodType(method, self)
        python = self.__dict__.get("_python")
        found = None if python is None else getattr(type.python, name, None)
        if inspect.isfunction(found):
            return python_types.MethodType(found, self)
        if found is not None and not isinstance(found, property):
            return found
        raise AttributeError(f"'{type_name(self)}' object has no attribute '{name}'")


class RecursiveScriptModule(ScriptModule):
    """A scripted module: it shares parameters and buffers with the module that it was made of, and runs its program.

    Attributes:
        original_name: the name of the module's class.
        code: the program of ``forward`` as text.
        graph, inlined_graph: it as a graph with blocks, the latter with those of what it calls inside.
    """

    def __init__(self, type: t.ClassType, original: Module | None = None) -> None:
        super().__init__()
        self.__dict__["_script_type"] = type
        self.__dict__["original_name"] = getattr(type.python, "__name__", type.name.rpartition(".")[2])
        self.__dict__["_python"] = original
        if "forward" in type.methods or (type.find_method is not None and hasattr(type.python, "forward")):
            forward = type.method("forward")
            run = forward.function if isinstance(forward, PythonValue) else forward
            if run is not None:
                self.__dict__["forward"] = python_types.MethodType(run, self)

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Any:
        return iter(
            self._modules if issubclass(self._script_type.python or object, nn.ModuleDict) else self._modules.values()
        )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return self._modules[index]
        return list(self._modules.values())[index]

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def __bool__(self) -> bool:
        return True


def type_name(module: Any) -> str:
    """The name of the class of a scripted module."""
    return module.__dict__.get("original_name", type(module).__name__)


# ------------------------------------------------------------------------------------------------------------- types


def script_module(module: Module) -> Any:
    """*module*, scripted with all that is in it.

    Raises CompileError for what TorchScript's rules do not allow.
    """
    if isinstance(module, ScriptModule) and "_script_type" in module.__dict__:
        return module
    made = _prepared(module, {})
    _compile(made)
    return made


def _prepared(module: Module, known: dict[int, Any]) -> Any:
    """The scripted module of *module*, nothing compiled."""
    if id(module) in known:
        return known[id(module)]
    if isinstance(module, ScriptModule) and "_script_type" in module.__dict__:
        return module
    children = {name: None if one is None else _prepared(one, known) for name, one in module._modules.items()}
    type = module_type(module, children)
    made = RecursiveScriptModule(type, module)
    mine = made.__dict__
    for name, value in module.__dict__.items():
        if "hook" in name or name not in mine:
            mine[name] = value.value if isinstance(value, polyad.jit.Attribute) else value
    mine["_roles"], mine["_non_persistent_buffers_set"] = dict(module._roles), set(module._non_persistent_buffers_set)
    mine.update(children)
    made.__dict__["training"] = module.training
    known[id(module)] = made
    return made


def _compile(module: Any) -> None:
    """Compile what *module* and those within it must be able to do."""
    type = module._script_type
    for child in module._modules.values():
        if child is not None:
            _compile(child)
    python = type.python
    if python is None or type.compiled:
        return
    type.compiled = True
    forward = getattr(python, "forward", None)
    names = (
        [] if forward is None or forward is Module.forward or mark_of(forward) in ("ignore", "unused") else ["forward"]
    )
    for name in dir(python):
        if name != "forward" and mark_of(inspect.getattr_static(python, name, None)) == "export":
            names.append(name)
    for name in names:
        method = type.method(name)
        if isinstance(method, ScriptFunction):
            method.compile()


def script_in_place(module: Any) -> None:
    """Compile the methods of *module* that are marked, which then are its own."""
    type = _type_in_place(module)
    for name in dir(type.python):
        function = inspect.getattr_static(type.python, name, None)
        if mark_of(function) == "export" and inspect.isfunction(function):
            method = type.method(name)
            method.compile()
            module.__dict__[name] = python_types.MethodType(method, module)


def _type_in_place(module: Any) -> t.ClassType:
    """The type of *module* as it is now, whose submodules are scripted in their places."""
    children = {name: None if one is None else _prepared(one, {}) for name, one in module._modules.items()}
    for name, child in children.items():
        if child is not module._modules[name]:
            _compile(child)
            module.__dict__[name] = child
    made = module_type(module, children)
    before = module.__dict__.setdefault("_script_type", made)
    before.attributes |= made.attributes
    before.constants |= made.constants
    before.parameters, before.buffers, before.failures = made.parameters, made.buffers, made.failures
    return before


def define_methods(module: Any, text: str) -> None:
    """Add the methods of *text* to *module*."""
    type = _type_in_place(module)
    source = Source(textwrap.dedent(text), "<string>")
    frame = sys._getframe(2)
    resolver = Resolver(PROGRAM, ChainMap({"torch": TorchValue()}, frame.f_globals))
    made = []
    for node in parsed(source.text).body:
        if isinstance(node, ast.FunctionDef):
            made.append(ScriptMethod(node.name, f"{type.name}.{node.name}", source, node, resolver, None,
                                     self_type=type, first=_self_value(type, node, source)))  # fmt: skip
            type.methods[node.name] = made[-1]
    for method in made:
        method.compile()
        module.__dict__[method.name] = python_types.MethodType(method, module)


def module_type(module: Module, children: dict[str, Any]) -> t.ClassType:
    """The type of *module*, whose submodules are scripted already."""
    cls = module.__class__
    made = t.ClassType(qualified_name(cls), python=cls, is_module=True)
    made.compiled = False  # type: ignore[attr-defined]
    hints = _hints(cls)
    for name, one in module._parameters.items():
        made.attributes[name] = t.NONE if one is None else t.TENSOR
        made.parameters.append(name)
    for name, buffer in module._buffers.items():
        declared = hints.get(name)
        made.attributes[name] = t.NONE if buffer is None else t.TENSOR
        if buffer is None and isinstance(declared, t.Type):
            made.attributes[name] = declared
        made.buffers.append(name)
    for name, child in children.items():
        made.attributes[name] = t.NONE if child is None else child._script_type
    is_layer = cls.__module__.startswith("polyad.nn.")
    hints |= {
        name: type_of_annotation(one, lambda of: PROGRAM._classes.get(of))
        for name, one in module.__dict__.get("_attribute_types", {}).items()
    }
    constants = {*getattr(cls, "__constants__", ()), *[name for name, one in hints.items() if one is typing.Final]}
    ignored = set(getattr(cls, "__jit_ignored_attributes__", ()))
    for name, value in module.__dict__.items():
        of_program = isinstance(getattr(value, "__func__", None), ScriptFunction)
        if of_program or name in _INTERNAL or name in made.attributes or name in ignored:
            continue
        option = is_layer and name != "training" and isinstance(value, (int, float, str, tuple, type(None)))
        _add_attribute(made, name, value, hints, name in constants or option)
    for name in constants:
        if name not in made.constants and name not in made.attributes and hasattr(cls, name):
            made.constants[name] = getattr(cls, name)
    _add_class_members(made, cls)
    made.find_method = lambda name: _find_method(made, name, module)
    return made


def _hints(cls: Any) -> dict[str, Any]:
    """The types that annotations of a module's class give; ``Final`` alone where that says no more."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base in (Module, object):
            continue
        names = names_seen_by(base)
        for name, annotation in vars(base).get("__annotations__", {}).items():
            if isinstance(annotation, str):
                try:
                    annotation = eval(annotation, dict(names))  # the user's own source, as Python runs it
                except Exception:
                    continue
            if annotation is typing.Final or typing.get_origin(annotation) is typing.Final:
                found[name] = typing.Final
                continue
            try:
                found[name] = type_of_annotation(annotation, lambda one: PROGRAM._classes.get(one))
            except AnnotationError:
                continue
    return found


def _add_attribute(type: t.ClassType, name: str, value: Any, hints: dict[str, Any], constant: bool) -> None:
    from ..running.values import is_value_of

    declared = hints.get(name)
    if constant and not isinstance(value, Module):
        type.constants[name] = value
        return
    if isinstance(declared, t.Type) and (is_value_of(declared, value) or isinstance(declared, t.InterfaceType)):
        type.attributes[name] = declared
        return
    if isinstance(value, polyad.jit.Attribute):
        type.attributes[name] = type_of_annotation(value.type, lambda one: PROGRAM._classes.get(one))
        return
    if isinstance(value, (python_types.FunctionType, python_types.BuiltinFunctionType, ScriptFunction)) or (
        callable(value) and not inspect.isclass(value) and not isinstance(value, (Module, polyad.Tensor))
    ):
        type.constants[name] = value
        return
    inferred = type_of_constant(value, _class_type)
    if inferred is None:
        type.failures[name] = (
            f"(This attribute exists on the Python module, but there is no TorchScript type of the Python type: "
            f"'{value.__class__.__name__}')"
        )
        return
    type.attributes[name] = inferred


def _class_type(cls: Any) -> t.Type | None:
    """The type of a class of the user's, which is scripted if it can be."""
    from .classes import script_class

    if cls in PROGRAM._classes:
        return PROGRAM._classes[cls]
    if cls.__bases__ != (object,) or cls.__module__ == "builtins":
        return None
    try:
        return script_class(PROGRAM, cls)
    except (CompileError, OSError):
        return None


def _add_class_members(made: t.ClassType, cls: Any) -> None:
    """Properties of the class, and constants that an enumeration or a class holds."""
    unused = set(getattr(cls, "__jit_unused_properties__", ()))
    for base in cls.__mro__:
        if base in (Module, object) or base.__module__.startswith("polyad.nn."):
            break
        for name, value in vars(base).items():
            if (
                isinstance(value, property)
                and name not in made.properties
                and name not in unused
                and mark_of(value) not in ("ignore", "unused")
                and name not in made.attributes
            ):
                getter = method_of(made, name, value.fget, base)
                setter = None if value.fset is None else method_of(made, name, value.fset, base)
                made.properties[name] = (getter, setter)


def _find_method(type: t.ClassType, name: str, module: Module) -> Any:
    """A method of a module by its name, declared; None if there is none."""
    function = inspect.getattr_static(type.python, name, None)
    if isinstance(function, staticmethod):
        type.methods[name] = PROGRAM.function(function.__func__)
        return type.methods[name]
    if not inspect.isfunction(function) or function is getattr(Module, name, None):
        return None
    owner = next(cls for cls in type.python.__mro__ if name in vars(cls))
    type.methods[name] = method_of(type, name, function, owner)
    return type.methods[name]


def method_of(type: t.ClassType, name: str, function: Any, owner: Any) -> Any:
    """A function of a class as a method of *type*."""
    if isinstance(function, (ScriptFunction, Value)):
        return function
    mark = mark_of(function)
    resolver = Resolver(PROGRAM, names_seen_by(function), owner)
    if mark in ("ignore", "unused"):
        from ..language.source import Place

        place = Place(Source("", function.__code__.co_filename), 1)
        return PROGRAM.python_function(function, mark, resolver, name, place, type)
    if issubclass(owner, Module) and owner.__module__.startswith("polyad.nn.") and name == "forward":
        program = program_of(type.python, type.constants)
        if program is not None:
            function, resolver = program, Resolver(PROGRAM, names_seen_by(program), owner)
            source, node = function_source(function)
            node.name = name
            first = _self_value(type, node, source)
            return ScriptMethod(
                name, f"{type.name}.{name}", source, node, resolver, function, self_type=type, first=first
            )
    source, node = function_source(function)

    def scripted() -> ScriptMethod:
        return ScriptMethod(
            name,
            f"{type.name}.{name}",
            source,
            node,
            resolver,
            function,
            self_type=type,
            first=_self_value(type, node, source),
        )

    if issubclass(owner, Module) and owner.__module__.startswith("polyad.nn."):
        return _native_or_scripted(
            scripted, lambda: PROGRAM.python_function(function, "ignore", resolver, name, source.place(node), type)
        )
    return scripted()


def _self_value(type: t.ClassType, node: Any, source: Any) -> Value | None:
    from .containers import ScriptedModuleValue

    if not type.is_module:
        return None
    place = source.place(node)
    return ScriptedModuleValue(tree.Local(type, place, node.args.args[0].arg), type)


def _native_or_scripted(scripted: Callable[[], ScriptMethod], native: Callable[[], Any]) -> Any:
    """A method of one of polyad's layers: its program, or the method as it is where Python's means are used."""
    try:
        made = scripted()
        made.compile()
    except CompileError as error:
        try:
            return native()
        except CompileError:
            raise error from None
    return made
