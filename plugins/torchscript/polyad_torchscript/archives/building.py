"""From a program to the module that runs it, with nothing of the file's run on the way.

First all is checked: operators that polyad lacks are told together, then types, function by function. Then modules are
made, with parameters, buffers and attributes.
"""

from __future__ import annotations

from typing import Any

from polyad.errors import NotSupported, PolyadError, SerializationError
from polyad.nn.modules.module import Module
from polyad.nn.parameter import Parameter
from polyad.tensor import Tensor

from ..language.source import CompileError
from ..modules.recursive import RecursiveScriptModule
from ..running.values import is_value_of
from ..types import types as t
from .objects import ScriptObject
from .program import Program
from .unit import ArchiveUnit

__all__ = ["build", "checked_unit"]

_OWN = frozenset(vars(Module())) | {"_script_type", "_unit", "original_name", "_python", "forward"}
"""Names that no attribute of a program may have."""


def checked_unit(program: Program) -> ArchiveUnit:
    """The texts of *program*, all of whose functions are checked.

    Raises:
        RuntimeError (SerializationError): texts that cannot be read, or break the rules.
        NotImplementedError: operators that polyad does not have, all of them by name.
    """
    try:
        unit = ArchiveUnit(program.sources, list(program.constants))
        missing = unit.missing()
        if missing:
            raise NotSupported(
                f"load: {program.name} calls {len(missing)} operators that polyad does not have",
                notes={"missing": ", ".join(missing)},
                fix="replace them in the model, or ask for them: docs/torchscript.md says how operators are added",
            )
        unit.check()
    except CompileError as error:
        raise _refused(program, str(error)) from error
    except (RecursionError, MemoryError):
        raise _refused(program, "its program is nested too deeply") from None
    except (ValueError, TypeError, AttributeError, AssertionError, KeyError, IndexError) as error:
        raise _refused(program, f"{type(error).__name__}: {error}") from error  # what no program of PyTorch's has
    return unit


def _refused(program: Program, why: str) -> SerializationError:
    why = why.removeprefix("load: ").removeprefix("script: ")
    return SerializationError(
        f"load: {program.name} holds a program that cannot be run: {why}",
        fix="use another copy if the file may be damaged; docs/torchscript.md says what of the language is read",
    )


def build(
    unit: ArchiveUnit, root: ScriptObject, name: str, of: type[RecursiveScriptModule] = RecursiveScriptModule
) -> RecursiveScriptModule:
    """The module *root*, of a program whose texts, *unit*, are checked.

    Raises:
        RuntimeError (SerializationError): an object that has not what its class says.
    """
    try:
        return _Building(unit).module(root, of)
    except (PolyadError, RecursionError) as error:
        why = getattr(error, "message", "") or "its objects are nested too deeply"
        raise SerializationError(
            f"load: {name} holds objects that cannot be made: {why}", fix="use another copy: the file is damaged"
        ) from error


class _Building:
    def __init__(self, unit: ArchiveUnit) -> None:
        self.unit = unit
        self.made: dict[int, Any] = {}
        self.parameters: dict[Any, Parameter] = {}

    def module(
        self, one: ScriptObject, of: type[RecursiveScriptModule] = RecursiveScriptModule
    ) -> RecursiveScriptModule:
        """The module of an object; the same object is the same module."""
        if id(one) in self.made:
            found = self.made[id(one)]
            if found is None:
                raise PolyadError(f"an object of {one.name} holds itself")
            return found
        self.made[id(one)] = None
        kind = self.unit.class_named(one.name)
        if not isinstance(kind, t.ClassType) or not kind.is_module:
            raise PolyadError(f"{one.name} is no class of modules")
        state = self._state(one, kind)
        made = of(kind)
        made.__dict__["_unit"] = self.unit
        for name, type in kind.attributes.items():
            self._set(made, kind, name, type, state[name])
        self.made[id(one)] = made
        return made

    def _state(self, one: ScriptObject, kind: t.ClassType) -> dict[str, Any]:
        if "__setstate__" in kind.methods or not isinstance(one.state, dict):
            raise PolyadError(f"objects of {one.name} say how they are loaded by __setstate__, which is not run")
        lacking = [name for name in kind.attributes if name not in one.state]
        if lacking:
            raise PolyadError(f"an object of {one.name} lacks {', '.join(lacking[:10])}")
        return one.state

    def _set(self, made: RecursiveScriptModule, kind: t.ClassType, name: str, type: t.Type, value: Any) -> None:
        if name == "training":
            if value.__class__ is not bool:
                raise PolyadError(f"{kind}.training is no bool")
            made.__dict__["training"] = value
            return
        if name in _OWN or (name.startswith("__") and name.endswith("__")):
            raise PolyadError(f"{kind} has an attribute {name}, which modules have themselves")
        if isinstance(value, ScriptObject):
            inner = self.unit.class_named(value.name)
            if isinstance(inner, t.ClassType) and inner.is_module:
                made.register_module(name, self.module(value))
                return
        found = self._value(type, value)
        if name in kind.parameters and isinstance(found, Tensor):
            made.register_parameter(name, self._parameter(found))
        elif name in kind.parameters and found is None:
            made.register_parameter(name, None)
        elif name in kind.buffers and (found is None or isinstance(found, Tensor)):
            made.register_buffer(name, found)
        else:
            made.__dict__[name] = found

    def _parameter(self, tensor: Tensor) -> Parameter:
        """The parameter of a tensor; tied ones are one."""
        if isinstance(tensor, Parameter):
            return tensor
        key = (id(tensor._storage) if tensor._storage is not None else id(tensor._array), tuple(tensor.shape),
               tensor.stride(), tensor.storage_offset())  # fmt: skip
        if key not in self.parameters:
            self.parameters[key] = Parameter(tensor.detach(), tensor.requires_grad)
        return self.parameters[key]

    def _value(self, type: t.Type, value: Any) -> Any:
        """An attribute's value, with instances of the program's classes made."""
        if isinstance(value, ScriptObject):
            return self._instance(value)
        found = self.unit.value(type, value)
        if isinstance(found, list):
            return [self._instance(one) if isinstance(one, ScriptObject) else one for one in found]
        if not is_value_of(type, found):
            raise PolyadError(f"an attribute of type {type} has a value of type {found.__class__.__name__}")
        return found

    def _instance(self, one: ScriptObject) -> Any:
        if id(one) in self.made:
            return self.made[id(one)]
        kind = self.unit.class_named(one.name)
        if not isinstance(kind, t.ClassType) or kind.is_module:
            raise PolyadError(f"{one.name} is no class of plain objects")
        found = self.made[id(one)] = kind.python.__new__(kind.python)
        for name, value in self._state(one, kind).items():
            if name in kind.attributes:
                found.__dict__[name] = self._value(kind.attributes[name], value)
        return found
