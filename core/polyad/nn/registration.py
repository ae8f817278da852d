"""What may be registered in a module, and the errors about what may not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentTypeError, PolyadError

if TYPE_CHECKING:
    from .module import Module

__all__ = ["ModuleAttributeError", "RegistrationError"]


class RegistrationError(PolyadError, KeyError):
    """A name under which nothing can be registered in a module."""


class ModuleAttributeError(PolyadError, AttributeError):
    """A module has no member of that name, or not of the kind asked for."""


def check_name(module: Module, kind: str, name: str, registry: Mapping[str, Any]) -> None:
    """Raise unless *name* can be a key of one of *module*'s registries."""
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
    if name not in registry and hasattr(module, name):
        raise RegistrationError(
            f"register_{kind}: {type(module).__name__} already has an attribute {name!r}", fix="choose another name"
        )


def init_not_called(module: Module, kind: str, name: str) -> ModuleAttributeError:
    """The error about an assignment that came too early."""
    cls = type(module).__name__
    return ModuleAttributeError(
        f"{cls}: {kind} {name!r} cannot be assigned before Module.__init__() was called",
        fix=f"call super().__init__() first in {cls}.__init__",
    )


def not_a(where: str, name: str, wanted: str, value: Any, fix: str) -> ArgumentTypeError:
    """The error about a value of the wrong kind."""
    return ArgumentTypeError(
        f"{where}: {name!r} takes {wanted}, not {type(value).__name__}", operands={name: value}, fix=fix
    )
