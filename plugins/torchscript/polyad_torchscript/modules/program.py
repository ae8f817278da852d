"""All that has been scripted: `PROGRAM` knows the functions and classes, and scripts what a function calls."""

from __future__ import annotations

import inspect
import sys
from collections import ChainMap
from typing import Any

import polyad
from polyad import nn

from .. import library
from ..checking.values import FunctionValue, Plain, PythonValue, UnusableValue, Value
from ..language import tree
from ..language.source import CompileError, Place, UnsupportedError, source_of
from ..types import types as t
from ..types.annotations import qualified_name
from .functions import ScriptFunction
from .marks import mark_of
from .namespaces import TorchValue
from .resolving import Resolver

__all__ = ["PROGRAM", "Program", "names_seen_by"]


def names_seen_by(function: Any, frame_names: Any = None) -> Any:
    """The names that a function sees: of its closure, of the calling frame, and globals."""
    function = inspect.unwrap(function) if not isinstance(function, type) else function
    if isinstance(function, type):
        module = sys.modules.get(function.__module__)
        return ChainMap({}, frame_names or {}, vars(module) if module else {})
    inner: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            inner[name] = cell.cell_contents
        except ValueError:
            continue  # not set yet
    home = function.__module__ or ""  # code that a program made may have no module
    if home.startswith(f"{library.__name__}."):
        inner["torch"] = TorchValue()
    return ChainMap(inner, frame_names or {}, function.__globals__)


class Program:
    """The scripted functions and classes of this process."""

    def __init__(self) -> None:
        self._functions: dict[Any, ScriptFunction] = {}
        self._classes: dict[Any, Any] = {}
        self._defining: dict[int, Any] = {}

    # ------------------------------------------------------------------------------------------------ functions

    def function(self, function: Any, frame_names: Any = None) -> ScriptFunction:
        """*function*, checked; the same object for the same function."""
        if isinstance(function, ScriptFunction):
            return function
        found = self._functions.get(function)
        if found is None:
            source, node = source_of(function)
            resolver = Resolver(self, names_seen_by(function, frame_names))
            found = ScriptFunction(node.name, qualified_name(function), source, node, resolver, function)  # type: ignore[arg-type]
            self._functions[function] = found
            try:
                found.compile()
            except BaseException:
                del self._functions[function]
                raise
        return found

    def function_value(self, function: Any, resolver: Resolver, name: str, place: Place) -> Value:
        """What a Python function is that a program calls."""
        if isinstance(function, ScriptFunction):
            return FunctionValue(function)
        mark = mark_of(function)
        if mark in ("ignore", "unused"):
            return self.python_function(function, mark, resolver, name, place)
        if not inspect.isfunction(function):
            return UnusableValue(
                name,
                f"python object {name} of type '{type(function).__name__}' cannot be called: it is no function",
                "write a function, or mark its caller with jit.ignore",
            )
        known = self._functions.get(function)
        if known is None:
            known = self.function(function, resolver.names)
        return FunctionValue(known)

    def python_function(
        self, function: Any, mark: str, resolver: Resolver, name: str, place: Place, self_type: Any = None
    ) -> Value:
        """A function that is called as Python, or not at all."""
        signature = self.declared_signature(
            function, Resolver(self, names_seen_by(function, resolver.names)), place, self_type
        )
        if mark == "unused":

            def refuse(*args: Any, **kwargs: Any) -> Any:
                raise NotImplementedError(f"{name} is marked with jit.unused and cannot be called")

            return PythonValue(refuse, signature)
        return PythonValue(function, signature)

    def declared_signature(
        self, function: Any, resolver: Resolver, place: Place, self_type: Any = None
    ) -> tree.Signature:
        """What a function takes and gives by its annotations; what is not annotated is a tensor."""
        signature = inspect.signature(function)
        arguments = []
        for position, one in enumerate(signature.parameters.values()):
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            if position == 0 and self_type is not None:
                arguments.append(tree.Argument(one.name, self_type))
                continue
            type = t.TENSOR if one.annotation is one.empty else resolver.type(one.annotation, place)
            default = [] if one.default is one.empty else [one.default]
            arguments.append(tree.Argument(one.name, type, *default))
        annotated = signature.return_annotation
        result = t.TENSOR if annotated is signature.empty else resolver.type(annotated, place)
        return tree.Signature(function.__name__, arguments, result)

    # -------------------------------------------------------------------------------------------------- classes

    def class_of(self, cls: Any, resolver: Any, place: Place) -> t.Type | None:
        """The type of a class of the user's, scripted if need be; None of what is no class."""
        from .classes import script_class

        if cls in self._classes:
            return self._classes[cls]
        if not isinstance(cls, type) or cls.__module__ in ("builtins", "typing"):
            return None
        if issubclass(cls, nn.Module):
            raise CompileError(f"script: the module class {cls.__name__} is no type of TorchScript", place,
                               fix="make the module a submodule and call it, or use jit.interface")  # fmt: skip
        return script_class(self, cls, resolver.names)

    def register(self, cls: Any, type: Any) -> None:
        """Remember the type of a class."""
        self._classes[cls] = type

    def forget(self, cls: Any) -> None:
        """Forget a class that could not be scripted."""
        self._classes.pop(cls, None)

    def may_define(self, type: t.ClassType, checker: Any) -> bool:
        """Whether the function that is checked is the ``__init__`` of a class, which says what attributes there are."""
        if not checker.scope.own:
            return False  # in a branch or a loop
        return (
            not type.is_module and checker.signature.name == "__init__" and checker.signature.arguments[0].type is type
        )

    def constant_value(self, checker: Any, type: t.ClassType, name: str, place: Place) -> Value:
        """An attribute that never changes."""
        value = type.constants[name]
        if isinstance(value, Value):
            return value
        if callable(value) and not isinstance(value, (polyad.Tensor,)):
            return checker.resolver.value_of(value, name, place)
        return Plain(checker.constant(value, place))

    def no_member(self, type: t.ClassType, name: str, place: Place) -> CompileError:
        """The error about an attribute that is not there."""
        why = type.failures.get(name)
        if not type.is_module:
            magic = name.startswith("__")
            return CompileError(
                f"script: Class does not define {name}: {type}"
                if magic
                else f"script: '{type}' object has no attribute or method '{name}'"
                + (
                    f". '{name}' is defined as a class attribute, which isn't supported"
                    if hasattr(type.python, name)
                    else ""
                ),
                place,
                fix="define it" if magic else "annotate it in the class, or set it in __init__",
            )
        kind = "Module" if type.is_module else "class"
        label = getattr(type.python, "__name__", type.name)
        return CompileError(
            f"script: {kind} '{label}' has no attribute '{name}'" + (f" {why}" if why else ""), place,
            fix="set it in __init__ to a value of TorchScript's types" if type.is_module else "define it",
        )  # fmt: skip

    def module_value(self, expression: tree.Expression, type: t.ClassType) -> Value:
        """A submodule."""
        from .containers import ScriptedModuleValue

        return ScriptedModuleValue(expression, type)

    def superclass(self, resolver: Any, checker: Any, place: Place) -> Value:
        """``super()``."""
        from .containers import SuperValue

        if resolver.owner is None:
            raise UnsupportedError("script: super() outside of a method", place)
        first = checker.signature.arguments[0]
        return SuperValue(tree.Local(first.type, place, first.name), resolver.owner, self)


PROGRAM = Program()
