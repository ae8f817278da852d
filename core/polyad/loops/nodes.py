"""What a kernel is made of: loops, loads, stores and accumulators, as plain data.

A body is a tuple of nodes. Numbers that say where things are (`Index`) are expressions of the variables around them, of
int64; what is computed of elements is any other `Expression`, whose operands a `Load` above it has read. Values belong
to the block in which they were first computed, and blocks inside of it see them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..base.dtypes import DType, int64
from ..codegen.expression import Apply, Expression, Iota, Literal, Local, Operand, where

Index = Expression

SERIAL = "serial"
"""From `begin` to `end`."""
WHOLE = "whole"
"""The same, of a variable that is there, as long as a whole step is left."""
REST = "rest"
"""The same, of a variable that is there, to the end."""
ROLLED = "rolled"
"""Serial, and not to be unrolled: a GPU's compiler would."""
VECTOR = "vector"
"""Turns that do not depend on each other, but for the accumulators named: a compiler may make vectors of it."""
PACK = "pack"
"""Elements of packs, see `polyad.codegen.packs`: its packed loads are one access before it, its stores one behind."""
HALVES = "halves"
"""Over the powers of two below `begin`, the largest first."""
ROWS = "rows"
"""Units of work in parallel, of which each instance of the kernel has neighbouring ones."""
ITEMS = "items"
"""Units of work in parallel, of which neighbouring instances have neighbouring ones at a time."""
GROUPS = "groups"
"""Units of work in parallel, of which each has several work items of a group, `items`; a group has `step` of them.
Work item number ``id`` of a group is number ``member`` of those that share its unit, number ``number`` in the group.
"""


class Node:
    """A statement."""

    __slots__ = ()


Body = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Let(Node):
    """A new variable that holds an index; it *changes*, or not; *small* ones are of 32 bits."""

    name: str
    value: Index
    changes: bool = False
    small: bool = False


@dataclass(frozen=True, slots=True)
class Set(Node):
    """Another value for an index that changes."""

    name: str
    value: Index


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """Statements repeated, by a kind that says how and what for. *variable* counts from *begin* to *end* by *step*.

    *accumulators* are what the turns of a `VECTOR` loop, of whole numbers or floats, accumulate in; a *small* variable
    has 32 bits.
    """

    kind: str
    variable: str
    begin: Index | int
    end: Index | int
    body: Body
    step: int = 1
    accumulators: tuple[Accumulator, ...] = ()
    small: bool = False
    items: int = 1


@dataclass(frozen=True, slots=True)
class If(Node):
    """Statements that are done where *condition* holds; if they *end*, the loop goes on with its next turn."""

    condition: Index
    body: Body
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Block(Node):
    """Statements with variables of their own. What is computed in blocks of one *copy* serves the later ones, too."""

    body: Body
    copy: int | None = None
    braces: bool = True


@dataclass(frozen=True, slots=True)
class Search(Node):
    """A new variable: the last of *count* numbers in the geometry, rising from place *begins* on, that is not above
    *sought*.
    """

    name: str
    count: Index
    begins: int
    sought: Index


@dataclass(frozen=True, slots=True)
class Point(Node):
    """A new pointer to elements of *dtype*, from an address."""

    name: str
    dtype: DType
    address: Index


@dataclass(frozen=True, slots=True)
class Load(Node):
    """Read *count* elements, *stride* apart, from *place* of *array*: *leaf* is then known. An `Iota` has no array.

    If *packed*, it is element c of the pack at *place* in which the loop around it is. A *single* one is a number where
    values have lanes.
    """

    leaf: Operand | Iota
    array: str
    place: Index
    stride: Index
    count: Index
    packed: bool = False
    single: bool = False


@dataclass(frozen=True, slots=True)
class Store(Node):
    """Write *count* elements of *value* to *place* of *array*, which may *stream* past the caches; else as `Load`."""

    array: str
    value: Expression
    place: Index
    stride: Index
    count: Index
    packed: bool = False
    single: bool = False
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Compute(Node):
    """Compute *values* here, in this order; nodes behind this one use what is known of them."""

    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Give(Node):
    """Compute *value*, of what is known and of *loads*, and let it be known as *name*.

    A *single* value is a number where others have lanes; one that is *lifted* is put into every lane, too. Of rows side
    by side there are *width* values, in an array whose index is ``c``; a loop of *kind* computes them.
    """

    name: Expression
    value: Expression
    loads: tuple[Load, ...] = ()
    single: bool = False
    lifted: bool = False
    width: int = 1
    kind: str = SERIAL


