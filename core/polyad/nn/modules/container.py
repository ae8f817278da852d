"""Modules that hold other modules, or parameters, in order or by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, overload

from ...arguments import check_type, check_within
from ...errors import ArgumentError, ArgumentTypeError, IndexOutOfRange
from .module import Module, indent

__all__ = ["ModuleDict", "ModuleList", "Sequential"]

S = TypeVar("S", bound="Sequential")
L = TypeVar("L", bound="ModuleList")


def position(index: Any, length: int, name: str) -> int:
    """*index* as a place between 0 and length - 1."""
    try:
        at = operator.index(index)
    except TypeError:
        raise ArgumentTypeError(
            f"{name}: an index must be an int or a slice, not {type(index).__name__}",
            operands={"index": index},
            fix="pass an int or a slice",
        ) from None
    if not -length <= at < length:
        raise IndexOutOfRange(
            f"{name}: index {at} is out of range, the length is {length}",
            fix=f"choose an index in [{-length}, {length})",
        )
    return at % length


def check_pairs(op: str, given: Any, what: str) -> list[tuple[str, Any]]:
    """The (name, value) pairs that *given* has. Raises TypeError for what is no pair, ValueError for another length."""
    if not isinstance(given, Iterable):
        raise ArgumentTypeError(
            f"{op}: takes a mapping or (name, {what}) pairs, not {type(given).__name__}",
            operands={f"{what}s": given},
            fix=f"pass a dict of {what}s",
        )
    pairs, fix = list(given), f"pass a dict of {what}s, or a list of pairs"
    for at, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            message = f"{op}: element {at} must be a (name, {what}) pair"
            raise ArgumentTypeError(message, operands={"element": pair}, fix=fix)
        if len(tuple(pair)) != 2:
            message = f"{op}: element {at} has length {len(tuple(pair))}, a (name, {what}) pair has 2"
            raise ArgumentError(message, fix=fix)
    return pairs


class _ModuleSequence(Module):
    """What `Sequential` and `ModuleList` share: submodules named "0", "1", ... in order."""

    def _renumber(self, modules: Iterable[Module | None]) -> None:
        modules = list(modules)
        self._modules.clear()
        for position, module in enumerate(modules):
            self._put("module", str(position), module)

    def _check(self, module: Any) -> Module | None:
        """*module*, if it is a module, or None: a place that is kept free."""
        checked: Module | None = check_type(self._get_name(), "module", module, (Module, type(None)), "a Module")
        return checked

    def _name_at(self, index: Any) -> str:
        return list(self._modules)[position(index, len(self._modules), self._get_name())]

    def __setitem__(self, index: int, module: Module | None) -> None:
        setattr(self, self._name_at(index), self._check(module))

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        doomed = names[index] if isinstance(index, slice) else [self._name_at(index)]
        self._renumber([module for name, module in self._modules.items() if name not in doomed])

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        values = self.__dict__
        return iter([values[name] for name, role in self._roles.items() if role == "module"])

    def pop(self, key: int | slice) -> Any:
        """Remove the module at *key* and return it."""
        module = self[key]  # type: ignore[index]
        del self[key]
        return module


class Sequential(_ModuleSequence):
    """Calls its modules one after the other, each on the result of the module before.

    Args:
        args: the modules in order, or an OrderedDict of modules by name.

    Raises:
        TypeError: an argument is no module.

    >>> from polyad import nn
    >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    >>> model[1]
    ReLU()
    >>> model
    Sequential(
      (0): Linear(in_features=4, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for position, module in enumerate(args):
                self.add_module(str(position), module)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self: S, index: slice) -> S: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [self._name_at(index)]:
            delattr(self, name)
        if all(name.isdigit() for name in self._modules):
            self._renumber(self._modules.values())

    def __add__(self, other: Any) -> Sequential:
        check_type("Sequential + other", "other", other, Sequential, "a Sequential", ArgumentError)
        return Sequential(*self, *other)

    def __iadd__(self: S, other: Any) -> S:
        check_type("Sequential += other", "other", other, Sequential, "a Sequential", ArgumentError)
        return self.extend(list(other))

    def __mul__(self, times: Any) -> Sequential:
        return Sequential(*list(self) * self._check_times(times))

    def __rmul__(self, times: Any) -> Sequential:
        return self.__mul__(times)

    def __imul__(self: S, times: Any) -> S:
        return self.extend(list(self) * (self._check_times(times) - 1))

    def _check_times(self, times: Any) -> int:
        count: int = check_type("Sequential * times", "times", times, int, "an int")
        if count <= 0:
            raise ArgumentError(f"Sequential * times: times must be positive, not {count}", fix="pass 1 or more")
        return count

    def forward(self, input: Any) -> Any:
        """Pass *input* through all modules in order."""
        for module in self:
            if module is None:
                raise ArgumentTypeError(
                    "Sequential: a module is None, which cannot be called",
                    fix="leave it out, or put an nn.Identity() there",
                )
            input = module(input)
        return input

    def append(self: S, module: Module | None) -> S:
        """Add *module* at the end. Returns self."""
        self.add_module(str(len(self)), self._check(module))
        return self

    def insert(self: S, index: int, module: Module | None) -> S:
        """Put *module* before position *index*; the positions after it move up by one. Returns self."""
        self._check(module)
        check_within("Sequential.insert", "index", index, -len(self), len(self) + 1, IndexOutOfRange, "a place")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self: S, sequential: Iterable[Module | None]) -> S:
        """Add modules at the end. Returns self."""
        for module in list(sequential):
            self.append(module)
        return self


