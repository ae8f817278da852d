"""Pickles read as data: a machine that knows the instructions, and builds from a short list of types.

Python's unpickler calls what a file names. This machine calls nothing of that sort: a name in a file is looked up in
the table that it was given, and then asked of `Classes`, which knows what the program allows; what neither has is
refused.

Invariants: no module is imported; there is no recursion; memory is accounted for, so that it does not exceed ten times
the pickle and a fixed amount; a state is put only into objects that the machine has made.
"""

from __future__ import annotations

import enum
import numbers
import pathlib
import struct
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ..base.device import Device
from ..base.dtypes import DType
from ..tensor import Tensor

__all__ = ["CalledWithOne", "CheckedClasses", "Classes", "Known", "Pending", "PickleError", "read_pickle", "set_of"]

ROOM = 1 << 26
GROWTH = 10
MOST_DIGITS = 1400
MOST_ODD_KEYS = 256
"""Keys of one dict that are neither text, bytes nor small integers: these could be chosen to collide."""
MOST_NUMBERED = 1 << 16
"""Keys that are integers and do not count 0, 1, 2, ..., in all dicts."""
MOST_PARTS = 64
"""Values in a tuple that is a key, those of its tuples included: parts that are shared are hashed each time."""
MOST_BITS = 4096
"""Of an integer that is a key: unlike text, it is hashed each time."""


class PickleError(Exception):
    """What is wrong with a pickle, in words, and perhaps what to do."""

    fix: str | None = None


class Known(NamedTuple):
    """Something that a pickle may name: what stands for it, and what is called where the pickle calls it."""

    value: Any
    build: Callable[..., Any]


class Pending:
    """What stands for a tensor, a class or an object of a class while a pickle is only checked.

    Attributes:
        named: the class or function that it stands for, if it does for one.
        kind: the class of the object that it stands for, if that is known.
    """

    def __init__(self, named: Any = None, kind: type[Any] | None = None) -> None:
        self.named = named
        self.kind = kind

    def is_key(self) -> bool:
        """Whether what it stands for may be a key as numbers and text may."""
        return self.kind is None or issubclass(self.kind, _PLAIN_KINDS)


class CalledWithOne:
    """What stands for a class that a pickle calls with its one argument itself: so TorchScript writes enumerations."""


class Classes(Protocol):
    """What knows the classes that a pickle may name beside its table."""

    def named(self, module: str, name: str) -> Any:
        """What stands for a class or function; raises PickleError."""

    def make(self, function: Any, arguments: tuple[Any, ...], new: bool) -> Any:
        """The object that calling it gives, or with *new* what its ``__new__`` gives; raises PickleError."""

    def made(self, target: Any) -> bool:
        """Whether `make` gave it."""

    def set_state(self, target: Any, state: Any) -> None:
        """Give an object that was made its state."""


class CheckedClasses(Classes, Protocol):
    """Classes that are asked once without anything being made.

    Attributes:
        is_checked: whether objects may be made.
    """

    is_checked: bool

    def check(self) -> None:
        """Raise PickleError for names that are not allowed."""


_COPIED: dict[type[Any], int] = {
    str: 1,
    bytes: 1,
    bytearray: 1,
    list: 100,
    tuple: 100,
    dict: 100,
    set: 100,
    frozenset: 100,
}
"""Bytes that a copy takes for each item."""


class _Mark:
    pass


_MARK = _Mark()
_SIZES = {
    "B": struct.Struct("<B"), "H": struct.Struct("<H"), "I": struct.Struct("<I"), "i": struct.Struct("<i"),
    "Q": struct.Struct("<Q"), "d": struct.Struct(">d"),
}  # fmt: skip


