"""Nodes that work ahead in threads, while the program does something else.

Invariants: what a node gives is what it would give without threads; a state says where the program is, not how far
threads have read: it has the state of the source at some item that was not given yet, and which of the items from there
on were given. Threads hold no reference to their node, and end with it.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from polyad import errors
from polyad.utils.data.sampler import checked_count

from .base import SKIPPED, BaseNode, checked_fn, checked_source, seeded_call

__all__ = ["ParallelMapper", "Prefetcher"]

T = TypeVar("T")


class _End:
    """What stands for the end of a source."""


END = _End()


class Prefetcher(BaseNode[T]):
    """The items of the source, up to prefetch_factor of them read ahead in a thread.

    An exception of the source is raised when its item is due, and the next item can be asked for after it.

    Args:
        snapshot_frequency: the source is asked for its state at every so many items; on resuming, items after that are
            read again. More than 1 is faster where states are large.

    Raises:
        TypeError: a source that is no node.
        ValueError: numbers that are not positive integers.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(Prefetcher(IterableWrapper(range(4)), prefetch_factor=2))
    [0, 1, 2, 3]
    """

    def __init__(self, source: BaseNode[T], prefetch_factor: int, snapshot_frequency: int = 1) -> None:
        self.source = checked_source("Prefetcher", source)
        self.prefetch_factor = checked_count("Prefetcher", "prefetch_factor", prefetch_factor)
        self.snapshot_frequency = checked_count("Prefetcher", "snapshot_frequency", snapshot_frequency)
        self._threads = _Threads(1)
        self._ahead: deque[Future[Any]] = deque()
        self._state: dict[str, Any] = {}
        self._since = self._read = 0

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self._threads.stop()
        self._ahead.clear()
        self.source.reset(None if initial_state is None else initial_state["source"])
        self._state = self.source.state_dict()
        self._since = 0 if initial_state is None else initial_state["since"]
        for _ in range(self._since):
            _passed_over(self.source)
        self._read = self._since

    def next(self) -> T:
        while len(self._ahead) < self.prefetch_factor:
            self._begin()
        value, state = self._ahead.popleft().result()
        if value is END:
            self._ahead.clear()
            raise StopIteration
        self._since += 1
        if state is not None:
            self._state, self._since = state, 0
        if isinstance(value, _Raised):
            raise value.error
        self._begin()
        return value  # type: ignore[no-any-return]

    def _begin(self) -> None:
        self._read += 1
        wanted = self._read % self.snapshot_frequency == 0
        self._ahead.append(self._threads.submit(_pull, self.source, wanted))

    def get_state(self) -> dict[str, Any]:
        return {"source": self._state, "since": self._since}


@dataclass(slots=True)
class _Raised:
    error: Exception


def _pull(source: BaseNode[Any], wanted: bool) -> tuple[Any, dict[str, Any] | None]:
    """The next item and, if it is wanted, the state after it."""
    value: Any
    try:
        value = next(source)
    except StopIteration:
        value = END
    except Exception as error:
        value = _Raised(error)
    return value, source.state_dict() if wanted and value is not END else None


def _passed_over(source: BaseNode[Any]) -> Any:
    """The next item, of which nobody will hear again; END if there is none."""
    try:
        return next(source)
    except StopIteration:
        return END
    except Exception:  # raised before the state was taken
        return None


class ParallelMapper(BaseNode[T]):
    """A function of each item, several items at a time, in threads. For functions that wait, or that compute in
    libraries which let other threads run meanwhile: files, pictures, compression.

    Items come in the source's order, and with the random numbers that a `Mapper` would give them. `SkipSample`, raised
    by the function, leaves the item out; another exception is raised when its item is due, and the next item can be
    asked for after it.

    Args:
        num_workers: how many threads.
        in_order: False gives items as they are ready.
        method: "thread"; for processes, see `DataLoader`.
        max_concurrent: items at a time, waiting ones included; twice num_workers if None.
        snapshot_frequency: as in `Prefetcher`.

    Raises:
        TypeError: a source that is no node, or a map_fn that cannot be called.
        ValueError: numbers that are not positive integers, or another method.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(ParallelMapper(IterableWrapper(range(4)), lambda x: x * x, num_workers=2))
    [0, 1, 4, 9]
    """

    def __init__(
        self,
        source: BaseNode[Any],
        map_fn: Callable[[Any], T],
        num_workers: int,
        in_order: bool = True,
        method: str = "thread",
        max_concurrent: int | None = None,
        snapshot_frequency: int = 1,
        *,
        seed: int = 0,
    ) -> None:
        self.source = checked_source("ParallelMapper", source)
        self.map_fn = checked_fn("ParallelMapper", "map_fn", map_fn)
        self.num_workers = checked_count("ParallelMapper", "num_workers", num_workers)
        if method != "thread":
            raise errors.ArgumentError(
                f"ParallelMapper: method is {errors.safe_repr(method)}",
                fix='pass "thread"; for processes, make a Loader of the source and give it to a DataLoader',
            )
        self.in_order = in_order
        self.max_concurrent = checked_count(
            "ParallelMapper", "max_concurrent", 2 * num_workers if max_concurrent is None else max_concurrent
        )
        self.snapshot_frequency = checked_count("ParallelMapper", "snapshot_frequency", snapshot_frequency)
        self.seed = seed
        self._threads = _Threads(num_workers)
        self._working: dict[int, Future[Any]] = {}
        """By position, in the source's order."""
        self._snapshots: dict[int, dict[str, Any]] = {}
        """By position, the state of the source before the item there."""
        self._position = 0
        """Of the item that the source gives next."""
        self._drained = False
        self._given: set[int] = set()
        """Positions of items that were given, or left out, behind one that was not."""

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self._threads.stop()
        self._working, self._given = {}, set()
        self._drained = False
        self.source.reset(None if initial_state is None else initial_state["source"])
        self._position = 0 if initial_state is None else initial_state["position"]
        self._snapshots = {self._position: self.source.state_dict()}
        if initial_state is not None:
            first = initial_state["first"]
            self._given = set(initial_state["given"])
            while self._position < first and _passed_over(self.source) is not END:
                self._position += 1

    def _first(self) -> int:
        """The position of the first item that was not given."""
        return next(iter(self._working), self._position)

    def _fill(self) -> None:
        while len(self._working) < self.max_concurrent and not self._drained:
            if self._position % self.snapshot_frequency == 0 and self._position not in self._snapshots:
                self._snapshots[self._position] = self.source.state_dict()
            if self._position in self._given:
                self._drained = _passed_over(self.source) is END
                self._position += 1
                continue
            future: Future[Any]
            try:
                item = next(self.source)
            except StopIteration:
                self._drained = True
                return
            except Exception as error:
                future = Future()
                future.set_exception(error)
            else:
                future = self._threads.submit(
                    seeded_call, self.map_fn, item, "ParallelMapper", self.seed, self.epoch, self._position
                )
            self._working[self._position] = future
            self._position += 1

    def next(self) -> T:
        while True:
            self._fill()
            if not self._working:
                raise StopIteration
            position = self._next_ready()
            future = self._working.pop(position)
            self._given.add(position)
            first = self._first()
            self._given = {place for place in self._given if place >= first}
            for place in [place for place in self._snapshots if place <= first][:-1]:
                del self._snapshots[place]
            result = future.result()
            if result is not SKIPPED:
                self._fill()
                return result  # type: ignore[no-any-return]

    def _next_ready(self) -> int:
        ready = set(self._working.values())
        if not self.in_order:
            ready, _ = wait(ready, return_when=FIRST_COMPLETED)
        for position, future in self._working.items():
            if future in ready:
                return position
        raise errors.InternalError("ParallelMapper: no item is ready", fix="report a defect")

    def get_state(self) -> dict[str, Any]:
        position = next(iter(self._snapshots))
        return {
            "position": position, "source": self._snapshots[position], "first": self._first(),
            "given": sorted(self._given),
        }  # fmt: skip


class _Threads:
    """Threads that are there from the first work to the next `stop`, or as long as this object."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ThreadPoolExecutor | None = None
        self._end: Callable[[], Any] = lambda: None
        self._process = os.getpid()

    def submit(self, fn: Callable[..., Any], *args: Any) -> Future[Any]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._count, "polyad node")
            self._end = weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        return self._pool.submit(fn, *args)

    def stop(self) -> None:
        """Drop what was not begun, and wait for what was."""
        if self._pool is not None:
            if self._process == os.getpid():  # else they are threads of the process that this one was forked from
                self._pool.shutdown(wait=True, cancel_futures=True)
                self._end()
            self._pool, self._process = None, os.getpid()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Threads, (self._count,)
