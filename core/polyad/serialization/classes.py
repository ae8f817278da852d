"""Classes that PyTorch's files may name: those that the program allows, and how their objects are made.

    weights_only=True    what `add_safe_globals` listed, and dataclasses that `register_dataclass` was told of
    weights_only=False   in addition, classes of modules that the program has imported, except Python's own; polyad's
                         functions; and for layers and functions of PyTorch polyad's of the same name

What is listed may be called, as in PyTorch. Of the others no constructor is called: an object comes from ``__new__``
and takes its state by its class's ``__setstate__``, or into its attributes. Members of an Enum are looked up by value.

Invariants: nothing is imported for a file; a name is looked up in dicts of modules and classes, never by ``getattr``,
which may run code; while a file is checked nothing is made. Functions of other modules than polyad's are not even
named, since a program might call what it finds in a model.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import enum
import fractions
import sys
import types
import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from ..errors import ArgumentTypeError, safe_repr
from ..interop.pickled_arrays import fill, is_unfilled
from ..nn import functional, modules
from ..tensor import Tensor
from .pickles import Pending, PickleError
from .structure import registered

__all__ = ["FileClasses", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

MOST_MISSING = 1000
_VALUES = (datetime.date, datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal, fractions.Fraction,
           uuid.UUID)  # fmt: skip
"""Python's own classes whose constructors do nothing but make a value."""
_OURS = ("polyad.nn.", "polyad.optim.", "polyad.distributions.")
"""Where the classes are of polyad's own that models are made of; others hold memory and devices."""
_HEAP_TYPE = 1 << 9
"""The flag of classes that were made by a ``class`` statement: others come from libraries in C."""
_BAGS = (argparse.Namespace, types.SimpleNamespace)

