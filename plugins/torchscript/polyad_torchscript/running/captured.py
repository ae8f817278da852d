"""The form of a function that runs while it is captured: data decides in `polyad.cond` and `polyad.while_loop`.

So a captured program decides anew with each replay, and a graph of it has both branches. That is done where a condition
is a tensor's and what the branches set are tensors. Elsewhere, and where the branches' tensors differ in shape or
dtype, the capture decides by its example, and warns as it does of all Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import polyad
from polyad.errors import NotSupported

from ..graphs.exits import RESULT, without_exits
from ..language import tree
from ..types import types as t
from .generate import Writer, identifier

__all__ = ["captured_function", "is_decided_by_data"]

_REFUSED = (tree.Return, tree.Break, tree.Continue, tree.Raise, tree.Assert, tree.With, tree.Delete, tree.Define,
            tree.AttributeTarget, tree.ElementTarget, tree.PythonCall)  # fmt: skip


def is_decided_by_data(function: tree.Function) -> bool:
    """Whether some condition of *function* is a tensor's."""
    return any(
        _is_of_tensor(one.condition) for one in tree.walk(function.body) if isinstance(one, (tree.If, tree.While))
    )


def captured_function(function: tree.Function, plain: Any, compile_tree: Callable[..., Any]) -> Any:
    """What runs *function*: in a capture by control flow that is recorded, otherwise as *plain* does."""
    body = without_exits(function)
    if any(isinstance(one, (tree.Return, tree.Uninitialized)) for one in tree.walk(body)):
        return plain  # it returns from within a loop
    result = function.signature.result or t.NONE
    if result != t.NONE:
        body = [*body, tree.Return(function.place, tree.Local(result, function.place, RESULT))]
    rewritten = tree.Function(function.name, function.signature, body, function.place, function.qualified)
    captured = compile_tree(rewritten, writer=CapturedWriter)

    def run(*args: Any, **kwargs: Any) -> Any:
        return (captured if polyad.jit.is_tracing() else plain)(*args, **kwargs)

    return run


def _is_of_tensor(condition: tree.Expression) -> bool:
    if isinstance(condition, tree.Logical):
        return _is_of_tensor(condition.left) and _is_of_tensor(condition.right)
    if not isinstance(condition, tree.Operator) or condition.schema.name not in ("aten::Bool", "aten::__not__"):
        return False
    (inner,) = condition.arguments
    if condition.schema.name == "aten::__not__":
        return inner is not None and _is_of_tensor(inner)
    return inner is not None and inner.type == t.TENSOR


