"""The functions that are part of the language: Python's own (``len``, ``range``, ``isinstance``) and those of `jit`.

Most are operators by another name. The others are here, each a function of the checker, of what it was given, and of
the place.
"""

from __future__ import annotations

import ast
from typing import Any

from ..language import tree
from ..language.source import CompileError, Place, UnsupportedError
from ..types import types as t
from .matching import convert
from .values import ClassValue, IterableValue, OperatorValue, Plain, SpecialValue, TupleValue, UnusableValue, Value

__all__ = ["FUNCTIONS", "UNSUPPORTED"]

Given = "list[Value]"
Named = "dict[str, Value]"


def _only_argument(
    checker: Any, given: list[Value], named: dict[str, Value], place: Place, name: str
) -> tree.Expression:
    if len(given) != 1 or named:
        raise CompileError(f"script: {name}() expects exactly 1 argument but found {len(given) + len(named)}", place)
    return given[0].expression(checker, place)


def _call_len(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    if len(given) == 1:
        elements = given[0].elements(checker, place)
        if elements is not None:
            return Plain(checker.constant(len(elements), place))
    value = _only_argument(checker, given, named, place, "len")
    if isinstance(value.type, t.ClassType):
        return Plain(checker._magic(value, "__len__", [], place))
    return Plain(checker.operator(("aten::len",), [value], {}, place))


def _cast_function(name: str, operator: str, empty: Any) -> Any:
    def call(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        if not given and not named:
            return Plain(checker.constant(empty, place))
        value = _only_argument(checker, given, named, place, name)
        if isinstance(value.type, t.ClassType):
            return Plain(checker._magic(value, f"__{name}__", [], place))
        if value.type == (
            t.BOOL if name == "bool" else t.STR if name == "str" else t.FLOAT if name == "float" else t.INT
        ):
            return Plain(value)
        return Plain(checker.operator((operator,), [value], {}, place))

    return SpecialValue(name, call)


def _call_range(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    if not 1 <= len(given) <= 3 or named:
        limit = "at least 1" if not given else "at most 3"
        raise CompileError(f"script: range expected {limit} arguments, got {len(given)}", place)
    parts = [convert(one.expression(checker, place), t.INT, True) for one in given]
    for part, one in zip(parts, given):
        if part is None:
            raise CompileError(f"script: range(): {one.described()} cannot be an int", place, fix="convert it by int()")
    if len(parts) == 3 and isinstance(parts[2], tree.Constant) and parts[2].value == 0:
        raise CompileError("script: range() arg 3 must not be zero", place)
    return IterableValue(tree.Iterable_("range", parts, t.INT))


def _call_zip(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    if not given or named:
        raise CompileError("script: zip expected at least 1 arguments, got 0", place)
    elements = [one.elements(checker, place) for one in given]
    if any(one is not None for one in elements):
        if any(one is None for one in elements):
            raise CompileError("script: zip of modules or tuples with a value that does not have a statically "
                               "determinable length", place,
                               fix="zip lists with lists, or modules with modules")  # fmt: skip
        return TupleValue([TupleValue(list(parts)) for parts in zip(*elements)])
    parts = [checker.iterable(one, place) for one in given]
    return IterableValue(tree.Iterable_("zip", parts, t.TupleType(tuple([one.element for one in parts]))))


def _call_enumerate(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    given = [*given, *named.values()]
    if not 1 <= len(given) <= 2:
        raise CompileError(f"script: enumerate expected at least 1 and at most 2 arguments, got {len(given)}", place)
    elements = given[0].elements(checker, place)
    start: Any = checker.constant(0, place) if len(given) == 1 else given[1].expression(checker, place)
    if elements is not None:
        first = start.value
        return TupleValue(
            [TupleValue([Plain(checker.constant(first + k, place)), one]) for k, one in enumerate(elements)]
        )
    part = checker.iterable(given[0], place)
    return IterableValue(tree.Iterable_("enumerate", [part, start], t.TupleType((t.INT, part.element))))


def _call_list(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    if not given and not named:
        return Plain(tree.ListLiteral(t.ListType(t.TENSOR), place, []))
    if len(given) != 1 or named:
        raise CompileError("script: list() expects at most one argument", place)
    elements = given[0].elements(checker, place)
    if elements is not None:
        return Plain(checker._list([one.expression(checker, place) for one in elements], None, place))
    iterable = checker.iterable(given[0], place)
    local = tree.Local(iterable.element, place, "_item")
    target = tree.NameTarget(place, "_item", iterable.element)
    return Plain(tree.Comprehension(t.ListType(iterable.element), place, target, iterable, [], local))


def _call_dict(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    keys = [checker.constant(name, place) for name in named]
    values = [one.expression(checker, place) for one in named.values()]
    if given:
        first = given[0].expression(checker, place)
        if isinstance(first, tree.Comprehension) and isinstance(first.type, t.DictType) and not named:
            return Plain(first)
        if isinstance(first.type, t.ListType) and isinstance(first.type.element, t.TupleType):
            made = checker.operator(("aten::dict",), [first], {}, place)
        else:
            made = checker.operator(("aten::dict",), [first], {}, place)
        if not named:
            return Plain(made)
        if not isinstance(made.type, t.DictType) or made.type.key != t.STR:
            raise CompileError(f"script: names are keys of type str, and the dict is a {made.type}", place)
        more = [checker.converted(one, made.type.value) for one in values]
        return Plain(tree.NativeCall(made.type, place, "dict", dict, [made], dict(zip(named, more))))
    key = t.STR
    value = checker._common(values, "dict's values", place) or t.TENSOR
    return Plain(tree.DictLiteral(t.DictType(key, value), place, keys, values))


def _call_tuple(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    if not given:
        return Plain(tree.TupleLiteral(t.TupleType(()), place, []))
    elements = given[0].elements(checker, place)
    if elements is None:
        value = given[0].expression(checker, place)
        if isinstance(value, tree.ListLiteral):
            elements = [Plain(one) for one in value.elements]
    if elements is None:
        raise CompileError("script: cannot make a tuple of it: how many elements it has must be known", place,
                           fix="write the elements, or keep the list")  # fmt: skip
    return Plain(TupleValue(elements).expression(checker, place))


def _call_reversed(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    elements = given[0].elements(checker, place) if given else None
    if elements is None:
        raise UnsupportedError(
            "script: reversed() of what runs isn't supported", place, fix="use x[::-1], or list.reverse()"
        )
    return TupleValue(elements[::-1])


def _minmax_function(name: str) -> Any:
    def call(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        arguments = [one.expression(checker, place) for one in given]
        if len(arguments) > 2:
            found = arguments[0]
            for one in arguments[1:]:
                found = checker.operator((f"prim::{name}",), [found, one], {}, place)
            return Plain(found)
        keywords = {key: one.expression(checker, place) for key, one in named.items()}
        return Plain(checker.operator((f"prim::{name}", f"aten::{name}"), arguments, keywords, place))

    return SpecialValue(name, call)


def _call_print(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    if named:
        raise UnsupportedError("script: print doesn't accept any keyword arguments", place, fix="join the text before")
    arguments = [one.expression(checker, place) for one in given]
    schema = tree.Schema("prim::Print", "", (), t.NONE, variadic=True)
    return Plain(tree.Operator(t.NONE, place, schema, arguments))  # type: ignore[arg-type]


def _constant_function(value: Any) -> Any:
    def call(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        return Plain(checker.constant(value, place))

    return call


def _call_unwrap(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    value = _only_argument(checker, given, named, place, "_unwrap_optional")
    if value.type == t.NONE:
        raise CompileError("script: cannot match an Optional to None: it is always None", place)
    schema = tree.Schema(
        "aten::_unwrap_optional", "", (tree.Argument("optional", value.type),), t.without_none(value.type)
    )
    return Plain(tree.Operator(schema.result, place, schema, [value]))


def _call_fork(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    call = given[0].call(checker, given[1:], named, place).expression(checker, place)
    return Plain(tree.Fork(t.FutureType(call.type), place, call))


def _call_wait(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    value = _only_argument(checker, given, named, place, "wait")
    return Plain(checker.operator(("aten::wait",), [value], {}, place))


def _call_size(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    value = _only_argument(checker, given, named, place, "Size")
    return Plain(checker.converted(value, t.ListType(t.INT)))


def _call_pow(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    arguments = [one.expression(checker, place) for one in given]
    if len(arguments) != 2 or named:
        raise CompileError("script: pow() takes 2 arguments", place)
    return Plain(checker.binary(ast.Pow, *arguments, place))


def _call_assert(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
    arguments = [one.expression(checker, place) for one in [*given, *named.values()]]
    condition = checker.as_bool(arguments[0])
    schema = tree.Schema(
        "prim::Assert", "", (tree.Argument("condition", t.BOOL), tree.Argument("message", t.STR)), t.NONE
    )
    return Plain(tree.Operator(t.NONE, place, schema, [condition, *arguments[1:2]]))


FUNCTIONS: dict[str, Value] = {
    "len": SpecialValue("len", _call_len),
    "range": SpecialValue("range", _call_range),
    "zip": SpecialValue("zip", _call_zip),
    "enumerate": SpecialValue("enumerate", _call_enumerate),
    "reversed": SpecialValue("reversed", _call_reversed),
    "list": SpecialValue("list", _call_list),
    "dict": SpecialValue("dict", _call_dict),
    "tuple": SpecialValue("tuple", _call_tuple),
    "print": SpecialValue("print", _call_print),
    "pow": SpecialValue("pow", _call_pow),
    "int": _cast_function("int", "aten::Int", 0),
    "float": _cast_function("float", "aten::Float", 0.0),
    "bool": _cast_function("bool", "aten::Bool", False),
    "str": _cast_function("str", "aten::str", ""),
    "complex": OperatorValue("aten::Complex"),
    "min": _minmax_function("min"),
    "max": _minmax_function("max"),
    "abs": OperatorValue("prim::abs", "aten::abs"),
    **{name: OperatorValue(f"aten::{name}") for name in (
        "sum", "all", "any", "sorted", "round", "divmod", "ord", "chr", "hex", "oct", "bin", "hash",
    )},
    "jit.is_scripting": SpecialValue("is_scripting", _constant_function(True)),
    "jit.is_tracing": SpecialValue("is_tracing", _constant_function(False)),
    "overrides.has_torch_function": SpecialValue("has_torch_function", _constant_function(False)),
    "jit._unwrap_optional": SpecialValue("_unwrap_optional", _call_unwrap),
    "jit.fork": SpecialValue("fork", _call_fork),
    "jit.wait": SpecialValue("wait", _call_wait),
    "jit._fork": SpecialValue("fork", _call_fork),
    "jit._wait": SpecialValue("wait", _call_wait),
    "Size": SpecialValue("Size", _call_size),
    "_assert": SpecialValue("_assert", _call_assert),
}  # fmt: skip
"""By the name that Python or polyad has for it."""

UNSUPPORTED: dict[str, Value] = {
    name: UnusableValue(
        name, f"Python builtin <built-in function {name}> is currently not supported in TorchScript: {name}()", fix
    )
    for name, fix in {
        "map": "use a list comprehension",
        "filter": "use a list comprehension",
        "set": "use a dict whose values are True",
        "frozenset": "use a dict whose values are True",
        "iter": "use a for loop",
        "next": "use a for loop",
        "type": "use isinstance",
        "open": "read files outside",
        "eval": "write the expression",
        "exec": "write the code",
        "compile": "write the code",
        "globals": "pass what is needed",
        "locals": "pass what is needed",
        "vars": "name the attributes",
        "setattr": "assign to the attribute",
        "delattr": "set it to None",
        "dir": "name the attributes",
        "callable": "nothing else can be called",
        "id": "use is",
        "input": "pass the text",
        "issubclass": "use isinstance",
        "repr": "use str",
        "slice": "write x[a:b]",
        "object": "use a class",
        "bytes": "use str",
        "bytearray": "use a list of int",
        "format": "use an f-string",
        "property": "use it in a class",
        "memoryview": "use a list",
        "__import__": "import at the top of the file",
        "ascii": "use str",
    }.items()
}


def class_value(type: t.Type) -> Value:
    """A class as a value."""
    return ClassValue(type)
