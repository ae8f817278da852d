"""The text of scripted modules: their classes, and the functions and classes that their programs use.

Classes of modules that have one name get names of their own, as PyTorch's do: ``__torch__.net.___torch_mangle_1.Net``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polyad.errors import NotSupported
from polyad.nn import Module

from ..language.printing import GRAD_MODES, Printed, print_function, print_module, type_text
from ..language.tree import PythonCall, walk
from ..modules.functions import ScriptFunction
from ..types import types as t
from ..types.types import Type

__all__ = ["texts_of", "texts_of_functions"]


def texts_of(module: Module) -> tuple[dict[str, str], list[Any]]:
    """The texts of the program of *module*, by module of the program, and the constants that they name."""
    writing = _Texts()
    for one in module.modules():
        writing.add_type(one._script_type)
    writing.run()
    return writing.joined(), writing.printed.constants


def texts_of_functions(printed: Printed) -> tuple[dict[str, str], list[Any]]:
    """The texts of what a printed function uses, and the constants."""
    writing = _Texts()
    writing.printed = printed
    writing.run()
    return writing.joined(), printed.constants


_GRAD_MODE = """\
class {name}:
  before : bool
  def __init__(self: {qualified}) -> NoneType:
    self.before = torch.is_grad_enabled()
    return None
  def __enter__(self: {qualified}) -> NoneType:
    self.before = torch.is_grad_enabled()
    torch.set_grad_enabled({on})
    return None
  def __exit__(self: {qualified}, kind: Any, error: Any, trace: Any) -> NoneType:
    torch.set_grad_enabled(self.before)
    return None
"""
"""A context of polyad's as a class of a program."""


class _Texts:
    def __init__(self) -> None:
        self.printed = Printed("")
        self.parts: dict[str, list[str]] = {}
        self.names: dict[str, Any] = {}
        self._types: list[Type] = []
        self._functions: list[Any] = []

    def add_type(self, kind: Type) -> None:
        """Have a class written."""
        if not any(one is kind for one in self._types):
            self._types.append(kind)
            self._name(kind)

    def _name(self, kind: Any) -> None:
        """Give a class a name that no other class has."""
        home, _, last = kind.name.rpartition(".")
        name, count = kind.name, 0
        while self.names.setdefault(name, kind) is not kind:
            name, count = f"{home}.___torch_mangle_{count}.{last}", count + 1
        if name != kind.name:
            kind.name = name

    def run(self) -> None:
        """Write all classes and functions, and those that these use."""
        types = functions = 0
        while True:
            for kind in self.printed.types:
                self.add_type(kind)
            self._functions += [one for one in self.printed.functions if not any(one is two for two in self._functions)]
            if types < len(self._types):
                self._write(self._types[types].name, self._class(self._types[types]))  # type: ignore[attr-defined]
                types += 1
            elif functions < len(self._functions):
                one = self._functions[functions]
                self._write(one.qualified, self._function(one))
                functions += 1
            else:
                return

    def _write(self, name: str, text: str) -> None:
        self.parts.setdefault(name.rpartition(".")[0], []).append(text)

    def joined(self) -> dict[str, str]:
        """The text of each module of the program."""
        texts = {home: "".join(parts) for home, parts in self.parts.items()}
        whole = "".join(texts.values()) + self.printed.text
        for name, qualified in GRAD_MODES.items():
            if f"{qualified}()" in whole:
                home = qualified.rpartition(".")[0]
                texts[home] = texts.get(home, "") + _GRAD_MODE.format(
                    name=name, qualified=qualified, on=name != "no_grad"
                )
        return texts

    def _function(self, one: Any) -> str:
        function = one.compile()
        _check(function, one.qualified)
        return print_function(function, self.printed).text

    def _class(self, kind: Any) -> str:
        last = kind.name.rpartition(".")[2]
        if isinstance(kind, t.ClassType):
            methods = []
            for name, method in _methods(kind):
                methods.append(method.compile())
                _check(methods[-1], f"{kind.name}.{name}")
            return print_module(kind, methods, self.printed).text
        if isinstance(kind, t.EnumType):
            return f"class {last}(Enum):\n" + "".join([f"  {one.name} = {one.value!r}\n" for one in kind.python])
        if isinstance(kind, t.TupleType):
            fields = [f"  {name} : {self._type(part)}\n" for name, part in zip(kind.fields, kind.elements, strict=True)]
            return f"class {last}(NamedTuple):\n{''.join(fields)}"
        lines = [f"class {last}({'ModuleInterface' if kind.is_module else 'Interface'}):\n"]
        for name, method in kind.methods.items():
            signature = getattr(method, "signature", method)
            given = ", ".join([f"{one.name}: {self._type(one.type)}" for one in signature.arguments[1:]])
            lines.append(
                f"  def {name}(self{', ' if given else ''}{given}) -> {self._type(signature.result)}:\n    pass\n"
            )
        return "".join(lines)

    def _type(self, kind: Type) -> str:
        for part in (kind, *kind.parts()):
            named = isinstance(part, t.TupleType) and part.name is not None
            if named or isinstance(part, (t.ClassType, t.EnumType, t.InterfaceType)):
                self.add_type(part)
        return type_text(kind)


def _methods(kind: t.ClassType) -> Iterator[tuple[str, ScriptFunction]]:
    """The methods that a class has, compiled or called by those; getters and setters with them."""
    for name, method in list(kind.methods.items()):
        if isinstance(method, ScriptFunction):
            yield name, method
        elif name == "forward":
            raise _of_python(f"{kind.name}.{name}")


def _check(function: Any, where: str) -> None:
    for node in walk(function.body):
        if isinstance(node, PythonCall):
            raise _of_python(f"{where}, which calls {node.name}")


def _of_python(where: str) -> NotSupported:
    return NotSupported(
        f"save: {where} runs as Python, which no file holds",
        fix="write it in TorchScript's language, without jit.ignore; or trace the module",
    )
