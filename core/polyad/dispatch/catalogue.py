"""What is declared, by name: ops, the public functions of tensors, and the attributes of Tensor.

A name is enough to reach an op from below: what dispatch needs of creation, or a tensor of printing, it looks up here
instead of importing it. Modules that declare ops are loaded when one of their names is first looked up; which module
declares which name is told by an index (`polyad.ops.declared_names`), so a program never loads the families that it
does not use.

Invariant: who gets an entry gets it with all that its module says of it, gradients included, even if another thread is
loading that module at the same moment.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .declared import Attribute, Function, Op

V = TypeVar("V")


class Catalogue(MutableMapping[str, V]):
    """Entries by name, each loaded with its module when it is first asked for. To iterate loads everything.

    Raises KeyError for a name that neither a loaded module nor the index has.
    """

    def __init__(self) -> None:
        self._entries: dict[str, V] = {}
        self._home: dict[str, str] = {}  # of names whose modules may not be loaded yet
        self._watchers: list[Callable[[str], None]] = []

    def index(self, homes: Mapping[str, str]) -> None:
        """Say which module declares which name."""
        self._home.update(homes)

    def on_new(self, watcher: Callable[[str], None]) -> None:
        """Call *watcher* with each name that is declared from now on and is not in the index."""
        self._watchers.append(watcher)

    def declare(self, name: str, entry: V) -> None:
        """Add the entry that a module declares. Raises TypeError if another entry has that name."""
        self.check_free(name, entry.module)  # type: ignore[attr-defined]
        self._entries[name] = entry
        if name not in self._home:
            for watcher in self._watchers:
                watcher(name)

    def check_free(self, name: str, module: str) -> None:
        """Raise TypeError unless *module* may declare *name*."""
        known = self._entries.get(name)
        home = self._home.get(name, module) if known is None else known.module  # type: ignore[attr-defined]
        if known is not None or home != module:
            raise TypeError(f"{name} is declared twice: in {home} and {module}")

    def loaded(self) -> list[V]:
        """The entries whose modules are loaded."""
        return list(self._entries.values())

    def names(self) -> set[str]:
        """All names, without loading anything."""
        return {*self._entries, *self._home}

    def _load(self, name: str) -> None:
        home = self._home.get(name)
        if home is not None:
            module = importlib.import_module(home)  # waits for another thread that is loading it
            if name in self._entries and not getattr(module.__spec__, "_initializing", False):
                self._home.pop(name, None)

    def _load_all(self) -> None:
        for name in list(self._home):
            self._load(name)

    def __getitem__(self, name: str) -> V:
        if self._home:
            self._load(name)
        try:
            return self._entries[name]
        except KeyError:
            if name not in self._home:
                raise
            raise KeyError(
                f"{name} is not declared in {self._home[name]}: the index is old, or polyad is imported a second time"
            ) from None

    def __setitem__(self, name: str, entry: V) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._home

    def __iter__(self) -> Iterator[str]:
        self._load_all()
        return iter(self._entries)

    def __len__(self) -> int:
        self._load_all()
        return len(self._entries)


OPS: Catalogue[Op] = Catalogue()
"""Every op by name."""

PUBLIC: Catalogue[Function] = Catalogue()
"""Every public function of tensors by its name under ``polyad`` ("exp", "linalg.svd"), whether it is an op or calls
ops: the functions behind `polyad.*` and the Tensor methods."""

ATTRIBUTES: Catalogue[Attribute] = Catalogue()
"""Every method, in-place form and property of Tensor that a module declares, by name: "exp", "exp_", "real". Operators
that stand for ops are in `polyad.ops.declaring.attach`."""


def functions_of(namespace: str, scope: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a module, with the globals *scope*, that shows the public functions
    declared for *namespace*. A function is looked up once; from then on the module has it.
    """
    prefix = namespace and f"{namespace}."

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # of `from polyad.linalg import *`
            return [shown for shown in __dir__() if not shown.startswith("_")]
        public = PUBLIC.get(prefix + name)
        if public is None or "." in name:
            raise AttributeError(f"module {scope['__name__']!r} has no attribute {name!r}")
        scope[name] = public.call
        return public.call

    def __dir__() -> list[str]:
        mine = {path[len(prefix) :] for path in PUBLIC.names() if path.startswith(prefix)}
        return sorted({*scope, *(name for name in mine if "." not in name)} - {"functions_of"})

    return __getattr__, __dir__
