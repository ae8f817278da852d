"""Expressions: Python's nodes to typed ones.

`Expressions.value` gives what a node means, `Expressions.check` a typed expression. A *hint* is the type that is
wanted, where the source says one: it decides what an empty list is of.
"""

from __future__ import annotations

import ast
from typing import Any

from ..language import tree
from ..language.source import CompileError, Place, Source, UnsupportedError
from ..types import types as t
from ..types.annotations import type_of_constant
from ..types.types import Type
from .indexing import Indexing
from .matching import bind, convert, match_operator, parts_of
from .refinement import Condition, Conditions
from .scopes import Scope
from .values import (
    IterableValue,
    NodeValue,
    OperatorValue,
    Plain,
    TupleValue,
    Value,
)  # fmt: skip

BINARY: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("aten::add",), ast.Sub: ("aten::sub",), ast.Mult: ("aten::mul",), ast.Div: ("aten::div",),
    ast.FloorDiv: ("aten::floordiv", "aten::floor_divide"), ast.Mod: ("aten::remainder",), ast.Pow: ("aten::pow",),
    ast.MatMult: ("aten::matmul",), ast.BitAnd: ("aten::__and__", "aten::bitwise_and"),
    ast.BitOr: ("aten::__or__", "aten::bitwise_or"), ast.BitXor: ("aten::__xor__", "aten::bitwise_xor"),
    ast.LShift: ("aten::__lshift__",), ast.RShift: ("aten::__rshift__",),
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "aten::eq", ast.NotEq: "aten::ne", ast.Lt: "aten::lt", ast.LtE: "aten::le", ast.Gt: "aten::gt",
    ast.GtE: "aten::ge", ast.Is: "aten::__is__", ast.IsNot: "aten::__isnot__",
}  # fmt: skip
MAGIC: dict[Any, str] = {
    ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__", ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__", ast.Pow: "__pow__", ast.MatMult: "__matmul__", ast.BitAnd: "__and__", ast.BitOr: "__or__",
    ast.BitXor: "__xor__", ast.LShift: "__lshift__", ast.RShift: "__rshift__", ast.Eq: "__eq__", ast.NotEq: "__ne__",
    ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__", ast.GtE: "__ge__",
}  # fmt: skip
IN_PLACE = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_", ast.FloorDiv: "floor_divide_",
            ast.Pow: "pow_", ast.BitAnd: "bitwise_and_", ast.BitOr: "bitwise_or_", ast.BitXor: "bitwise_xor_",
            ast.Mod: "remainder_", ast.LShift: "__ilshift__", ast.RShift: "__irshift__"}  # fmt: skip
REVERSED = {"aten::add": "aten::add", "aten::mul": "aten::mul", "aten::ne": "aten::ne", "aten::eq": "aten::eq",
            "aten::lt": "aten::gt", "aten::gt": "aten::lt", "aten::le": "aten::ge", "aten::ge": "aten::le"}  # fmt: skip
"""What an operator of a number and a tensor is, of the tensor and the number."""

_TENSOR_ATTRIBUTES = {
    "shape": "aten::size", "ndim": "aten::dim", "T": "aten::numpy_T", "mT": "aten::mT", "mH": "aten::mH",
    "H": "aten::matrix_H", "dtype": "prim::dtype", "device": "prim::device", "layout": "prim::layout",
    "requires_grad": "prim::requires_grad", "is_cuda": "prim::is_cuda", "is_mps": "prim::is_mps",
    "is_xpu": "prim::is_xpu", "is_cpu": "prim::is_cpu", "is_meta": "prim::is_meta", "data": "prim::data",
    "is_quantized": "prim::is_quantized", "is_sparse": "prim::is_sparse", "is_mkldnn": "prim::is_mkldnn",
    "is_nested": "prim::is_nested", "itemsize": "prim::itemsize", "nbytes": "prim::nbytes", "name": "prim::name",
    "real": "aten::real", "imag": "aten::imag", "is_leaf": "aten::is_leaf", "grad": "aten::grad",
    "retains_grad": "aten::retains_grad", "output_nr": "aten::output_nr",
}  # fmt: skip
_DEVICE_ATTRIBUTES = {"type": "prim::type", "index": "prim::index"}
_CONTAINERS = (t.TENSOR, t.STR, t.INT, t.FLOAT, t.BOOL, t.NUMBER, t.COMPLEX, t.GENERATOR)
_INT64 = range(-(2**63), 2**63)


