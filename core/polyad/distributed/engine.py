"""What a package implements that carries data between processes: an MPI library, a vendor's collectives.

The hook `polyad_process_group` gives an `Engine` for a name; the rest, such as lists of tensors, devices that the
engine
does not reach, waiting, lost processes, objects and gradients, is core's. Each method starts an operation and returns
at
once; core asks `Operation.test` until it is True. Tensors are contiguous, have one dimension, and are on a device whose
type is among `Engine.devices`. All processes of a group start the same operations in the same order.

To test an engine, run the tests in tests/unit/distributed with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from ..errors import NotSupported

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .reduce_ops import ReduceOp
    from .store import Store

__all__ = ["Engine", "Operation", "World"]


class Operation(Protocol):
    """An operation that was started."""

    def test(self) -> bool:
        """Whether it has ended; makes progress, does not wait."""

    @property
    def source(self) -> int:
        """The rank of the process that a message came from."""


@dataclass(frozen=True)
class World:
    """The processes that a program consists of, as an engine is told of them.

    Attributes:
        rank, size: which of how many processes this is.
        store: what all of them read and write.
        address: host and port of the server of `store`, which also wires up MPI processes that no `mpiexec` started;
            None for a store that has no server.
    """

    rank: int
    size: int
    store: Store
    address: tuple[str, int] | None


class Engine(ABC):
    """Carries data between the processes of a group, of which this is number `rank` of `size`."""

    name: ClassVar[str]
    devices: ClassVar[frozenset[str]] = frozenset({"cpu"})
    rank: int
    size: int

    @abstractmethod
    def split(self, ranks: Sequence[int], tag: int) -> Engine:
        """The engine of a smaller group; called by its members alone, with a *tag* that tells groups apart."""

    @abstractmethod
    def broadcast(self, tensor: Tensor, root: int) -> Operation:
        """Give all processes the elements of *tensor* of process *root*."""

    @abstractmethod
    def all_reduce(self, tensor: Tensor, op: ReduceOp) -> Operation:
        """Reduce *tensor* of all processes in place."""

    @abstractmethod
    def reduce(self, tensor: Tensor, root: int, op: ReduceOp) -> Operation:
        """Reduce *tensor* of all processes into that of *root*."""

    @abstractmethod
    def all_gather(self, output: Tensor, input: Tensor) -> Operation:
        """Put *input* of all processes one after the other into *output*."""

    @abstractmethod
    def gather(self, output: Tensor | None, input: Tensor, root: int) -> Operation:
        """As `all_gather`, into *output* of process *root*; None in the others."""

    @abstractmethod
    def scatter(self, output: Tensor, input: Tensor | None, root: int) -> Operation:
        """Give process i the i-th of the equal parts of *input*, which process *root* has."""

    @abstractmethod
    def reduce_scatter(self, output: Tensor, input: Tensor, op: ReduceOp) -> Operation:
        """Reduce *input* of all processes and give process i the i-th of its equal parts."""

    @abstractmethod
    def all_to_all(
        self, output: Tensor, input: Tensor, output_sizes: Sequence[int], input_sizes: Sequence[int]
    ) -> Operation:
        """Send process i the i-th part of *input*, and put what it sends into the i-th part of *output*; sizes are
        numbers of elements.
        """

    @abstractmethod
    def send(self, tensor: Tensor, to: int, tag: int) -> Operation:
        """Send *tensor* to process *to*."""

    @abstractmethod
    def recv(self, tensor: Tensor, source: int | None, tag: int) -> Operation:
        """Receive into *tensor* from process *source*, or from any."""

    @abstractmethod
    def barrier(self) -> Operation:
        """End when all processes have begun it."""

    @abstractmethod
    def close(self, healthy: bool) -> None:
        """Let go of what the engine holds; not *healthy* after an operation that did not end."""

    @classmethod
    def share(cls, text: str | None) -> str:
        """Give all processes that the engine's own launcher has started the *text* of the first one, the others pass
        None: so they meet under ``mpiexec`` without an address in the environment.
        """
        raise NotSupported(f"{cls.name}: it has no launcher of its own", fix="set MASTER_ADDR and MASTER_PORT")