def read_pickle(
    data: memoryview, at: int, names: Mapping[str, Any], stored: Callable[[Any], Any], classes: Classes
) -> tuple[Any, int]:
    """The object of the pickle at byte *at*, and where it ends.

    Args:
        names: by ``module.name``, functions that build an object from arguments, values, and `Known` of both.
        stored: what a persistent id stands for.
        classes: what is asked about other names.

    Raises:
        PickleError: it is no pickle, or holds what is not built.
    """
    machine = _Machine(data, at, names, stored, classes)
    try:
        return machine.run(), machine.at
    except (IndexError, struct.error):
        raise PickleError("it ends too early, or takes from an empty stack") from None
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError, RecursionError) as error:
        raise PickleError(f"it does not fit together: {error}") from error


class _Machine:
    def __init__(
        self,
        data: memoryview,
        at: int,
        names: Mapping[str, Any],
        stored: Callable[[Any], Any],
        classes: Classes,
    ) -> None:
        self.data = data
        self.at = at
        self.names = names
        self.classes = classes
        self.builders = _builders(names)
        self.stored = stored
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.room = ROOM + GROWTH * len(data)
        self.numbered = 0

    def run(self) -> Any:
        steps, data = _STEPS, self.data
        while True:
            code = data[self.at]
            self.at += 1
            if code == 0x2E:
                return self.pop()
            step = steps.get(code)
            if step is None:
                raise PickleError(f"it has instruction {code:#04x} at byte {self.at - 1}, which is not read")
            self.take(24)
            step(self)

    def take(self, count: int) -> None:
        self.room -= count
        if self.room < 0:
            raise PickleError("it unpacks to more than ten times its size")

    def number(self, form: str) -> Any:
        layout = _SIZES[form]
        (value,) = layout.unpack_from(self.data, self.at)
        self.at += layout.size
        return value

    def bytes(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise PickleError("it ends too early")
        self.at += count
        return bytes(self.data[self.at - count : self.at])

    def line(self) -> str:
        begin = self.at
        while self.data[self.at] != 0x0A:
            self.at += 1
        self.at += 1
        if self.at - begin > MOST_DIGITS:
            raise PickleError("it has a line that is too long")
        return bytes(self.data[begin : self.at - 1]).decode()

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise PickleError("its stack has a mark where a value should be")
        return value

    def pop_to_mark(self) -> list[Any]:
        stack = self.stack
        for place in range(len(stack) - 1, -1, -1):
            if stack[place] is _MARK:
                items = stack[place + 1 :]
                del stack[place:]
                return items
        raise PickleError("its stack has no mark")

    def text(self, count: int) -> str:
        self.take(4 * count)
        return self.bytes(count).decode("utf-8", "surrogatepass")

    def integer(self, count: int) -> int:
        return int.from_bytes(self.bytes(count), "little", signed=True)

    def fresh(self, value: Any) -> None:
        self.take(80)
        self.stack.append(value)

    def extend(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) in (list, deque):
            target.extend(items)
        elif isinstance(target, list) and self.classes.made(target):
            list.extend(target, items)
        elif type(target) is not Pending:
            raise PickleError(f"it appends to {type(target).__name__}")

    def set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if type(target) is Pending:
            return
        known = type(target) in (dict, OrderedDict, defaultdict)
        if not (known or (isinstance(target, dict) and self.classes.made(target))) or len(items) % 2:
            raise PickleError(f"it sets items of {type(target).__name__}")
        self.take(100 * len(items))
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) not in (str, bytes):
                self.check_key(target, key)
            (type(target) if known else dict).__setitem__(target, key, value)

    def check_key(self, target: dict[Any, Any], key: Any) -> None:
        if type(key) is int and key == len(target):
            return
        if type(key) is int and abs(key) < 2**60:
            self.numbered += 1
            if self.numbered > MOST_NUMBERED:
                raise PickleError(f"it has more than {MOST_NUMBERED:,} keys that are numbers")
        elif len(target) > MOST_ODD_KEYS or not (_is_plain(key) or self.is_made(key)):
            raise PickleError(f"it has a dict with keys of {type(key).__name__}")

    def is_made(self, key: Any) -> bool:
        """Whether this is a tensor or an object of a class: its hash is the program's, not the file's."""
        return isinstance(key, Tensor) or type(key) is Pending or self.classes.made(key)

    def name(self, module: str, name: str) -> None:
        self.take(len(module) + len(name))
        found = self.names.get(f"{module}.{name}")
        if found is None:
            self.push(self.classes.named(module, name))
        else:
            self.push(found.value if isinstance(found, Known) else found)

    def call(self, function: Any, arguments: Any, new: bool = False) -> None:
        if isinstance(function, CalledWithOne) and type(arguments) is not tuple:
            arguments = (arguments,)
        if type(arguments) is not tuple:
            raise PickleError("it calls with something else than arguments")
        # What is built may be a copy: of one large value there could be thousands.
        self.take(200 + sum(len(value) * _COPIED[type(value)] for value in arguments if type(value) in _COPIED))
        build = self.builders.get(id(function))
        self.push(self.classes.make(function, arguments, new) if build is None else build(*arguments))

    def build(self) -> None:
        state, target = self.pop(), self.stack[-1]
        if type(target) is OrderedDict and type(state) is dict and set(state) <= {"_metadata"}:
            target.__dict__.update(state)  # what a state_dict has beside its tensors
        elif self.classes.made(target):
            if type(state) is tuple:
                self.take(sum(2 * len(part) for part in state if type(part) is bytes))
            self.classes.set_state(target, state)

    def memoize(self, number: int) -> None:
        self.take(100)
        self.memo[number] = self.stack[-1]


