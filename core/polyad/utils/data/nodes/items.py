"""Nodes that look at one item after the other, and nodes that group items."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any, TypeVar

from polyad import errors
from polyad.utils.data.sampler import checked_count
from polyad.utils.data.seeding import mixed
from polyad.utils.data.workers.info import get_worker_info

from .base import SKIPPED, BaseNode, checked_fn, checked_source, seeded_call

__all__ = ["Batcher", "Cycler", "Filter", "Header", "Mapper", "Sharder", "Shuffler", "Unbatcher", "Zipper"]

T = TypeVar("T")


class _OfOneSource(BaseNode[T]):
    """A node that reads another, and whose own state is a count."""

    source: BaseNode[Any]
    _count = 0

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self._count = 0 if initial_state is None else initial_state["count"]
        self.source.reset(None if initial_state is None else initial_state["source"])

    def get_state(self) -> dict[str, Any]:
        return {"count": self._count, "source": self.source.state_dict()}


class Mapper(_OfOneSource[T]):
    """A function of each item. `SkipSample`, raised by it, leaves the item out.

    What the function draws from polyad's default generator follows from (seed, number of the pass, number of the item),
    and the program's own random numbers are not disturbed. The same numbers are drawn in a `ParallelMapper`. The
    generators of ``random`` and ``numpy.random``, which all threads share, are left alone.

    Raises:
        TypeError: a source that is no node, or a map_fn that cannot be called.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(Mapper(IterableWrapper(range(3)), lambda x: x * x))
    [0, 1, 4]
    """

    def __init__(self, source: BaseNode[Any], map_fn: Callable[[Any], T], *, seed: int = 0) -> None:
        self.source = checked_source(type(self).__name__, source)
        self.map_fn = checked_fn(type(self).__name__, "map_fn", map_fn)
        self.seed = seed

    def next(self) -> T:
        while True:
            item, position = next(self.source), self._count
            self._count += 1
            result = seeded_call(self.map_fn, item, type(self).__name__, self.seed, self.epoch, position)
            if result is not SKIPPED:
                return result  # type: ignore[no-any-return]


class Filter(_OfOneSource[T]):
    """The items of which filter_fn says True.

    Raises:
        TypeError: a source that is no node, or a filter_fn that cannot be called.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(Filter(IterableWrapper(range(6)), lambda x: x % 2 == 0))
    [0, 2, 4]
    """

    def __init__(self, source: BaseNode[T], filter_fn: Callable[[T], bool], *, seed: int = 0) -> None:
        self.source = checked_source("Filter", source)
        self.filter_fn = checked_fn("Filter", "filter_fn", filter_fn)
        self.seed = seed

    def next(self) -> T:
        while True:
            item, position = next(self.source), self._count
            self._count += 1
            wanted = seeded_call(self.filter_fn, item, "Filter", self.seed, self.epoch, position)
            if wanted is not SKIPPED and wanted:
                return item  # type: ignore[no-any-return]


class Batcher(_OfOneSource[list[Any]]):
    """Lists of batch_size items. Follow it by ``Mapper(node, default_collate)`` for tensors.

    Args:
        drop_last: leave out a last batch that is smaller.

    Raises:
        TypeError: a source that is no node.
        ValueError: a batch_size that is not a positive integer.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(Batcher(IterableWrapper(range(5)), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, source: BaseNode[Any], batch_size: int, drop_last: bool = True) -> None:
        self.source = checked_source("Batcher", source)
        self.batch_size = checked_count("Batcher", "batch_size", batch_size)
        self.drop_last = drop_last

    def next(self) -> list[Any]:
        batch = list(itertools.islice(self.source, self.batch_size))
        if not batch or (self.drop_last and len(batch) < self.batch_size):
            raise StopIteration
        self._count += 1
        return batch


class Unbatcher(BaseNode[Any]):
    """The items of lists of items, one by one; with a `Mapper` before it that gives lists, what is called flat_map.

    Raises:
        TypeError: a source that is no node; on reading, an item that is no sequence.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(Unbatcher(IterableWrapper([[1, 2], [], [3]])))
    [1, 2, 3]
    """

    def __init__(self, source: BaseNode[Any]) -> None:
        self.source = checked_source("Unbatcher", source)
        self._batch: Any = ()
        self._place = 0
        self._before: dict[str, Any] | None = None

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self._batch, self._place, self._before = (), 0, None
        self.source.reset(None if initial_state is None else initial_state["source"])
        if initial_state is not None and initial_state["place"]:
            self._read()
            self._place = initial_state["place"]

    def _read(self) -> None:
        self._before = self.source.state_dict()
        batch = next(self.source)
        if not hasattr(batch, "__len__") or not hasattr(batch, "__getitem__"):
            raise errors.wrong_type("Unbatcher", "item", batch, "a list of items")
        self._batch, self._place = batch, 0

    def next(self) -> Any:
        while self._place >= len(self._batch):
            self._read()
        item = self._batch[self._place]
        self._place += 1
        return item

    def get_state(self) -> dict[str, Any]:
        if self._before is None or self._place >= len(self._batch):
            return {"place": 0, "source": self.source.state_dict()}
        return {"place": self._place, "source": self._before}


class Header(_OfOneSource[T]):
    """The first n items.

    Raises:
        TypeError: a source that is no node.
        ValueError: an n that is not a positive integer.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(Header(IterableWrapper(range(100)), 3))
    [0, 1, 2]
    """

    def __init__(self, source: BaseNode[T], n: int) -> None:
        self.source = checked_source("Header", source)
        self.n = checked_count("Header", "n", n)

    def next(self) -> T:
        if self._count >= self.n:
            raise StopIteration
        item = next(self.source)
        self._count += 1
        return item  # type: ignore[no-any-return]


class Cycler(_OfOneSource[T]):
    """The source again and again, each time a pass of its own; max_cycles times, or for ever if None.

    It ends where a pass of the source has no item.

    Raises:
        TypeError: a source that is no node.
        ValueError: a max_cycles that is not a positive integer.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(Cycler(IterableWrapper("ab"), max_cycles=2))
    ['a', 'b', 'a', 'b']
    """

    def __init__(self, source: BaseNode[T], max_cycles: int | None = None) -> None:
        self.source = checked_source("Cycler", source)
        self.max_cycles = max_cycles if max_cycles is None else checked_count("Cycler", "max_cycles", max_cycles)

    def next(self) -> T:
        try:
            return next(self.source)  # type: ignore[no-any-return]
        except StopIteration:
            self._count += 1
            if self.max_cycles is not None and self._count >= self.max_cycles:
                raise
            self.source.reset()
            return next(self.source)  # type: ignore[no-any-return]


class Sharder(_OfOneSource[T]):
    """Every num_shards-th item, from that of number index on: the share of one reader of several.

    Args:
        num_shards, index: if None, as many as there are workers of a `DataLoader`, and the number of this worker; all
            items where there are none.

    Raises:
        TypeError: a source that is no node.
        ValueError: an index that is not in [0, num_shards); on resuming, a state of another share.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(Sharder(IterableWrapper(range(7)), num_shards=3, index=1))
    [1, 4]
    """

    def __init__(self, source: BaseNode[T], num_shards: int | None = None, index: int | None = None) -> None:
        self.source = checked_source("Sharder", source)
        if (num_shards is None) != (index is None):
            raise errors.ArgumentError("Sharder: num_shards and index go together", fix="pass both of them or none")
        if num_shards is not None:
            checked_count("Sharder", "num_shards", num_shards)
            if type(index) is not int or not 0 <= index < num_shards:
                raise errors.ArgumentError(
                    f"Sharder: index is {errors.safe_repr(index)}, not an int in [0, {num_shards})",
                    fix="count shards from 0",
                )
        self._given = (num_shards, index)
        self._share = (1, 0)

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        num_shards, index = self._given
        info = get_worker_info()
        if num_shards is None or index is None:
            num_shards, index = (1, 0) if info is None else (info.num_workers, info.id)
        if initial_state is not None and tuple(initial_state.get("share", (num_shards, index))) != (num_shards, index):
            raise errors.ArgumentError(
                f"Sharder.reset: the state is of share {initial_state['share'][1]} of {initial_state['share'][0]}, and "
                f"this is share {index} of {num_shards}",
                fix="resume with as many shards as before, each from its own state",
            )
        self._share = (num_shards, index)
        super().reset(initial_state)

    def next(self) -> T:
        num_shards, index = self._share
        while True:
            item, position = next(self.source), self._count
            self._count += 1
            if position % num_shards == index:
                return item  # type: ignore[no-any-return]

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "share": list(self._share)}


