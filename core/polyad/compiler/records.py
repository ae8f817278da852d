"""What is known of a run: its calls, in the order in which the program made them, and its graph.

Tensors have numbers in the order in which the program's calls show them first, so that two runs that call the same
number their tensors alike.

A call is one of three kinds. PROMISED: what comes back is known before it is computed. AT_ONCE: it makes a tensor of
data of the host's, which needs nothing that is pending. BARRIER: all else, such as reading to the host: what is pending
is computed first.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from ..backend.interface import TensorType
from ..base.device import Device
from ..base.dtypes import DType
from ..base.memory_formats import MemoryFormat, MemoryLayout
from ..dispatch.effects import Effect
from ..dispatch.op import Op
from ..graph.graph import Node
from ..history.node import Leaf
from ..random.generator import Generator
from ..tensor import Tensor

PLAIN = (bool, int, float, complex, str, type(None), DType, Device, MemoryFormat, MemoryLayout, type(Ellipsis))
"""Arguments that are equal where they compare equal."""


class Kind(Enum):
    """How a call is answered in a later run."""

    PROMISED = "its result is known before it is computed"
    AT_ONCE = "it brings in data of the host's"
    BARRIER = "what is pending is computed before it"


class Slot(NamedTuple):
    """Stands for a tensor that the run has met before, by its number."""

    number: int


class Outside(NamedTuple):
    """What is expected of a tensor that the run meets here first and has not made.

    Attributes:
        memory: number of its memory; None if the run has met nothing else yet that shows it.
        history: "none", "leaf", or "recorded".
    """

    number: int
    cls: type
    kind: TensorType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    history: str
    view: type | None
    memory: int | None


class Made(NamedTuple):
    """A new tensor that a call gives.

    Attributes:
        name: of the class of its history's node; None without history.
        offset: of a view.
    """

    number: int
    kind: TensorType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    name: str | None
    view: type | None
    offset: int


class Source(NamedTuple):
    """Stands for a generator, with how many blocks of numbers the call draws from it."""

    generator: Generator
    blocks: int


class Free(NamedTuple):
    """Stands for a number of this class, which may differ from run to run."""

    kind: type


class Gradient(NamedTuple):
    """What a backward pass did to ``.grad`` of a leaf.

    Attributes:
        leaf: number of the leaf.
        before: what was there: None, a `Slot` or an `Outside`.
        after: what is there: None if it is the same tensor as before.
    """

    leaf: int
    before: Any
    after: Made | None


class Call:
    """One call of the program's.

    Attributes:
        op, args: what was called, with `Slot` and the like in the places of tensors, generators, and numbers that vary.
        flags: whether gradients were recorded, and whether it was in inference_mode.
        kind: how it is answered.
        result: what came back, with a `Slot` or `Made` in each tensor's place.
        gradients: of a backward pass.
        since: of a backward pass the first call that it goes back to.
        writes: numbers of the tensors whose memory the call writes, and of those from outside that it shows first and
            whose memory has been written by then.
        rewrites: number of the tensor whose history goes on by a write; None if there is none.
        line: the user's line.
        recorded: whether it recorded history.
        autocast: whether it was made under autocast.
    """

    __slots__ = (
        "args", "autocast", "flags", "gradients", "kind", "line", "op", "recorded", "result", "rewrites", "since",
        "writes",
    )  # fmt: skip

    op: Op | Effect
    args: tuple[Any, ...]
    flags: tuple[bool, bool]
    kind: Kind
    result: Any
    gradients: tuple[Gradient, ...]
    since: int
    writes: tuple[int, ...]
    rewrites: int | None
    line: str
    recorded: bool
    autocast: bool

    def same_as(self, other: Call) -> bool:
        """Whether both are the same call, with the same result."""
        return (
            self.op is other.op
            and self.flags == other.flags
            and self.kind is other.kind
            and self.gradients == other.gradients
            and self.writes == other.writes
            and (self.kind is Kind.AT_ONCE or equal(self.args, other.args))
            and equal(self.result, other.result)
        )


def equal(one: Any, other: Any) -> bool:
    """Whether two arguments without tensors are the same: of one type and equal, or one object."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return isinstance(one, Free) and type(other) is one.kind
    if kind is float:
        return repr(one) == repr(other)  # 0.0 is not -0.0, and nan is nan
    if kind in PLAIN:
        return bool(one == other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if kind is list:
        return len(one) == len(other) and all(map(equal, one, other))
    if kind is dict:
        return list(one) == list(other) and all(map(equal, one.values(), other.values()))
    return kind is slice and equal((one.start, one.stop, one.step), (other.start, other.stop, other.step))


def history_of(tensor: Tensor) -> str:
    """What a tensor from outside comes from, as `Outside` says it."""
    node = tensor._node
    return "none" if node is None else "leaf" if node.__class__ is Leaf else "recorded"


def memory_of(tensor: Tensor) -> Any:
    """What is one object for all tensors over the same memory; None if nothing else knows of the memory."""
    storage = tensor._storage
    return None if storage is None else (storage.origin or storage)


def memory_number(outside: Outside) -> int:
    """A number for the memory of a tensor from outside, which tensors that share it have in common."""
    return -1 - outside.number if outside.memory is None else outside.memory


def mapped(structure: Any, change: Callable[[Any], Any]) -> Any:
    """*structure* with ``change(leaf)`` for each leaf, in containers of its own."""
    kind = type(structure)
    if kind is tuple:
        return tuple([mapped(item, change) for item in structure])
    if kind is list:
        return [mapped(item, change) for item in structure]
    if kind is dict:
        return {key: mapped(item, change) for key, item in structure.items()}
    if isinstance(structure, tuple) and not hasattr(structure, "_fields"):
        return kind([mapped(item, change) for item in structure])
    return change(structure)


class Way(NamedTuple):
    """How gradients arrive: at which of the results, and how each lies in memory."""

    places: tuple[int, ...]
    layouts: tuple[Any, ...]


class Passing(NamedTuple):
    """A pass through a run's history, in the run's graph.

    Attributes:
        roots: numbers of the tensors at which gradients may arrive.
        way: how they arrive.
        seeds: values of the gradients that arrive.
        leaves: numbers of the tensors that get gradients.
        results: values of these; None where none arrives.
        nodes: from which node to which.
        overlaps: for each root the places of those that need tensors which a pass from it frees.
    """

    roots: tuple[int, ...]
    way: Way
    seeds: tuple[int, ...]
    leaves: tuple[int, ...]
    results: tuple[int | None, ...]
    nodes: tuple[int, int]
    overlaps: tuple[frozenset[int], ...]


class Recording:
    """A run.

    Attributes:
        calls: the program's calls.
        ranges: from which node to which each call goes.
        graph_nodes, seen, memories: the graph's nodes, values and memory.
        numbers: the numbers of the program's tensors, by values of the graph.
        spent: for tensors whose history a backward pass used up: the call that made it, and the pass.
        most: how many tensors have numbers.
        tapes: what runs stretches of it, see `polyad.compiler.tape`.
        names: the calls that gave a tensor another history, with its number and the name of that.
        passing: a backward pass through what it returned, see `polyad.compiler.passes`.
        watched: gives the node that waits for such a pass, while it exists.
        passable: whether passes through it can be recorded.
        missed: whether another pass came.
        unfolded: how many passes went through calls that were made anew.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.ranges: list[tuple[int, int]] = []
        self.graph_nodes: list[Node] = []
        self.seen: list[Any] = []
        self.memories: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.spent: dict[int, tuple[int, int]] = {}
        self.tapes: dict[Any, Any] = {}
        self.most = 0
        self.names: list[tuple[int, int, str]] = []
        self.passing: Passing | None = None
        self.watched: Callable[[], Any] = lambda: None
        self.passable = self.missed = False
        self.unfolded = 0

    def name_of(self, made: Made, end: int) -> str:
        """The name of the history that a tensor has before the call at *end*."""
        return [str(made.name), *[name for at, number, name in self.names if number == made.number and at < end]][-1]

    def waits(self, left_history: bool) -> bool:
        """Whether a pass is to be recorded, of a run that has left history without or with a pass."""
        return self.passable and (self.missed or (left_history and self.passing is None))

    def add(self, call: Call, nodes: tuple[int, int]) -> None:
        """One more call, with its nodes in the graph, from and to."""
        self.calls.append(call)
        self.ranges.append(nodes)

    def nodes_of(self, at: int) -> list[Node]:
        """The nodes of the call at a place."""
        return self.graph_nodes[slice(*self.ranges[at])]


def made_by(call: Call) -> list[Made]:
    """The new tensors that a call gives, those in ``.grad`` as well."""
    found: list[Any] = []
    mapped(call.result, lambda leaf: found.append(leaf) if leaf.__class__ is Made else None)
    return [*found, *[gradient.after for gradient in call.gradients if gradient.after is not None]]
