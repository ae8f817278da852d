"""What the names of a Python function mean when it is scripted: globals, closures, modules, attributes of ``self``."""

from __future__ import annotations

import ast
import builtins
import enum
import re
import types as python_types
import typing
from collections.abc import Mapping
from typing import Any

import polyad
from polyad import nn
from polyad.aten import overloads

from ..checking.builtins import FUNCTIONS
from ..checking.matching import convert
from ..checking.values import (
    ClassValue,
    FunctionValue,
    MethodValue,
    NativeValue,
    OperatorValue,
    Plain,
    PythonValue,
    SpecialValue,
    TupleValue,
    UnusableValue,
    Value,
)  # fmt: skip
from ..language import tree
from ..language.source import CompileError, Place, Source, UnsupportedError, types_of_comment
from ..library.table import program_for, with_indices
from ..operators import native
from ..operators.schemas import NO_DEFAULT, Argument, Schema, known
from ..running.operators import METHODS, implementation
from ..types import types as t
from ..types.annotations import AnnotationError, type_of_annotation, type_of_constant
from ..types.types import Type
from .namespaces import CONSTANTS, MethodOfTensor, ModuleValue, TensorClassValue, ToListValue, builtin_value

__all__ = ["Resolver"]


_CAST_METHODS = {
    "float": polyad.float32,
    "double": polyad.float64,
    "half": polyad.float16,
    "bfloat16": polyad.bfloat16,
    "long": polyad.int64,
    "int": polyad.int32,
    "short": polyad.int16,
    "char": polyad.int8,
    "byte": polyad.uint8,
    "bool": polyad.bool,
}
"""Methods of tensors that give another dtype."""


TYPE_NAMES: dict[str, Any] = {
    "Tensor": polyad.Tensor, "torch": polyad, "typing": typing,
    **{f"BroadcastingList{length}": polyad.jit.annotations.BroadcastingList1 for length in (1, 2, 3)},
    **{name: getattr(typing, name) for name in ("List", "Dict", "Tuple", "Optional", "Union", "Any")},
}  # fmt: skip
"""The names that annotations and type comments may use though their file does not define them."""