class Zipper(BaseNode[tuple[Any, ...]]):
    """Tuples of an item of each source; ends with the shortest.

    Raises:
        TypeError: a source that is no node.
        ValueError: no source.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> list(Zipper(IterableWrapper("ab"), IterableWrapper(range(9))))
    [('a', 0), ('b', 1)]
    """

    def __init__(self, *sources: BaseNode[Any]) -> None:
        if not sources:
            raise errors.ArgumentError("Zipper: there is no source", fix="pass at least one node")
        self.sources = [checked_source("Zipper", source) for source in sources]

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        states = [None] * len(self.sources) if initial_state is None else initial_state["sources"]
        if len(states) != len(self.sources):
            raise errors.ArgumentError(
                f"Zipper.reset: the state is of {len(states)} sources, and there are {len(self.sources)}",
                fix="make the pipeline as it was when the state was taken",
            )
        for source, state in zip(self.sources, states, strict=True):
            source.reset(state)

    def next(self) -> tuple[Any, ...]:
        return tuple([next(source) for source in self.sources])

    def get_state(self) -> dict[str, Any]:
        return {"sources": [source.state_dict() for source in self.sources]}


class Shuffler(_OfOneSource[T]):
    """The items in random order, as far as a buffer of buffer_size items goes: each is drawn from the buffer, and the
    source's next takes its place.

    The order follows from (seed, number of the pass). The state holds the items in the buffer, so put this node where
    items are small (names, bytes), before what decodes them.

    Raises:
        TypeError: a source that is no node.
        ValueError: a buffer_size that is not a positive integer.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> order = list(Shuffler(IterableWrapper(range(8)), buffer_size=4))
    >>> sorted(order) == list(range(8)) != order
    True
    """

    def __init__(self, source: BaseNode[T], buffer_size: int, *, seed: int = 0) -> None:
        self.source = checked_source("Shuffler", source)
        self.buffer_size = checked_count("Shuffler", "buffer_size", buffer_size)
        self.seed = seed
        self._buffer: list[Any] = []
        self._in_states: set[int] = set()

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        self._buffer = [] if initial_state is None else list(initial_state["buffer"])
        self._in_states = set(range(len(self._buffer)))

    def next(self) -> T:
        buffer = self._buffer
        while len(buffer) < self.buffer_size:
            try:
                buffer.append(next(self.source))
            except StopIteration:
                break
        if not buffer:
            raise StopIteration
        place = mixed(self.seed, self.epoch, self._count) % len(buffer)
        self._count += 1
        buffer[place], buffer[-1] = buffer[-1], buffer[place]
        last, item = len(buffer) - 1, buffer.pop()
        # A state that was taken shows the item as it is now, whatever is done with it from here on.
        places = self._in_states
        shown, moved = place in places, last in places
        places.discard(last)
        if place != last:
            (places.add if moved else places.discard)(place)
        return copy.deepcopy(item) if shown else item  # type: ignore[no-any-return]

    def get_state(self) -> dict[str, Any]:
        self._in_states = set(range(len(self._buffer)))
        return {**super().get_state(), "buffer": list(self._buffer)}
