"""Scripted functions: `ScriptFunction`, and the methods of scripted classes and modules."""

from __future__ import annotations

import ast
import functools
import inspect
from typing import Any

import polyad

from ..checking.statements import Checker
from ..checking.values import Value
from ..language import tree
from ..language.printing import print_function
from ..language.source import CompileError, Place, Source
from ..language.tree import Signature
from ..operators.schemas import NO_DEFAULT
from ..running.captured import captured_function, is_decided_by_data
from ..running.generate import compile_function
from ..running.values import error_of, is_value_of
from ..types import types as t
from ..types.annotations import type_of_constant
from ..types.types import Type

__all__ = ["ScriptFunction", "ScriptMethod"]


class ScriptFunction:
    """A function that was checked by TorchScript's rules. Called, it runs as bytecode, made of the checked tree.

    Attributes:
        name: of the function.
        qualified_name: with its module, ``__torch__.double``.
    """

    def __init__(
        self,
        name: str,
        qualified: str,
        source: Source,
        node: ast.FunctionDef,
        resolver: Any,
        python: Any = None,
        self_type: Type | None = None,
        first: Value | None = None,
    ) -> None:
        self.name = self.__name__ = name
        self.qualified = self.qualified_name = qualified
        self._source, self._node, self._resolver, self._first = source, node, resolver, first
        self._python = python
        self._state = "declared"
        self.signature: tree.Signature = resolver.signature(node, source, self_type)
        self._function: tree.Function | None = None
        self._run: Any = None
        if python is not None:
            functools.update_wrapper(self, python)
            self.__dict__.pop("__wrapped__", None)

    # ------------------------------------------------------------------------------------------------ compiling

    def compile(self) -> tree.Function:
        """The checked function.

        Raises CompileError, also where it calls itself.
        """
        if self._function is None:
            if self._state == "checking":
                raise CompileError(
                    f"script: function '{self.name}' is called recursively. Recursive calls are not supported",
                    self._source.place(self._node), fix="write a loop",
                )  # fmt: skip
            self._state = "checking"
            try:
                checker = Checker(self._source, self._resolver, self.signature)
                checker.owner = self  # type: ignore[attr-defined]
                self._function = checker.function(self._node, self._first)
                self._function.qualified = self.qualified
            finally:
                self._state = "declared"
        return self._function

    def signature_for(self, checker: Any, place: Place) -> tree.Signature:
        """What it takes and gives, for a caller at *place*."""
        self.compile()
        return self.signature

    @property
    def tree(self) -> tree.Function:
        """The checked function."""
        return self.compile()

    @property
    def run(self) -> Any:
        """What runs it, without a look at the arguments."""
        if self._run is None:
            function = self.compile()
            self._run = compile_function(function)
            if is_decided_by_data(function):
                self._run = captured_function(function, self._run, compile_function)
        return self._run

    # -------------------------------------------------------------------------------------------------- calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it. What goes wrong in it is an `Error`, and of the class that Python has for it."""
        given = self._checked(args)
        named = {name: self._checked_named(name, one) for name, one in kwargs.items()}
        if len(given) + len(named) < self._required:
            self._refuse_missing(len(given), named)
        try:
            return self.run(*given, **named)
        except (LookupError, ValueError, ArithmeticError, AssertionError) as error:
            if isinstance(error, RuntimeError):
                raise
            kind: Any = error_of(type(error))  # type: ignore[arg-type]
            raise kind(f"{type(error).__name__}: {error}").with_traceback(error.__traceback__) from None

    def _refuse_missing(self, count: int, named: dict[str, Any]) -> None:
        for argument in self.signature.arguments[count:]:
            if argument.default is NO_DEFAULT and argument.name not in named:
                raise CallError(f"{self.name}() is missing value for argument '{argument.name}': {self.signature}")

    @functools.cached_property
    def _required(self) -> int:
        """How many arguments must be given."""
        return sum(one.default is NO_DEFAULT for one in self.signature.arguments)

    def _checked(self, args: tuple[Any, ...]) -> list[Any]:
        arguments = self.signature.arguments
        if len(args) > len(arguments):
            raise CallError(f"{self.name}() expected at most {len(arguments)} argument(s) but received {len(args)} "
                            f"argument(s): {self.signature}")  # fmt: skip
        return [_fitted(self.name, argument, value) for argument, value in zip(arguments, args)]

    def _checked_named(self, name: str, value: Any) -> Any:
        for argument in self.signature.arguments:
            if argument.name == name:
                return _fitted(self.name, argument, value)
        raise CallError(f"{self.name}() unknown keyword argument '{name}': {self.signature}")

    # -------------------------------------------------------------------------------------------------- showing

    @property
    def code(self) -> str:
        """The program as TorchScript's text."""
        return print_function(self.compile()).text

    @property
    def graph(self) -> Any:
        """The program as a graph with blocks."""
        from ..graphs.lowering import graph_of

        return graph_of(self.compile())

    @property
    def inlined_graph(self) -> Any:
        """The graph, with those of the functions that it calls in their places."""
        from ..graphs.lowering import graph_of

        return graph_of(self.compile(), inline=True)

    @property
    def schema(self) -> Signature:
        """What it takes and gives."""
        self.compile()
        return self.signature

    @property
    def __signature__(self) -> inspect.Signature:
        """What Python is told of its arguments."""
        return inspect.Signature(
            [
                inspect.Parameter(
                    one.name,
                    inspect.Parameter.KEYWORD_ONLY if one.keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=inspect.Parameter.empty if one.default is NO_DEFAULT else one.default,
                )
                for one in self.signature.arguments
            ]
        )

    def graph_for(self, *args: Any, **kwargs: Any) -> Any:
        """The graph that runs for these arguments, which is the same for all."""
        return self.inlined_graph

    def save(self, f: Any, _extra_files: Any = None) -> None:
        """Write it, as the ``forward`` of a module; see `polyad.jit.save`."""
        polyad.jit.save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: Any = None) -> bytes:
        """The bytes of the file that `save` writes."""
        from ..archives.files import save_to_buffer

        return save_to_buffer(self, _extra_files)

    def get_debug_state(self) -> None:
        """None: there is no executor with a state."""

    def __repr__(self) -> str:
        return f"<polyad.jit.ScriptFunction {self.name}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


