"""Where custom ops are found: ``polyad.ops.mylib.scale`` with its overloads, as ops of PyTorch's are.

`DEFINED` is what there is; packets and overloads are made once, when they are asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from ..aten.overloads import NAMESPACES, OpNamespace, OpOverload, OpOverloadPacket
from ..compatibility.moved import MOVED
from ..errors import ArgumentTypeError

if TYPE_CHECKING:
    from .definition import CustomOpDef

__all__ = ["DEFINED", "CustomPacket", "Namespace", "namespace", "show"]

DEFINED: dict[str, CustomOpDef] = {}
"""Every custom op by name, "mylib::scale" or "mylib::scale.out"."""


class CustomOverload(OpOverload):
    """A custom op as an op of PyTorch's: ``polyad.ops.mylib.scale.default``."""

    def __init__(self, packet: OpOverloadPacket, overload: str, op: CustomOpDef) -> None:
        super().__init__(packet, overload, op)
        self._schema: Any = op.schema

    def name(self) -> str:
        """``mylib::scale``, ``mylib::scale.out``."""
        return self._call.name  # type: ignore[attr-defined,no-any-return]


class CustomPacket(OpOverloadPacket):
    """The custom ops of one name, by overload; called, it is the first that takes the arguments."""

    def __getattr__(self, name: str) -> OpOverload:
        op = DEFINED.get(_path_of_overload(self._qualified_op_name, name)) if not name.startswith("_") else None
        if op is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        found = self._overloads.get(name)
        if found is None or found._call is not op:
            found = self._overloads[name] = CustomOverload(self, name, op)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the overload that takes these arguments."""
        names = self.overloads()
        for name in names[:-1]:
            overload = getattr(self, name)
            try:
                overload._call.bound(args, kwargs)
            except ArgumentTypeError:
                continue
            return overload(*args, **kwargs)
        return getattr(self, names[-1])(*args, **kwargs)

    def overloads(self) -> list[str]:
        """The names of its overloads."""
        name = self._qualified_op_name
        return [path[len(name) + 1 :] or "default" for path in DEFINED if path == name or path.startswith(f"{name}.")]


def _path_of_overload(name: str, overload: str) -> str:
    return name if overload == "default" else f"{name}.{overload}"


class Namespace(OpNamespace):
    """``polyad.ops.mylib``: the custom ops of a namespace; there is one for any name, also if it is empty."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._packets: dict[str, CustomPacket] = {}

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__") or not any(
            path == f"{self.name}::{name}" or path.startswith(f"{self.name}::{name}.") for path in DEFINED
        ):
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return self._packets.setdefault(name, CustomPacket(self.name, name))

    def __dir__(self) -> list[str]:
        begin = f"{self.name}::"
        return sorted({path[len(begin) :].partition(".")[0] for path in DEFINED if path.startswith(begin)})


def namespace(name: str) -> OpNamespace:
    """The namespace of that name, made at its first use."""
    return NAMESPACES.setdefault(name, Namespace(name))


def show(path: str) -> None:
    """Let the op *path* be found below ``polyad.ops``, also where a family of polyad's has the namespace's name."""
    space, _, rest = path.partition("::")
    name = rest.partition(".")[0]
    if f"polyad.ops.{space}" in MOVED or importlib.util.find_spec(f"polyad.ops.{space}") is None:
        namespace(space)
        return
    family = importlib.import_module(f"polyad.ops.{space}")
    if not hasattr(family, name):  # what is of the family's stays what it is
        setattr(family, name, getattr(Namespace(space), name))
