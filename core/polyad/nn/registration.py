"""What may be registered in a module, the views of what is, and the errors about what may not."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, Literal, Protocol, TypeVar

from ..errors import ArgumentTypeError, PolyadError

__all__ = ["Members", "ModuleAttributeError", "RegistrationError"]

Kind = Literal["parameter", "buffer", "module"]
M = TypeVar("M")


class RegistrationError(PolyadError, KeyError):
    """A name under which nothing can be registered in a module."""


class ModuleAttributeError(PolyadError, AttributeError):
    """A module has no member of that name, or not of the kind asked for."""


class Registry(Protocol):
    """What registration needs to know of a module: the names it has entered, and how to enter one."""

    _kinds: dict[str, Kind]
    _non_persistent_buffers_set: set[str]

    def _put(self, kind: Kind, name: str, value: Any, persistent: bool = True) -> None: ...


class Members(MutableMapping[str, M | None]):
    """The members of one kind of a module, by name, in order of registration; a view, through which they can change."""

    __slots__ = ("_kind", "_module")

    def __init__(self, module: Registry, kind: Kind) -> None:
        self._module = module
        self._kind = kind

    def __getitem__(self, name: str) -> Any:
        if self._module._kinds.get(name) != self._kind:
            raise KeyError(name)
        return self._module.__dict__[name]

    def __setitem__(self, name: str, value: M | None) -> None:
        self._module._put(self._kind, name, value, name not in self._module._non_persistent_buffers_set)

    def __delitem__(self, name: str) -> None:
        if self._module._kinds.get(name) != self._kind:
            raise KeyError(name)
        delattr(self._module, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, kind in self._module._kinds.items() if kind == self._kind])

    def __len__(self) -> int:
        return sum(kind == self._kind for kind in self._module._kinds.values())

    def __repr__(self) -> str:
        return repr(dict(self))


def check_name(module: Registry, kind: Kind, name: str, replace: bool = False) -> None:
    """Raise unless *name* can be registered in *module*; with *replace*, an attribute of the instance may make way."""
    cls = type(module)
    kinds = module.__dict__.get("_kinds")
    if kinds is None:
        raise ModuleAttributeError(
            f"{cls.__name__}: {kind} {name!r} cannot be assigned before Module.__init__() was called",
            fix=f"call super().__init__() first in {cls.__name__}.__init__",
        )
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"register_{kind}: name must be a str, not {type(name).__name__}", operands={"name": name}
        )
    if "." in name:
        raise RegistrationError(
            f"register_{kind}: name {name!r} contains a dot, which separates the levels of a model",
            fix="use an underscore, or register it in the submodule",
        )
    if not name:
        raise RegistrationError(f"register_{kind}: name is empty", fix="give it a name")
    if hasattr(cls, name) if replace else kinds.get(name) != kind and hasattr(module, name):
        raise RegistrationError(
            f"register_{kind}: {cls.__name__} already has an attribute {name!r}", fix="choose another name"
        )


def not_a(where: str, name: str, wanted: str, value: Any, fix: str) -> ArgumentTypeError:
    """The error about a value of the wrong kind."""
    return ArgumentTypeError(
        f"{where}: {name!r} takes {wanted}, not {type(value).__name__}", operands={name: value}, fix=fix
    )