@dataclass(frozen=True, slots=True)
class Accumulator:
    """Variables that *reducer* combines: one for each part of *dtype*, or arrays of *width* with the index ``c``."""

    name: str
    copy: int
    reducer: str
    dtype: DType
    width: int = 1

    @property
    def local(self) -> Local:
        """Its variables, as an expression."""
        column = "[c]" if self.width > 1 else ""
        parts = 2 if self.dtype.is_complex else 1
        return Local(tuple([f"{self.name}{part}_{self.copy}{column}" for part in range(parts)]), self.dtype)


@dataclass(frozen=True, slots=True)
class Begin(Node):
    """A new accumulator, with nothing in it; a loop of *kind* clears one that has a width."""

    accumulator: Accumulator
    kind: str = SERIAL


@dataclass(frozen=True, slots=True)
class Accumulate(Node):
    """Combine *value* with what *into* holds, of the dtype and by the reducer of an accumulator; lanes from *count* on
    hold no elements.
    """

    accumulator: Accumulator
    value: Expression
    into: Local | None = None
    count: Index | None = None
    single: bool = False


@dataclass(frozen=True, slots=True)
class Fold(Node):
    """Combine the lanes of an accumulator; variables called *lane* hold the number."""

    accumulator: Accumulator
    lane: str

    @property
    def local(self) -> Local:
        """The number, as an expression."""
        names = self.accumulator.local.names
        return Local(tuple([f"{self.lane}{part}[0]" for part in range(len(names))]), self.accumulator.dtype)


@dataclass(frozen=True, slots=True)
class Shared(Node):
    """Memory that a group shares: *size* numbers of a part of *dtype*."""

    name: str
    dtype: DType
    size: int


@dataclass(frozen=True, slots=True)
class Barrier(Node):
    """All of a group wait for each other, and see what the others have written."""


@dataclass(frozen=True, slots=True)
class Move(Node):
    """Copy variables, or elements of shared memory, to others; to *new* variables if they are not there."""

    into: Local
    value: Local
    new: bool = False


@dataclass(frozen=True, slots=True)
class Exchange(Node):
    """What the neighbour among *items* whose number differs by *apart* has in *value*, or the first has if that is
    empty; to *new* variables if they are not there.
    """

    into: Local
    value: Local
    items: int
    apart: str = ""
    new: bool = False


# ---------------------------------------------------------------------------------------------------------- indices


@lru_cache(1024)
def var(name: str) -> Local:
    """The variable *name*."""
    return Local((name,), int64)


@lru_cache(1024)
def number(value: int) -> Literal:
    """The number *value*."""
    return Literal(value, int64)


ZERO, ONE = number(0), number(1)


@lru_cache(1024)
def geometry(n: int) -> Local:
    """Number *n* of the kernel's geometry."""
    return Local((f"g.at[{n}]",), int64)


def at(base: Index, index: Index, stride: Index) -> Index:
    """Where element *index* lies, *stride* apart from the next, from *base* on."""
    if stride == ZERO:
        return base
    return base + index if stride == ONE else base + index * stride


def least(a: Index, b: Index) -> Index:
    """The smaller of two."""
    return where(a < b, a, b)


def same(a: Index, b: Index) -> Index:
    """Whether two are equal."""
    return Apply("eq", (a, b), int64)


def recover(rest: str, sizes: Sequence[Index], strides: Mapping[str, Sequence[Index]]) -> Body:
    """Statements that take the position of number *rest* in dimensions of *sizes* apart, and add to each of the names
    in *strides* what its strides make of it; *rest* is used up.
    """
    found: list[Node] = []
    row, left, here = var(rest), var("rest"), var("at")
    for dim in range(len(sizes) - 1, -1, -1):
        moved = [Set(name, var(name) + here * own[dim]) for name, own in strides.items()]
        parts = Let("rest", row / sizes[dim]), Let("at", row - left * sizes[dim]), Set(rest, left)
        found.append(Block((*parts, *moved)))
    return tuple(found)


def over_columns(kind: str, body: Body) -> Loop:
    """The loop over rows side by side, of which there are ``m``."""
    return Loop(kind, "c", 0, var("m"), body, small=True)