class Expressions(Indexing, Conditions):
    """The check of expressions; `Statements` adds statements.

    Attributes:
        resolver: what names mean that the function does not set.
        scope: of the block that is being checked.
    """

    source: Source
    resolver: Any
    scope: Scope
    assigned: set[str]
    wanted: Type | None = None
    inner_scope: Any
    assign_target: Any
    bind_names: Any

    def place(self, node: ast.AST) -> Place:
        """Where *node* is."""
        return self.source.place(node)

    def check(self, node: ast.expr, hint: Type | None = None) -> tree.Expression:
        """*node* as a typed expression."""
        return self.value(node, hint).expression(self, self.place(node))

    def value(self, node: ast.expr, hint: Type | None = None) -> Value:
        """What *node* means."""
        before, self.wanted = self.wanted, hint
        try:
            return self._meant(node, hint)
        finally:
            self.wanted = before

    def _meant(self, node: ast.expr, hint: Type | None) -> Value:
        method = getattr(self, f"_value_{type(node).__name__}", None)
        if method is not None:
            return method(node)
        method = getattr(self, f"_check_{type(node).__name__}", None)
        if method is None:
            raise self._unsupported(node)
        return Plain(method(node, hint))

    def _unsupported(self, node: ast.AST) -> UnsupportedError:
        name = _SYNTAX.get(type(node).__name__, type(node).__name__)
        fix = _INSTEAD.get(type(node).__name__, "write it with what the language has; docs/torchscript.md lists that")
        return UnsupportedError(f"script: {name} isn't supported", self.place(node), fix=fix)

    # ---------------------------------------------------------------------------------------------------- names

    def _value_Name(self, node: ast.Name) -> Value:
        found = self.scope.find(node.id)
        if found is not None:
            return found
        place = self.place(node)
        why = self.scope.why_undefined(node.id)
        if why is not None:
            raise CompileError(f"script: {node.id} {why}", place, fix="set it before, on every way here")
        if node.id in self.assigned:
            raise CompileError(
                f"script: undefined value {node.id}: it is used before it is set", place, fix="set it before"
            )
        value = self.resolver.name(self, node.id, place)
        if value is None:
            raise CompileError(f"script: undefined value {node.id}", place, fix="define it, or pass it as an argument")
        return value

    def _value_Attribute(self, node: ast.Attribute) -> Value:
        return self.value(node.value).attribute(self, node.attr, self.place(node))

    def attribute_of(self, object: tree.Expression, name: str, place: Place) -> Value:
        """What ``object.name`` means."""
        has = object.type
        if has == t.TENSOR and name in _TENSOR_ATTRIBUTES:
            return Plain(match_operator(_TENSOR_ATTRIBUTES[name], [object], {}, place))
        if has == t.DEVICE and name in _DEVICE_ATTRIBUTES:
            return Plain(match_operator(_DEVICE_ATTRIBUTES[name], [object], {}, place))
        if isinstance(has, (t.ClassType, t.InterfaceType)):
            return self.resolver.member(self, object, name, place)
        if isinstance(has, t.TupleType) and name in has.fields:
            index = has.fields.index(name)
            return Plain(tree.Element(has.elements[index], place, object, index))
        if isinstance(has, t.EnumType) and name in ("name", "value"):
            schema = tree.Schema(
                f"prim::Enum{name.title()}", "", (tree.Argument("enum", has),), t.STR if name == "name" else has.value
            )
            return Plain(tree.Operator(schema.result, place, schema, [object]))
        if has in _CONTAINERS or isinstance(has, (t.ListType, t.DictType)):
            value = self.resolver.builtin_method(name, object)
            if value is not None:
                return value
        if isinstance(has, t.FutureType) and name == "wait":
            return OperatorValue("aten::wait", first=object)
        if isinstance(has, t.UnionType):
            fix = "rule the other types out before: assert x is not None, or isinstance(x, ...)"
        else:
            fix = "use what the type has"
        raise CompileError(
            f"script: '{has}' object has no attribute or method '{name}': "
            f"tried to access nonexistent attribute or method '{name}' of type '{has}'", place, fix=fix,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------- literals

    def constant(self, value: Any, place: Place) -> tree.Expression:
        """A Python value as an expression."""
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            elements = [self.constant(one, place) for one in value]
            if isinstance(value, tuple):
                return tree.TupleLiteral(t.TupleType(tuple([one.type for one in elements])), place, elements)
            return self._list(elements, None, place)
        type = type_of_constant(value)
        if type is None or isinstance(value, dict):
            raise CompileError(f"script: a value of type {value.__class__.__name__} is no constant", place)
        return tree.Constant(type, place, value)

    def _check_Constant(self, node: ast.Constant, hint: Type | None) -> tree.Expression:
        value, place = node.value, self.place(node)
        if isinstance(value, int) and not isinstance(value, bool) and value not in _INT64:
            raise CompileError(f"script: {value} is too large for an integer of 64 bits", place, fix="use a float")
        if value is Ellipsis or isinstance(value, bytes):
            raise UnsupportedError(f"script: {value!r} isn't supported here", place, fix="use it in an index only")
        return self.constant(value, place)

    def _value_Tuple(self, node: ast.Tuple) -> Value:
        values = [self.value(one) for one in node.elts if not isinstance(one, ast.Starred)]
        if len(values) < len(node.elts):
            values = self._spread(node.elts)
        if all(isinstance(one, Plain) for one in values):
            return Plain(TupleValue(values).expression(self, self.place(node)))
        return TupleValue(values)

    def _spread(self, nodes: list[ast.expr]) -> list[Value]:
        """The values of arguments of which some are starred tuples."""
        found: list[Value] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.value(node))
                continue
            elements = self.value(node.value).elements(self, self.place(node))
            if elements is None:
                raise CompileError("script: only a tuple can be starred: how many elements there are must be known",
                                   self.place(node), fix="pass the elements by position")  # fmt: skip
            found += elements
        return found

    def _check_List(self, node: ast.List, hint: Type | None) -> tree.Expression:
        wanted = t.without_none(hint) if hint is not None else None
        element = wanted.element if isinstance(wanted, t.ListType) else None
        elements = [one.expression(self, self.place(node)) for one in self._spread(node.elts)] if element is None else [
            self.check(one, element) for one in node.elts
        ]  # fmt: skip
        return self._list(elements, hint, self.place(node))

    def _list(self, elements: list[tree.Expression], hint: Type | None, place: Place) -> tree.Expression:
        wanted = t.without_none(hint) if hint is not None else None
        if isinstance(wanted, t.UnionType):
            lists = [member for member in wanted.members if isinstance(member, t.ListType)]
            wanted = next((one for one in lists if all(t.is_subtype(e.type, one.element) for e in elements)), None)
        if isinstance(wanted, t.ListType):
            made = [convert(one, wanted.element, False) for one in elements]
            if None not in made:
                return tree.ListLiteral(wanted, place, made)  # type: ignore[arg-type]
        return tree.ListLiteral(t.ListType(self._common(elements, "list", place) or t.TENSOR), place, elements)

    def _common(self, elements: list[tree.Expression], what: str, place: Place) -> Type | None:
        """The type of what is one of *elements*; None of nothing."""
        found: Type | None = None
        for position, one in enumerate(elements):
            both = one.type if found is None else t.unify(found, one.type)
            if both is None:
                raise CompileError(
                    f"script: expected all elements of the {what} to have the same type: element {position} is "
                    f"{one.type} and those before are {found}", place, fix="make them of one type, or use a tuple",
                )  # fmt: skip
            found = both
        return found

    def _check_Dict(self, node: ast.Dict, hint: Type | None) -> tree.Expression:
        wanted = t.without_none(hint) if hint is not None else None
        if isinstance(wanted, t.UnionType):
            wanted = next((one for one in wanted.members if isinstance(one, t.DictType)), None)
        wanted = wanted if isinstance(wanted, t.DictType) else None
        if None in node.keys:
            raise UnsupportedError("script: ** in a dict isn't supported", self.place(node), fix="use update()")
        place = self.place(node)
        keys = [self.check(one, wanted.key if wanted else None) for one in node.keys]  # type: ignore[arg-type]
        values = [self.check(one, wanted.value if wanted else None) for one in node.values]
        if wanted is not None:
            keys = [self.converted(one, wanted.key) for one in keys]
            values = [self.converted(one, wanted.value) for one in values]
            return tree.DictLiteral(wanted, place, keys, values)
        key = self._common(keys, "dict's keys", place) or t.STR
        value = self._common(values, "dict's values", place) or t.TENSOR
        if key not in (t.INT, t.FLOAT, t.STR, t.BOOL, t.COMPLEX, t.TENSOR):
            raise CompileError(f"script: a dict cannot have keys of type {key}: only int, float, str, bool, complex "
                               "and Tensor", place, fix="use one of these")  # fmt: skip
        return tree.DictLiteral(t.DictType(key, value), place, keys, values)

    def _check_JoinedStr(self, node: ast.JoinedStr, hint: Type | None) -> tree.Expression:
        template, parts = "", []
        for one in node.values:
            if isinstance(one, ast.Constant):
                template += str(one.value)
                continue
            assert isinstance(one, ast.FormattedValue)
            if one.format_spec is not None or one.conversion != -1:
                raise UnsupportedError("script: a format or a conversion in an f-string isn't supported",
                                       self.place(one), fix="write {x} alone, or round the number before")  # fmt: skip
            template += "{}"
            parts.append(self.check(one.value))
        place = self.place(node)
        return self.operator(("aten::format",), [self.constant(template, place), *parts], {}, place)

    # ------------------------------------------------------------------------------------------------ operators

    def operator(
        self, names: tuple[str, ...], given: list[tree.Expression], named: dict[str, tree.Expression], place: Place
    ) -> tree.Expression:
        """A call of an operator of one of *names*."""
        for one in given:
            if isinstance(one.type, t.UnionType) and len(given) == 2 and t.NONE in one.type.members:
                break
        if len(given) == 2 and not named and given[1].type == t.TENSOR and t.is_subtype(given[0].type, t.NUMBER):
            found = self._of_number_and_tensor(names[0], given, place)
            if found is not None:
                return found
        call = match_operator(names, given, named, place)  # type: ignore[arg-type]
        self.resolver.need(call.schema, place)
        return call

    def _of_number_and_tensor(self, name: str, given: list[tree.Expression], place: Place) -> tree.Expression | None:
        number, tensor = given
        if name in REVERSED:
            return match_operator(REVERSED[name], [tensor, number], {}, place)
        if name == "aten::sub":
            return match_operator("aten::rsub", [tensor, number], {}, place)
        if name == "aten::div":
            inverse = match_operator("aten::reciprocal", [tensor], {}, place)
            return match_operator("aten::mul", [inverse, number], {}, place)
        return None

    def _check_BinOp(self, node: ast.BinOp, hint: Type | None) -> tree.Expression:
        left, right = self.check(node.left), self.check(node.right)
        return self.binary(type(node.op), left, right, self.place(node))

    def binary(self, op: Any, left: tree.Expression, right: tree.Expression, place: Place) -> tree.Expression:
        """``left op right``."""
        if isinstance(left.type, t.ClassType):
            return self._magic(left, MAGIC[op], [right], place)
        if op is ast.Mod and left.type == t.STR:
            given = right.elements if isinstance(right, tree.TupleLiteral) else [right]
            return self.operator(("aten::percentFormat",), [left, *given], {}, place)
        if op is ast.Add and isinstance(left.type, t.TupleType) and isinstance(right.type, t.TupleType):
            parts = [*self.tuple_parts(left), *self.tuple_parts(right)]
            return tree.TupleLiteral(t.TupleType(tuple([one.type for one in parts])), place, parts)
        return self.operator(BINARY[op], [left, right], {}, place)

    def _magic(self, object: tree.Expression, name: str, given: list[tree.Expression], place: Place) -> tree.Expression:
        method = self.resolver.member(self, object, name, place)
        return method.call(self, [Plain(one) for one in given], {}, place).expression(self, place)

    def _check_UnaryOp(self, node: ast.UnaryOp, hint: Type | None) -> tree.Expression:
        place = self.place(node)
        if isinstance(node.op, ast.Not):
            return self.condition(node).expression
        if (
            isinstance(node.op, ast.USub)
            and isinstance(node.operand, ast.Constant)
            and type(node.operand.value) in (int, float, complex)
        ):
            value = -node.operand.value  # type: ignore[operator]
            return self._check_Constant(ast.copy_location(ast.Constant(value), node), hint)
        operand = self.check(node.operand)
        if isinstance(node.op, ast.UAdd):
            return operand
        if isinstance(operand.type, t.ClassType):
            return self._magic(operand, "__neg__" if isinstance(node.op, ast.USub) else "__invert__", [], place)
        if isinstance(node.op, ast.Invert):
            return self.operator(("aten::bitwise_not",), [operand], {}, place)
        return self.operator(("aten::neg",), [operand], {}, place)

    def _check_BoolOp(self, node: ast.BoolOp, hint: Type | None) -> tree.Expression:
        return self.condition(node).expression

    def _check_Compare(self, node: ast.Compare, hint: Type | None) -> tree.Expression:
        return self._comparison(node).expression

    def _check_IfExp(self, node: ast.IfExp, hint: Type | None) -> tree.Expression:
        condition = self.condition(node.test)
        place = self.place(node)
        if condition.known is not None:
            with self.refined(condition.then if condition.known else condition.other):
                return self.check(node.body if condition.known else node.orelse, hint)
        with self.refined(condition.then):
            then = self.check(node.body, hint)
        with self.refined(condition.other):
            other = self.check(node.orelse, hint)
        both = t.unify(then.type, other.type)
        if both is None and hint is not None and all(t.is_subtype(one.type, hint) for one in (then, other)):
            both = hint
        if both is None:
            raise CompileError(
                f"script: the branches of the conditional expression are of the types {then.type} and {other.type}: "
                "the result of the if-expression would have two types", place,
                fix="make them of one type, or use an if statement",
            )  # fmt: skip
        return tree.Choice(both, place, condition.expression, then, other)

    def converted(self, value: tree.Expression, wanted: Type, what: str = "a value") -> tree.Expression:
        """*value* as a value of the type *wanted*, which it must be."""
        found = convert(value, wanted, False)
        if found is None:
            raise CompileError(f"script: {what} of type '{wanted}' is wanted, and it is of type '{value.type}'",
                               value.place, fix="convert it, or change the annotation")  # fmt: skip
        return found

    # ---------------------------------------------------------------------------------------------------- calls

    def _value_Call(self, node: ast.Call) -> Value:
        place = self.place(node)
        function = self.value(node.func)
        if isinstance(function, NodeValue):
            found = function.on_node(self, node, place)
            return Plain(found.expression) if isinstance(found, Condition) else found
        given = self._spread(node.args)
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise UnsupportedError("script: keyword argument expansion (**) isn't supported", place,
                                       fix="name the arguments")  # fmt: skip
            named[keyword.arg] = self.value(keyword.value)
        return function.call(self, given, named, place)

    def bind(
        self, signature: tree.Signature, given: list[Value], named: dict[str, Value], place: Place
    ) -> list[tree.Expression]:
        """The arguments of a call of a function with *signature*."""
        arguments = [one.expression(self, place) for one in given]
        keywords = {name: one.expression(self, place) for name, one in named.items()}
        return bind(signature, arguments, keywords, place, self._default)

    def _default(self, argument: tree.Argument, place: Place) -> tree.Expression:
        made = self.resolver.default(self, argument, place)
        found = convert(made, argument.type, False)
        if found is None:
            raise CompileError(f"script: the default of {argument.name} is of type {made.type}, and the argument of "
                               f"type {argument.type}", place, fix="change one of them")  # fmt: skip
        return found

    def native_call(
        self, name: str, function: Any, given: list[Value], named: dict[str, Value], place: Place
    ) -> tree.Expression:
        """A call of a function of polyad's by its annotations."""
        arguments = [one.expression(self, place) for one in given]
        keywords = {key: one.expression(self, place) for key, one in named.items()}
        return self.resolver.native(self, name, function, arguments, keywords, place)

    def construct(self, of: Type, given: list[Value], named: dict[str, Value], place: Place) -> tree.Expression:
        """An instance of a class."""
        if isinstance(of, t.TupleType):
            arguments = [
                tree.Argument(
                    name,
                    type,
                    *([of.defaults[index - len(of.elements)]] if len(of.elements) - index <= len(of.defaults) else []),
                )
                for index, (name, type) in enumerate(zip(of.fields, of.elements))
            ]
            signature = tree.Signature(of.name or "tuple", arguments, of)
            return tree.Construct(of, place, of, self.bind(signature, given, named, place))
        if isinstance(of, t.EnumType):
            raise UnsupportedError(f"script: an instance of {of} by its value isn't supported", place,
                                   fix="name the member")  # fmt: skip
        assert isinstance(of, t.ClassType)
        init = of.method("__init__")
        if init is None:
            if given or named:
                raise CompileError(f"script: {of} has no __init__ and takes no arguments", place)
            return tree.Construct(of, place, of, [])
        signature = init.signature_for(self, place)
        rest = tree.Signature(of.name, signature.arguments[1:], of)
        return tree.Construct(of, place, of, self.bind(rest, given, named, place))

    # ---------------------------------------------------------------------------------------------- iteration

    def _check_ListComp(self, node: ast.ListComp, hint: Type | None) -> tree.Expression:
        return self._comprehension(node, node.elt, None, hint)

    def _check_DictComp(self, node: ast.DictComp, hint: Type | None) -> tree.Expression:
        return self._comprehension(node, node.value, node.key, hint)

    def _comprehension(
        self, node: ast.ListComp | ast.DictComp, element: ast.expr, key: ast.expr | None, hint: Type | None
    ) -> tree.Expression:
        place = self.place(node)
        if len(node.generators) != 1 or node.generators[0].is_async:
            raise UnsupportedError("script: only a single for in a comprehension is supported", place,
                                   fix="write the inner loop as a statement")  # fmt: skip
        generator = node.generators[0]
        iterable = self.value(generator.iter)
        elements = iterable.elements(self, place)
        if elements is not None and key is None and not generator.ifs:
            return self._written_out(elements, generator.target, element, hint, place)
        loop = self.iterable(iterable, place)
        with self.inner_scope(own=True):
            target = self.assign_target(generator.target, tree.Local(loop.element, place, "<element>"))
            conditions = [self.condition(one).expression for one in generator.ifs]
            made = self.check(element, hint.parts()[-1] if isinstance(hint, (t.ListType, t.DictType)) else None)
            made_key = None if key is None else self.check(key)
        type: Type = t.ListType(made.type) if made_key is None else t.DictType(made_key.type, made.type)
        wanted = None if hint is None else t.without_none(hint)
        if isinstance(wanted, t.ListType) and made_key is None and t.is_subtype(made.type, wanted.element):
            type = wanted
        if isinstance(wanted, t.DictType) and made_key is not None and t.is_subtype(made.type, wanted.value):
            type = wanted
        return tree.Comprehension(type, place, target, loop, conditions, made, made_key)

    def _written_out(
        self, elements: list[Value], target: ast.expr, element: ast.expr, hint: Type | None, place: Place
    ) -> tree.Expression:
        """A comprehension over what is known: modules, or the elements of a tuple."""
        made = []
        for one in elements:
            with self.inner_scope(own=True):
                self.bind_names(target, one)
                made.append(self.check(element))
        return self._list(made, hint, place)

    def iterable(self, value: Value, place: Place) -> tree.Iterable_:
        """What a loop goes over."""
        if isinstance(value, IterableValue):
            return value.iterable
        expression = value.expression(self, place)
        has = expression.type
        if isinstance(has, t.ListType):
            return tree.Iterable_("list", [expression], has.element)
        if isinstance(has, t.DictType):
            return tree.Iterable_("dict", [expression], has.key)
        if has == t.STR:
            return tree.Iterable_("str", [expression], t.STR)
        if has == t.TENSOR:
            return tree.Iterable_("tensor", [expression], t.TENSOR)
        if (
            isinstance(has, t.ClassType)
            and has.method("__iter__") is None
            and has.method("__len__")
            and has.method("__getitem__")
        ):
            item = has.method("__getitem__").signature_for(self, place)
            return tree.Iterable_("sequence", [expression], item.result)
        raise CompileError(
            f"script: '{has}' object is not iterable",
            place,
            fix="go over a list, a dict, a string, a tensor or a range",
        )

    def tuple_parts(self, value: tree.Expression, chosen: list[int] | None = None) -> list[tree.Expression]:
        """The elements of a tuple, or those at the positions *chosen*, which are evaluated in this order."""
        return parts_of(value, chosen)

    def tuple_elements(self, value: tree.Expression, place: Place) -> list[Value]:
        """The elements of a tuple, for a loop that is written out."""
        return [Plain(one) for one in self.tuple_parts(value)]


_SYNTAX = {
    "Lambda": "a lambda",
    "SetComp": "a set comprehension",
    "GeneratorExp": "a generator",
    "Await": "await",
    "Set": "a set",
    "Yield": "yield",
    "YieldFrom": "yield from",
    "NamedExpr": ":=",
    "Starred": "a starred expression",
    "AsyncFunctionDef": "async def",
    "AsyncFor": "async for",
    "AsyncWith": "async with",
    "Try": "try",
    "TryStar": "try",
    "Global": "global",
    "Nonlocal": "nonlocal",
    "Import": "import",
    "ImportFrom": "import",
    "ClassDef": "a class in a function",
    "Match": "match",
}
_INSTEAD = {
    "Lambda": "define a function by def",
    "SetComp": "use a dict whose values are True",
    "Set": "use a dict whose values are True",
    "GeneratorExp": "use a list comprehension",
    "NamedExpr": "assign in a statement before",
    "Try": "test the condition before, or move the code to a function marked with jit.ignore",
    "Import": "import at the top of the file",
    "ImportFrom": "import at the top of the file",
    "Match": "use if and elif",
    "Global": "pass the value as an argument and return it",
    "Nonlocal": "pass the value as an argument and return it",
}
