"""Random numbers of samples: they depend on the epoch's seed and the sample's index, on nothing else.

While samples are read, the generators that a dataset may draw from start anew for each sample: polyad's default
generator, Python's ``random``, NumPy's ``numpy.random``, and every generator that the dataset, its transforms or
``collate_fn`` hold in their attributes, or that their functions name as a global variable. So it makes no difference
which process reads a sample, after which others, and whether an epoch was resumed in its middle. In the loop's own
process the generators are put back afterwards: reading a batch draws nothing from what the loop sees.
"""

from __future__ import annotations

import hashlib
import random
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from polyad.interop import generators as of_numpy
from polyad.random.generator import Generator, default_generator
from polyad.tensor import Tensor

__all__ = ["Randomness", "draw_seed", "held_generators", "mixed", "restorer"]

_DEEPEST = 24
_MOST_ITEMS = 64
"""Items of a list or dict, beyond which it holds data, not transforms."""


def mixed(*parts: Any) -> int:
    """A seed of 63 bits that follows from *parts*: ints, or anything whose ``repr`` says what it is."""
    plain = [part.__index__() if hasattr(part, "__index__") else part for part in parts]
    return int.from_bytes(hashlib.blake2b(repr(plain).encode(), digest_size=8).digest(), "little") >> 1


def draw_seed(generator: Generator | None) -> int:
    """A seed for an epoch: of the next numbers of *generator*, or of the default generator."""
    seed, offset = (generator or default_generator).take(2)
    return mixed("epoch", seed, offset)


class Randomness:
    """The generators that reading a dataset may draw from.

    Attributes:
        held: those that it holds itself.
    """

    def __init__(self, *holders: Any) -> None:
        self.held = held_generators(*holders)
        self._numpy = of_numpy.Numbers()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Inside, generators may be seeded; afterwards they are as before."""
        restorers = [restorer(generator) for generator in (default_generator, random, *self.held)]
        try:
            with self._numpy.drawn():
                yield
        finally:
            for restore in restorers:
                restore()

    def seed(self, number: int) -> None:
        """Start all generators anew, from seeds that follow from *number*."""
        self.seed_global(number)
        self.seed_held(number)

    def seed_global(self, number: int) -> None:
        """Start polyad's, Python's and NumPy's own generators anew."""
        default_generator.manual_seed(number)
        random.seed(number)
        self._numpy.seed(number)

    def seed_held(self, number: int) -> None:
        """Start the generators anew that the dataset holds, each from a seed of its own."""
        for position, generator in enumerate(self.held):
            own = mixed(number, position)
            if isinstance(generator, Generator):
                generator.manual_seed(own)
            elif isinstance(generator, random.Random):
                generator.seed(own)
            else:
                of_numpy.seed_generator(generator, own)


def held_generators(*holders: Any, but_of: Any = None) -> list[Any]:
    """The generators that objects hold, in their attributes and in those of what they hold, in a fixed order; without
    those of *but_of*.
    """
    found: list[Any] = []
    seen: set[int] = {id(default_generator), id(but_of)}
    for holder in holders:
        _collect(holder, found, seen, 0)
    return found


def _collect(value: Any, found: list[Any], seen: set[int], depth: int) -> None:
    if depth > _DEEPEST or id(value) in seen or isinstance(value, _WITHOUT):
        return
    seen.add(id(value))
    if _is_generator(value):
        found.append(value)
        return
    for part in _parts(value):
        _collect(part, found, seen, depth + 1)


_WITHOUT = (str, bytes, int, float, type, types.ModuleType, types.BuiltinFunctionType, Tensor)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values()) if len(value) <= _MOST_ITEMS else []
    if isinstance(value, list | tuple):
        return list(value) if len(value) <= _MOST_ITEMS else []
    if isinstance(value, types.MethodType):
        return [value.__self__]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *_named_by(value)]
    attributes = getattr(value, "__dict__", None)
    parts = list(attributes.values()) if isinstance(attributes, dict) else []
    for cls in type(value).__mro__:
        parts += [each for each in cls.__dict__.values() if isinstance(each, types.FunctionType)]
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            member = cls.__dict__.get(name)
            if isinstance(member, types.MemberDescriptorType):
                try:
                    parts.append(member.__get__(value))
                except AttributeError:  # a slot that is not set
                    continue
    return parts


def _named_by(function: types.FunctionType) -> list[Any]:
    """Generators, and functions of the same module, that a function names as global variables."""
    variables, found, codes = function.__globals__, [], [function.__code__]
    for code in codes:
        codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
        for name in code.co_names:
            value = variables.get(name)
            if _is_generator(value) or (isinstance(value, types.FunctionType) and value.__globals__ is variables):
                found.append(value)
    return found


def _is_generator(value: Any) -> bool:
    return isinstance(value, Generator | random.Random) or of_numpy.is_generator(value)


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def restorer(generator: Any) -> Callable[[], None]:
    """A function that puts *generator* where it is now; ``random`` itself is a generator too."""
    if isinstance(generator, Generator):
        with generator._lock:
            seed, offset = generator._seed, generator._offset

        def restore() -> None:
            with generator._lock:
                generator._seed, generator._offset = seed, offset

        return restore
    if generator is random or isinstance(generator, random.Random):
        state = generator.getstate()
        return lambda: generator.setstate(state)
    return of_numpy.restorer(generator)