def _builders(names: Mapping[str, Any]) -> dict[int, Callable[..., Any]]:
    """What a pickle may call: the functions of the table, by identity, and nothing else that it may hold."""
    known = [
        value if isinstance(value, Known) else Known(value, value)
        for value in names.values()
        if callable(value) or isinstance(value, Known)
    ]
    return {id(entry.value): entry.build for entry in known}


_PLAIN = (str, bytes, float, bool, DType, Device)
_PLAIN_KINDS = (enum.Enum, pathlib.PurePath, numbers.Number)


def _is_plain(key: Any) -> bool:
    """Whether this is a number, text, bytes, None, a path, a member of an Enum, or a tuple of few of these and of such
    tuples.
    """
    parts, count = [key], 0
    while parts:
        part = parts.pop()
        count += 1
        if type(part) is tuple and count + len(parts) + len(part) <= MOST_PARTS:
            parts += part
        elif type(part) is int:
            if part.bit_length() > MOST_BITS:
                return False
        elif type(part) is Pending:
            if not part.is_key():
                return False
        elif part is not None and type(part) not in _PLAIN and not isinstance(part, _PLAIN_KINDS):
            return False
    return True


def set_of(cls: type[Any], items: list[Any]) -> Any:
    """A set or frozenset; raises PickleError if hashing its items may take long."""
    odd = sum(type(item) not in (str, bytes) for item in items)
    if odd > MOST_ODD_KEYS or not all(map(_is_plain, items)):
        raise PickleError("it has a set of more than numbers and text")
    return cls(items)


def _whole(machine: _Machine, text: str) -> Any:
    if text in ("00", "01"):
        return text == "01"
    if not text.lstrip("-").isdigit():
        raise PickleError(f"it has {text[:20]!r} for an integer")
    return int(text)


