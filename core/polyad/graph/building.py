"""Writing a graph: values one by one, then memory and roles of all. A tracer does it, and who reads a text."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.shapes_and_strides import Layout, reach
from .graph import Graph, Node, numbers, with_frees
from .values import Constant, Draw, Number, Role, Storage, Symbol, Value

if TYPE_CHECKING:
    from ..base.device import Device
    from ..base.dtypes import DType
    from ..dispatch.modes import Setting
    from ..random.generator import Generator
    from ..tensor import Tensor
    from .expressions import Size


class Memory:
    """A storage to be.

    Attributes:
        device, nbytes: as of `Storage`; the size grows with what is shown of it.
        version: how often it was written so far.
        writer: the number of the node that wrote last.
    """

    __slots__ = ("device", "nbytes", "version", "writer")

    def __init__(self, device: Device, nbytes: int) -> None:
        self.device, self.nbytes = device, nbytes
        self.version, self.writer = 0, -1


class Seen(NamedTuple):
    """A `Value` to be: its fields, with the number of its memory."""

    name: str
    memory: int
    version: int
    dtype: DType
    layout: Layout
    requires_grad: bool
    earlier: int | None
    general: tuple[Size, ...] | None = None


class Draft:
    """A graph that is being written.

    Attributes:
        seen: the values so far, by number.
        memories: the storages so far, by number.
        nodes: the calls so far.
        constants: numbers of values with their tensors, and whether these keep their shape.
        numbers, settings, ends, symbols: as of `Graph`.
    """

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.memories: list[Memory] = []
        self.nodes: list[Node] = []
        self.constants: list[tuple[int, Tensor, bool]] = []
        self.numbers: list[Number] = []
        self.settings: list[tuple[Setting, Any]] = []
        self.ends: list[tuple[Generator, Draw]] = []
        self.symbols: list[Symbol] = []

    def copied(self) -> Draft:
        """The same, to go on from."""
        other = Draft()
        other.seen, other.nodes, other.constants = [*self.seen], [*self.nodes], [*self.constants]
        other.memories = [copy.copy(memory) for memory in self.memories]
        return other

    def add(self, seen: Seen) -> int:
        """The number of a new value."""
        memory = self.memories[seen.memory]
        memory.nbytes = max(memory.nbytes, end_of(seen.dtype, seen.layout))
        self.seen.append(seen)
        return len(self.seen) - 1

    def finish(self, name: str, arguments: tuple[tuple[Any, ...], dict[str, Any]], outputs: Any) -> Graph:
        """The graph."""
        storages = self._storages(arguments, outputs)
        values = [Value(number, seen.name, storages[seen.memory], *seen[2:]) for number, seen in enumerate(self.seen)]
        constants = [Constant(values[number], tensor, fixed) for number, tensor, fixed in self.constants]
        nodes = with_frees(self.nodes, values, outputs)
        outside = self.numbers, self.settings, self.ends, self.symbols
        return Graph(name, list(storages.values()), values, constants, nodes, arguments, outputs, *outside)

    def _storages(self, arguments: Any, outputs: Any) -> dict[int, Storage]:
        """The memory that values show, by the numbers that it had; numbered anew."""

        def of(role: Role, shown: Any) -> dict[int, Role]:
            return dict.fromkeys([self.seen[number].memory for number in shown], role)

        constants = [number for number, _, _ in self.constants]
        roles = of("output", numbers(outputs)) | of("state", constants) | of("input", numbers(arguments))
        found: dict[int, Storage] = {}
        for number in sorted({seen.memory for seen in self.seen}):
            memory = self.memories[number]
            found[number] = Storage(len(found), memory.nbytes, memory.device, roles.get(number, "temporary"))
        return found


def end_of(dtype: DType, layout: Layout) -> int:
    """Where in its storage a tensor ends, in bytes."""
    shape, strides, offset = layout
    return 0 if 0 in shape else (offset + reach(shape, strides)) * dtype.itemsize


def ends_of(values: Iterable[Value]) -> dict[int, int]:
    """How many bytes of each storage *values* reach."""
    ends: dict[int, int] = {}
    for value in values:
        number = value.storage.number
        ends[number] = max(ends.get(number, 0), end_of(value.dtype, value.layout))
    return ends