class ModuleList(_ModuleSequence):
    """A list of modules that are registered; it has no forward of its own. None keeps a place free.

    Raises:
        TypeError: an element is neither a module nor None.

    >>> from polyad import nn
    >>> nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])
    ModuleList(
      (0-1): 2 x ReLU()
      (2): Tanh()
    )
    """

    def __init__(self, modules: Iterable[Module | None] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self: L, index: slice) -> L: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._name_at(index)]

    def __iadd__(self: L, modules: Iterable[Module | None]) -> L:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module | None]) -> ModuleList:
        return ModuleList([*self, *other])

    def append(self: L, module: Module | None) -> L:
        """Add *module* at the end. Returns self."""
        self.add_module(str(len(self)), self._check(module))
        return self

    def insert(self, index: int, module: Module | None) -> None:
        """Put *module* before position *index*, as list.insert does."""
        modules = list(self)
        modules.insert(index, self._check(module))
        self._renumber(modules)

    def extend(self: L, modules: Iterable[Module | None]) -> L:
        """Add modules at the end. Returns self."""
        check_type("ModuleList", "modules", modules, Iterable, "an iterable of Modules")
        for module in [self._check(module) for module in modules]:
            self.append(module)
        return self

    def __repr__(self) -> str:
        texts = [repr(module) for module in self]
        if not texts:
            return f"{self._get_name()}()"
        lines = []
        first = 0
        for position in range(1, len(texts) + 1):
            if position < len(texts) and texts[position] == texts[first]:
                continue
            count = position - first
            label = f"({first})" if count == 1 else f"({first}-{position - 1})"
            lines.append(f"{label}: {'' if count == 1 else f'{count} x '}{indent(texts[first])}")
            first = position
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """Modules by name, registered, in order of insertion; it has no forward of its own.

    Raises:
        TypeError: a name is no string or a value no module.

    >>> from polyad import nn
    >>> choices = nn.ModuleDict({"relu": nn.ReLU()})
    >>> choices["tanh"] = nn.Tanh()
    >>> list(choices)
    ['relu', 'tanh']
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove the module called *key* and return it. Raises KeyError if there is none."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names and modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules from a mapping or from (name, module) pairs, replacing those of the same name."""
        modules = modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules
        for name, module in check_pairs("ModuleDict.update", modules, "module"):
            self[name] = module