class Resolver:
    """The names of one function of Python.

    Attributes:
        program: what scripts functions and classes that are met.
        names: what the function sees, closures before globals.
        owner: the class whose method it is, for ``super()``.
    """

    lists_as_defaults = False
    """Whether a default may be a list."""

    def __init__(self, program: Any, names: Mapping[str, Any], owner: Any = None) -> None:
        self.program, self.names, self.owner = program, names, owner

    # ---------------------------------------------------------------------------------------------------- names

    def name(self, checker: Any, name: str, place: Place) -> Value | None:
        """What a name means that the function does not set."""
        if name in self.names:
            return self.value_of(self.names[name], name, place)
        if hasattr(builtins, name):
            return self.value_of(getattr(builtins, name), name, place)
        return None

    def value_of(self, value: Any, name: str, place: Place, member: bool = False) -> Value:
        """What a Python object is in a program; *member* of one that is an attribute of a module."""
        if isinstance(value, Value):
            return value
        program = program_for(value)
        if program is not None:
            return self._program(program)
        found = builtin_value(value) if callable(value) else None
        if found is not None:
            return found
        if isinstance(value, python_types.ModuleType):
            return ModuleValue(self, value, name)
        if isinstance(value, CONSTANTS) or value is None:
            return Plain(tree.Constant(type_of_constant(value), place, value))  # type: ignore[arg-type]
        if member and isinstance(value, (int, float, complex, str)) and not isinstance(value, enum.Enum):
            return Plain(tree.Constant(type_of_constant(value), place, value))  # type: ignore[arg-type]
        if isinstance(value, enum.Enum):
            return Plain(tree.Constant(type_of_constant(value), place, value))  # type: ignore[arg-type]
        if isinstance(value, type):
            return self._class(value, name, place)
        if isinstance(value, tuple) and value and all(callable(one) for one in value):
            return TupleValue([self.value_of(one, name, place) for one in value])
        if isinstance(value, (overloads.OpOverloadPacket, overloads.OpOverload)):
            packet = getattr(value, "overloadpacket", value)
            return OperatorValue(f"{packet.namespace}::{packet.__name__}")
        if callable(value) and not isinstance(value, nn.Module):
            return self._function(value, name, place)
        kind = type(value).__name__
        if isinstance(value, nn.Module):
            return UnusableValue(
                name, f"Cannot call a ScriptModule that is not a submodule of the caller: {name} is of class {kind}",
                "make it a submodule, or pass what it gives as an argument",
            )  # fmt: skip
        return UnusableValue(
            name, f"python value of type '{kind}' cannot be used as a value: {name} is a closed over global variable",
            "pass it as an argument, or make it an attribute of the module",
        )  # fmt: skip

    def _program(self, function: Any) -> Value:
        """One of the programs of `library`; the one that gives indices where a call asks for them."""
        found, other = FunctionValue(self.program.function(function)), with_indices(function)
        indexed = None if other is None else FunctionValue(self.program.function(other))

        def call(checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
            if "out" in named and named["out"].expression(checker, place).type == t.NONE:
                named = {name: one for name, one in named.items() if name != "out"}
            types = {one.name: one.type for one in found.function.signature.arguments}
            given = [_as_float(one, kind, checker, place) for one, kind in zip(given, types.values())] + given[
                len(types) :
            ]
            named = {name: _as_float(one, types.get(name), checker, place) for name, one in named.items()}
            if indexed is None:
                return found.call(checker, given, named, place)
            asked = dict(zip(types, given), **named).get("return_indices")
            constant = None if asked is None else asked.expression(checker, place)
            asks = isinstance(constant, tree.Constant) and constant.value is True
            return (indexed if asks else found).call(checker, given, named, place)

        return SpecialValue(function.__name__, call)

    def _class(self, value: Any, name: str, place: Place) -> Value:
        if value in (polyad.device,):
            return OperatorValue("aten::device")
        if value is polyad.Size:
            return FUNCTIONS["Size"]
        if value is polyad.Tensor or issubclass(value, polyad.Tensor):
            return TensorClassValue()
        if value in (polyad.no_grad, polyad.enable_grad) or getattr(value, "__name__", "") in (
            "set_grad_enabled",
            "inference_mode",
            "autocast",
            "record_function",
        ):
            return NativeValue(name, value)
        if issubclass(value, BaseException):
            return UnusableValue(name, f"an exception ({value.__name__}) can only be raised", "raise it")
        try:
            return ClassValue(type_of_annotation(value, lambda one: self.program.class_of(one, self, place)))
        except AnnotationError as error:
            return UnusableValue(name, f"class {name} cannot be used: {error}")

    def _function(self, value: Any, name: str, place: Place) -> Value:
        return self.program.function_value(value, self, name, place)

    def builtin_method(self, name: str, object: tree.Expression) -> Value | None:
        """A method of a tensor, a list, a dict, a string or a number, which is an operator."""
        operator = f"aten::{name}"
        if object.type == t.TENSOR:
            if name in _CAST_METHODS:
                dtype = tree.Constant(t.DTYPE, object.place, _CAST_METHODS[name])
                return SpecialValue(
                    name,
                    lambda checker, given, named, place: Plain(
                        checker.operator(("aten::to",), [object, dtype], {}, place)
                    ),
                )
            if name in ("tolist", "item") or known(operator):
                if name == "item":
                    return OperatorValue("aten::item", first=object)
                if name == "tolist":
                    return ToListValue(object)
                return OperatorValue(operator, first=object)
            method = getattr(polyad.Tensor, name, None)
            return MethodOfTensor(name, method, object) if callable(method) and not name.startswith("__") else None
        if object.type == t.STR or isinstance(object.type, (t.ListType, t.DictType)):
            if name in METHODS or name in ("keys", "values", "items", "pop", "sort", "format"):
                return OperatorValue(operator, first=object)
            return None
        if object.type == t.GENERATOR and name in ("manual_seed", "seed", "initial_seed"):
            return MethodOfTensor(
                name, getattr(polyad.Generator, name), object, t.GENERATOR if name == "manual_seed" else t.INT
            )
        return None

    # -------------------------------------------------------------------------------------------------- members

    def member(self, checker: Any, object: tree.Expression, name: str, place: Place) -> Value:
        """An attribute, a method or a property of an instance of a class."""
        has = object.type
        if isinstance(has, t.InterfaceType):
            if name == "__call__" and "forward" in has.methods:
                name = "forward"
            if name in has.methods:
                return MethodValue(object, name, has.methods[name])
            raise CompileError(f"script: interface {has} has no method {name}", place, fix="declare it there")
        assert isinstance(has, t.ClassType)
        if name in has.attributes:
            type = has.attributes[name]
            if isinstance(type, t.ClassType) and type.is_module:
                return self.program.module_value(tree.Attribute(type, place, object, name), type)
            return Plain(tree.Attribute(type, place, object, name))
        if name in has.constants:
            return self.program.constant_value(checker, has, name, place)
        if name in has.properties:
            getter = has.properties[name][0]
            return MethodValue(object, name, getter).call(checker, [], {}, place)
        method = has.method("forward" if name == "__call__" and has.is_module else name)
        if isinstance(method, Value):
            return self._with_self(method, object)
        if method is not None:
            return MethodValue(object, method.name, method)
        raise self.program.no_member(has, name, place)

    def _with_self(self, value: Value, object: tree.Expression) -> Value:
        if isinstance(value, PythonValue):
            return PythonValue(value.function, value.signature, object)
        return value

    def attribute_target(self, checker: Any, node: ast.Attribute, value: tree.Expression, place: Place) -> tree.Target:
        """``object.name`` as the target of *value*."""
        object = (
            checker.check(node.value)
            if not isinstance(checker.value(node.value), Plain)
            else checker.value(node.value).value
        )
        has = object.type
        if not isinstance(has, t.ClassType):
            raise CompileError(f"script: tried to set an attribute of a value of type {has}: {node.attr}", place)
        if node.attr in has.attributes:
            type = has.attributes[node.attr]
            if convert(value, type, False) is None:
                raise CompileError(
                    f"script: Wrong type for attribute assignment. Expected {type} but got {value.type}: {node.attr}",
                    place,
                    fix="convert the value",
                )
            return tree.AttributeTarget(place, object, node.attr)
        if node.attr in has.properties and has.properties[node.attr][1] is not None:
            return tree.AttributeTarget(place, object, node.attr)
        if self.program.may_define(has, checker):
            has.attributes[node.attr] = value.type
            return tree.AttributeTarget(place, object, node.attr)
        raise CompileError(
            f"script: Tried to set nonexistent attribute: {node.attr}. Did you forget to initialize it in __init__()?",
            place,
            fix="set it in __init__",
        )

    def superclass(self, checker: Any, node: ast.Call, place: Place) -> Value:
        """``super()`` in a method."""
        return self.program.superclass(self, checker, place)

    # ---------------------------------------------------------------------------------------------------- calls

    def need(self, schema: Schema, place: Place) -> None:
        """Refuse an operator that polyad has not."""
        if schema.name not in _ALWAYS and implementation(schema) is None:
            raise UnsupportedError(f"script: polyad has no operator {schema.qualified}", place,
                                   fix="use others; docs/torchscript.md says how to find which")  # fmt: skip

    def native(
        self,
        checker: Any,
        name: str,
        function: Any,
        given: list[tree.Expression],
        named: dict[str, tree.Expression],
        place: Place,
    ) -> tree.Expression:
        """A call of a function of polyad's that has no declaration of PyTorch's."""
        arguments, annotated, variadic = native.signature_of(function)
        positional = [one for one in arguments if not one.keyword_only]
        bound: dict[str, tree.Expression] = {}
        values, keywords = [], {}
        for position, value in enumerate(given):
            if position >= len(positional):
                if not variadic:
                    raise CompileError(
                        f"script: {name} takes {len(positional)} positional arguments, not {len(given)}", place
                    )
                values.append(value)
                continue
            values.append(self._fit(name, value, positional[position], place))
            bound[positional[position].name] = value
        declared = {one.name: one for one in arguments}
        for key, value in named.items():
            if key not in declared or key in bound:
                raise CompileError(f"script: {name}: unknown keyword argument '{key}'", place)
            keywords[key] = self._fit(name, value, declared[key], place)
            bound[key] = value
        for one in arguments:
            if one.default is NO_DEFAULT and one.name not in bound:
                raise CompileError(f"script: {name}: argument {one.name} not provided", place)
        result = native.result_of(name, annotated, bound)
        if result is None:
            raise UnsupportedError(
                f"script: {name}: what it gives is not declared", place, fix="mark its caller with jit.ignore"
            )
        return tree.NativeCall(result, place, name, function, values, keywords)

    def _fit(self, name: str, value: tree.Expression, argument: Argument, place: Place) -> tree.Expression:
        found = convert(value, argument.type, True)
        if found is None:
            raise CompileError(
                f"script: {name}: Expected a value of type '{argument.type}' for argument '{argument.name}' but "
                f"instead found type '{value.type}'",
                place,
                fix="convert it",
            )
        return found

    def default(self, checker: Any, argument: Argument, place: Place) -> tree.Expression:
        """The default of an argument as an expression."""
        if isinstance(argument.default, dict) or type_of_constant(argument.default) is None:
            return tree.Constant(argument.type, place, argument.default)
        made: tree.Expression = checker.constant(argument.default, place)
        return (
            tree.Convert(argument.type, place, made)
            if isinstance(made.type, t.ListType) and made.type != argument.type and not argument.default
            else made
        )

    def signature(self, node: ast.FunctionDef, source: Source, self_type: Type | None) -> tree.Signature:
        """What a function that is written in *source* takes and gives; what is not annotated is a tensor."""
        place = source.place(node)
        arguments: list[Argument] = []
        if node.args.vararg or node.args.kwarg or node.args.posonlyargs:
            word = (
                "variable number of arguments" if node.args.vararg or node.args.kwarg else "positional-only arguments"
            )
            raise UnsupportedError(
                f"script: {node.name}: compiled functions can't take {word}", place, fix="name the arguments"
            )
        annotations, returns = _annotations_of(node, self_type is not None, place)

        def type_of(one: ast.arg) -> Type:
            written = annotations.get(one.arg)
            return t.TENSOR if written is None else self.annotation(written, place, source)

        positional = node.args.args
        missing: list[Any] = [NO_DEFAULT] * (len(positional) - len(node.args.defaults))
        defaults = missing + [self._evaluated(one, place) for one in node.args.defaults]
        for position, (one, default) in enumerate(zip(positional, defaults)):
            kind = self_type if position == 0 and self_type is not None else type_of(one)
            length = _length_of(annotations.get(one.arg))
            default = [default] * length if isinstance(default, (int, float)) and length else default
            arguments.append(Argument(one.arg, kind, default, broadcasts=length))
        for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults):
            default = NO_DEFAULT if value is None else self._evaluated(value, place)
            arguments.append(Argument(one.arg, type_of(one), default, True))
        for made in arguments:
            if isinstance(made.default, (list, dict, set)) and not (made.broadcasts or self.lists_as_defaults):
                shown = f"{made.name}={made.default!r}"
                raise CompileError(
                    f"script: Mutable default parameters are not supported: {node.name} has {shown}",
                    place,
                    fix="use None, and make the value in the function",
                )
        result = None if returns is None else self.annotation(returns, place, source)
        return tree.Signature(node.name, arguments, result, returns is not None)

    # -------------------------------------------------------------------------------------------------- types

    def annotation(self, node: ast.expr, place: Place, source: Source, several: bool = False) -> Any:
        """The type that an annotation means; *several* allows a tuple of types."""
        value = self._evaluated(node, place)
        for _ in range(3):
            if isinstance(value, str):
                value = self._evaluated(ast.parse(value, mode="eval").body, place)
        if several and isinstance(value, tuple):
            return tuple([self.type(one, place) for one in value])
        return self.type(value, place)

    def type(self, annotation: Any, place: Place) -> Type:
        """The type that a Python object means as an annotation."""
        if isinstance(annotation, typing.ForwardRef):
            annotation = annotation.__forward_arg__
        if isinstance(annotation, str):
            return self.annotation(ast.parse(annotation, mode="eval").body, place, place.source)
        try:
            return type_of_annotation(annotation, lambda one: self._named_type(one, place))
        except AnnotationError as error:
            raise CompileError(
                f"script: {error}", place, fix="use a type of TorchScript; docs/torchscript.md lists them"
            ) from None

    def _named_type(self, annotation: Any, place: Place) -> Type | None:
        """The type of a class, or of what names one."""
        if isinstance(annotation, (str, typing.ForwardRef)):
            return self.type(annotation, place)
        return self.program.class_of(annotation, self, place)

    def _evaluated(self, node: ast.expr, place: Place) -> Any:
        """The value of an annotation or a default, which Python has evaluated as well."""
        code = compile(ast.fix_missing_locations(ast.Expression(node)), "<annotation>", "eval")
        try:
            return eval(
                code, {"__builtins__": builtins, **TYPE_NAMES, **self.names}
            )  # the user's own source, as Python runs it
        except Exception as error:
            raise CompileError(f"script: the annotation or default {ast.unparse(node)} cannot be evaluated: {error}",
                               place, fix="name what is defined where the function is") from None  # fmt: skip

    def raised(self, checker: Any, node: ast.expr, place: Place) -> tree.Statement:
        """``raise node``."""
        call = node if isinstance(node, ast.Call) else None
        kind = self._evaluated(call.func if call else node, place)
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise CompileError(
                "script: exceptions must derive from BaseException", place, fix="raise an exception's class"
            )
        message = None
        if call is not None and call.args:
            parts = [checker.check(one) for one in call.args]
            message = (
                parts[0]
                if len(parts) == 1
                else checker.operator(
                    ("aten::str",), [TupleValue([Plain(one) for one in parts]).expression(checker, place)], {}, place
                )
            )
            if message.type != t.STR:
                message = checker.operator(("aten::str",), [message], {}, place)
        return tree.Raise(place, kind, message)

    def entered(self, checker: Any, context: tree.Expression, place: Place) -> Type:
        """The type of what ``with context as x`` gives."""
        if isinstance(context.type, t.ClassType):
            for name in ("__enter__", "__exit__"):
                if context.type.method(name) is None:
                    raise CompileError(f"script: object returned by with does not have a method {name}", place)
            return context.type.method("__enter__").signature_for(checker, place).result
        if isinstance(context, tree.NativeCall):
            return t.NONE
        raise CompileError(
            f"script: with statement with a value of type {context.type}",
            place,
            fix="use an instance of a scripted class",
        )


