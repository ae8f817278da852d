"""The typed program: what a checked TorchScript function is.

Expressions have a `type` and the `place` in the source that they are from; statements have a place. What is called is
resolved: an operator with its schema, a function, a method, a class. So nothing is left to look up when it runs, and
the same tree is printed as text (`printing`), run (`running`) and shown as a graph (`graphs`).

Invariant: a tree that a checker made holds types that agree; nothing that makes a tree by hand may break that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from ..operators.schemas import Argument as Argument, Schema as Schema
from ..types import types as t
from ..types.types import Type, declared_name
from .source import Place as Place

# ------------------------------------------------------------------------------------------------------- signatures


@dataclass
class Signature:
    """What a function takes and gives.

    Attributes:
        arguments: in order; a method's first is ``self``.
        result: None until the body has been checked, if nothing says it.
        declared: whether the result is annotated.
    """

    name: str
    arguments: list[Argument]
    result: Type | None
    declared: bool = True

    def fits(self, wanted: Signature) -> bool:
        """Whether a method of this signature is one of *wanted*: it takes at least that, and gives no more."""
        mine, theirs = self.arguments[1:], wanted.arguments[1:]
        if len(mine) != len(theirs) or self.result is None or wanted.result is None:
            return False
        return t.is_subtype(self.result, wanted.result) and all(
            a.name == b.name and t.is_subtype(b.type, a.type) for a, b in zip(mine, theirs)
        )

    def __str__(self) -> str:
        result = "None" if self.result is None else declared_name(self.result)
        if isinstance(self.result, t.TupleType):
            result = f"({result})"
        return f"{self.name}({', '.join(map(str, self.arguments))}) -> {result}"


# ------------------------------------------------------------------------------------------------------ expressions


@dataclass
class Expression:
    """What has a value."""

    type: Type
    place: Place


@dataclass
class Constant(Expression):
    """A number, a string, None, a dtype, a device, a tensor of a constant pool: a value that never changes."""

    value: Any
    pool: str | None = None


@dataclass
class Local(Expression):
    """A variable of the function."""

    name: str


@dataclass
class Attribute(Expression):
    """An attribute of an instance of a class or of a module."""

    object: Expression
    name: str


@dataclass
class Element(Expression):
    """An element of a tuple at a fixed position."""

    object: Expression
    index: int


@dataclass
class Operator(Expression):
    """A call of an operator. *arguments* stand by the position of the schema's; None where the default is meant.

    Attributes:
        numbered: whether a dtype or a layout that it gives is the number that archives have for it.
    """

    schema: Schema
    arguments: list[Expression | None]
    numbered: bool = False


@dataclass
class NativeCall(Expression):
    """A call of a function of polyad's that is no operator of PyTorch's, with what it was given by name.

    Attributes:
        name: where it is, ``nn.functional.cross_entropy``.
    """

    name: str
    function: Any
    arguments: list[Expression]
    named: dict[str, Expression]


@dataclass
class PythonCall(Expression):
    """A call that leaves TorchScript: of a function or method marked with ``ignore``."""

    name: str
    function: Any
    arguments: list[Expression]
    named: dict[str, Expression]


@dataclass
class FunctionCall(Expression):
    """A call of a scripted function: *function* has ``signature``, ``body`` and ``qualified``."""

    function: Any
    arguments: list[Expression]


@dataclass
class MethodCall(Expression):
    """A call of a method of a class, a module or an interface; a module's ``forward`` runs its hooks."""

    object: Expression
    name: str
    method: Any
    arguments: list[Expression]


@dataclass
class Construct(Expression):
    """An instance of a class or a NamedTuple."""

    of: Any
    arguments: list[Expression]


@dataclass
class Create(Expression):
    """An instance of a class whose ``__init__`` has not run."""


@dataclass
class ListLiteral(Expression):
    """``[a, b]``."""

    elements: list[Expression]


@dataclass
class TupleLiteral(Expression):
    """``(a, b)``."""

    elements: list[Expression]


@dataclass
class DictLiteral(Expression):
    """``{a: b}``."""

    keys: list[Expression]
    values: list[Expression]


@dataclass
class Comprehension(Expression):
    """``[element for target in iterable if condition]``; with a key, of a dict."""

    target: Target
    iterable: Iterable_
    conditions: list[Expression]
    element: Expression
    key: Expression | None = None


