"""Conditions, and what is known of types where they hold: ``x is not None``, ``isinstance(x, T)``, and, or, not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..language import tree
from ..language.source import CompileError, Place
from ..types import types as t
from ..types.types import Type
from .scopes import Scope
from .values import NodeValue, Plain

__all__ = ["Condition", "Conditions"]

_COMPARISONS = {
    ast.Eq: "aten::eq", ast.NotEq: "aten::ne", ast.Lt: "aten::lt", ast.LtE: "aten::le", ast.Gt: "aten::gt",
    ast.GtE: "aten::ge", ast.Is: "aten::__is__", ast.IsNot: "aten::__isnot__",
}  # fmt: skip
_MAGIC = {
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
}
_SWAPPED = {"aten::lt": "aten::gt", "aten::gt": "aten::lt", "aten::le": "aten::ge", "aten::ge": "aten::le"}


@dataclass
class Condition:
    """A bool, what is known if it holds and if not, and its value if that is known.

    Attributes:
        then, other: the types of variables.
    """

    expression: tree.Expression
    then: dict[str, Type] = field(default_factory=dict)
    other: dict[str, Type] = field(default_factory=dict)
    known: bool | None = None


class Conditions:
    """The check of conditions."""

    scope: Scope
    check: Any
    value: Any
    place: Any
    operator: Any
    constant: Any
    resolver: Any

    def condition(self, node: ast.expr) -> Condition:
        """*node* as a condition."""
        place = self.place(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.condition(node.operand)
            if inner.known is not None:
                return Condition(self.constant(not inner.known, place), inner.other, inner.then, not inner.known)
            expression = self.operator(("aten::__not__",), [inner.expression], {}, place)
            return Condition(expression, inner.other, inner.then)
        if isinstance(node, ast.BoolOp):
            return self._logical(node)
        if isinstance(node, ast.Compare):
            found = self._comparison(node)
            found.expression = self.as_bool(found.expression)
            return found
        if isinstance(node, ast.Call):
            function = self.value(node.func)
            if isinstance(function, NodeValue):
                found = function.on_node(self, node, place)
                if isinstance(found, Condition):
                    return found
        expression = self.as_bool(self.check(node))
        known = expression.value if isinstance(expression, tree.Constant) else None
        return Condition(expression, known=known)

    def as_bool(self, value: tree.Expression) -> tree.Expression:
        """*value* as a bool, as ``if`` takes it."""
        if value.type == t.BOOL:
            return value
        if isinstance(value, tree.Constant) and isinstance(value.value, (int, float)):
            return self.constant(bool(value.value), value.place)
        if isinstance(value.type, t.ClassType) and value.type.method("__bool__"):
            member = self.resolver.member(self, value, "__bool__", value.place)
            return member.call(self, [], {}, value.place).expression(self, value.place)
        if isinstance(value.type, (t.ListType, t.DictType)):
            length = self.operator(("aten::len",), [value], {}, value.place)
            return self.operator(("aten::gt",), [length, self.constant(0, value.place)], {}, value.place)
        if value.type not in (t.TENSOR, t.INT, t.FLOAT):
            raise CompileError(
                f"script: Could not cast value of type {value.type} to bool", value.place,
                fix="compare it: x is not None, len(x) > 0",
            )  # fmt: skip
        return self.operator(("aten::Bool",), [value], {}, value.place)

    def _logical(self, node: ast.BoolOp) -> Condition:
        is_or = isinstance(node.op, ast.Or)
        found = self.condition(node.values[0])
        for one in node.values[1:]:
            if found.known is is_or:
                return found
            with self.refined(found.other if is_or else found.then):
                right = self.condition(one)
            found = self._both(found, right, is_or, self.place(node))
        return found

    def _both(self, left: Condition, right: Condition, is_or: bool, place: Place) -> Condition:
        if left.known is (not is_or):
            return right
        if right.known is (not is_or):
            return left
        word = "or" if is_or else "and"
        expression = tree.Logical(t.BOOL, place, word, left.expression, right.expression)
        if is_or:
            both = {**left.other, **right.other}
            either = _either(left.then, right.then)
            return Condition(expression, either, both, right.known if right.known is True and left.known else None)
        return Condition(expression, {**left.then, **right.then}, _either(left.other, right.other),
                         right.known if right.known is False and left.known is False else None)  # fmt: skip

    def _comparison(self, node: ast.Compare) -> Condition:
        if len(node.ops) == 1:
            return self._compared(node.left, node.ops[0], node.comparators[0], self.place(node))
        found: Condition | None = None
        left = node.left
        for op, right in zip(node.ops, node.comparators):
            part = self._compared(left, op, right, self.place(node))
            part.expression = self.as_bool(part.expression)
            found = part if found is None else self._both(found, part, False, self.place(node))
            left = right
        assert found is not None
        return found

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr, place: Place) -> Condition:
        if isinstance(op, (ast.Is, ast.IsNot)):
            return self._is(left, right, isinstance(op, ast.IsNot), place)
        first, second = self.check(left), self.check(right)
        if isinstance(op, (ast.In, ast.NotIn)):
            return Condition(self._contains(first, second, isinstance(op, ast.NotIn), place))
        return Condition(self.compared(type(op), first, second, place))

    def compared(self, op: Any, first: tree.Expression, second: tree.Expression, place: Place) -> tree.Expression:
        """``first op second``."""
        if isinstance(first.type, t.ClassType):
            member = self.resolver.member(self, first, _MAGIC[op], place)
            return member.call(self, [Plain(second)], {}, place).expression(self, place)
        if isinstance(first.type, t.TupleType) and isinstance(second.type, t.TupleType) and op in (ast.Eq, ast.NotEq):
            return self._tuples_compared(op, first, second, place)
        return self.operator((_COMPARISONS[op],), [first, second], {}, place)

    def _tuples_compared(
        self, op: Any, first: tree.Expression, second: tree.Expression, place: Place
    ) -> tree.Expression:
        if len(first.type.parts()) != len(second.type.parts()):
            return self.constant(op is ast.NotEq, place)
        schema = tree.Schema(
            _COMPARISONS[op], "tuple", (tree.Argument("a", first.type), tree.Argument("b", second.type)), t.BOOL
        )
        return tree.Operator(t.BOOL, place, schema, [first, second])

    def _contains(self, item: tree.Expression, within: tree.Expression, negated: bool, place: Place) -> tree.Expression:
        if isinstance(within.type, t.ClassType):
            member = self.resolver.member(self, within, "__contains__", place)
            found = member.call(self, [Plain(item)], {}, place).expression(self, place)
        elif isinstance(within, tree.TupleLiteral) and within.elements:
            element = self._common(within.elements, "tuple", place)  # type: ignore[attr-defined]
            listed = tree.ListLiteral(t.ListType(element), place, within.elements)
            found = self.operator(("aten::__contains__",), [listed, item], {}, place)
        else:
            found = self.operator(("aten::__contains__",), [within, item], {}, place)
        return self.operator(("aten::__not__",), [found], {}, place) if negated else found

    def _is(self, left: ast.expr, right: ast.expr, negated: bool, place: Place) -> Condition:
        first, second = self.value(left), self.value(right)
        a, b = first.expression(self, place), second.expression(self, place)
        name = "aten::__isnot__" if negated else "aten::__is__"
        if t.NONE not in (a.type, b.type):
            return Condition(self.operator((name,), [a, b], {}, place))
        tested, node = (a, left) if b.type == t.NONE else (b, right)
        if tested.type == t.NONE:
            return Condition(self.constant(not negated, place), known=not negated)
        if not t.is_optional(tested.type):
            return Condition(self.constant(negated, place), known=negated)
        expression = self.operator((name,), [a, b], {}, place)
        is_none: dict[str, Type] = {}
        is_some: dict[str, Type] = {}
        if isinstance(node, ast.Name):
            is_none, is_some = {node.id: t.NONE}, {node.id: t.without_none(tested.type)}
            if tested.type == t.ANY:
                is_none = is_some = {}
        return Condition(expression, is_some if negated else is_none, is_none if negated else is_some)

    def isinstance_(self, node: ast.expr, wanted: list[Type], place: Place) -> Condition:
        """``isinstance(node, wanted)``."""
        object = self.check(node)
        members = object.type.members if isinstance(object.type, t.UnionType) else (object.type,)
        matches = [member for member in members if any(_is_a(member, one) for one in wanted)]
        rest = [member for member in members if member not in matches]
        undecided = [member for member in rest if member == t.ANY or any(t.is_subtype(one, member) for one in wanted)]
        if not undecided:
            if not rest:
                return Condition(self.constant(True, place), known=True)
            if not matches:
                return Condition(self.constant(False, place), known=False)
        then, other = {}, {}
        if isinstance(node, ast.Name):
            then = {node.id: t.union(matches + (wanted if undecided else []))}
            other = {node.id: t.union(rest)}
        return Condition(tree.IsInstance(t.BOOL, place, object, wanted), then, other)

    @contextmanager
    def refined(self, types: dict[str, Type]) -> Iterator[None]:
        """While an expression is checked, variables are of these types."""
        before = self.scope
        self.scope = Scope(before)
        self.refine(types)
        try:
            yield
        finally:
            self.scope = before

    def refine(self, types: dict[str, Type]) -> None:
        """From here on variables are of these types."""
        for name, type in types.items():
            value = self.scope.find(name)
            if isinstance(value, Plain) and value.type != type:
                local = tree.Local(value.type, value.value.place, name)
                self.scope.set(name, Plain(tree.Convert(type, value.value.place, local)))


def _is_a(member: Type, wanted: Type) -> bool:
    if wanted == t.Basic("AnyList"):
        return isinstance(member, t.ListType)
    if wanted == t.Basic("AnyTuple"):
        return isinstance(member, t.TupleType)
    if wanted == t.Basic("AnyDict"):
        return isinstance(member, t.DictType)
    return t.is_subtype(member, wanted)


def _either(one: dict[str, Type], other: dict[str, Type]) -> dict[str, Type]:
    return {name: t.union([one[name], other[name]]) for name in one if name in other}
