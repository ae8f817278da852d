"""What a graph is about: memory, tensors over it, tensors from outside, numbers from outside or read on the way.

A `Storage` is memory. A `Value` is a tensor over some of it at one time: which storage, how often that had been
written, and in which layout it is shown. So a view is a value over the storage of another, a write makes a value with
the next version, and two values alias exactly if they name one storage.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ArgumentError, PolyadError

if TYPE_CHECKING:
    from ..base.device import Device
    from ..base.dtypes import DType
    from ..base.shapes_and_strides import Layout, Shape
    from ..tensor import Tensor
    from .expressions import Size

Role = Literal["input", "state", "output", "temporary"]
"""Whose memory a storage is: an input's, a constant's, that of a new result, or the graph's alone."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Memory.

    Attributes:
        number: its place among the graph's storages.
        nbytes: its size.
        role: whose it is.
    """

    number: int
    nbytes: int
    device: Device
    role: Role


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor at one time, before there is data.

    Attributes:
        number: its place among the graph's values; a `polyad.graph.structure.Ref` names it by this.
        name: the tensor's: an input's or parameter's name, else a number.
        storage: the memory that it shows.
        version: how often the graph had written to that memory.
        dtype: of its elements, which the layout counts.
        layout: shape, strides and offset.
        requires_grad: whether it required a gradient when it was captured.
        earlier: the number of the same tensor's value before it was written to, or shown other memory; None for the
            first.
        general: the shape with expressions in place of the sizes that follow from symbols; None where none does. The
            layout is that of the first of the sizes for which the graph was captured.
    """

    number: int
    name: str
    storage: Storage
    version: int
    dtype: DType
    layout: Layout
    requires_grad: bool = False
    earlier: int | None = None
    general: tuple[Size, ...] | None = None

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The shape, with expressions where sizes follow from symbols."""
        return self.layout.shape if self.general is None else self.general

    @property
    def shape(self) -> Shape:
        """The size of each dimension."""
        return self.layout.shape

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self.storage.device

    def __str__(self) -> str:
        return f"{self.dtype.name} {self.sizes} on {self.device}"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size that each replay reads off a tensor, or an element that the program read of it (``item``); shapes and
    arguments name it by a `polyad.graph.expressions.SizeRef`.

    Attributes:
        name: the user's, or one made up.
        value: the number of the value off which it is read: an input's, or, for a size that follows from another by the
            rules of an op, that of the op's result.
        dim: the dimension of that value; -1 for its one element.
        captured: its sizes in the captures of which the graph is made, in the order that all symbols have.
        least, most: what it may be.
        data: whether it follows from data: only the call that makes the value tells it.
    """

    name: str
    value: int
    dim: int
    captured: tuple[Any, ...]
    least: int = 0
    most: int | None = None
    data: bool = False


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor that the function used and did not make. Held by reference: its present contents count on each replay.

    Attributes:
        fixed: whether it must have the captured shape; not if the function itself gives it another (``out=``).
    """

    value: Value
    tensor: Tensor
    fixed: bool = True


@dataclass(frozen=True, slots=True)
class Scalar:
    """What is known at run time only and is no tensor: what an effect read on the host.

    Attributes:
        source: the effect that reads it.
        type_name: of its Python type.
        baked: what it came to in the captured call, as text; what the program decided by it is part of the graph.
    """

    source: str
    type_name: str
    baked: str

    @property
    def number(self) -> int | float | None:
        """What it came to, if that was a number."""
        kind = {"int": int, "float": float}.get(self.type_name)
        return None if kind is None else kind(self.baked)


COMPARISONS = ("true", "eq", "ne", "lt", "le", "gt", "ge")


@dataclass(frozen=True, slots=True)
class Condition:
    """What a program found of a number and decided by: ``operator.name(number, *args)`` was *outcome*; *name* is "true"
    where it asked whether the number is one.
    """

    name: str
    args: tuple[float, ...]
    outcome: bool

    def holds(self, number: float) -> bool:
        """Whether it is so of *number*."""
        found = bool(number) if self.name == "true" else getattr(operator, self.name)(number, *self.args)
        return found is self.outcome


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the program's that each replay reads anew, such as an optimizer's learning rate; in arguments a
    `polyad.graph.structure.NumberRef` names it.

    Attributes:
        name: by which a call of the graph may give it.
        source: whose it was in the program.
        captured: what it was then.
        conditions: what the program decided by it; a number of which they do not hold is refused.
        read: gives what it is now; None for a graph that was read from a text, which has to be given it.
    """

    name: str
    source: str
    captured: float
    conditions: tuple[Condition, ...] = ()
    read: Callable[[], Any] | None = None


@dataclass(frozen=True, slots=True)
class Draw:
    """Which stretch of a generator's numbers a call draws, in blocks of four words.

    Attributes:
        offset: where it begins, counted from where the generator stood when the whole call began.
        blocks: how many there are.
        seed: that the function had started the generator from by then, so that *offset* counts from there.
    """

    offset: int
    blocks: int
    seed: int | None = None

    @property
    def end(self) -> Draw:
        """Where the next draw begins, if nothing is put back."""
        return Draw(self.offset + self.blocks, 0, self.seed)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a check of elements raises, as far as a text can say it: in a captured call it is a function.

    Attributes:
        kind: the class of the error.
        title: whose check it is.
    """

    kind: type[PolyadError]
    title: str

    @classmethod
    def from_example(cls, error: Callable[..., PolyadError]) -> Refusal:
        """What *error* raises, from an example."""
        try:
            example = error((), 0)
        except Exception:
            return cls(ArgumentError, "check")
        return cls(type(example), example.message.partition(":")[0])

    def __call__(self, position: tuple[int, ...], value: int) -> PolyadError:
        """The error for the element at *position*."""
        return self.kind(
            f"{self.title}: the element at {position} is not one that it takes",
            fix="see the function's documentation for what it takes",
        )


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """A call of a submodule of the captured model.

    Attributes:
        path: where the submodule is in the model: ``encoder.layers.0``.
        class_name: of the submodule.
        number: which of the calls of submodules it is, in order.
    """

    path: str
    class_name: str
    number: int
