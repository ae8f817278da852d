"""What a name can mean while a program is checked: an expression, or something that has no value of its own.

A module, a function, a class, a method that is about to be called: these are known when the program is checked, and are
gone when it runs. Each answers what is done with it: `attribute`, `call`, `expression`, `elements`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..language import tree
from ..language.source import CompileError, Place, UnsupportedError
from ..types import types as t
from ..types.types import Type
from .matching import match_operator

Expressions = Sequence["Value"]


class Value:
    """Something that a name means. *checker* is the check of the function in which it is used."""

    def described(self) -> str:
        """What it is, for messages."""
        return type(self).__name__.removesuffix("Value").lower()

    def expression(self, checker: Any, place: Place) -> tree.Expression:
        """It as a value of the program."""
        raise CompileError(
            f"script: {self.described()} cannot be used as a value", place, fix="call it, or pass what it holds"
        )

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        """What ``value.name`` means."""
        raise CompileError(f"script: {self.described()} has no attribute {name}", place)

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        """What ``value(...)`` means."""
        raise CompileError(f"script: cannot call {self.described()}", place)

    def elements(self, checker: Any, place: Place) -> list[Value] | None:
        """The values of a loop over it that is written out, None if it is a loop that runs."""
        return None


class Plain(Value):
    """An expression."""

    def __init__(self, expression: tree.Expression) -> None:
        self.value = expression

    @property
    def type(self) -> Type:
        """The type of the expression."""
        return self.value.type

    def described(self) -> str:
        return f"'{self.type}' object"

    def expression(self, checker: Any, place: Place) -> tree.Expression:
        return self.value

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        return checker.attribute_of(self.value, name, place)

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        if isinstance(self.type, (t.ClassType, t.InterfaceType)):
            return self.attribute(checker, "__call__", place).call(checker, given, named, place)
        raise CompileError(f"script: cannot call a value: {self.described()} is no function", place)

    def elements(self, checker: Any, place: Place) -> list[Value] | None:
        if isinstance(self.type, t.TupleType):
            return checker.tuple_elements(self.value, place)
        return None


class OperatorValue(Value):
    """An operator of PyTorch's by its name, of which the first argument may be known: a method.

    Attributes:
        names: tried in this order, for example ``aten::floordiv`` and ``aten::floor_divide``.
    """

    def __init__(self, *names: str, first: tree.Expression | None = None) -> None:
        self.names, self.first = names, first

    def described(self) -> str:
        return f"builtin {self.names[0]}"

    def expression(self, checker: Any, place: Place) -> tree.Expression:
        raise CompileError(f"script: builtin cannot be used as a value: {self.names[0]}", place, fix="call it")

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        raise CompileError(
            f"script: attribute lookup is not defined on builtin {self.names[0]}: {name}", place, fix="call it"
        )

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        arguments = [one.expression(checker, place) for one in given]
        if self.first is not None:
            arguments.insert(0, self.first)
        keywords = {name: one.expression(checker, place) for name, one in named.items()}
        return Plain(checker.operator(self.names, arguments, keywords, place))


class FunctionValue(Value):
    """A scripted function, or one that is scripted when it is called.

    Attributes:
        function: what has ``signature`` and ``qualified``.
    """

    def __init__(self, function: Any) -> None:
        self.function = function

    def described(self) -> str:
        return f"function {self.function.name}"

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        signature = self.function.signature_for(checker, place)
        arguments = checker.bind(signature, given, named, place)
        return Plain(tree.FunctionCall(signature.result, place, self.function, arguments))

    def expression(self, checker: Any, place: Place) -> tree.Expression:
        return tree.Constant(t.FunctionType(self.function.name), place, self.function)


class NativeValue(Value):
    """A function of polyad's that has no declaration of PyTorch's; its annotations say what it takes."""

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function

    def described(self) -> str:
        return f"function {self.name}"

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        return Plain(checker.native_call(self.name, self.function, given, named, place))


class PythonValue(Value):
    """A Python function that is called as it is: marked with ``ignore``."""

    def __init__(self, function: Any, signature: tree.Signature, first: tree.Expression | None = None) -> None:
        self.function, self.signature, self.first = function, signature, first

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        first = [] if self.first is None else [Plain(self.first)]
        arguments = checker.bind(self.signature, [*first, *given], named, place)
        return Plain(
            tree.PythonCall(self.signature.result or t.NONE, place, self.signature.name, self.function, arguments, {})
        )


class MethodValue(Value):
    """A method of an instance of a class or a module."""

    def __init__(self, object: tree.Expression, name: str, method: Any) -> None:
        self.object, self.name, self.method = object, name, method

    def described(self) -> str:
        return f"method {self.name}"

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        signature = (
            self.method if isinstance(self.method, tree.Signature) else self.method.signature_for(checker, place)
        )
        arguments = checker.bind(signature, [Plain(self.object), *given], named, place)
        return Plain(
            tree.MethodCall(signature.result or t.NONE, place, self.object, self.name, self.method, arguments[1:])
        )


class ClassValue(Value):
    """A scripted class, a NamedTuple or an enumeration: calling it makes one."""

    def __init__(self, type: Type) -> None:
        self.type = type

    def described(self) -> str:
        return f"class {self.type}"

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        if isinstance(self.type, t.EnumType):
            member = self.type.python.__members__.get(name)
            if member is not None:
                return Plain(tree.Constant(self.type, place, member))
        if isinstance(self.type, t.ClassType):
            if name == "__new__":
                return SpecialValue(name, lambda *_: Plain(tree.Create(self.type, place)))
            method = self.type.method(name)
            if method is not None:
                return FunctionValue(method)
            if name in self.type.constants:
                return Plain(checker.constant(self.type.constants[name], place))
        return super().attribute(checker, name, place)

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        return Plain(checker.construct(self.type, given, named, place))

    def elements(self, checker: Any, place: Place) -> list[Value] | None:
        if isinstance(self.type, t.EnumType):
            return [Plain(tree.Constant(self.type, place, member)) for member in self.type.python]
        return None

    def expression(self, checker: Any, place: Place) -> tree.Expression:
        if isinstance(self.type, t.EnumType):
            members = [tree.Constant(self.type, place, member) for member in self.type.python]
            return tree.ListLiteral(t.ListType(self.type), place, list(members))
        return super().expression(checker, place)


class TupleValue(Value):
    """Several values of which some have no value of their own: modules, functions."""

    def __init__(self, values: list[Value]) -> None:
        self.values = values

    def expression(self, checker: Any, place: Place) -> tree.Expression:
        elements = [one.expression(checker, place) for one in self.values]
        return tree.TupleLiteral(t.TupleType(tuple([one.type for one in elements])), place, elements)

    def elements(self, checker: Any, place: Place) -> list[Value] | None:
        return self.values


class IterableValue(Value):
    """What only a loop can use: a range, or zip and enumerate of others."""

    def __init__(self, iterable: tree.Iterable_, written_out: list[Value] | None = None) -> None:
        self.iterable, self.written_out = iterable, written_out

    def described(self) -> str:
        return self.iterable.kind

    def elements(self, checker: Any, place: Place) -> list[Value] | None:
        return self.written_out

    def expression(self, checker: Any, place: Place) -> tree.Expression:
        if self.iterable.kind == "range":
            parts = self.iterable.parts
            full = parts if len(parts) == 3 else [checker.constant(0, place), *parts, checker.constant(1, place)][-3:]
            if len(parts) == 2:
                full = [*parts, checker.constant(1, place)]
            call: tree.Expression = match_operator("aten::arange", full, {}, place)
            return call
        return super().expression(checker, place)


class SpecialValue(Value):
    """A function that is part of the language, such as ``isinstance``; *call* is what it does."""

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function

    def described(self) -> str:
        return self.name

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        return self.function(checker, given, named, place)


class NodeValue(Value):
    """A function whose arguments are looked at as they are written, such as ``isinstance``."""

    def __init__(self, name: str, on_node: Any) -> None:
        self.name, self.on_node = name, on_node

    def described(self) -> str:
        return self.name


class UnusableValue(Value):
    """A name that is there and cannot be used: *why* says what stands against it."""

    def __init__(self, name: str, why: str, fix: str | None = None) -> None:
        self.name, self.why, self.fix = name, why, fix

    def described(self) -> str:
        return self.name

    def _refuse(self, place: Place) -> UnsupportedError:
        return UnsupportedError(f"script: {self.why}", place, fix=self.fix)

    def expression(self, checker: Any, place: Place) -> tree.Expression:
        raise self._refuse(place)

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        raise self._refuse(place)

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        raise self._refuse(place)