class ScriptMethod(ScriptFunction):
    """A method of a scripted class or module; bound to an instance it is called as any method."""


class CallError(RuntimeError):
    """A call of a scripted function with what it does not take."""


def _fitted(name: str, argument: tree.Argument, value: Any) -> Any:
    """*value* as a value of the argument's type.

    Raises CallError if it is none.
    """
    type = argument.type
    if type == t.TENSOR and isinstance(value, polyad.Tensor):
        return value
    made, fits = _as_type(type, value)
    if not fits:
        kind = type_of_constant(value) or value.__class__.__name__
        if isinstance(type, t.UnionType) and type.kind() == "UnionType":
            raise CallError(
                f"{name}() Expected a member of {type} but instead found type {kind} for '{argument.name}'."
            )
        raise CallError(
            f"{name}() Expected a value of type '{type}' for argument '{argument.name}' but instead found type "
            f"'{kind}'."
        )
    return made


def _as_type(type: Type, value: Any) -> tuple[Any, bool]:
    """*value* as what a program has for *type*: numbers become floats, sequences lists; and whether it can be that."""
    if isinstance(type, t.ClassType) and type.is_module:
        return value, True
    if isinstance(type, t.ListType) and isinstance(value, (list, tuple)):
        parts = [_as_type(type.element, one) for one in value]
        return [one for one, _ in parts], all(fits for _, fits in parts)
    if isinstance(type, t.DictType) and isinstance(value, dict):
        keys = [_as_type(type.key, one) for one in value]
        parts = [_as_type(type.value, one) for one in value.values()]
        made = {key: one for (key, _), (one, _) in zip(keys, parts)}
        return made, all(fits for _, fits in [*keys, *parts])
    if isinstance(type, t.UnionType) and not isinstance(value, (list, dict, tuple)) and is_value_of(type, value):
        return value, True
    if not isinstance(type, t.UnionType) and is_value_of(type, value):
        return value, True
    if type == t.FLOAT and isinstance(value, int) and not isinstance(value, bool):
        return float(value), True
    if type == t.FLOAT and hasattr(value, "__float__") and not isinstance(value, (str, polyad.Tensor)):
        return float(value), True
    if type == t.DEVICE and isinstance(value, str):
        return polyad.device(value), True
    if type in (t.INT, t.FLOAT, t.NUMBER, t.BOOL) and hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        return value.item(), True
    if isinstance(type, t.UnionType):
        for member in type.members:
            made, fits = _as_type(member, value)
            if fits:
                return made, True
    if (
        isinstance(type, t.TupleType)
        and isinstance(value, tuple)
        and len(value) == len(type.elements)
        and type.python is None
    ):
        parts = [_as_type(kind, one) for kind, one in zip(type.elements, value)]
        return tuple([one for one, _ in parts]), all(fits for _, fits in parts)
    return value, False
