"""What may be registered in a module, the views of what is, and the errors about what may not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Literal, Protocol, TypeVar

from ..errors import ArgumentTypeError, PolyadError, safe_repr, wrong_type

__all__ = ["Members", "ModuleAttributeError", "RegistrationError"]

Role = Literal["parameter", "buffer", "module"]
M = TypeVar("M")


REGISTERED: dict[Role, dict[int, Callable[..., Any]]] = {"parameter": {}, "buffer": {}, "module": {}}
"""The hooks that see what is registered in all modules; see `polyad.nn.hook_methods`."""


class RegistrationError(PolyadError, KeyError):
    """A name under which nothing can be registered in a module."""


class ModuleAttributeError(PolyadError, AttributeError):
    """A module has no member of that name, or not in the role asked for."""


class Registry(Protocol):
    """What registration needs to know of a module: the names it has entered, and how to enter a name."""

    _roles: dict[str, Role]
    _non_persistent_buffers_set: set[str]

    def _put(self, role: Role, name: str, value: Any, persistent: bool = True) -> None: ...


class Members(MutableMapping[str, M | None]):
    """The members of a module in a role, by name, in order of registration; a view, through which they can change."""

    __slots__ = ("_module", "_role")

    def __init__(self, module: Registry, role: Role) -> None:
        self._module = module
        self._role = role

    def __getitem__(self, name: str) -> Any:
        if self._module._roles.get(name) != self._role:
            raise KeyError(name)
        return self._module.__dict__[name]

    def __setitem__(self, name: str, value: M | None) -> None:
        self._module._put(self._role, name, value, name not in self._module._non_persistent_buffers_set)

    def __delitem__(self, name: str) -> None:
        if self._module._roles.get(name) != self._role:
            raise KeyError(name)
        delattr(self._module, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, role in self._module._roles.items() if role == self._role])

    def __len__(self) -> int:
        return sum(role == self._role for role in self._module._roles.values())

    def __repr__(self) -> str:
        return repr(dict(self))


def check_name(module: Registry, role: Role, name: str, replace: bool = False) -> None:
    """Raise unless *name* can be registered in *module*; with *replace*, an attribute of the instance may make way."""
    cls = type(module)
    roles = module.__dict__.get("_roles")
    if roles is None:
        raise ModuleAttributeError(
            f"{cls.__name__}: {role} {safe_repr(name)} cannot be assigned before Module.__init__() was called",
            fix=f"call super().__init__() first in {cls.__name__}.__init__",
        )
    if not isinstance(name, str):
        raise wrong_type(f"register_{role}", "name", name, "a str")
    if "." in name:
        raise RegistrationError(
            f"register_{role}: name {safe_repr(name)} contains a dot, which separates the levels of a model",
            fix="use an underscore, or register it in the submodule",
        )
    if not name:
        raise RegistrationError(f"register_{role}: name is empty", fix="give it a name")
    if hasattr(cls, name) if replace else roles.get(name) != role and hasattr(module, name):
        raise RegistrationError(
            f"register_{role}: {cls.__name__} already has an attribute {safe_repr(name)}", fix="choose another name"
        )


def not_a(where: str, name: str, wanted: str, value: Any, fix: str) -> ArgumentTypeError:
    """The error about a value of the wrong type."""
    return ArgumentTypeError(
        f"{where}: {safe_repr(name)} takes {wanted}, not {type(value).__name__}", operands={name: value}, fix=fix
    )
