"""The memory behind one or more tensors, and the record of writes to it.

An op's result owns its array alone and has no `Storage` until that is needed: when a view of it is taken, when
its value is saved as an op's result, or when it is written to. From then on all aliases share the same `Storage`, so a
write through any of them is seen by all: that is how a stale saved tensor is noticed.

Invariant: ``written`` is drawn from the same counter as the sequence numbers of autograd nodes, so "was it changed
after that node saved it?" is one comparison and saving costs nothing.
"""

from __future__ import annotations

import itertools
import math
import weakref
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ..base.locks import Lock
from ..base.state import line_of

if TYPE_CHECKING:
    from ..backend.interface import Backend
    from ..base.state import Place

T = TypeVar("T")

next_event = itertools.count(1).__next__
"""Numbers autograd nodes and writes in the order in which they happen, over all threads."""

_tracking = Lock()


class ViewOf(NamedTuple, Generic[T]):
    """Where a view lies: the tensor whose history it belongs to (None for a detached alias)
    and its offset in the storage.
    """

    base: T | None
    offset: int


class InferenceView(ViewOf[T]):
    """Where a tensor of ``inference_mode`` lies in its storage, whether it is a view or not: it has no base."""

    __slots__ = ()


INFERENCE: InferenceView[Any] = InferenceView(None, 0)
"""Of a tensor of ``inference_mode`` that begins its storage."""


class UnrecordedViewOf(Generic[T]):
    """Where a view taken with gradients off lies: as `ViewOf`, but it does not keep its base alive.

    A write to such a view would not reach its base's history, so it is refused while there is a base: for a result that
    happens to be a view of something that a function computed and forgot, there is none.
    """

    __slots__ = ("_base", "offset")

    def __init__(self, base: T, offset: int) -> None:
        self._base = weakref.ref(base)
        self.offset = offset

    @property
    def base(self) -> T | None:
        return self._base()


class Storage:
    """The root array that all aliasing tensors view, a version, and who wrote last.

    Attributes:
        root: the backend's handle of the whole memory, from ``Backend.root``; asked for when a view first needs it.
        origin: the storage whose memory this storage shares, counting writes apart; None for memory of its own.
        version: how many in-place writes it has seen.
        written: the event number of the last write, 0 if there was none.
        views: weak references to the differentiable views, so that a write can renew their history.
        read_only: whether the memory, another library's, may not be written to.
        segment: the file descriptor by which other processes are given the memory; None for memory of this process.
        conjugate_of: the storage of which this one holds the conjugates, as long as somebody else has that; where
            PyTorch shares memory, so that a write would be seen there.
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_backend", "_itemsize", "written")

    # What most storages never change stands here once: many are there only to notice a write that does not come.
    _root: Any = None
    _sweep_at = 8
    _writer: tuple[str, str | Place] = ("", "")
    conjugate_of: weakref.ref[Storage] | None = None
    origin: Storage | None = None
    read_only = False
    segment: int | None = None
    version = 0
    views: list[weakref.ref[Any]] | tuple[()] = ()

    def __init__(self, array: Any, backend: Backend, itemsize: int) -> None:
        self._array = array
        self._itemsize = itemsize
        self._backend = backend
        self.written = 0

    @property
    def root(self) -> Any:
        root = self._root
        if root is None:
            root = self._root = self._backend.root(self._array)
        return root

    @property
    def nbytes(self) -> int:
        """The size of the memory."""
        shape: tuple[int, ...] = self._array.shape
        return math.prod(shape) * self._itemsize

    def unnoticed(self) -> Storage:
        """The same memory with a count of writes of its own, for ``Tensor.data``: writes there do not show here."""
        other = Storage(self._array, self._backend, self._itemsize)
        other._root, other.origin, other.read_only = self._root, self.origin or self, self.read_only
        other.conjugate_of = self.conjugate_of
        return other

    @property
    def writer(self) -> tuple[str, str]:
        """The op of the last write and the user's line, for error messages; empty if there was none."""
        op, line = self._writer
        return op, line if isinstance(line, str) else line_of(*line)

    def bump(self, op: str, line: str | Place) -> None:
        """Record an in-place write by *op* at the user's *line*, or at the place from which the line can be told."""
        self.version += 1
        self.written = next_event()
        self._writer = (op, line)

    def track(self, view: Any) -> None:
        """Remember a differentiable view for as long as it lives."""
        views = self.views
        if len(views) >= self._sweep_at or views.__class__ is tuple:
            views = self._swept()
        views.append(weakref.ref(view))  # type: ignore[union-attr]

    def _swept(self) -> list[weakref.ref[Any]]:
        """The list of views without entries that are dead: cheaper, when half of them may be, than a callback a view.

        Other threads may append to it meanwhile, without the lock, which keeps apart those who sweep.
        """
        with _tracking:
            views = self.views
            if isinstance(views, tuple):
                views = self.views = []
            known = views[:]
            views[: len(known)] = [reference for reference in known if reference() is not None]
            self._sweep_at = 2 * len(views) + 8
            return views

    def live_views(self) -> list[Any]:
        """The views remembered by `track` that still exist."""
        return [view for view in [reference() for reference in self.views[:]] if view is not None]
