"""Submodules as a program sees them: called, indexed and looped over while the program is checked."""

from __future__ import annotations

from typing import Any

from polyad import nn

from ..checking.values import FunctionValue, Plain, SpecialValue, TupleValue, Value
from ..language import tree
from ..language.source import CompileError, Place, UnsupportedError
from ..types import types as t

__all__ = ["ScriptedModuleValue", "SuperValue"]


class ScriptedModuleValue(Value):
    """A module within a module."""

    def __init__(self, expression: tree.Expression, type: t.ClassType) -> None:
        self.object, self.type = expression, type

    def described(self) -> str:
        return f"module {self.type}"

    def expression(self, checker: Any, place: Place) -> tree.Expression:
        return self.object

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        python = self.type.python
        if (
            (name in ("keys", "values", "items") and _is_dict(python))
            or name == "children"
            or name.startswith("named_")
            or name in ("parameters", "buffers", "modules")
        ):
            parts = self._parts(name, place)
            if parts is not None:
                return SpecialValue(name, lambda *_: TupleValue(parts))
        if name == "_flat_weights" and isinstance(python, type) and issubclass(python, nn.RNNBase):
            weights: list[tree.Expression] = [
                tree.Attribute(t.TENSOR, place, self.object, one) for one in self.type.parameters
            ]
            return Plain(tree.ListLiteral(t.ListType(t.TENSOR), place, weights))
        return checker.resolver.member(checker, self.object, name, place)

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        return self.attribute(checker, "forward", place).call(checker, given, named, place)

    def modules(self, place: Place) -> dict[str, Value]:
        """The submodules by name."""
        return {
            name: ScriptedModuleValue(tree.Attribute(type, place, self.object, name), type)
            for name, type in self.type.attributes.items()
            if isinstance(type, t.ClassType) and type.is_module
        }

    def _parts(self, name: str, place: Place) -> list[Value] | None:
        modules = self.modules(place)
        names: list[Value] = [Plain(tree.Constant(t.STR, place, one)) for one in modules]
        if name in ("values", "children"):
            return list(modules.values())
        if name == "keys":
            return names
        if name in ("items", "named_children"):
            return [TupleValue([key, one]) for key, one in zip(names, modules.values())]
        if name in ("parameters", "buffers", "named_parameters", "named_buffers"):
            wanted = self.type.parameters if name.endswith("parameters") else self.type.buffers
            found = self._tensors(place, name.endswith("parameters"))
            del wanted
            return [
                TupleValue([Plain(tree.Constant(t.STR, place, key)), one]) if name.startswith("named") else one
                for key, one in found.items()
            ]
        if name in ("modules", "named_modules"):
            every = {"": self, **self._all(place)}
            return [
                TupleValue([Plain(tree.Constant(t.STR, place, key)), one]) if name.startswith("named") else one
                for key, one in every.items()
            ]
        return None

    def _all(self, place: Place) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name, one in self.modules(place).items():
            found[name] = one
            found.update({f"{name}.{key}": inner for key, inner in one._all(place).items()})  # type: ignore[attr-defined]
        return found

    def _tensors(self, place: Place, parameters: bool) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for prefix, one in {"": self, **self._all(place)}.items():
            names = one.type.parameters if parameters else one.type.buffers  # type: ignore[attr-defined]
            for name in names:
                if one.type.attributes.get(name) == t.TENSOR:  # type: ignore[attr-defined]
                    full = f"{prefix}.{name}" if prefix else name
                    found[full] = Plain(tree.Attribute(t.TENSOR, place, one.object, name))  # type: ignore[attr-defined]
        return found

    def elements(self, checker: Any, place: Place) -> list[Value] | None:
        python = self.type.python
        if _is_list(python):
            return list(self.modules(place).values())
        if _is_dict(python):
            return [Plain(tree.Constant(t.STR, place, name)) for name in self.modules(place)]
        method = self.type.method("__iter__") if python is not None and hasattr(python, "__iter__") else None
        if method is not None:
            raise UnsupportedError(f"script: {self.described()} has an __iter__, which isn't supported", place)
        raise CompileError(
            f"script: {self.described()} is not iterable: only ModuleList, ModuleDict and Sequential are", place
        )

    def index(self, checker: Any, node: Any, place: Place) -> Value:
        """``module[node]``."""
        modules = self.modules(place)
        if _is_dict(self.type.python):
            key = checker.check(node)
            if isinstance(key, tree.Constant) and key.value in modules:
                return modules[key.value]
            if isinstance(key, tree.Constant):
                raise CompileError(f"script: Key Error, {key.value}: the modules are {', '.join(modules)}", place)
            raise CompileError(
                "script: unable to extract string literal index: a ModuleDict is indexed by names that are known",
                place,
                fix="loop over items(), or annotate the result with an interface",
            )
        if _is_list(self.type.python):
            return checker._of_values(list(modules.values()), node, place)
        return checker.resolver.member(checker, self.object, "__getitem__", place).call(
            checker, [checker.value(node)], {}, place
        )


def _is_list(python: Any) -> bool:
    return isinstance(python, type) and issubclass(python, (nn.ModuleList, nn.Sequential))


def _is_dict(python: Any) -> bool:
    return isinstance(python, type) and issubclass(python, nn.ModuleDict)


class SuperValue(Value):
    """``super()`` in a method of a module."""

    def __init__(self, object: tree.Expression, owner: Any, program: Any) -> None:
        self.object, self.owner, self.program = object, owner, program

    def attribute(self, checker: Any, name: str, place: Place) -> Value:
        from .recursive import method_of

        has = self.object.type
        assert isinstance(has, t.ClassType)
        mro = has.python.__mro__
        for cls in mro[mro.index(self.owner) + 1 :]:
            if name in vars(cls):
                method = method_of(has, name, vars(cls)[name], cls)
                return MethodOnClass(self.object, method)
        raise CompileError(f"script: super() has no attribute {name}", place)


class MethodOnClass(Value):
    """A method of a base class, of ``self``."""

    def __init__(self, object: tree.Expression, method: Any) -> None:
        self.object, self.method = object, method

    def call(self, checker: Any, given: list[Value], named: dict[str, Value], place: Place) -> Value:
        return FunctionValue(self.method).call(checker, [Plain(self.object), *given], named, place)
