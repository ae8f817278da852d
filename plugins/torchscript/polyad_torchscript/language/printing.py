"""A checked program as TorchScript's text, as PyTorch's archives hold it: `print_function`, `print_module`.

The text is a part of Python with operators called by name (``torch.add(x, y)``, ``ops.prim.dtype(x)``). Constants that
cannot be written, such as tensors, are put into a pool, and the text names them ``CONSTANTS.c0``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import polyad
from polyad.base.dtypes import DType

from ..operators.schemas import NO_DEFAULT
from ..types import types as t
from . import tree

__all__ = ["Printed", "print_function", "print_module", "type_text"]

_SIGNS = {
    "aten::eq": "==", "aten::ne": "!=", "aten::lt": "<", "aten::le": "<=", "aten::gt": ">", "aten::ge": ">=",
    "aten::__is__": "is", "aten::__isnot__": "is not",
}  # fmt: skip
_CAST_NAMES = {
    "aten::Int": "int",
    "aten::Float": "float",
    "aten::Bool": "bool",
    "aten::str": "str",
    "aten::Complex": "complex",
}
_BUILTIN = frozenset({"aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge"})


@dataclass
class Printed:
    """A text with what it uses.

    Attributes:
        constants: the pool, in order.
        types: the classes that it names.
        functions: those that it calls.
    """

    text: str
    constants: list[Any] = field(default_factory=list)
    types: list[Any] = field(default_factory=list)
    functions: list[Any] = field(default_factory=list)


def print_function(function: tree.Function, into: Printed | None = None, indent: int = 0) -> Printed:
    """The text of a function; constants go into the pool of *into*, if that is given."""
    printer = _Printer(into or Printed(""))
    printer.function(function, indent)
    found = printer.found
    found.text = "\n".join(printer.lines) + "\n"
    return found


def print_module(type: t.ClassType, methods: list[tree.Function], into: Printed | None = None) -> Printed:
    """The text of a class: its attributes with their types, and *methods*."""
    found = into or Printed("")
    printer = _Printer(found)
    lines = [f"class {type.name.rpartition('.')[2]}{'(Module)' if type.is_module else ''}:"]
    if type.is_module:
        for word, names in (("__parameters__", type.parameters), ("__buffers__", type.buffers)):
            tensors = "".join(f"{name!r}, " for name in names if type.attributes[name] == t.TENSOR)
            lines.append(f"  {word} = [{tensors}]")
    for name, one in type.attributes.items():
        if name.isidentifier():
            lines.append(f"  {name} : {printer.type(one)}")
        else:
            lines.append(f"  __annotations__[{name!r}] = {printer.type(one)}")
    printer.lines = lines
    for method in methods:
        printer.function(method, 1)
    found.text = "\n".join(printer.lines) + "\n"
    return found


def type_text(type: t.Type) -> str:
    """A type as it is written in text."""
    if type in (t.DTYPE, t.LAYOUT, t.MEMORY_FORMAT):
        return "int"
    if type == t.NUMBER:
        return "number"
    if isinstance(type, t.Basic) and type.name in ("AnyList", "AnyTuple", "AnyDict"):
        return type.name.removeprefix("Any").lower()
    if isinstance(type, t.ListType):
        return f"List[{type_text(type.element)}]"
    if isinstance(type, t.DictType):
        return f"Dict[{type_text(type.key)}, {type_text(type.value)}]"
    if isinstance(type, t.TupleType) and type.name is None:
        return f"Tuple[{', '.join(map(type_text, type.elements))}]" if type.elements else "Tuple[()]"
    if isinstance(type, t.UnionType):
        if len(type.members) == 2 and t.NONE in type.members:
            return f"Optional[{type_text(t.without_none(type))}]"
        return f"Union[{', '.join(map(type_text, type.members))}]"
    if isinstance(type, t.FutureType):
        return f"Future[{type_text(type.value)}]"
    return str(type)


class _Printer:
    def __init__(self, found: Printed) -> None:
        self.found = found
        self.lines: list[str] = []
        self.indent = 0
        self.result: t.Type = t.NONE

    # ----------------------------------------------------------------------------------------------- statements

    def line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    def type(self, type: t.Type) -> str:
        """A type, whose classes are noted."""
        self._note(type)
        return type_text(type)

    def _note(self, type: t.Type) -> None:
        named = isinstance(type, (t.ClassType, t.InterfaceType, t.EnumType)) or (
            isinstance(type, t.TupleType) and type.name
        )
        if named and not any(one is type for one in self.found.types):
            self.found.types.append(type)
        for part in type.parts():
            self._note(part)

    def function(self, function: tree.Function, indent: int) -> None:
        self.indent = indent
        arguments = []
        star = False
        for position, one in enumerate(function.signature.arguments):
            if one.keyword_only and not star:
                arguments.append("*")
                star = True
            default = "" if one.default is NO_DEFAULT else f"={self.value(one.default, one.type)}"
            text = f"{one.name}: {self.type(one.type)}{default}"
            arguments.append(
                text
                if position or not isinstance(one.type, t.ClassType)
                else f"self: {self.type(one.type)}"
                if one.name == "self"
                else text
            )
        head = "  " * indent + f"def {function.name}("
        joined = (",\n" + " " * len(head)).join(arguments)
        self.lines.append(f"{head}{joined}) -> {self.type(function.signature.result or t.NONE)}:")
        before, self.result = self.result, function.signature.result or t.NONE
        self.block(function.body)
        self.result = before
        self.indent = 0

    def block(self, statements: list[tree.Statement]) -> None:
        self.indent += 1
        before = len(self.lines)
        for one in statements:
            getattr(self, f"_statement_{type(one).__name__}")(one)
        if len(self.lines) == before:
            self.line("pass")
        self.indent -= 1

    def _statement_Assign(self, one: tree.Assign) -> None:
        target, value = one.target, self.text(one.value)
        if isinstance(target, tree.NameTarget):
            written = f" : {self.type(target.type)}" if target.annotated or _needs_type(one.value) else ""
            self.line(f"{target.name}{written} = {value}")
        elif isinstance(target, tree.ElementTarget):
            object, index = [self.text(part) for part in target.arguments]
            self.line(f"_{len(self.lines)} = torch._set_item({object}, {index}, {value})")
        else:
            self.line(f"{self.target(target)} = {value}")

    def target(self, target: tree.Target) -> str:
        if isinstance(target, tree.NameTarget):
            return target.name
        if isinstance(target, tree.AttributeTarget):
            return f"{self.text(target.object)}.{target.name}"
        assert isinstance(target, tree.TupleTarget)
        parts = [("*" if k == target.starred else "") + self.target(one) for k, one in enumerate(target.elements)]
        parts = [
            f"({part})" if isinstance(one, tree.TupleTarget) else part
            for part, one in zip(parts, target.elements, strict=True)
        ]
        return "".join(f"{part}, " for part in parts)

    def _statement_Evaluate(self, one: tree.Evaluate) -> None:
        self.line(self.text(one.value))

    def _statement_If(self, one: tree.If) -> None:
        self.line(f"if {self.text(one.condition)}:")
        self.block(one.then)
        self.line("else:")
        self.block(one.other)

    def _statement_While(self, one: tree.While) -> None:
        self.line(f"while {self.text(one.condition)}:")
        self.block(one.body)

    def _statement_For(self, one: tree.For) -> None:
        self.line(f"for {self.target(one.target).removesuffix(', ')} in {self.iterable(one.iterable)}:")
        self.block(one.body)

    def iterable(self, iterable: tree.Iterable_) -> str:
        parts = [
            self.iterable(part) if isinstance(part, tree.Iterable_) else self.text(part) for part in iterable.parts
        ]
        return f"{iterable.kind}({', '.join(parts)})" if iterable.kind in ("range", "zip", "enumerate") else parts[0]

    def _statement_Break(self, one: tree.Break) -> None:
        self.line("break")

    def _statement_Continue(self, one: tree.Continue) -> None:
        self.line("continue")

    def _statement_Return(self, one: tree.Return) -> None:
        self.line("return " + ("None" if one.value is None else self.text(one.value)))

    def _statement_Raise(self, one: tree.Raise) -> None:
        message = '""' if one.message is None else self.text(one.message)
        kind = "" if one.kind is None else f', "builtins.{one.kind.__name__}"'
        self.line(f"ops.prim.RaiseException({message}{kind})")
        self.line("return " + ("None" if self.result == t.NONE else f"uninitialized({self.type(self.result)})"))

    def _statement_Assert(self, one: tree.Assert) -> None:
        message = '"AssertionError: "' if one.message is None else self.text(one.message)
        self.line(f"assert {self.text(one.condition)}, {message}")

    def _statement_Define(self, one: tree.Define) -> None:
        before = self.indent
        self.function(one.function, before)
        self.indent = before

    def _statement_With(self, one: tree.With) -> None:
        self.line(f"with {self.text(one.context)}" + (f" as {one.name}:" if one.name else ":"))
        self.block(one.body)

    def _statement_Delete(self, one: tree.Delete) -> None:
        pass  # a variable that is not used again

    # ---------------------------------------------------------------------------------------------- expressions

    def text(self, one: tree.Expression) -> str:
        """An expression as text."""
        return getattr(self, f"_{type(one).__name__}")(one)

    def value(self, value: Any, kind: t.Type | None = None) -> str:
        """A constant as text."""
        if isinstance(value, bool) or value is None:
            return str(value)
        if isinstance(value, float):
            return _float_text(value) if not math.isinf(value) and value == value else _unusual(value)
        if isinstance(value, int):
            return f"{float(value)}" if kind == t.FLOAT else str(value)
        if isinstance(value, str):
            return '"' + value.encode("unicode_escape").decode().replace('"', '\\"') + '"'
        if isinstance(value, complex):
            return f"complex({_float_text(value.real)}, {_float_text(value.imag)})"
        if isinstance(value, DType):
            from ..running.values import CODES

            return str(CODES[str(value).removeprefix("polyad.")])
        if isinstance(value, polyad.device):
            return f'torch.device("{value}")'
        if isinstance(value, list):
            return f"[{', '.join(self.value(part) for part in value)}]"
        if isinstance(value, tuple):
            return f"({''.join(f'{self.value(part)}, ' for part in value)})"
        return self.pooled(value)

    def pooled(self, value: Any) -> str:
        for index, known in enumerate(self.found.constants):
            if known is value:
                return f"CONSTANTS.c{index}"
        self.found.constants.append(value)
        return f"CONSTANTS.c{len(self.found.constants) - 1}"

    def _Constant(self, one: tree.Constant) -> str:
        if isinstance(one.type, t.EnumType):
            self._note(one.type)
            return f"{one.type.name}.{one.value.name}"
        if isinstance(one.value, polyad.memory_format):
            return str(_MEMORY_FORMATS.get(str(one.value).rpartition(".")[2], 0))
        if isinstance(one.value, polyad.layout):
            return "0"
        return self.value(one.value)

    def _Local(self, one: tree.Local) -> str:
        return one.name

    def _Bind(self, one: tree.Bind) -> str:
        self.line(f"{one.name} = {self.text(one.object)}")
        return one.name

    def _ListOf(self, one: tree.ListOf) -> str:
        count = len(one.object.type.parts())
        text = self.text(one.object)
        return f"[{', '.join(f'({text})[{k}]' for k in range(count))}]"

    def _Attribute(self, one: tree.Attribute) -> str:
        if one.name.isidentifier():
            return f"{self.text(one.object)}.{one.name}"
        return f"getattr({self.text(one.object)}, {self.value(one.name)})"

    def _Element(self, one: tree.Element) -> str:
        return f"({self.text(one.object)})[{one.index}]"

    def _Convert(self, one: tree.Convert) -> str:
        return f"unchecked_cast({self.type(one.type)}, {self.text(one.object)})"

    def _Uninitialized(self, one: tree.Uninitialized) -> str:
        return f"uninitialized({self.type(one.type)})"

    def _ListLiteral(self, one: tree.ListLiteral) -> str:
        inner = f"[{', '.join(map(self.text, one.elements))}]"
        plain = (
            one.elements
            and all(part.type == one.elements[0].type for part in one.elements)
            and one.type.parts()[0] == one.elements[0].type
        )
        return inner if plain else f"annotate({self.type(one.type)}, {inner})"

    def _TupleLiteral(self, one: tree.TupleLiteral) -> str:
        inner = ", ".join(map(self.text, one.elements))
        return f"({inner},)" if len(one.elements) == 1 else f"({inner})"

    def _DictLiteral(self, one: tree.DictLiteral) -> str:
        inner = ", ".join(f"{self.text(key)}: {self.text(value)}" for key, value in zip(one.keys, one.values))
        return f"annotate({self.type(one.type)}, {{{inner}}})"

    def _Comprehension(self, one: tree.Comprehension) -> str:
        element = self.text(one.element) if one.key is None else f"{self.text(one.key)}: {self.text(one.element)}"
        conditions = "".join(f" if {self.text(part)}" for part in one.conditions)
        inner = (
            f"{element} for {self.target(one.target).removesuffix(', ')} in {self.iterable(one.iterable)}{conditions}"
        )
        return f"[{inner}]" if one.key is None else f"{{{inner}}}"

    def _Choice(self, one: tree.Choice) -> str:
        return f"{self.text(one.then)} if {self.text(one.condition)} else {self.text(one.other)}"

    def _Logical(self, one: tree.Logical) -> str:
        return f"({self.text(one.left)} {one.word} {self.text(one.right)})"

    def _IsInstance(self, one: tree.IsInstance) -> str:
        kinds = "".join(f"{self.type(part)}, " for part in one.types)
        return f"isinstance({self.text(one.object)}, ({kinds}))"

    def _Fork(self, one: tree.Fork) -> str:
        call = one.call
        given = ", ".join(map(self.text, getattr(call, "arguments", [])))
        return (
            f"fork({self.text(call)})"
            if not isinstance(call, tree.FunctionCall)
            else f"fork({call.function.qualified}, {given})"
        )

    def _FunctionCall(self, one: tree.FunctionCall) -> str:
        name = one.function.qualified
        if not getattr(one.function, "is_inner", False) and not any(
            known is one.function for known in self.found.functions
        ):
            self.found.functions.append(one.function)
        return f"{name}({', '.join(map(self.text, one.arguments))})"

    def _MethodCall(self, one: tree.MethodCall) -> str:
        return f"({self.text(one.object)}).{one.name}({', '.join([*map(self.text, one.arguments), ''])})"

    def _Construct(self, one: tree.Construct) -> str:
        self._note(one.of)
        return f"{one.of}({', '.join(map(self.text, one.arguments))})"

    def _Create(self, one: tree.Create) -> str:
        self._note(one.type)
        return f"{one.type}.__new__({one.type})"

    def _PythonCall(self, one: tree.PythonCall) -> str:
        return f"^{one.name}({', '.join(map(self.text, one.arguments))})"

    def _NativeCall(self, one: tree.NativeCall) -> str:
        if one.function in (polyad.no_grad, polyad.enable_grad):
            return f"{GRAD_MODES[one.function.__name__]}()"
        given = [self.text(part) for part in one.arguments] + [
            f"{key}={self.text(part)}" for key, part in one.named.items()
        ]
        return f"ops.polyad.{one.name.replace('.', '_')}({', '.join(given)})"

    def _Operator(self, one: tree.Operator) -> str:
        schema, given = one.schema, one.arguments
        name = schema.name
        numbers = all(part is not None and part.type != t.TENSOR for part in given)
        if name in _SIGNS and len(given) == 2 and (numbers or name not in _BUILTIN):
            return f"{self.text(given[0])} {_SIGNS[name]} {self.text(given[1])}"  # type: ignore[arg-type]
        if name == "aten::__not__":
            return f"not ({self.text(given[0])})"  # type: ignore[arg-type]
        if name in _CAST_NAMES:
            return f"{_CAST_NAMES[name]}({', '.join(self.text(part) for part in given if part is not None)})"
        if name == "prim::tolist":
            return f"annotate({self.type(one.type)}, ({self.text(given[0])}).tolist())"  # type: ignore[arg-type]
        if name.startswith("prim::Enum"):
            return f"({self.text(given[0])}).{name[10:].lower()}"  # type: ignore[arg-type]
        return f"{_called_name(name)}({', '.join(self._arguments(one))})"

    def _arguments(self, one: tree.Operator) -> list[str]:
        """The arguments as text: positional ones up to the last that is given, those by name alone by name."""
        schema, given = one.schema, one.arguments
        positional = [argument for argument in schema.arguments if not argument.keyword_only]
        last = max([k + 1 for k in range(min(len(given), len(positional))) if given[k] is not None], default=0)
        found = []
        for k, part in enumerate(given):
            argument = schema.arguments[k] if k < len(schema.arguments) else None
            if argument is not None and argument.keyword_only:
                if part is not None:
                    found.append(f"{argument.name}={self._argument(part, argument)}")
            elif part is not None:
                found.append(self._argument(part, argument))
            elif argument is not None and k < last:
                found.append(self.value(argument.default))
        return found

    def _argument(self, part: tree.Expression, argument: Any) -> str:
        if (
            argument is not None
            and isinstance(part, tree.Constant)
            and type(part.value) is int
            and argument.type == t.FLOAT
        ):
            return self.value(part.value, t.FLOAT)
        return self.text(part)


GRAD_MODES = {name: f"__torch__.torch.autograd.grad_mode.{name}" for name in ("no_grad", "enable_grad")}
"""The classes that programs have for contexts of polyad's."""
_MEMORY_FORMATS = {"contiguous_format": 0, "preserve_format": 1, "channels_last": 2, "channels_last_3d": 3}


def _called_name(name: str) -> str:
    namespace, _, short = name.partition("::")
    return f"torch.{short}" if namespace == "aten" else f"ops.{namespace}.{short}"


def _float_text(value: float) -> str:
    text = repr(value)
    return text if "e" not in text or "." in text else text.replace("e", ".e")


def _unusual(value: float) -> str:
    return "float('nan')" if value != value else f"float('{'-' if value < 0 else ''}inf')"


def _needs_type(value: tree.Expression) -> bool:
    return isinstance(value, tree.Constant) and value.value is None
