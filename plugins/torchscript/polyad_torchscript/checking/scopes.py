"""Which names a program knows where: scopes of blocks, one within another, and how branches join."""

from __future__ import annotations

from collections.abc import Iterable

from ..language.source import CompileError, Place
from ..types import types as t
from ..types.types import Type
from .values import Plain, Value

__all__ = ["Scope"]


class Scope:
    """The names that a block sets, with what they mean.

    Attributes:
        parent: the scope around it.
        own: whether what is set in it is its own, whatever the names mean outside: of a function, a comprehension.
        exits: whether the block ends by return, raise, break or continue.
        undefined: names that are not set on every way here, with why.
        declared: the types that annotations give to names.
    """

    def __init__(self, parent: Scope | None = None, loop: bool = False, own: bool = False) -> None:
        self.parent, self.loop, self.own = parent, loop, own
        self.names: dict[str, Value] = {}
        self.undefined: dict[str, str] = {}
        self.declared: dict[str, Type] = {}
        self.exits = False

    def find(self, name: str) -> Value | None:
        """What *name* means here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            if name in scope.undefined:
                return None
            scope = scope.parent
        return None

    def find_outside(self, name: str) -> Value | None:
        """What *name* means in the blocks around this one, of the same function."""
        return None if self.own or self.parent is None else self.parent.find_within(name)

    def find_within(self, name: str) -> Value | None:
        """What *name* means in this block and those around it, of the same function."""
        if name in self.names:
            return self.names[name]
        return None if name in self.undefined else self.find_outside(name)

    def why_undefined(self, name: str) -> str | None:
        """Why *name* has no meaning here although something sets it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.undefined:
                return scope.undefined[name]
            scope = scope.parent
        return None

    def set(self, name: str, value: Value) -> None:
        """Let *name* mean *value* from here on."""
        self.names[name] = value
        self.undefined.pop(name, None)

    def forget(self, name: str, why: str) -> None:
        """Let *name* mean nothing from here on."""
        self.names.pop(name, None)
        self.undefined[name] = why

    def in_loop(self) -> bool:
        """Whether a loop is around it."""
        scope: Scope | None = self
        while scope is not None:
            if scope.loop:
                return True
            scope = None if scope.own else scope.parent
        return False

    def join(self, then: Scope, other: Scope, place: Place, make: object) -> None:
        """Take over what two branches set; *make* is called with a name and a type and gives the value."""
        if then.exits and other.exits:
            self.exits = True
            return
        if then.exits or other.exits:
            self._take(other if then.exits else then)
            return
        for name in dict.fromkeys((*then.names, *other.names, *then.undefined, *other.undefined)):
            first, second = then.find(name), other.find(name)
            if first is None or second is None:
                if first is second:
                    self.forget(name, then.why_undefined(name) or other.why_undefined(name) or "is not defined")
                else:
                    self.forget(name, f"is not defined in the {'true' if first is None else 'false'} branch")
                continue
            self._join_name(name, first, second, place, make)

    def _join_name(self, name: str, first: Value, second: Value, place: Place, make: object) -> None:
        if not isinstance(first, Plain) or not isinstance(second, Plain):
            if first is second:
                return
            raise CompileError(
                f"script: {name} is {first.described()} in the true branch and {second.described()} in the other",
                place,
                fix="only values can be chosen by a condition: call in both branches",
            )
        both = t.unify(first.type, second.type)
        before = self.find(name)
        if both is None and isinstance(before, Plain):
            known = before.type
            both = known if t.is_subtype(first.type, known) and t.is_subtype(second.type, known) else None
        if both is None:
            message = (
                f"Type mismatch: {name} is set to type {first.type} in the true branch and type "
                f"{second.type} in the false branch"
            )
            raise CompileError(f"script: {message}", place, fix="give both the same type, or annotate it before the if")
        self.set(name, make(name, both))  # type: ignore[operator]

    def _take(self, branch: Scope) -> None:
        for name, value in branch.names.items():
            self.set(name, value)
        for name, why in branch.undefined.items():
            self.forget(name, why)

    def leave_loop(self, body: Scope, names: Iterable[str]) -> None:
        """After a loop: what only its body set is not defined."""
        for name in names:
            if self.find(name) is None:
                self.undefined[name] = "is set in a loop only, which may make no trip"