_STEPS: dict[int, Callable[[_Machine], object]] = {
    0x80: lambda m: m.bytes(1),  # PROTO
    0x95: lambda m: m.bytes(8),  # FRAME
    ord("("): lambda m: m.push(_MARK),
    ord("0"): lambda m: m.stack.pop(),
    ord("1"): lambda m: m.pop_to_mark(),
    ord("2"): lambda m: m.push(m.stack[-1]),
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("I"): lambda m: m.push(_whole(m, m.line())),
    ord("L"): lambda m: m.push(_whole(m, m.line().removesuffix("L"))),
    ord("J"): lambda m: m.push(m.number("i")),
    ord("K"): lambda m: m.push(m.number("B")),
    ord("M"): lambda m: m.push(m.number("H")),
    0x8A: lambda m: m.push(m.integer(m.number("B"))),
    0x8B: lambda m: m.push(m.integer(m.number("I"))),
    ord("F"): lambda m: m.push(float(m.line())),
    ord("G"): lambda m: m.push(m.number("d")),
    ord("X"): lambda m: m.push(m.text(m.number("I"))),
    0x8C: lambda m: m.push(m.text(m.number("B"))),
    0x8D: lambda m: m.push(m.text(m.number("Q"))),
    ord("V"): lambda m: m.push(m.line()),
    ord("T"): lambda m: m.push(m.bytes(m.number("I")).decode("latin-1")),
    ord("U"): lambda m: m.push(m.bytes(m.number("B")).decode("latin-1")),
    ord("B"): lambda m: m.push(m.bytes(m.number("I"))),
    ord("C"): lambda m: m.push(m.bytes(m.number("B"))),
    0x8E: lambda m: m.push(m.bytes(m.number("Q"))),
    0x96: lambda m: m.push(bytearray(m.bytes(m.number("Q")))),
    ord("]"): lambda m: m.fresh([]),
    ord("}"): lambda m: m.fresh({}),
    0x8F: lambda m: m.fresh(set()),
    ord(")"): lambda m: m.push(()),
    ord("t"): lambda m: m.fresh(tuple(m.pop_to_mark())),
    0x85: lambda m: m.fresh((m.pop(),)),
    0x86: lambda m: m.fresh((m.pop(), m.pop())[::-1]),
    0x87: lambda m: m.fresh((m.pop(), m.pop(), m.pop())[::-1]),
    ord("l"): lambda m: m.fresh(m.pop_to_mark()),
    ord("d"): lambda m: _dict(m),
    ord("a"): lambda m: m.extend([m.pop()]),
    ord("e"): lambda m: m.extend(m.pop_to_mark()),
    ord("s"): lambda m: m.set_items([m.pop(), m.pop()][::-1]),
    ord("u"): lambda m: m.set_items(m.pop_to_mark()),
    0x90: lambda m: _add(m, m.pop_to_mark()),
    0x91: lambda m: m.fresh(_set_of(m, frozenset, m.pop_to_mark())),
    ord("c"): lambda m: m.name(m.line(), m.line()),
    0x93: lambda m: _stack_name(m),
    ord("R"): lambda m: m.call(*(m.pop(), m.pop())[::-1]),
    0x81: lambda m: m.call(*(m.pop(), m.pop())[::-1], new=True),
    ord("b"): lambda m: m.build(),
    ord("Q"): lambda m: m.fresh(m.stored(m.pop())),
    ord("q"): lambda m: m.memoize(m.number("B")),
    ord("r"): lambda m: m.memoize(m.number("I")),
    0x94: lambda m: m.memoize(len(m.memo)),
    ord("p"): lambda m: m.memoize(int(m.line())),
    ord("h"): lambda m: m.push(m.memo[m.number("B")]),
    ord("j"): lambda m: m.push(m.memo[m.number("I")]),
    ord("g"): lambda m: m.push(m.memo[int(m.line())]),
}


def _dict(machine: _Machine) -> None:
    items = machine.pop_to_mark()
    machine.fresh({})
    machine.set_items(items)


def _set_of(machine: _Machine, cls: Any, items: list[Any]) -> Any:
    machine.take(100 * len(items))
    return set_of(cls, items)


def _add(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1]
    if type(target) is Pending:
        return
    if type(target) is not set:
        raise PickleError(f"it adds items to {type(target).__name__}")
    target |= _set_of(machine, set, [*target, *items])


def _stack_name(machine: _Machine) -> None:
    name, module = machine.pop(), machine.pop()
    if type(name) is not str or type(module) is not str:
        raise PickleError("it has a name that is no text")
    machine.name(module, name)
