"""What PyTorch's files may name of Python and NumPy: types whose objects are data.

Builders take what a pickle passes, check it, and make the object; nothing else is called.
"""

from __future__ import annotations

import os
import pathlib
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from ..interop.pickled_arrays import KNOWN
from ..random.generator import Generator
from .container import are_counts
from .pickles import Known, Pending, PickleError, set_of

__all__ = ["PLAIN_TYPES"]


def _encoded(value: Any, encoding: Any = "latin1") -> bytes:
    """``_codecs.encode``, by which protocol 2 writes bytes."""
    if type(value) is not str or encoding not in ("latin1", "latin-1"):
        raise PickleError("it has bytes in an encoding of their own")
    return value.encode("latin-1")


def _bytes(value: Any = b"") -> bytes:
    if type(value) not in (bytes, bytearray):
        raise PickleError("it makes bytes of something else")
    return bytes(value)


def _bytearray(value: Any = b"", encoding: Any = None) -> bytearray:
    return bytearray(_bytes(value) if encoding is None else _encoded(value, encoding))


def _counter(items: Any) -> Counter[Any]:
    if type(items) is not dict or any(type(count) is not int for count in items.values()):
        raise PickleError("it has a counter of something else than counts")
    return Counter(items)


def _complex(real: Any, imaginary: Any) -> complex:
    return complex(real, imaginary)


def _empty(cls: Any) -> Callable[..., Any]:
    def build(items: Any = ()) -> Any:
        made = cls()
        if type(items) is list and cls in (set, frozenset):
            return set_of(cls, items)
        if type(items) not in (tuple, list) or len(items):
            raise PickleError(f"it makes {cls.__name__} of something else than items")
        return made

    return build


def _deque(items: Any = (), longest: Any = None) -> deque[Any]:
    if type(items) not in (tuple, list) or not (longest is None or are_counts([longest])):
        raise PickleError("it makes a deque of something else than items and a length")
    return deque(items, longest)


_FACTORIES = (None, list, dict, set, tuple, int, float, str, bool, complex, bytes, bytearray, OrderedDict, Counter)


def _defaultdict(factory: Any = None) -> Any:
    if isinstance(factory, Pending):
        return defaultdict(None)
    if not any(factory is one for one in _FACTORIES) and not isinstance(factory, type):
        raise PickleError("it has a defaultdict whose defaults are no plain type")
    return defaultdict(factory)


def _slice(start: Any = None, stop: Any = None, step: Any = None) -> slice:
    return slice(start, stop, step)


def _range(*bounds: Any) -> range:
    if not all(type(bound) is int and bound.bit_length() <= 64 for bound in bounds):
        raise PickleError("it has a range of something else than integers")
    return range(*bounds)


def _path(windows: bool, pure: bool) -> Callable[..., Any]:
    """A path as text; one that is of another system stays without access to files."""
    kinds = (pathlib.PurePosixPath, pathlib.PureWindowsPath)

    def build(*parts: Any) -> pathlib.PurePath:
        if not all(type(part) is str for part in parts):
            raise PickleError("it has a path of something else than text")
        if pure or windows != (os.name == "nt"):
            return kinds[windows](*parts)
        return pathlib.Path(*parts)

    return build


def _generator(device: Any, seed: Any, offset: Any) -> Generator:
    if type(device) is not str or not all(type(number) is int and 0 <= number < 2**64 for number in (seed, offset)):
        raise PickleError("it has a generator without seed and offset")
    try:
        generator = Generator(device)
    except RuntimeError as error:
        raise PickleError(f"it has a generator of a device that is none: {error}") from error
    generator._seed, generator._offset = seed, offset
    return generator


def _not_called(*_: Any) -> Any:
    raise PickleError("it calls a type that is only named")


PLAIN_TYPES: dict[str, Any] = {
    "collections.OrderedDict": Known(OrderedDict, _empty(OrderedDict)),
    "collections.Counter": Known(Counter, _counter),
    "collections.deque": Known(deque, _deque),
    "collections.defaultdict": Known(defaultdict, _defaultdict),
    "_codecs.encode": _encoded,
    "polyad.random.generator._restored": _generator,
    **{name: Known(value, build or _not_called) for name, (value, build) in KNOWN.items()},
}
for _module in ("pathlib", "pathlib._local"):
    PLAIN_TYPES |= {
        f"{_module}.PosixPath": _path(False, False),
        f"{_module}.WindowsPath": _path(True, False),
        f"{_module}.PurePosixPath": _path(False, True),
        f"{_module}.PureWindowsPath": _path(True, True),
    }
for _module in ("builtins", "__builtin__"):
    PLAIN_TYPES |= {
        f"{_module}.set": Known(set, _empty(set)),
        f"{_module}.frozenset": Known(frozenset, _empty(frozenset)),
        f"{_module}.bytes": Known(bytes, _bytes),
        f"{_module}.bytearray": Known(bytearray, _bytearray),
        f"{_module}.complex": Known(complex, _complex),
        f"{_module}.slice": Known(slice, _slice),
        f"{_module}.range": Known(range, _range),
        f"{_module}.xrange": Known(range, _range),
        **{f"{_module}.{cls.__name__}": Known(cls, _not_called) for cls in (list, dict, tuple, int, float, str, bool)},
        f"{_module}.unicode": Known(str, _not_called),
        f"{_module}.Ellipsis": ...,
    }
