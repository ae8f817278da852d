"""The graph of a checked function: `graph_of`."""

from __future__ import annotations

from typing import Any

from ..language import tree
from ..operators.schemas import Schema
from ..types import types as t
from ..types.types import Type
from .exits import RESULT, without_exits
from .graph import Block, Graph, Node, Value

__all__ = ["graph_of"]

_FOREVER = 2**63 - 1


def graph_of(function: tree.Function, inline: bool = False) -> Graph:
    """The graph of *function*; *inline* puts what it calls in its place."""
    return _Lowering(inline).graph(function)


class _Lowering:
    """Writes a graph.

    Attributes:
        names: the value of each variable.
        block: where nodes go.
    """

    def __init__(self, inline: bool) -> None:
        self.inline = inline
        self.names: dict[str, Value] = {}
        self.graph_made = Graph()
        self.block: Block = self.graph_made
        self._count = 0
        self._used: dict[str, int] = {}

    def graph(self, function: tree.Function) -> Graph:
        """The graph of *function*."""
        for argument in function.signature.arguments:
            self.names[argument.name] = value = self.new(argument.type, argument.name)
            self.graph_made.parameters.append(value)
        self.graph_made.results = [self._body(function)]
        return self.graph_made

    def _body(self, function: tree.Function) -> Value:
        self.statements(without_exits(function))
        found = self.names.get(RESULT)
        return self.constant(None, t.NONE) if found is None else found

    def new(self, type: Type, name: str | None = None) -> Value:
        """A new value."""
        if name is None or not name.isidentifier() or name.startswith("_"):
            self._count += 1
            return Value(str(self._count), type)
        count = self._used.get(name, 0)
        self._used[name] = count + 1
        return Value(f"{name}.{count}" if count else name, type)

    def node(self, kind: str, inputs: list[Value], type: Type | None = None, **fixed: Any) -> Value:
        """A node with one result, or none if *type* is None."""
        made = Node(kind, inputs, fixed)
        self.block.made.append(made)
        value = self.new(type or t.NONE)
        value._node = made
        if type is not None:
            made._outputs.append(value)
        return value

    def constant(self, value: Any, type: Type) -> Value:
        """A constant."""
        if isinstance(type, t.TupleType) and isinstance(value, tuple):
            parts = [self.constant(one, kind) for one, kind in zip(value, type.elements)]
            return self.node("prim::TupleConstruct", parts, type)
        return self.node("prim::Constant", [], type, **({} if value is None else {"value": value}))

    # ----------------------------------------------------------------------------------------------- statements

    def statements(self, statements: list[tree.Statement]) -> None:
        """Write the nodes of statements."""
        for one in statements:
            getattr(self, f"_statement_{type(one).__name__}")(one)

    def _statement_Assign(self, one: tree.Assign) -> None:
        self.assign(one.target, self.value(one.value), one.value.type)

    def assign(self, target: tree.Target, value: Value, type: Type) -> None:
        """Let *target* have *value*."""
        if isinstance(target, tree.NameTarget):
            self.names[target.name] = value
        elif isinstance(target, tree.AttributeTarget):
            self.node("prim::SetAttr", [self.value(target.object), value], name=target.name)
        elif isinstance(target, tree.ElementTarget):
            self.node(target.schema.name, [*[self.value(part) for part in target.arguments], value])
        else:
            assert isinstance(target, tree.TupleTarget)
            self._unpack(target, value, type)

    def _unpack(self, target: tree.TupleTarget, value: Value, type: Type) -> None:
        is_tuple = isinstance(type, t.TupleType)
        kinds = list(type.parts()) if is_tuple else [(type.parts() or (t.TENSOR,))[0]] * len(target.elements)
        made = Node("prim::TupleUnpack" if is_tuple else "prim::ListUnpack", [value])
        self.block.made.append(made)
        parts = []
        for kind in kinds:
            part = self.new(kind)
            part._node = made
            parts.append(part)
        made._outputs = list(parts)
        at = target.starred
        if at is not None:
            rest = len(parts) - len(target.elements) + 1
            inner = parts[at : at + rest]
            packed = self.node("prim::TupleConstruct", inner, t.TupleType(tuple([one.type() for one in inner])))
            parts[at : at + rest] = [packed]
        for element, part in zip(target.elements, parts):
            self.assign(element, part, part.type())

    def _statement_Evaluate(self, one: tree.Evaluate) -> None:
        self.value(one.value)

    def _statement_Define(self, one: tree.Define) -> None:
        pass  # its calls name it

    def _statement_Delete(self, one: tree.Delete) -> None:
        self.names.pop(one.name, None)

    def _statement_Raise(self, one: tree.Raise) -> None:
        message = self.constant("", t.STR) if one.message is None else self.value(one.message)
        kind = self.constant(getattr(one.kind, "__name__", "Exception"), t.STR)
        self.node("prim::RaiseException", [message, kind])

    def _statement_Assert(self, one: tree.Assert) -> None:
        raised = tree.Raise(one.place, AssertionError, one.message)
        self._statement_If(tree.If(one.place, one.condition, [], [raised]))

    def _statement_With(self, one: tree.With) -> None:
        context = self.value(one.context)
        entered = self.node("prim::Enter", [context], t.NONE)
        if one.name is not None:
            self.names[one.name] = entered
        self.statements(one.body)
        self.node("prim::Exit", [context])

    def _statement_If(self, one: tree.If) -> None:
        condition = self.value(one.condition)
        made = Node("prim::If", [condition])
        before = dict(self.names)
        sides = []
        for statements in (one.then, one.other):
            self.names = dict(before)
            inner = self._into(made)
            self.statements(statements)
            sides.append((inner, self.names))
            self.block = inner[1]
        self._join(made, before, sides[0], sides[1], _raises(one.then), _raises(one.other))
        self.block.made.append(made)

    def _into(self, node: Node) -> tuple[Block, Block]:
        """A new block of *node*, where nodes go from here on, and the block around it."""
        outer, self.block = self.block, Block()
        node._blocks.append(self.block)
        return self.block, outer

    def _join(
        self, made: Node, before: dict[str, Value], first: Any, second: Any, gone_first: bool, gone_second: bool
    ) -> None:
        (inner_first, _), then = first
        (inner_second, _), other = second
        self.names = dict(before)
        for name in dict.fromkeys((*then, *other)):
            a, b = then.get(name), other.get(name)
            if a is b and a is not None:
                continue
            if gone_first and a is None and b is not None:
                a = self._uninitialized(inner_first, b.type())
            if gone_second and b is None and a is not None:
                b = self._uninitialized(inner_second, a.type())
            if a is None or b is None:
                self.names.pop(name, None)
                continue
            inner_first.results.append(a)
            inner_second.results.append(b)
            value = self.new(t.unify(a.type(), b.type()) or t.union([a.type(), b.type()]), name)
            value._node = made
            made._outputs.append(value)
            self.names[name] = value

    def _uninitialized(self, block: Block, type: Type) -> Value:
        outer, self.block = self.block, block
        value = self.node("prim::Uninitialized", [], type)
        self.block = outer
        return value

    def _statement_While(self, one: tree.While) -> None:
        first = self.value(one.condition)
        limit = self.constant(_FOREVER, t.INT)
        self._loop(limit, first, one, lambda index: None, lambda: self.value(one.condition))

    def _statement_For(self, one: tree.For) -> None:
        count, element = self._counted(one.iterable)
        true = self.constant(True, t.BOOL)

        def enter(index: Value) -> None:
            self.assign(one.target, element(index), one.iterable.element)

        self._loop(count, true, one, enter, lambda: self.constant(True, t.BOOL))

    def _loop(self, limit: Value, first: Value, one: Any, enter: Any, condition: Any) -> None:
        """A ``prim::Loop``: *enter* begins a trip, *condition* says whether there is another."""
        changed = [name for name in _set_in(one.body) if name in self.names]
        made = Node("prim::Loop", [limit, first, *[self.names[name] for name in changed]])
        before = dict(self.names)
        inner, outer = self._into(made)
        index = self.new(t.INT, "i")
        inner.parameters.append(index)
        for name in changed:
            self.names[name] = value = self.new(before[name].type(), name)
            inner.parameters.append(value)
        enter(index)
        self.statements(one.body)
        again = condition()
        for name in getattr(one, "leaving", ()):
            if name in self.names:
                stays = self.node("aten::__not__", [self.names[name]], t.BOOL)
                again = self.node("aten::__and__", [again, stays], t.BOOL)
        inner.results = [again, *[self.names[name] for name in changed]]
        self.block, self.names = outer, before
        for name in changed:
            self.names[name] = value = self.new(before[name].type(), name)
            value._node = made
            made._outputs.append(value)
        self.block.made.append(made)

    def _counted(self, iterable: tree.Iterable_) -> tuple[Value, Any]:
        """How many trips a loop makes, and what gives the element of a trip by its number."""
        if iterable.kind == "range":
            parts = [self.value(part) for part in iterable.parts]
            if len(parts) == 1:
                return parts[0], lambda index: index
            low, high = parts[:2]
            step = parts[2] if len(parts) == 3 else self.constant(1, t.INT)
            count = self.node("aten::__range_length", [low, high, step], t.INT)
            return count, lambda index: self.node("aten::__derive_index", [index, low, step], t.INT)
        if iterable.kind in ("zip", "enumerate"):
            return self._counted_several(iterable)
        (container,) = [self.value(part) for part in iterable.parts]
        if iterable.kind == "dict":
            container = self.node("aten::keys", [container], t.ListType(iterable.element))
        if iterable.kind == "tensor":
            container = self.node("aten::unbind", [container, self.constant(0, t.INT)], t.ListType(t.TENSOR))
        count = self.node("aten::len", [container], t.INT)
        return count, lambda index: self.node("aten::__getitem__", [container, index], iterable.element)

    def _counted_several(self, iterable: tree.Iterable_) -> tuple[Value, Any]:
        is_zip = iterable.kind == "zip"
        inner = [self._counted(part) for part in iterable.parts if isinstance(part, tree.Iterable_)]
        count = inner[0][0]
        for other, _ in inner[1:]:
            both = self.node("prim::ListConstruct", [count, other], t.ListType(t.INT))
            count = self.node("prim::min", [both], t.INT)
        start = None if is_zip else self.value(iterable.parts[1])

        def element(index: Value) -> Value:
            parts = [make(index) for _, make in inner]
            if start is not None:
                parts.insert(0, self.node("aten::add", [index, start], t.INT))
            return self.node("prim::TupleConstruct", parts, iterable.element)

        return count, element

    # ---------------------------------------------------------------------------------------------- expressions

    def value(self, one: tree.Expression) -> Value:
        """The value of an expression."""
        return getattr(self, f"_{type(one).__name__}")(one)

    def _values(self, several: list[tree.Expression]) -> list[Value]:
        return [self.value(one) for one in several]

    def _Constant(self, one: tree.Constant) -> Value:
        return self.constant(one.value, one.type)

    def _Local(self, one: tree.Local) -> Value:
        return self.names[one.name]

    def _Bind(self, one: tree.Bind) -> Value:
        self.names[one.name] = value = self.value(one.object)
        return value

    def _Attribute(self, one: tree.Attribute) -> Value:
        made = self.node("prim::GetAttr", [self.value(one.object)], one.type, name=one.name)
        return made

    def _Element(self, one: tree.Element) -> Value:
        return self.node("prim::TupleIndex", [self.value(one.object), self.constant(one.index, t.INT)], one.type)

    def _Convert(self, one: tree.Convert) -> Value:
        inner = self.value(one.object)
        return inner if inner.type() == one.type else self.node("prim::unchecked_cast", [inner], one.type)

    def _ListOf(self, one: tree.ListOf) -> Value:
        kinds = one.object.type.parts()
        inner = self.value(one.object)
        parts = [self.node("prim::TupleIndex", [inner, self.constant(k, t.INT)], kind) for k, kind in enumerate(kinds)]
        return self.node("prim::ListConstruct", parts, one.type)

    def _Uninitialized(self, one: tree.Uninitialized) -> Value:
        return self.node("prim::Uninitialized", [], one.type)

    def _ListLiteral(self, one: tree.ListLiteral) -> Value:
        return self.node("prim::ListConstruct", self._values(one.elements), one.type)

    def _TupleLiteral(self, one: tree.TupleLiteral) -> Value:
        return self.node("prim::TupleConstruct", self._values(one.elements), one.type)

    def _DictLiteral(self, one: tree.DictLiteral) -> Value:
        parts = [value for pair in zip(one.keys, one.values) for value in self._values(list(pair))]
        return self.node("prim::DictConstruct", parts, one.type)

    def _Comprehension(self, one: tree.Comprehension) -> Value:
        made = self.node("prim::ListConstruct" if one.key is None else "prim::DictConstruct", [], one.type)
        place = one.place
        local = tree.Local(one.type, place, "_made")
        self.names["_made"] = made
        given = [local, one.element] if one.key is None else [local, one.key, one.element]
        name = "aten::append" if one.key is None else "aten::_set_item"
        body: list[tree.Statement] = [
            tree.Evaluate(place, tree.Operator(t.NONE, place, Schema(name, "", (), t.NONE), list(given)))
        ]
        for condition in one.conditions:
            body = [tree.If(place, condition, body, [])]
        self._statement_For(tree.For(place, one.target, one.iterable, body))
        return made

    def _Choice(self, one: tree.Choice) -> Value:
        place = one.place

        def chosen(part: tree.Expression) -> list[tree.Statement]:
            return [tree.Assign(place, tree.NameTarget(place, "_chosen", one.type), part)]

        self._statement_If(tree.If(place, one.condition, chosen(one.then), chosen(one.other)))
        return self.names.pop("_chosen")

    def _Logical(self, one: tree.Logical) -> Value:
        known = tree.Constant(t.BOOL, one.place, one.word == "or")
        then, other = (one.right, known) if one.word == "and" else (known, one.right)
        return self._Choice(tree.Choice(t.BOOL, one.place, one.left, then, other))

    def _IsInstance(self, one: tree.IsInstance) -> Value:
        return self.node("prim::isinstance", [self.value(one.object)], t.BOOL, types=[str(kind) for kind in one.types])

    def _Fork(self, one: tree.Fork) -> Value:
        outer, self.block = self.block, Block()
        inner = self.block
        inner.results = [self.value(one.call)]
        self.block = outer
        found = self.node("prim::fork", [], one.type)
        assert found._node is not None
        found._node._blocks.append(inner)
        return found

    def _FunctionCall(self, one: tree.FunctionCall) -> Value:
        given = self._values(one.arguments)
        function = one.function
        if self.inline and hasattr(function, "compile"):
            return self._inlined(function.compile(), given)
        called = self.node("prim::Constant", [], t.FunctionType(function.name), name=function.name)
        return self.node("prim::CallFunction", [called, *given], one.type)

    def _MethodCall(self, one: tree.MethodCall) -> Value:
        given = [self.value(one.object), *self._values(one.arguments)]
        if self.inline and hasattr(one.method, "compile"):
            return self._inlined(one.method.compile(), given)
        return self.node("prim::CallMethod", given, one.type, name=one.name)

    def _inlined(self, function: tree.Function, given: list[Value]) -> Value:
        outer = self.names
        self.names = {argument.name: value for argument, value in zip(function.signature.arguments, given)}
        found = self._body(function)
        self.names = outer
        return found

    def _PythonCall(self, one: tree.PythonCall) -> Value:
        return self.node(
            f"^{one.name}", [*self._values(one.arguments), *self._values(list(one.named.values()))], one.type
        )

    def _NativeCall(self, one: tree.NativeCall) -> Value:
        given = [*self._values(one.arguments), *self._values(list(one.named.values()))]
        return self.node(f"aten::{one.name.rpartition('.')[2]}", given, one.type)

    def _Construct(self, one: tree.Construct) -> Value:
        given = self._values(one.arguments)
        if isinstance(one.of, t.TupleType):
            return self.node("prim::TupleConstruct", given, one.type)
        made = self.node("prim::CreateObject", [], one.type)
        self.node("prim::CallMethod", [made, *given], t.NONE, name="__init__")
        return made

    def _Create(self, one: tree.Create) -> Value:
        return self.node("prim::CreateObject", [], one.type)

    def _Operator(self, one: tree.Operator) -> Value:
        given = []
        for position, part in enumerate(one.arguments):
            if part is not None:
                given.append(self.value(part))
            else:
                argument = one.schema.arguments[position]
                given.append(self._default(argument.default, argument.type))
        result = None if one.schema.result == t.NONE and one.type == t.NONE else one.type
        return self.node(one.schema.name, given, result)

    def _default(self, value: Any, type: Type) -> Value:
        plain = t.without_none(type)
        if isinstance(value, list) and isinstance(plain, t.ListType):
            return self.node("prim::ListConstruct", [self.constant(one, plain.element) for one in value], plain)
        return self.constant(value, t.NONE if value is None else plain)


def _set_in(statements: list[tree.Statement]) -> list[str]:
    """The variables that statements set."""
    found: dict[str, None] = {}
    for one in tree.walk(statements):
        if isinstance(one, tree.NameTarget):
            found[one.name] = None
    return list(found)


def _raises(statements: list[tree.Statement]) -> bool:
    return any(isinstance(one, tree.Raise) for one in statements)