class CapturedWriter(Writer):
    """Writes what is decided by data as calls of `choose` and `repeat`.

    Attributes:
        known: the variables that are set where the code is, by their types.
    """

    def __init__(self, function: tree.Function) -> None:
        super().__init__(function)
        self.known: dict[str, t.Type] = {one.name: one.type for one in function.signature.arguments}
        self._count = 0

    def statement(self, one: tree.Statement) -> list[ast.stmt]:
        """A statement as Python's; afterwards what it sets is known."""
        made = super().statement(one)
        if isinstance(one, (tree.Assign, tree.If)):
            self.known.update(_set_by([one]))
        return made

    def _statement_If(self, one: tree.If) -> list[ast.stmt]:
        then, other = _set_by(one.then), _set_by(one.other)
        names = [
            name for name in dict.fromkeys((*then, *other))
            if (name in then or name in self.known) and (name in other or name in self.known)
        ]  # fmt: skip
        both = [*one.then, *one.other]
        kinds = [kind for name in names for kind in (then.get(name), other.get(name), self.known.get(name))]
        if not names or not _is_of_tensor(one.condition) or not _may_be_recorded(both) or not _are_tensors(kinds):
            return super()._statement_If(one)
        before = dict(self.known)
        first = self._branch("then", one.then, names)
        self.known = dict(before)
        second = self._branch("other", one.other, names)
        self.known = before
        call = self.call(choose, self.condition(one.condition), ast.Name(first.name, ast.Load()),
                         ast.Name(second.name, ast.Load()), word="choose")  # fmt: skip
        return [first, second, ast.Assign([_names_tuple(names, ast.Store())], call)]

    def _branch(self, word: str, body: list[tree.Statement], names: list[str]) -> ast.FunctionDef:
        """A function of a branch: what it sets and was set before has its value at first."""
        before = [name for name in _set_by(body) if name in self.known]
        return self._function_of(word, before, before, [*self.block(body), ast.Return(_names_tuple(names, ast.Load()))])

    def _function_of(self, word: str, given: list[str], defaults: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
        self._count += 1
        made = ast.FunctionDef(
            f"_ts_{word}_{self._count}",
            ast.arguments([], [ast.arg(identifier(one)) for one in given], None, [], [], None,
                          [ast.Name(identifier(one), ast.Load()) for one in defaults]),
            body, [],
        )  # fmt: skip
        made.type_params = []  # type: ignore[attr-defined]
        return made

    def _statement_While(self, one: tree.While) -> list[ast.stmt]:
        names = [name for name in _set_by(one.body) if name in self.known]
        kinds = [kind for name in names for kind in (self.known[name], _set_by(one.body)[name])]
        if not names or not _is_of_tensor(one.condition) or not _may_be_recorded(one.body) or not _are_tensors(kinds):
            return super()._statement_While(one)
        test = self._function_of("test", names, [], [ast.Return(self.condition(one.condition))])
        before = dict(self.known)
        body = self._function_of(
            "body", names, [], [*self.block(one.body), ast.Return(_names_tuple(names, ast.Load()))]
        )
        self.known = before
        call = self.call(repeat, ast.Name(test.name, ast.Load()), ast.Name(body.name, ast.Load()),
                         _names_tuple(names, ast.Load()), word="repeat")  # fmt: skip
        return [test, body, ast.Assign([_names_tuple(names, ast.Store())], call)]

    def condition(self, one: tree.Expression) -> ast.expr:
        """A condition as a tensor."""
        if isinstance(one, tree.Logical):
            op = ast.BitAnd() if one.word == "and" else ast.BitOr()
            return ast.BinOp(self.condition(one.left), op, self.condition(one.right))
        assert isinstance(one, tree.Operator)
        (inner,) = one.arguments
        assert inner is not None
        if one.schema.name == "aten::__not__":
            return ast.UnaryOp(ast.Invert(), self.condition(inner))
        return self.call(truth, self.expression(inner), word="truth")


def _names_tuple(names: list[str], context: ast.expr_context) -> ast.expr:
    return ast.Tuple([ast.Name(identifier(name), context) for name in names], context)


def _set_by(statements: list[tree.Statement]) -> dict[str, t.Type]:
    """The variables that statements set, with the types that they have last."""
    return {one.name: one.type for one in tree.walk(statements) if isinstance(one, tree.NameTarget)}


def _may_be_recorded(statements: list[tree.Statement]) -> bool:
    return not any(isinstance(one, _REFUSED) for one in tree.walk(statements))


def _are_tensors(kinds: Sequence[t.Type | None]) -> bool:
    return all(kind is None or kind == t.TENSOR for kind in kinds)


def truth(value: polyad.Tensor) -> polyad.Tensor:
    """A tensor of one element as a bool tensor of no dimensions."""
    value = value if value.dim() == 0 else value.reshape(())
    return value if value.dtype == polyad.bool else value != 0


def choose(condition: polyad.Tensor, then: Callable[..., Any], other: Callable[..., Any]) -> Any:
    """What one of two branches sets; both are recorded, if their tensors are alike."""
    try:
        return polyad.cond(condition, then, other, ())
    except (NotSupported, RuntimeError):
        return then() if condition else other()


def repeat(test: Callable[..., Any], body: Callable[..., Any], carried: tuple[Any, ...]) -> Any:
    """What a loop sets; it is recorded, if its tensors stay alike."""
    try:
        return polyad.while_loop(test, body, carried)
    except (NotSupported, RuntimeError):
        while test(*carried):
            carried = body(*carried)
        return carried
