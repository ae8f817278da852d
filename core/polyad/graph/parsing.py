"""Reading a graph's text. Whoever wrote it, nothing in it runs: names are looked up among what polyad declares.

A line is read token by token, left to right; see text.py for the form. What is read is checked by
`polyad.graph.verify`, so here only what has a meaning at all is asked.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from .. import return_types
from ..base import dtypes, memory_formats
from ..base.device import Device
from ..base.shapes_and_strides import Layout, contiguous_strides, is_addressable
from ..dispatch.catalogue import PUBLIC
from ..dispatch.effects import Effect
from ..dispatch.op import Op
from ..errors import InvalidGraph, PolyadError
from ..interop.numpy import frombuffer
from ..random.generator import Generator, default_generator
from ..tensor import Tensor
from .building import Draft, Memory, Seen
from .expressions import SizeRef, evaluated
from .graph import Graph, Node
from .number_lines import DRAWS, read_draws, read_end, read_number
from .size_lines import IS_SYMBOL, Said, read_operations, read_symbol, repeated
from .structure import NumberRef, Ref, leaves_of, replace
from .text import BODY, PLAIN_NAME, VERSION, named
from .values import Draw, ModuleCall, Refusal, Scalar
from .verify import given_back, verify

DEEPEST = 100
DEEPEST_BODIES = 25
LONGEST_NUMBER = 400

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_TOKEN = re.compile(
    rf"""\s*(?:
    (?P<string>{_QUOTED})
    | (?P<value>%(?:{_QUOTED}|{PLAIN_NAME.pattern})(?:@\d+)?)
    | (?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|-inf\b)
    | (?P<name>[A-Za-z_][\w.]*(?::{{1,2}}\w+)*(?:@\d+)?)
    | (?P<mark>\.\.\.|//|\*\*|-(?=\s)|[+*/]|%(?=\s)|[()\[\]{{}},=:;$\#])
    | (?P<code><.*>)
    )""",
    re.VERBOSE | re.ASCII,
)
_REMARK = re.compile(
    rf"(?P<grad>no_grad|enable_grad)|baked in: (?P<baked>{_QUOTED}|\w+)|in call (?P<calls>\d+(?: \d+)*)"
    rf"|(?P<draws>{DRAWS})"
    rf"|(?P<quoted>{_QUOTED})|(?P<line>[^\s,\"]+:\d+)",
    re.ASCII,
)
_HEAD = re.compile(rf"graph (?P<version>\d+) of (?P<name>{_QUOTED}) ", re.ASCII)
_FORMATS = {name: getattr(memory_formats, name) for name in memory_formats.__all__ if name.islower()}
_WORDS: dict[str, Any] = {
    "None": None, "True": True, "False": False, "inf": math.inf, "nan": math.nan,
    "default_generator": default_generator, **dtypes.BY_NAME, **_FORMATS,
}  # fmt: skip


_CALLED = {"data", "device", "complex", "slice", "generator", "body", "refusal", "repeat", "Layout"}
"""Words with brackets behind them."""


def is_free(name: str) -> bool:
    """Whether a symbol may have this name: it means nothing else in a text."""
    return name.isascii() and name.isidentifier() and name not in _WORDS and name not in _CALLED


def parse(text: str, state: Mapping[str, Any] | None = None) -> Graph:
    """The graph that *text* (`Graph.text`) says, with the tensors and generators of *state* by name (`Graph.state`).

    Raises RuntimeError, naming line and node, for a text that says no graph: an unknown op, a value that is used before
    it is made, memory that is too small, a version of the future, and whatever else `verify` refuses.

    >>> import polyad
    >>> graph = polyad.jit.capture(lambda x: x * 2, polyad.ones(2))
    >>> polyad.graph.parse(graph.text)(polyad.tensor([3.0, 4.0]))
    tensor([6., 8.])
    """
    return verify(_Reader(state or {}).read(text.split("\n")))


@dataclass(frozen=True)
class _Name:
    """A value by its label, before it is known which it is."""

    label: str


class _Line:
    """The tokens of a line, taken one by one."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.kind, self.token = "", ""
        self.depth, self.comma = 0, False
        self.step()

    def step(self) -> str:
        """Go to the next token; returns the one that was there."""
        before = self.token
        found = _TOKEN.match(self.text, self.at)
        if found is not None:
            self.kind, self.token, self.at = found.lastgroup or "", found[found.lastgroup or 0], found.end()
        elif self.text[self.at :].strip():
            raise Wrong(f"{self.text[self.at :].strip()[:20]!r} is no part of a graph")
        else:
            self.kind = self.token = ""
        return before

    def take(self, mark: str) -> None:
        if not self.skip(mark):
            raise Wrong(f"{mark!r} is missing before {self.token[:20]!r}" if self.token else f"{mark!r} is missing")

    def skip(self, mark: str) -> bool:
        """Whether the next token is *mark*, which is then taken."""
        if self.token != mark or self.kind == "string":
            return False
        self.step()
        return True

    def of_kind(self, kind: str, what: str) -> str:
        if self.kind != kind:
            raise Wrong(f"{what} is missing" + (f" before {self.token[:20]!r}" if self.token else ""))
        return self.step()

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Wrong(f"it is nested more than {DEEPEST} levels deep")

    def rest(self) -> str:
        return self.text[self.at :].strip()


class Wrong(Exception):
    """What is wrong with a line, in words."""


class _Reader:
    """What reads a graph, a body of a call *within* another from a line on, so many levels deep."""

    def __init__(
        self,
        state: Mapping[str, Any],
        first: int = 0,
        within: str = "",
        level: int = 0,
        symbols: Mapping[str, int] | None = None,
    ) -> None:
        self.state, self.first, self.within, self.level = state, first, within, level
        self.symbols = dict(symbols or {})
        self.said: list[Said] = []
        self.bodies: list[Graph] = []
        self.draft = Draft()
        self.labels: dict[str, int] = {}
        self.memories: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.calls: dict[int, ModuleCall] = {}
        self.where = ""

    def read(self, lines: list[str]) -> Graph:
        number = 0
        try:
            head = self.head(lines[0])
            while (number := number + 1) < len(lines) - 1:
                self.where = ""
                below = number + 1
                while below < len(lines) and lines[below].startswith(BODY):
                    below += 1
                self.bodies = self.read_bodies(lines[number + 1 : below], number + 1)
                self.row(_Line(lines[number]))
                if self.bodies:
                    raise Wrong("graphs are below it, and it has no bodies")
                number = below - 1
            number, self.where = len(lines) - 1, ""
            last = _Line(lines[-1])
            last.take("return")
            outputs = self.resolved(self.literal(last))
            self.end(last)
            graph = self.graph(head, outputs)
        except (Wrong, ValueError, OverflowError, PolyadError) as error:
            if isinstance(error, InvalidGraph):
                raise
            said = error.message if isinstance(error, PolyadError) else str(error)
            raise InvalidGraph(
                f"parse: line {self.first + number + 1}{self.within}{self.where}: {said}",
                fix="use another copy, or capture the graph again",
            ) from error
        return graph

    def read_bodies(self, lines: list[str], first: int) -> list[Graph]:
        """The graphs below a call, in lines from the one numbered *first* on."""
        if not lines:
            return []
        if self.level == DEEPEST_BODIES:
            raise Wrong(f"graphs are nested more than {DEEPEST_BODIES} levels deep")
        lines = [line[len(BODY) :] for line in lines]
        heads = [at for at, line in enumerate(lines) if not (at and line.startswith(" "))]
        found: list[Graph] = []
        for at, end in pairwise([*heads, len(lines)]):
            within = f"{self.within}, node {len(self.draft.nodes)}, body {len(found)}"
            reader = _Reader(self.state, self.first + first + at, within, self.level + 1, self.symbols)
            found.append(reader.read(lines[at:end]))
        return found

    def head(self, text: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        found = _HEAD.match(text)
        if found is None:
            raise Wrong("it does not begin as a graph does")
        if len(found["version"]) > 9 or int(found["version"]) > VERSION:
            raise Wrong(f"it is of version {found['version'][:9]}, and this polyad reads up to {VERSION}")
        line = _Line(text[found.end() :])
        args, kwargs = self.given(line)
        self.end(line)
        return json.loads(found["name"]), args, kwargs

    def graph(self, head: tuple[str, tuple[Any, ...], dict[str, Any]], outputs: Any) -> Graph:
        name, args, kwargs = head
        arguments = self.resolved((args, kwargs))
        if sorted(self.memories) != list(range(len(self.memories))):
            raise Wrong("the numbers of storages leave gaps")
        order = {self.memories[number]: number for number in self.memories}
        memories = [self.draft.memories[self.memories[number]] for number in range(len(self.memories))]
        self.draft.seen = [seen._replace(memory=order[seen.memory]) for seen in self.draft.seen]
        self.draft.memories = memories
        for number, size in self.sizes.items():
            if number not in self.memories:
                raise Wrong(f"storage s{number} is not used")
            if size < memories[number].nbytes:
                raise Wrong(f"storage s{number} has {size} bytes, and {memories[number].nbytes} are shown of it")
            memories[number].nbytes = size
        for said in self.said:
            self.draft.symbols.append(said.symbol(self.resolved(_Name(said.label)).number))
        return self.draft.finish(name, arguments, outputs)

    # ------------------------------------------------------------------------------------------------ rows

    def row(self, line: _Line) -> None:
        if IS_SYMBOL.match(line.text):
            self.symbol(line)
        elif line.kind == "name" and re.fullmatch(r"s\d{1,9}", line.token):
            number = int(line.step()[1:])
            if number in self.sizes:
                raise Wrong(f"storage s{number} is said twice")
            self.sizes[number] = self.integer(line)
            line.take("bytes")
            self.end(line)
        elif line.kind == "name" and line.token == "call":
            line.step()
            number, kind = self.integer(line), line.of_kind("name", "a class")
            if number in self.calls:
                raise Wrong(f"call {number} is said twice")
            self.calls[number] = ModuleCall(json.loads(line.of_kind("string", "a path")), kind, number)
            self.end(line)
        elif line.kind == "name" and line.token in ("default_generator", "generator"):
            self.draft.ends.append((self.literal(line), read_end(line)))
        elif (line.kind == "value" and self.outside(line)) or (line.token == "$" and self.number(line)):
            return
        else:
            self.node(line)

    def outside(self, line: _Line) -> bool:
        """Take an input or a constant, if the line is that."""
        at, label = line.at, line.token
        line.step()
        if line.kind != "name":
            line.at = at
            line.kind, line.token = "value", label
            return False
        number = self.add(label, self.described(line))
        line.take("#")
        kind = line.token + line.rest()
        if kind == "constant, by reference" or kind == "constant, by reference, resized":
            name = self.draft.seen[number].name
            tensor = self.state.get(name)
            if not isinstance(tensor, Tensor):
                raise Wrong(f"{label} is a constant, and state has no tensor {name!r}")
            self.draft.constants.append((number, tensor, not kind.endswith("resized")))
        elif kind != "input":
            raise Wrong(f"{label} is neither input nor constant")
        return True

    def symbol(self, line: _Line) -> None:
        said = read_symbol(line, self.integer, lambda line: _number(line.of_kind("number", "a number")))
        self.end(line)
        if said.name in self.symbols or not is_free(said.name):
            raise Wrong(f"{said.name[:40]} is said twice, or has another meaning")
        self.symbols[said.name] = said.captured[0]
        self.said.append(said)

    def number(self, line: _Line) -> bool:
        """Take a number from outside, if the line is that."""
        at, _ = line.at, line.step()
        if line.kind != "name":
            line.at, line.kind, line.token = at, "mark", "$"
            return False
        number = read_number(line, self.literal)
        if any(one.name == number.name for one in self.draft.numbers):
            raise Wrong(f"${number.name[:40]} is said twice")
        self.draft.numbers.append(number)
        self.end(line)
        return True

    def node(self, line: _Line) -> None:
        number = len(self.draft.nodes)
        self.where = f", node {number}"
        left, scalar, renewed = self.left(line)
        if line.kind == "code":
            raise Wrong(f"{line.token[:60]} has no text: it is code of the program's")
        name = line.of_kind("name", "the name of an op")
        self.where = f", node {number} ({name[:60]})"
        op = named(name)
        if op is None:
            raise Wrong("there is no such op or effect")
        args, kwargs = self.given(line)
        arguments = self.resolved(_as_recorded(op, args, kwargs))
        held = leaves_of(arguments, Graph)
        if len(held) != len(self.bodies) or any(one is not other for one, other in zip(held, self.bodies, strict=True)):
            raise Wrong(f"{len(self.bodies)} graphs are below it, and it does not name each of them once, in order")
        self.bodies = []
        results = leaves_of(left, _Name)
        before = [memory.version for memory in self.draft.memories]
        for position, one in enumerate(results):
            if position:
                line.take(";")
            seen = self.described(line)
            if one.label not in self.labels or not given_back(op):
                self.add(one.label, seen)
        outputs: Any = self.resolved(left)
        kind = line.of_kind("name", "a type") if scalar else ""
        new = tuple([self.renew(label, before) for label in renewed])
        grad, baked, calls, where, draws = self.remarks(line)
        if scalar:
            outputs = Scalar(op.name, kind, baked)
        self.draft.nodes.append(Node(op, arguments, outputs, new, grad, where, calls, (), draws))

    def left(self, line: _Line) -> tuple[Any, bool, list[str]]:
        """What is before ``=``: results, whether a number of the host's, values that are renewed."""
        structure: Any = None
        scalar = line.skip("$")
        begins = scalar or line.kind == "value" or line.token in ("(", "[", ";")
        if not begins:
            return None, False, []
        if not scalar and line.token != ";":
            parts = [self.literal(line)]
            while line.skip(","):
                parts.append(self.literal(line))
            structure = parts[0] if len(parts) == 1 else tuple(parts)
        renewed = []
        while line.skip(";"):
            renewed.append(line.of_kind("value", "a value"))
        line.take("=")
        return structure, scalar, renewed

    def remarks(self, line: _Line) -> tuple[bool | None, str, tuple[ModuleCall, ...], str, Draw | None]:
        if line.token and line.token != "#":
            raise Wrong(f"{line.token[:20]!r} is too much")
        grad: bool | None = None
        calls: tuple[ModuleCall, ...] = ()
        baked, where, draws = "", "", None
        text = line.rest() if line.token else ""
        at = 0
        while at < len(text):
            found = _REMARK.match(text, at)
            if found is None or (found.end() < len(text) and text[found.end() : found.end() + 2] != ", "):
                raise Wrong(f"the remark {text[at : at + 40]!r} has no meaning")
            at = found.end() + 2
            if found["grad"]:
                grad = found["grad"] == "enable_grad"
            elif found["baked"]:
                baked = json.loads(found["baked"]) if found["baked"][0] == '"' else found["baked"]
            elif found["draws"]:
                draws = read_draws(found["draws"])
            elif found["calls"]:
                calls = tuple([self.call(number) for number in found["calls"].split()])
            else:
                where = json.loads(found["quoted"]) if found["quoted"] else found["line"]
        return grad, baked, calls, where, draws

    def call(self, number: str) -> ModuleCall:
        found = self.calls.get(int(number[:9]))
        if found is None:
            raise Wrong(f"there is no call {number[:9]}")
        return found

    # ------------------------------------------------------------------------------------------------ values

    def described(self, line: _Line) -> Callable[[str, int | None], Seen]:
        """What a line says of a value: dtype, shape, device, storage, layout."""
        dtype = _WORDS.get(line.of_kind("name", "a dtype"))
        if not isinstance(dtype, dtypes.DType):
            raise Wrong("there is no such dtype")
        sizes = self.sizes_of(line)
        shape = self.first_sizes(sizes)
        line.take("on")
        device = Device(line.of_kind("name", "a device"))
        line.take("in")
        place, _, version = line.of_kind("name", "a storage").partition("@")
        if not re.fullmatch(r"s\d{1,9}", place) or len(version) > 9:
            raise Wrong(f"{place[:20]!r} is no storage")
        strides = self.first_sizes(self.sizes_of(line)) if line.skip("by") else contiguous_strides(shape)
        offset = self.integer(line) if line.skip("from") else 0
        layout = Layout(shape, strides, offset)
        if len(strides) != len(shape) or any(size < 0 for size in shape) or not is_addressable(shape, dtype.itemsize):
            raise Wrong(f"{tuple(layout)} is no layout")
        needs_grad = line.skip(",")
        if needs_grad:
            line.take("requires")
            line.take("grad")
        number = int(place[1:])
        memory = self.memories.setdefault(number, len(self.draft.memories))
        if memory == len(self.draft.memories):
            self.draft.memories.append(Memory(device, 0))
        if self.draft.memories[memory].device != device:
            raise Wrong(f"storage {place} is on {self.draft.memories[memory].device}, not on {device}")
        count = int(version or 0)
        self.draft.memories[memory].version = max(count, self.draft.memories[memory].version)
        general = None if sizes == shape else sizes
        return lambda name, earlier: Seen(name, memory, count, dtype, layout, needs_grad, earlier, general)

    def add(self, label: str, seen: Callable[[str, int | None], Seen]) -> int:
        name, earlier = self.split(label)
        return self.enter(label, seen(name, earlier))

    def enter(self, label: str, seen: Seen) -> int:
        if label in self.labels:
            raise Wrong(f"{label} is made twice")
        number = self.labels[label] = self.draft.add(seen)
        return number

    def split(self, label: str) -> tuple[str, int | None]:
        """A label's name, and the number of the tensor's value before."""
        name, mark, count = label.rpartition("@")
        if not mark or not count.isdigit() or label.endswith('"'):
            return _unquoted(label), None
        before = f"{name}@{int(count[:9]) - 1}" if int(count[:9]) > 1 else name
        if before not in self.labels or str(int(count[:9])) != count or count == "0":
            raise Wrong(f"{label} has no {before} before it")
        return _unquoted(name), self.labels[before]

    def renew(self, label: str, before: list[int]) -> int:
        _, earlier = self.split(label)
        if earlier is None:
            raise Wrong(f"{label} was not there before")
        seen = self.draft.seen[earlier]
        memory = self.draft.memories[seen.memory]
        if memory.version == before[seen.memory]:
            memory.version += 1
        return self.enter(label, seen._replace(version=memory.version, earlier=earlier))

    def resolved(self, structure: Any) -> Any:
        """*structure* with `Ref`s for labels."""

        def of(name: _Name) -> Ref:
            if name.label not in self.labels:
                raise Wrong(f"{name.label} is used before it is made")
            return Ref(self.labels[name.label])

        return replace(structure, _Name, of)

    # ------------------------------------------------------------------------------------------------ literals

    def given(self, line: _Line) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments in brackets: by position, then by name."""
        line.take("(")
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for named_as, value in self.items(line, ")"):
            if named_as is None and kwargs:
                raise Wrong("an argument without a name comes after one with a name")
            if named_as is None:
                args.append(value)
            elif named_as in kwargs:
                raise Wrong(f"the argument {named_as[:40]} is given twice")
            else:
                kwargs[named_as] = value
        return tuple(args), kwargs

    def items(self, line: _Line, end: str) -> list[tuple[str | None, Any]]:
        """What is in brackets that end with *end*; ``line.comma`` is then whether a comma came last."""
        found = []
        line.deeper()
        comma = False
        while not line.skip(end):
            named_as = None
            kind, token, at = line.kind, line.token, line.at
            if kind in ("name", "string"):
                line.step()
                if line.skip("="):
                    named_as = json.loads(token) if kind == "string" else token
                else:
                    line.kind, line.token, line.at = kind, token, at
            found.append((named_as, self.literal(line)))
            comma = line.skip(",")
            if not comma:
                line.take(end)
                break
        line.depth -= 1
        line.comma = comma
        return found

    def sequence(self, line: _Line, end: str) -> list[Any]:
        found = self.items(line, end)
        if any(name is not None for name, _ in found):
            raise Wrong("a name has no meaning here")
        return [value for _, value in found]

    def literal(self, line: _Line) -> Any:
        """A value, or an expression of sizes."""
        first = self.plain(line)
        return read_operations(line, first, self.plain) if self.symbols else first

    def plain(self, line: _Line) -> Any:
        kind, token = line.kind, line.token
        if kind == "code":
            raise Wrong(f"{token[:60]} has no text: it is an object or code of the program's, or data cut short")
        line.step()
        if kind == "value":
            return _Name(token)
        if kind == "string":
            return json.loads(token)
        if kind == "number":
            return _number(token)
        if token == "(":
            values = self.sequence(line, ")")
            return tuple(values) if len(values) != 1 or line.comma else values[0]
        if token == "[":
            return self.sequence(line, "]")
        if token == "{":
            return self.entries(line)
        if token == "...":
            return ...
        if token == "$":
            return NumberRef(line.of_kind("name", "a number's name"))
        if kind == "name":
            return self.word(line, token)
        raise Wrong(f"{token[:20]!r} is no value" if token else "a value is missing")

    def entries(self, line: _Line) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        line.deeper()
        while not line.skip("}"):
            key = self.literal(line)
            if not (isinstance(key, str | bool | None) or (type(key) is int and abs(key) < 2**31)) or key in found:
                raise Wrong("a dict's keys are different texts or small numbers")
            line.take(":")
            found[key] = self.literal(line)
            if not line.skip(","):
                line.take("}")
                break
        line.depth -= 1
        return found

    def word(self, line: _Line, name: str) -> Any:
        if name in self.symbols:
            return SizeRef(name)
        if name in _WORDS:
            return _WORDS[name]
        if not line.skip("("):
            raise Wrong(f"the name {name[:60]} has no meaning")
        given = self.items(line, ")")
        values = [value for _, value in given]
        structure = Layout if name == "Layout" else getattr(return_types, name, None)
        if structure is not None and tuple(field for field, _ in given) == getattr(structure, "_fields", ()):
            return structure(*values)
        if any(field is not None for field, _ in given):
            raise Wrong(f"{name[:60]} is no structure of polyad's, but one of the program's")
        if name == "device" and len(values) == 1 and isinstance(values[0], str):
            return Device(values[0])
        if name == "complex" and len(values) == 2 and all(type(one) is float for one in values):
            return complex(*values)
        if name == "slice" and len(values) == 3:
            return slice(*values)
        if name == "generator" and len(values) == 1:
            return self.generator(values[0])
        if name == "body" and len(values) == 1:
            number = values[0]
            if type(number) is not int or not 0 <= number < len(self.bodies):
                raise Wrong(f"there is no body {number!r} below it")
            return self.bodies[number]
        if name == "refusal" and len(values) == 2 and isinstance(values[0], str) and isinstance(values[1], str):
            kinds = {kind.__name__: kind for kind in _kinds(PolyadError)}
            if values[0] not in kinds:
                raise Wrong(f"there is no error {values[0][:60]}")
            return Refusal(kinds[values[0]], values[1])
        if name == "repeat" and len(values) == 2:
            return repeated(*values)
        if name == "data" and len(values) in (2, 3):
            return _data(*values)
        raise Wrong(f"{name[:60]}(...) has no meaning")

    def generator(self, number: Any) -> Generator:
        found = self.state.get(f"generator {number}") if type(number) is int else None
        if not isinstance(found, Generator):
            raise Wrong(f"state has no generator 'generator {number!r}'")
        return found

    def integer(self, line: _Line) -> int:
        value = _number(line.of_kind("number", "a number"))
        if type(value) is not int or not 0 <= value < 2**63:
            raise Wrong(f"{value!r} is no size")
        return value

    def sizes_of(self, line: _Line) -> tuple[Any, ...]:
        if line.token != "(":
            raise Wrong("sizes are missing")
        found = self.literal(line)
        sizes = found if isinstance(found, tuple) else (found,)
        if any(type(size) is not int or abs(size) >= 2**63 for size in self.first_sizes(sizes)):
            raise Wrong("sizes are no numbers")
        return sizes

    def first_sizes(self, sizes: tuple[Any, ...]) -> tuple[int, ...]:
        """*sizes* for the symbols' sizes in the first capture."""
        try:
            found: tuple[int, ...] = evaluated(sizes, self.symbols)
        except (ArithmeticError, TypeError) as error:
            raise Wrong(f"sizes cannot be computed: {error}") from error
        return found

    @staticmethod
    def end(line: _Line) -> None:
        if line.token:
            raise Wrong(f"{line.token[:20]!r} is too much")


def _as_recorded(op: Op | Effect, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments as a node has them."""
    if isinstance(op, Effect):
        if op.packed:
            return (args[0], args[1:], kwargs) if args else ()
        if kwargs:
            raise Wrong("its arguments have no names")
        return args
    if tuple(kwargs) != op.params or len(args) != len(op.operands):
        raise Wrong(f"it takes {len(op.operands)} operands and the params {', '.join(op.params) or '(none)'}")
    return (*args, *kwargs.values())


def _unquoted(label: str) -> str:
    text = label[1:]
    name: str = json.loads(text) if text.startswith('"') else text
    return name


def _number(text: str) -> int | float:
    if len(text) > LONGEST_NUMBER:
        raise Wrong(f"a number has more than {LONGEST_NUMBER} digits")
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _data(dtype: Any, values: Any, coded: Any = None) -> Any:
    """Data as a call has it that brings it in: an array of the host's."""
    if not isinstance(dtype, dtypes.DType):
        raise Wrong("data has a dtype first")
    if coded is None:
        return PUBLIC["tensor"].call(values, dtype=dtype, device="cpu").numpy()
    if not isinstance(coded, str) or not isinstance(values, tuple) or any(type(size) is not int for size in values):
        raise Wrong("data has a dtype, a shape and bytes")
    try:
        held = base64.b64decode(coded.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeError) as error:
        raise Wrong("the bytes of data cannot be read") from error
    fits = min(values, default=0) >= 0 and is_addressable(values, dtype.itemsize)
    if not fits or len(held) != math.prod(values) * dtype.itemsize:
        raise Wrong(f"data of shape {values} has {len(held)} bytes")
    flat = frombuffer(bytearray(held), dtype=dtype) if held else PUBLIC["empty"].call(0, dtype=dtype, device="cpu")
    return flat.reshape(values).numpy()


def _kinds(error: type[PolyadError]) -> Iterator[type[PolyadError]]:
    yield error
    for kind in error.__subclasses__():
        yield from _kinds(kind)
