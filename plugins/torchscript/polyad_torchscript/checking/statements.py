"""Statements: the check of a function's body, from Python's nodes to a `language.tree.Function`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..language import tree
from ..language.source import CompileError, Place, Source, UnsupportedError
from ..types import types as t
from ..types.types import Type
from .expressions import BINARY, IN_PLACE, Expressions
from .matching import convert, matched
from .scopes import Scope
from .values import FunctionValue, IterableValue, Plain, TupleValue, Value

__all__ = ["Checker"]


class Checker(Expressions):
    """The check of one function.

    Attributes:
        assigned: the names that the function sets.
        results: the types of its return statements.
    """

    def __init__(self, source: Source, resolver: Any, signature: tree.Signature, outer: Scope | None = None) -> None:
        self.source, self.resolver, self.signature = source, resolver, signature
        self.scope = Scope(outer, own=True)
        self.assigned: set[str] = set()
        self.results: list[Type] = []
        self._set_in_loops: list[set[tuple[str, Type]]] = []

    def function(self, node: ast.FunctionDef, first: Value | None = None) -> tree.Function:
        """The function *node*, whose first argument may be something that is known."""
        self.assigned = _assigned(node.body)
        place = self.place(node)
        for position, argument in enumerate(self.signature.arguments):
            value: Value = Plain(tree.Local(argument.type, place, argument.name))
            if position == 0 and first is not None:
                value = first
            self.scope.set(argument.name, value)
            self.scope.declared[argument.name] = argument.type
        body = self.block(node.body)
        self._close(body, place)
        return tree.Function(node.name, self.signature, body, place, doc=ast.get_docstring(node, clean=False))

    def _close(self, body: list[tree.Statement], place: Place) -> None:
        """After the body: the type of the result, and whether there is one on every way."""
        if self.signature.result is None:
            self.signature.result = self._result_type(place)
        wanted = self.signature.result
        may_be_none = wanted == t.NONE if self.signature.declared else t.is_subtype(t.NONE, wanted)
        if not self.scope.exits and not may_be_none and wanted is not t.NEVER:
            raise CompileError(
                f"script: {self.signature.name} was not annotated as having type None, but does not return along all "
                f"paths: its result is {wanted}", place, fix="end each way by a return",
            )  # fmt: skip

    def _result_type(self, place: Place) -> Type:
        found: Type | None = None
        for one in self.results + ([] if self.scope.exits else [t.NONE]):
            both = one if found is None else t.unify(found, one)
            if both is None:
                raise CompileError(
                    f"script: {self.signature.name}: previous return statement returned a value of type {found} "
                    f"but this return statement returns a value of type {one}", place,
                    fix="return values of one type, or annotate the result with a Union",
                )  # fmt: skip
            found = both
        return found or t.NONE

    # --------------------------------------------------------------------------------------------------- blocks

    def block(self, nodes: list[ast.stmt]) -> list[tree.Statement]:
        """The statements of a block, up to one that leaves it."""
        found: list[tree.Statement] = []
        for node in nodes:
            found += self.statement(node)
            if self.scope.exits:
                break
        return found

    @contextmanager
    def inner_scope(self, loop: bool = False, own: bool = False) -> Iterator[Scope]:
        """A scope for what is inside."""
        before = self.scope
        self.scope = Scope(before, loop, own)
        try:
            yield self.scope
        finally:
            self.scope = before

    def statement(self, node: ast.stmt) -> list[tree.Statement]:
        """What a statement is: one, several if it is written out, none if it does nothing."""
        method = getattr(self, f"_statement_{type(node).__name__}", None)
        if method is None:
            raise self._unsupported(node)
        return method(node)

    def _statement_Pass(self, node: ast.Pass) -> list[tree.Statement]:
        return []

    def _statement_Expr(self, node: ast.Expr) -> list[tree.Statement]:
        if isinstance(node.value, ast.Constant) and (isinstance(node.value.value, str) or node.value.value is Ellipsis):
            return []
        value = self.value(node.value)
        if not isinstance(value, Plain):
            return []
        return [tree.Evaluate(self.place(node), value.value)]

    # ----------------------------------------------------------------------------------------------- assignment

    def _statement_Assign(self, node: ast.Assign) -> list[tree.Statement]:
        place = self.place(node)
        if node.type_comment and len(node.targets) == 1 and not node.type_comment.startswith("ignore"):
            annotation = ast.parse(node.type_comment, mode="eval").body
            target: Any = node.targets[0]
            return self._statement_AnnAssign(ast.copy_location(ast.AnnAssign(target, annotation, node.value, 1), node))
        if len(node.targets) == 1:
            hint = self._hint(node.targets[0])
            value = self.value(node.value, hint)
            return self._assign(node.targets[0], value, place)
        value = self.value(node.value)
        if not isinstance(value, Plain):
            return [one for target in node.targets for one in self._assign(target, value, place)]
        name = f"_chain{node.lineno}"
        first = tree.Assign(place, tree.NameTarget(place, name, value.type), value.value)
        local = Plain(tree.Local(value.type, place, name))
        return [first, *[one for target in node.targets for one in self._assign(target, local, place)]]

    def _hint(self, target: ast.expr) -> Type | None:
        """The type that an assignment to *target* wants."""
        if isinstance(target, ast.Name):
            known = self.scope.find_outside(target.id)
            return known.type if isinstance(known, Plain) else self.scope.declared.get(target.id)
        if isinstance(target, ast.Attribute):
            object = self.value(target.value)
            has = getattr(object, "type", None)
            return has.attributes.get(target.attr) if isinstance(has, t.ClassType) else None
        return None

    def _assign(self, target: ast.expr, value: Value, place: Place) -> list[tree.Statement]:
        """``target = value``."""
        if isinstance(value, TupleValue) and isinstance(target, (ast.Tuple, ast.List)):
            self.bind_names(target, value)
            return self._stored(target, value, place)
        if isinstance(target, ast.Name) and not isinstance(value, Plain):
            return self._assign_known(target, value, place)
        if isinstance(target, ast.Subscript):
            return [self._store(target, value.expression(self, place), place)]
        expression = value.expression(self, place)
        return [tree.Assign(place, self.assign_target(target, expression), expression)]

    def _assign_known(self, target: ast.Name, value: Value, place: Place) -> list[tree.Statement]:
        """A name for something that is no value, such as a function."""
        if isinstance(value, (TupleValue, IterableValue)):
            try:
                expression = value.expression(self, place)
            except CompileError:
                pass
            else:
                return [tree.Assign(place, self.assign_target(target, expression), expression)]
        if self.scope.find_outside(target.id) is not None:
            raise CompileError(
                f"script: Cannot re-assign '{target.id}' to a value of type {value.described()}: only reassignments to "
                "first-class values are allowed in a branch or a loop", place, fix="use another name",
            )  # fmt: skip
        self.scope.set(target.id, value)
        return []

    def _stored(self, target: ast.Tuple | ast.List, value: TupleValue, place: Place) -> list[tree.Statement]:
        found: list[tree.Statement] = []
        for one, part in zip(target.elts, value.values):
            if isinstance(part, Plain):
                found.append(tree.Assign(place, self.assign_target(one, part.value), part.value))
        return found

    def bind_names(self, target: ast.expr, value: Value) -> None:
        """Let the names of *target* mean the parts of a value that is known."""
        place = self.place(target)
        if isinstance(target, ast.Name):
            self.scope.set(target.id, value)
            return
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise UnsupportedError("script: only names can be set here", place, fix="use a name")
        elements = value.elements(self, place)
        if elements is None or len(elements) != len(target.elts):
            count = "an unknown number" if elements is None else len(elements)
            raise CompileError(
                f"script: {len(target.elts)} names for {count} of values", place, fix="use as many names"
            )
        for one, part in zip(target.elts, elements):
            self.bind_names(one, part)

    def assign_target(self, node: ast.expr, value: tree.Expression) -> tree.Target:
        """What *node* is as a target of *value*; names mean it from here on."""
        place = self.place(node)
        if isinstance(node, ast.Name):
            return self._name_target(node.id, value, place)
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._tuple_target(node, value, place)
        if isinstance(node, ast.Attribute):
            return self.resolver.attribute_target(self, node, value, place)
        if isinstance(node, ast.Subscript):
            object = self.check(node.value)
            schema: Any = self.operator(("aten::_set_item",), [object, self.check(node.slice), value], {}, place)
            return tree.ElementTarget(place, schema.schema, schema.arguments[:2])
        raise self._unsupported(node)

    def _name_target(
        self, name: str, value: tree.Expression, place: Place, declared: Type | None = None
    ) -> tree.Target:
        outer = self.scope.find_outside(name)
        type = declared or value.type
        if outer is not None:
            if not isinstance(outer, Plain):
                raise CompileError(
                    f"script: Cannot re-assign '{name}': it is {outer.described()} outside of this block",
                    place,
                    fix="use another name",
                )
            if declared is not None:
                raise CompileError(
                    f"script: attempting to declare and annotate the type of variable '{name}' that is "
                    "already defined in an outer block",
                    place,
                    fix="annotate it where it is first set",
                )
            known = self._declared(name) or outer.type
            if convert(value, known, True) is None:
                raise CompileError(
                    f"script: Variable '{name}' previously had type {known} but is now being assigned to a value of "
                    f"type {value.type}", place,
                    fix=f"use another name, or annotate {name} where it is first set"
                    + (" (an empty list is of tensors)" if isinstance(known, t.ListType) else ""),
                )  # fmt: skip
        if value.type is t.NEVER:
            type = t.NONE
        self.scope.set(name, Plain(tree.Local(type, place, name)))
        for types in self._set_in_loops:
            types.add((name, type))
        if declared is not None:
            self.scope.declared[name] = declared
        return tree.NameTarget(place, name, type, declared is not None)

    def _declared(self, name: str) -> Type | None:
        """The type that an annotation of an outer scope gives to *name*."""
        scope: Scope | None = self.scope
        while scope is not None:
            if name in scope.declared:
                return scope.declared[name]
            scope = scope.parent
        return None

    def _tuple_target(self, node: ast.Tuple | ast.List, value: tree.Expression, place: Place) -> tree.Target:
        has = value.type
        starred = [k for k, one in enumerate(node.elts) if isinstance(one, ast.Starred)]
        if isinstance(has, t.TupleType):
            parts: list[tree.Expression] = [tree.Element(type, place, value, k) for k, type in enumerate(has.elements)]
            count = len(node.elts)
            if starred:
                return self._starred_target(node, parts, starred[0], place)
            if count != len(parts):
                word = "need" if len(parts) < count else "too many values to unpack: need"
                raise CompileError(
                    f"script: {count} names for a tuple: {word} {count} values but found {len(parts)}",
                    place,
                    fix="use as many names",
                )
            return tree.TupleTarget(place, [self.assign_target(one, part) for one, part in zip(node.elts, parts)])
        if isinstance(has, t.ListType) and not starred:
            elements = [tree.Local(has.element, place, "<element>") for _ in node.elts]
            return tree.TupleTarget(place, [self.assign_target(one, part) for one, part in zip(node.elts, elements)])
        if has == t.TENSOR and not starred:
            elements = [tree.Local(t.TENSOR, place, "<element>") for _ in node.elts]
            return tree.TupleTarget(place, [self.assign_target(one, part) for one, part in zip(node.elts, elements)])
        raise CompileError(
            f"script: '{has}' object cannot be used as a tuple: it cannot be unpacked into {len(node.elts)} names",
            place,
            fix="unpack a tuple, or a list without a starred name",
        )

    def _starred_target(
        self, node: ast.Tuple | ast.List, parts: list[tree.Expression], at: int, place: Place
    ) -> tree.Target:
        rest = len(parts) - len(node.elts) + 1
        if rest < 0:
            raise CompileError(f"script: need at least {len(node.elts) - 1} values but found {len(parts)}", place)
        middle = parts[at : at + rest]
        packed = tree.TupleLiteral(t.TupleType(tuple([one.type for one in middle])), place, middle)
        values = [*parts[:at], packed, *parts[at + rest :]]
        names = [one.value if isinstance(one, ast.Starred) else one for one in node.elts]
        return tree.TupleTarget(place, [self.assign_target(one, part) for one, part in zip(names, values)], at)

    def _store(self, target: ast.Subscript, value: tree.Expression, place: Place) -> tree.Statement:
        """``x[i] = value``."""
        object = self.check(target.value)
        has = object.type
        if has == t.TENSOR:
            return tree.Evaluate(place, self.store_in_tensor(object, target.slice, value, place))
        if isinstance(has, t.ClassType):
            index = self.check(target.slice)
            return tree.Evaluate(place, self._magic(object, "__setitem__", [index, value], place))
        if isinstance(target.slice, ast.Slice):
            raise UnsupportedError(
                "script: assigning to a slice of a list isn't supported", place, fix="set the elements in a loop"
            )
        index = self.check(target.slice)
        wanted = has.element if isinstance(has, t.ListType) else has.value if isinstance(has, t.DictType) else None
        if wanted is None:
            raise CompileError(f"script: '{has}' object does not support assignment to elements", place)
        value = self.converted(value, wanted)
        call = self.operator(("aten::_set_item",), [object, index, value], {}, place)
        assert isinstance(call, tree.Operator)
        return tree.Assign(place, tree.ElementTarget(place, call.schema, [object, index]), value)

    def _statement_AnnAssign(self, node: ast.AnnAssign) -> list[tree.Statement]:
        place = self.place(node)
        declared = self.resolver.annotation(node.annotation, place, self.source)
        if node.value is None:
            if isinstance(node.target, ast.Name):
                self.scope.declared[node.target.id] = declared
            return []
        value = self.check(node.value, declared)
        found = convert(value, declared, False)
        if found is None:
            name = node.target.id if isinstance(node.target, ast.Name) else "the target"
            raise CompileError(
                f"script: Variable '{name}' is annotated with type {declared} but is being assigned to a value of type "
                f"{value.type}", place, fix="change one of them",
            )  # fmt: skip
        if isinstance(node.target, ast.Name):
            return [tree.Assign(place, self._name_target(node.target.id, found, place, declared), found)]
        return [tree.Assign(place, self.assign_target(node.target, found), found)]

    def _statement_AugAssign(self, node: ast.AugAssign) -> list[tree.Statement]:
        place, op = self.place(node), type(node.op)
        right = self.check(node.value)
        target = node.target
        if isinstance(target, ast.Subscript):
            return self._augmented_element(target, op, right, place)
        left = self.check(ast.copy_location(_loaded(target), target))
        if left.type == t.TENSOR and op in IN_PLACE:
            call: tree.Expression | None = matched("aten::" + IN_PLACE[op], [left, right], {}, place)
            if call is None:
                call = self.operator(("aten::" + IN_PLACE[op],), [left, right], {}, place)
            return [tree.Assign(place, self.assign_target(target, call), call)]
        if isinstance(left.type, t.ListType) and op is ast.Add:
            return [tree.Evaluate(place, self.operator(("aten::extend",), [left, right], {}, place))]
        if isinstance(left.type, t.ClassType):
            name = "__i" + BINARY_MAGIC[op][2:]
            if left.type.method(name) is not None:
                value = self._magic(left, name, [right], place)
                return [tree.Assign(place, self.assign_target(target, value), value)]
        value = self.binary(op, left, right, place)
        return [tree.Assign(place, self.assign_target(target, value), value)]

    def _augmented_element(
        self, target: ast.Subscript, op: Any, right: tree.Expression, place: Place
    ) -> list[tree.Statement]:
        object = self.check(target.value)
        if object.type == t.TENSOR:
            part = self.tensor_index(object, target.slice, place)
            if isinstance(part, tree.Operator) and part.schema.name == "aten::index":
                value = self.binary(op, part, right, place)
                return [tree.Evaluate(place, self.store_in_tensor(object, target.slice, value, place))]
            return [tree.Evaluate(place, self.operator(("aten::" + IN_PLACE[op],), [part, right], {}, place))]
        left = self.check(ast.copy_location(_loaded(target), target))
        return [self._store(target, self.binary(op, left, right, place), place)]

    # --------------------------------------------------------------------------------------------- control flow

    def _statement_If(self, node: ast.If) -> list[tree.Statement]:
        condition = self.condition(node.test)
        if condition.known is not None:
            self.refine(condition.then if condition.known else condition.other)
            return self.block(node.body if condition.known else node.orelse)
        place = self.place(node)
        with self.inner_scope() as first:
            self.refine(condition.then)
            then = self.block(node.body)
        with self.inner_scope() as second:
            self.refine(condition.other)
            other = self.block(node.orelse)
        self.scope.join(first, second, place, lambda name, type: Plain(tree.Local(type, place, name)))
        return [tree.If(place, condition.expression, then, other)]

    def _statement_While(self, node: ast.While) -> list[tree.Statement]:
        if node.orelse:
            raise UnsupportedError(
                "script: else branches of while loops aren't supported", self.place(node), fix="use a flag"
            )

        def trips() -> tree.Statement:
            condition = self.condition(node.test)
            with self.inner_scope(loop=True) as scope:
                self.refine(condition.then)
                body = self.block(node.body)
            self.scope.leave_loop(scope, scope.names)
            return tree.While(self.place(node), condition.expression, body)

        return [self._loop(node.body, trips)]

    def _loop(self, body: list[ast.stmt], trips: Callable[[], tree.Statement]) -> tree.Statement:
        """The loop that *trips* checks. What is known of a name's type holds in later trips too if the body sets it to
        nothing else; otherwise the name is of its declared type again.
        """
        known = {
            name: value.type
            for name in _assigned(body)
            if isinstance(value := self.scope.find(name), Plain) and self._declared(name) not in (None, value.type)
        }
        if not known:
            return trips()
        names, undefined, results = dict(self.scope.names), dict(self.scope.undefined), list(self.results)
        self._set_in_loops.append(set())
        try:
            found = trips()
            if all(name not in known or t.is_subtype(type, known[name]) for name, type in self._set_in_loops[-1]):
                return found
        except CompileError:
            pass  # it may be right with the declared types
        finally:
            self._set_in_loops.pop()
        self.scope.names, self.scope.undefined, self.results = names, undefined, results
        for name in known:
            declared = self._declared(name)
            assert declared is not None
            self.scope.set(name, Plain(tree.Local(declared, self.place(body[0]), name)))
        return trips()

    def _statement_For(self, node: ast.For) -> list[tree.Statement]:
        place = self.place(node)
        if node.orelse:
            raise UnsupportedError("script: else branches of for loops aren't supported", place, fix="use a flag")
        value = self.value(node.iter)
        elements = value.elements(self, self.place(node.iter))
        if elements is not None:
            return self._written_out_loop(node, elements, place)
        iterable = self.iterable(value, self.place(node.iter))

        def trips() -> tree.Statement:
            with self.inner_scope(loop=True) as scope:
                target = self.assign_target(node.target, tree.Local(iterable.element, place, "<element>"))
                body = self.block(node.body)
            self.scope.leave_loop(scope, scope.names)
            return tree.For(place, target, iterable, body)

        return [self._loop(node.body, trips)]

    def _written_out_loop(self, node: ast.For, elements: list[Value], place: Place) -> list[tree.Statement]:
        for one in ast.walk(ast.Module(node.body, [])):
            if isinstance(one, (ast.Break, ast.Continue)):
                raise UnsupportedError(
                    "script: break and continue in a loop over modules or a tuple aren't supported: it is written out",
                    self.place(one),
                    fix="use an if around the rest of the body",
                )
        found: list[tree.Statement] = []
        for element in elements:
            if isinstance(element, Plain):
                target = self.assign_target(node.target, element.value)
                found.append(tree.Assign(place, target, element.value))
            else:
                found += self._bound_parts(node.target, element, place)
            found += self.block(node.body)
            if self.scope.exits:
                break
        return found

    def _bound_parts(self, target: ast.expr, value: Value, place: Place) -> list[tree.Statement]:
        """Names of a loop that is written out: those of values are variables."""
        elements = value.elements(self, place) if isinstance(target, (ast.Tuple, ast.List)) else None
        if elements is None:
            self.bind_names(target, value)
            return []
        if len(elements) != len(target.elts):  # type: ignore[attr-defined]
            raise CompileError(f"script: {len(target.elts)} names for {len(elements)} values", place)  # type: ignore[attr-defined]
        found: list[tree.Statement] = []
        for one, part in zip(target.elts, elements):  # type: ignore[attr-defined]
            if isinstance(part, Plain):
                found.append(tree.Assign(place, self.assign_target(one, part.value), part.value))
            else:
                found += self._bound_parts(one, part, place)
        return found

    def _statement_Break(self, node: ast.Break) -> list[tree.Statement]:
        return [self._leave(tree.Break(self.place(node)))]

    def _statement_Continue(self, node: ast.Continue) -> list[tree.Statement]:
        return [self._leave(tree.Continue(self.place(node)))]

    def _leave(self, statement: tree.Statement) -> tree.Statement:
        if not self.scope.in_loop():
            raise CompileError("script: SyntaxError: break and continue only in loops", statement.place)
        self.scope.exits = True
        return statement

    def _statement_Return(self, node: ast.Return) -> list[tree.Statement]:
        place = self.place(node)
        wanted = self.signature.result
        value = self.constant(None, place) if node.value is None else self.check(node.value, wanted)
        if wanted is not None and wanted is not t.NEVER:
            found = convert(value, wanted, False)
            if found is None:
                raise CompileError(
                    f"script: Return value was annotated as having type {wanted} but is actually of type {value.type}",
                    place, fix="change the annotation, or convert the value",
                )  # fmt: skip
            value = found
        self.results.append(value.type)
        self.scope.exits = True
        return [tree.Return(place, value)]

    def _statement_Raise(self, node: ast.Raise) -> list[tree.Statement]:
        place = self.place(node)
        self.scope.exits = True
        if node.exc is None:
            raise UnsupportedError("script: raise without an exception isn't supported", place, fix="name an exception")
        return [self.resolver.raised(self, node.exc, place)]

    def _statement_Assert(self, node: ast.Assert) -> list[tree.Statement]:
        condition = self.condition(node.test)
        place = self.place(node)
        message = None
        if node.msg is not None:
            with self.refined(condition.other):
                message = self.check(node.msg)
        if condition.known is True:
            return []
        self.refine(condition.then)
        if condition.known is False:
            self.scope.exits = True
        return [tree.Assert(place, condition.expression, message)]

    def _statement_Delete(self, node: ast.Delete) -> list[tree.Statement]:
        found: list[tree.Statement] = []
        for target in node.targets:
            place = self.place(target)
            if isinstance(target, ast.Name):
                self.value(ast.copy_location(ast.Name(target.id, ast.Load()), target))
                self.scope.forget(target.id, "was deleted")
                found.append(tree.Delete(place, target.id))
            elif isinstance(target, ast.Subscript):
                object = self.check(target.value)
                if isinstance(object.type, t.ClassType):
                    call = self._magic(object, "__delitem__", [self.check(target.slice)], place)
                else:
                    call = self.operator(("aten::Delete",), [object, self.check(target.slice)], {}, place)
                found.append(tree.Evaluate(place, call))
            else:
                raise UnsupportedError("script: only names and elements can be deleted", place)
        return found

    def _statement_With(self, node: ast.With) -> list[tree.Statement]:
        place = self.place(node)
        item, *rest = node.items
        context = self.check(item.context_expr)
        entered = self.resolver.entered(self, context, place)
        name = None
        if item.optional_vars is not None:
            if not isinstance(item.optional_vars, ast.Name):
                raise UnsupportedError("script: only a name can follow as", place)
            name = item.optional_vars.id
            self._name_target(name, tree.Local(entered, place, name), place)
        inner = (
            self.block(node.body)
            if not rest
            else self._statement_With(ast.copy_location(ast.With(rest, node.body), node))
        )
        return [tree.With(place, context, name, inner)]

    # ------------------------------------------------------------------------------------------ inner functions

    def _statement_FunctionDef(self, node: ast.FunctionDef) -> list[tree.Statement]:
        place = self.place(node)
        if node.decorator_list:
            raise UnsupportedError(
                "script: decorators of a function in a function aren't supported",
                place,
                fix="call the decorator's function in it",
            )
        signature = self.resolver.signature(node, self.source, None)
        inner = Checker(self.source, self.resolver, signature, self.scope)
        function = inner.function(node)
        made = InnerFunction(function, place)
        self.scope.set(node.name, FunctionValue(made))
        return [tree.Define(place, node.name, function)]


class InnerFunction:
    """A function that is defined in another one, for those who call it."""

    def __init__(self, function: tree.Function, place: Place) -> None:
        self.function, self.name, self.qualified = function, function.name, function.name
        self.signature = function.signature
        self.is_inner = True

    def signature_for(self, checker: Any, place: Place) -> tree.Signature:
        """What it takes and gives."""
        return self.signature


BINARY_MAGIC: dict[Any, str] = {
    ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__", ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__", ast.Pow: "__pow__", ast.MatMult: "__matmul__", ast.BitAnd: "__and__", ast.BitOr: "__or__",
    ast.BitXor: "__xor__", ast.LShift: "__lshift__", ast.RShift: "__rshift__",
}  # fmt: skip
assert BINARY.keys() == BINARY_MAGIC.keys()


def _loaded(target: ast.expr) -> Any:
    """The target of an assignment as an expression."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    assert isinstance(target, ast.Subscript)
    return ast.Subscript(target.value, target.slice, ast.Load())


def _assigned(nodes: list[ast.stmt]) -> set[str]:
    """The names that statements set."""
    return {
        one.id
        for node in nodes
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