_listed: list[Any] = []


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let files name these classes and functions, and call them when they are loaded.

    An entry may be a pair of a class and the name by which files know it: ``(Net, "old_module.Net")``.

    Raises:
        TypeError: an entry that is neither.

    >>> import argparse, io, polyad
    >>> file = io.BytesIO()
    >>> polyad.save(argparse.Namespace(lr=0.1), file, format="torch")
    >>> with polyad.serialization.safe_globals([argparse.Namespace]):
    ...     _ = file.seek(0)
    ...     polyad.load(file)
    Namespace(lr=0.1)
    """
    given = list(safe_globals)
    for one in given:
        if not callable(one) and not (
            type(one) is tuple and len(one) == 2 and callable(one[0]) and type(one[1]) is str
        ):
            raise ArgumentTypeError(
                f"add_safe_globals: {safe_repr(one)} is no class or function",
                fix='pass classes, or pairs of a class and its name in files: (Net, "module.Net")',
            )
    _listed.extend(one for one in given if one not in _listed)


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` was given.

    >>> import polyad
    >>> with polyad.serialization.safe_globals([dict]):
    ...     polyad.serialization.get_safe_globals()
    [<class 'dict'>]
    """
    return list(_listed)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` was given."""
    _listed.clear()


class safe_globals:
    """A context in which files may name further classes; see `add_safe_globals`."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self._added = list(safe_globals)

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._added)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _listed[:] = self._before


def _by_name() -> dict[str, Any]:
    return {
        one[1] if type(one) is tuple else f"{one.__module__}.{one.__qualname__}": one[0] if type(one) is tuple else one
        for one in _listed
        if type(one) is tuple or hasattr(one, "__qualname__")
    }


class FileClasses:
    """The classes that one file names.

    Attributes:
        is_checked: whether objects may be made. Before, `Pending` stands for them.
        missing: names that are not allowed, as far as the file was checked.
    """

    def __init__(self, trusted: bool) -> None:
        self._trusted = trusted
        self._safe = _by_name()
        self._callable: dict[int, Any] = {id(one): one for one in self._safe.values()}
        self._made: dict[int, Any] = {}
        self.is_checked = False
        self.missing: dict[str, None] = {}

    def named(self, module: str, name: str) -> Any:
        """What stands for a class or function, a `Pending` if the file is only checked."""
        module = "builtins" if module == "__builtin__" else module  # as protocol 2 has it
        full = f"{module}.{name}"
        found = self._safe.get(full) or registered(full)
        if found is None and self._trusted:
            found = _imported(module, name)
        if found is None:
            self._miss(full)
        return found if self.is_checked and found is not None else Pending(found)

    def _miss(self, name: str) -> None:
        if self.is_checked or len(self.missing) > MOST_MISSING:
            raise PickleError(f"it needs {name}, which is code, not data")
        self.missing[name] = None

    def make(self, function: Any, arguments: tuple[Any, ...], new: bool) -> Any:
        """The object that calling it, or its ``__new__``, gives."""
        one = function.named if isinstance(function, Pending) else function
        is_class = isinstance(one, type) and not issubclass(one, type)
        if isinstance(function, Pending) and one is None:
            return Pending()
        if not (is_class or callable(one)) or (not isinstance(function, Pending) and not self.is_checked):
            raise PickleError("it calls what is no function")
        news = new and is_class and not issubclass(one, Tensor)
        if not (news or id(one) in self._callable or _is_value(one, arguments)):
            self._miss(f"{one.__module__}.{one.__qualname__}")
            return Pending()
        if not self.is_checked:
            return Pending(kind=one if is_class else None)
        try:
            made = one.__new__(one, *arguments) if news else one(*arguments)
        except Exception as error:
            raise PickleError(f"{one.__qualname__} cannot be made of what it says: {error}") from error
        if not isinstance(made, type):
            self._made[id(made)] = made
        return made

    def made(self, target: Any) -> bool:
        """Whether `make` gave it, or it is NumPy's and takes a state."""
        return is_unfilled(target) or (self._made.get(id(target)) is target and target is not None)

    def set_state(self, target: Any, state: Any) -> None:
        """Give an object its state as Python's unpickler does."""
        if is_unfilled(target):
            fill(target, state)
            return
        setter = getattr(type(target), "__setstate__", None)
        if setter is not None:
            try:
                setter(target, state)
            except Exception as error:
                raise PickleError(
                    f"{type(target).__qualname__} does not take the state that it has: {error}"
                ) from error
            return
        slots = None
        if type(state) is tuple and len(state) == 2:
            state, slots = state
        for values in (state, slots):
            if values is not None and not (type(values) is dict and all(type(key) is str for key in values)):
                raise PickleError(f"it gives {type(target).__name__} a state that is no dict")
        if state:
            target.__dict__.update(state)
        for key, value in (slots or {}).items():
            object.__setattr__(target, key, value)

    def check(self) -> None:
        """Raise PickleError if the file names what it may not, with all of the names."""
        if self.missing:
            names = list(self.missing)
            shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
            error = PickleError(f"it needs {shown}, which is code, not data")
            error.fix = self._fix(names)
            raise error

    def _fix(self, names: list[str]) -> str:
        lines = []
        for name in names[:3]:
            module, _, attribute = name.rpartition(".")
            lines.append(f"from {module} import {attribute}; polyad.serialization.add_safe_globals([{attribute}])")
        allow = "; ".join(lines)
        if self._trusted:
            return f"if you know what it does: {allow}"
        return (
            "have the state_dict()s saved; or, if you trust who wrote the file, pass weights_only=False, which makes "
            f"objects of the classes that the program has imported, or allow just these: {allow}"
        )


def _is_value(one: Any, arguments: tuple[Any, ...]) -> bool:
    """Whether calling it does nothing but look up or make a value."""
    if not isinstance(one, type):
        return False
    if issubclass(one, enum.Enum):
        return len(arguments) == 1 and len(one.__members__) > 0
    return (
        one in _VALUES or one is datetime.datetime or (issubclass(one, Tensor) and one.__module__.startswith("polyad."))
    )


def _twin(module: str, name: str) -> Any:
    """polyad's layer or function for PyTorch's; None if it has none."""
    if module in ("torch.nn.functional", "torch._C._nn"):
        function = vars(functional).get(name)
        return function if isinstance(function, types.FunctionType) else None
    if not module.startswith("torch.nn.modules."):
        return None
    home = sys.modules.get(f"polyad{module.removeprefix('torch')}")
    layer = vars(modules).get(name) or (None if home is None else vars(home).get(name))
    return layer if isinstance(layer, type) and issubclass(layer, modules.Module) else None


def _imported(module: str, name: str) -> Any:
    """A class of a module that is imported, or a function of polyad's; None for anything else."""
    if module.startswith("torch."):
        return _twin(module, name)
    holder: Any = sys.modules.get(module)
    for part in name.split("."):
        if not isinstance(holder, type | types.ModuleType):
            return None
        holder = vars(holder).get(part)
    if isinstance(holder, type):
        theirs = str(holder.__module__).partition(".")[0]
        if theirs in sys.stdlib_module_names:
            return holder if holder in (*_VALUES, *_BAGS, datetime.datetime) else None
        is_ours = theirs == "polyad" or theirs.startswith("polyad_")
        of_python = holder.__flags__ & _HEAP_TYPE and not issubclass(holder, type)
        return holder if of_python and (not is_ours or str(holder.__module__).startswith(_OURS)) else None
    is_ours = isinstance(holder, types.FunctionType) and str(holder.__module__).startswith("polyad.")
    return holder if is_ours else None