@dataclass
class Choice(Expression):
    """``then if condition else other``."""

    condition: Expression
    then: Expression
    other: Expression


@dataclass
class Logical(Expression):
    """``a and b`` (*word* "and"), ``a or b``, of bools."""

    word: str
    left: Expression
    right: Expression


@dataclass
class IsInstance(Expression):
    """Whether a value is of one of *types*."""

    object: Expression
    types: list[Type]


@dataclass
class Convert(Expression):
    """A value as another type, without a look at it: it was checked, or is declared to be so."""

    object: Expression


@dataclass
class Bind(Expression):
    """A value that is given a name on the way: ``(name := object)``."""

    name: str
    object: Expression


@dataclass
class ListOf(Expression):
    """A list of a tuple's elements."""

    object: Expression


@dataclass
class Uninitialized(Expression):
    """A value that is not read."""


@dataclass
class Fork(Expression):
    """A call whose result is a future."""

    call: Expression


# ------------------------------------------------------------------------------------------------------- statements


@dataclass
class Target:
    """What is assigned to: a name, a tuple of targets, an attribute or an element."""

    place: Place


@dataclass
class NameTarget(Target):
    """A variable, with the type that it has from here on; *annotated* if the source says it."""

    name: str
    type: Type
    annotated: bool = False


@dataclass
class TupleTarget(Target):
    """Several targets; the one at *starred* gets the rest, as a tuple or a list."""

    elements: list[Target]
    starred: int | None = None


@dataclass
class AttributeTarget(Target):
    """An attribute of an instance."""

    object: Expression
    name: str


@dataclass
class ElementTarget(Target):
    """An element of a list, a dict or a tensor: *setter* is the operator, *arguments* what comes before the value."""

    schema: Schema
    arguments: list[Expression]


@dataclass
class Iterable_:
    """What a loop goes over: *kind* is range, list, str, dict, tensor, zip, enumerate.

    Attributes:
        parts: the expressions of a range or a value, or the iterables of zip and enumerate.
        element: the type of what a trip gets.
    """

    kind: str
    parts: list[Any]
    element: Type


@dataclass
class Statement:
    """What is done."""

    place: Place


@dataclass
class Assign(Statement):
    """``target = value``."""

    target: Target
    value: Expression


@dataclass
class Evaluate(Statement):
    """An expression for what it does."""

    value: Expression


@dataclass
class If(Statement):
    """``if condition: ... else: ...``."""

    condition: Expression
    then: list[Statement]
    other: list[Statement]


@dataclass
class While(Statement):
    """``while condition: ...``."""

    condition: Expression
    body: list[Statement]


@dataclass
class For(Statement):
    """``for target in iterable: ...``."""

    target: Target
    iterable: Iterable_
    body: list[Statement]


@dataclass
class Break(Statement):
    """``break``."""


@dataclass
class Continue(Statement):
    """``continue``."""


@dataclass
class Return(Statement):
    """``return value``."""

    value: Expression | None


@dataclass
class Raise(Statement):
    """``raise kind(message)``; *kind* is the class of the exception."""

    kind: Any
    message: Expression | None


@dataclass
class Assert(Statement):
    """``assert condition, message``."""

    condition: Expression
    message: Expression | None


@dataclass
class Define(Statement):
    """A function within a function, which sees what surrounds it: *function* is a `Function`."""

    name: str
    function: Function


@dataclass
class With(Statement):
    """``with context as name: ...``."""

    context: Expression
    name: str | None
    body: list[Statement]


@dataclass
class Delete(Statement):
    """``del name``."""

    name: str


@dataclass
class Function:
    """A checked function.

    Attributes:
        qualified: its name in a program, ``__torch__.double``.
        doc: its docstring.
    """

    name: str
    signature: Signature
    body: list[Statement]
    place: Place
    qualified: str = ""
    doc: str | None = None
    python: Any = field(default=None, compare=False)


def children(node: Any) -> Iterator[Any]:
    """The expressions, statements and targets that *node* directly holds."""
    for one in fields(node):
        yield from _nodes(getattr(node, one.name))


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, (Expression, Statement, Target, Iterable_)):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _nodes(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _nodes(one)


def walk(node: Any) -> Iterator[Any]:
    """*node* or a list of nodes, with all that is inside, outer ones first."""
    for one in node if isinstance(node, list) else [node]:
        yield one
        for child in children(one):
            yield from walk(child)
