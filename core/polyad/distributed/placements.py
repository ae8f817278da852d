"""How a tensor would lie on several processes: PyTorch's placements, which libraries make while they are imported.

They are values; what would split a tensor by them raises NotImplementedError, since models are not split.
"""

from __future__ import annotations

import dataclasses

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """A place of a tensor's elements on the processes along one dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part, along *dim* if that is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each process has the whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the whole is the reduction, *reduce_op* if that is given, of what the processes have."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part along *dim*.

    >>> from polyad.distributed.tensor import Shard
    >>> Shard(0), Shard(0).is_shard(1)
    (Shard(dim=0), False)
    """

    dim: int


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """Each process has the whole."""


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """The whole is the reduction of what the processes have."""

    reduce_op: str = "sum"