def _as_float(value: Value, wanted: Type | None, checker: Any, place: Place) -> Value:
    """An integer for what takes a float, but no integer, as a float; any other value as it is."""
    if isinstance(wanted, t.UnionType) and t.FLOAT in wanted.members and t.INT not in wanted.members:
        wanted = t.FLOAT
    if wanted == t.FLOAT and isinstance(value, Plain) and value.type == t.INT:
        return Plain(checker.operator(("aten::Float",), [value.value], {}, place))
    return value


def _length_of(annotation: ast.expr | None) -> int:
    """The length of a ``BroadcastingList``, which may be given as one element; 0 of other annotations."""
    found = None if annotation is None else re.search(r"BroadcastingList(\d)", ast.unparse(annotation))
    return int(found[1]) if found else 0


def _annotations_of(
    node: ast.FunctionDef, is_method: bool, place: Place
) -> tuple[dict[str, ast.expr], ast.expr | None]:
    """The annotations of a function's arguments by name, and that of its result; comments stand for them."""
    every = [*node.args.args, *node.args.kwonlyargs]
    found = {one.arg: one.annotation for one in every if one.annotation is not None}
    for one in every:
        if one.type_comment:
            found[one.arg] = ast.parse(one.type_comment, mode="eval").body
    comment = types_of_comment(node, place)
    if comment is None:
        return found, node.returns
    types, result = comment
    names = [one.arg for one in every]
    if is_method and len(types) == len(names) - 1:
        names = names[1:]
    if len(types) != len(names) and not (len(types) == 1 and isinstance(types[0], ast.Constant)):
        raise CompileError(
            f"script: the type comment of {node.name} has {len(types)} types for {len(names)} arguments: Number of "
            "type annotations for function parameters does not match the number of parameters",
            place,
            fix="write one for each",
        )
    found.update(zip(names, types))
    return found, result


_ALWAYS = (
    frozenset(
        f"aten::{name}"
        for name in (
            "__getitem__",
            "slice",
            "__contains__",
            "__is__",
            "__isnot__",
            "__not__",
            "len",
            "Int",
            "Float",
            "Bool",
            "_set_item",
            "floordiv",
            "remainder",
            "add",
            "sub",
            "mul",
            "div",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "neg",
            "__and__",
            "__or__",
            "__xor__",
            "__lshift__",
            "__rshift__",
            "str",
            *METHODS,
        )
    )
    | {
        f"prim::{name}"
        for name in (
            "dtype",
            "device",
            "layout",
            "requires_grad",
            "is_cuda",
            "is_mps",
            "is_xpu",
            "is_cpu",
            "is_meta",
            "data",
            "is_quantized",
            "is_sparse",
            "is_mkldnn",
            "is_nested",
            "itemsize",
            "nbytes",
            "name",
            "type",
            "index",
        )
    }
    | {
        "aten::numpy_T",
        "aten::mT",
        "aten::mH",
        "aten::matrix_H",
        "aten::is_leaf",
        "aten::grad",
        "aten::retains_grad",
        "aten::output_nr",
    }
)
"""Operators that become Python's own, or reads of attributes."""
