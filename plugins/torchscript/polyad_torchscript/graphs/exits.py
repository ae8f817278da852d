"""The tree without return, break and continue: `without_exits` says the same by conditions.

After a branch that returns, what follows goes into the other branch. Where that is not enough, as in loops, a variable
says that the function has returned or that the loop was left, and what follows is done only if not.
"""

from __future__ import annotations

from ..language import tree
from ..types import types as t

__all__ = ["RESULT", "without_exits"]

RESULT = "_result"
_RETURNED, _LEFT, _SKIPPED = "_returned", "_left", "_skipped"


def without_exits(function: tree.Function) -> list[tree.Statement]:
    """The body of *function*, which sets the variable `RESULT` instead of returning."""
    return _Rewriting(function).body()


class _Rewriting:
    def __init__(self, function: tree.Function) -> None:
        self.function = function
        self.place = function.place
        self.flagged = any(
            isinstance(inner, tree.Return)
            for one in tree.walk(function.body)
            if isinstance(one, (tree.While, tree.For))
            for inner in tree.walk(one.body)
        )

    def body(self) -> list[tree.Statement]:
        result = self.function.signature.result or t.NONE
        before: list[tree.Statement] = []
        if self.flagged:
            before = [self._set(_RETURNED, False), tree.Assign(self.place, tree.NameTarget(self.place, RESULT, result),
                                                               tree.Uninitialized(result, self.place))]  # fmt: skip
        return before + self.block(self.function.body, [])

    def _set(self, name: str, value: bool) -> tree.Statement:
        return tree.Assign(
            self.place, tree.NameTarget(self.place, name, t.BOOL), tree.Constant(t.BOOL, self.place, value)
        )

    def block(self, statements: list[tree.Statement], flags: list[str]) -> list[tree.Statement]:
        """Statements in a loop whose exits are *flags*, or in none."""
        found: list[tree.Statement] = []
        for index, one in enumerate(statements):
            rest = statements[index + 1 :]
            if isinstance(one, tree.Return):
                value = one.value or tree.Constant(t.NONE, one.place, None)
                found.append(tree.Assign(one.place, tree.NameTarget(one.place, RESULT, value.type), value))
                return [*found, self._set(_RETURNED, True)] if self.flagged else found
            if isinstance(one, tree.Break):
                return [*found, self._set(_LEFT, True)]
            if isinstance(one, tree.Continue):
                return [*found, self._set(_SKIPPED, True)]
            if not _exits(one):
                found.append(one)
                continue
            if isinstance(one, tree.If):
                return [*found, *self._branch(one, rest, flags)]
            found.append(self._inner(one))
            if rest and any(isinstance(inner, tree.Return) for inner in tree.walk(one)):
                return [*found, tree.If(one.place, self._none_of([_RETURNED], one.place), self.block(rest, flags), [])]
        return found

    def _branch(self, one: tree.If, rest: list[tree.Statement], flags: list[str]) -> list[tree.Statement]:
        """An if with a way out, and what follows it."""
        ends_then, ends_other = _ends_block(one.then), _ends_block(one.other)
        if not ends_then and not ends_other and rest and (flags or self.flagged):
            made = tree.If(one.place, one.condition, self.block(one.then, flags), self.block(one.other, flags))
            names = [*flags, *([_RETURNED] if self.flagged else [])]
            return [made, tree.If(one.place, self._none_of(names, one.place), self.block(rest, flags), [])]
        then = one.then if ends_then else [*one.then, *rest]
        other = one.other if ends_other else [*one.other, *rest]
        return [tree.If(one.place, one.condition, self.block(then, flags), self.block(other, flags))]

    def _inner(self, one: tree.Statement) -> tree.Statement:
        """A statement with blocks that is no if."""
        if isinstance(one, tree.With):
            return tree.With(one.place, one.context, one.name, self.block(one.body, []))
        assert isinstance(one, (tree.While, tree.For))
        flags = [
            name for kind, name in ((tree.Break, _LEFT), (tree.Continue, _SKIPPED))
            if any(isinstance(inner, kind) for inner in tree.walk(one.body))
        ]  # fmt: skip
        body = [self._set(name, False) for name in flags] + self.block(one.body, flags)
        if isinstance(one, tree.While):
            made: tree.Statement = tree.While(one.place, one.condition, body)
        else:
            made = tree.For(one.place, one.target, one.iterable, body)
        leaving = [name for name in (_LEFT, _RETURNED) if name in flags or (name == _RETURNED and self.flagged)]
        made.leaving = leaving  # type: ignore[attr-defined]
        return made

    def _none_of(self, names: list[str], place: tree.Place) -> tree.Expression:
        """A condition that holds while none of the variables is set."""
        found: tree.Expression | None = None
        for name in names:
            schema = tree.Schema("aten::__not__", "", (tree.Argument("self", t.BOOL),), t.BOOL)
            part: tree.Expression = tree.Operator(t.BOOL, place, schema, [tree.Local(t.BOOL, place, name)])
            found = part if found is None else tree.Logical(t.BOOL, place, "and", found, part)
        assert found is not None
        return found


def _exits(one: tree.Statement) -> bool:
    return any(isinstance(inner, (tree.Return, tree.Break, tree.Continue)) for inner in tree.walk(one))


def _ends_block(statements: list[tree.Statement]) -> bool:
    """Whether the block leaves on every way."""
    for one in statements:
        if isinstance(one, (tree.Return, tree.Break, tree.Continue, tree.Raise)):
            return True
        if isinstance(one, tree.If) and _ends_block(one.then) and _ends_block(one.other):
            return True
    return False
