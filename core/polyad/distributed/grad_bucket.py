"""GradBucket: gradients that are reduced together, as a communication hook gets them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..functions import empty
from ..futures import Future
from ..tensor import Tensor

__all__ = ["GradBucket"]


class GradBucket:
    """Gradients of some parameters one after the other, as a communication hook gets them.

    Args:
        number: which bucket this is, in the order in which they are reduced.
        members: the parameters, by their numbers in the module.
    """

    def __init__(self, number: int, members: Sequence[tuple[int, Tensor]], is_last: bool) -> None:
        self._number, self._members, self._is_last = number, list(members), is_last
        first = members[0][1]
        self._memory = empty(sum(p.numel() for _, p in members), dtype=first.dtype, device=first.device)
        self._buffer = self._memory
        self.places = dict(zip((number for number, _ in members), self._views(self._memory)))
        """Where the gradient of each parameter is, by the parameter's number."""
        self.waiting = len(members)
        self.future: Future[Any] | None = None

    def index(self) -> int:
        """Which bucket this is."""
        return self._number

    def buffer(self) -> Tensor:
        """The gradients, flat."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Put another tensor in place of the gradients."""
        self._buffer = buffer

    def take(self, reduced: Tensor) -> None:
        """Make *reduced* what the gradients are."""
        if reduced is not self._memory:
            self._memory.copy_(reduced.view(-1))
        self._buffer = self._memory

    def gradients(self) -> list[Tensor]:
        """A view of the buffer for each parameter."""
        return list(self._views(self._buffer))

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return [parameter for _, parameter in self._members]

    def is_last(self) -> bool:
        """Whether it is the one that is reduced last."""
        return self._is_last

    def _views(self, buffer: Tensor) -> Iterator[Tensor]:
        begin = 0
        for _, parameter in self._members:
            end = begin + parameter.numel()
            yield buffer[begin:end].view(parameter.shape)
            begin = end
