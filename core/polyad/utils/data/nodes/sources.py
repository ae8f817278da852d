"""Where items come from: what Python can iterate, samplers, and datasets."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, TypeVar

from polyad import errors
from polyad.interop import generators as of_numpy
from polyad.random.generator import default_generator
from polyad.utils.data.generator_states import check_states, draws_plainly, set_states, states_of
from polyad.utils.data.sampler import SequentialSampler
from polyad.utils.data.seeding import held_generators, restorer

from .base import BaseNode
from .items import Mapper

__all__ = ["IterableWrapper", "MapStyleWrapper", "SamplerWrapper"]

T = TypeVar("T")


class IterableWrapper(BaseNode[T]):
    """The items of something that can be iterated, once for each pass.

    Resumed, it is iterated again, and the items that were given are passed over; what has ``state_dict`` and
    ``load_state_dict`` itself (its iterator, or it), such as a `DataLoader`, is asked instead. What has
    ``set_epoch`` is told the number of the pass.

    Raises:
        TypeError: what cannot be iterated.
        ValueError: on resuming, fewer items than were given.

    >>> list(IterableWrapper("abc"))
    ['a', 'b', 'c']
    """

    def __init__(self, iterable: Iterable[T]) -> None:
        if isinstance(iterable, type) or not (hasattr(iterable, "__iter__") or hasattr(iterable, "__getitem__")):
            raise errors.wrong_type("IterableWrapper", "iterable", iterable, "something that can be iterated")
        self.iterable = iterable
        self._items: Iterator[T] | None = None
        self._count = 0

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if hasattr(self.iterable, "set_epoch"):
            self.iterable.set_epoch(self.epoch)
        if initial_state is None:
            self._items, self._count = iter(self.iterable), 0
            return
        self._count = initial_state["count"]
        inner = initial_state["inner"]
        if inner is not None and initial_state["of_iterable"]:
            self.iterable.load_state_dict(inner)  # type: ignore[attr-defined]
        self._items = iter(self.iterable)
        if inner is not None:
            if not initial_state["of_iterable"]:
                self._items.load_state_dict(inner)  # type: ignore[attr-defined]
            return
        passed = sum(1 for _ in itertools.islice(self._items, self._count))
        if passed < self._count:
            raise errors.ArgumentError(
                f"IterableWrapper.reset: the state was taken after {self._count} items, and there are only {passed}",
                fix="wrap what was wrapped then; an iterator that was read already does not begin again",
            )

    def next(self) -> T:
        assert self._items is not None
        item = next(self._items)
        self._count += 1
        return item

    def get_state(self) -> dict[str, Any]:
        own = _has_state(self._items)
        holder: Any = self._items if own else self.iterable if _has_state(self.iterable) else None
        inner = None if holder is None else holder.state_dict()
        return {"count": self._count, "inner": inner, "of_iterable": not own}


def _has_state(value: Any) -> bool:
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


class SamplerWrapper(BaseNode[Any]):
    """The indices of a sampler, or lists of them of a batch sampler. Each pass draws a new order; resumed, the order
    of that pass is drawn again.

    A sampler with ``set_epoch``, such as `DistributedSampler`, is told the number of the pass.

    Args:
        initial_epoch: the number of the first pass.

    Raises:
        TypeError: what cannot be iterated.
        ValueError: on resuming, a state of a sampler with other generators.

    >>> import polyad
    >>> from polyad.utils.data import RandomSampler
    >>> node = SamplerWrapper(RandomSampler("abcdef", generator=polyad.Generator().manual_seed(0)))
    >>> begin = [next(node) for _ in range(2)]
    >>> state = node.state_dict()
    >>> again = SamplerWrapper(RandomSampler("abcdef", generator=polyad.Generator()))
    >>> again.load_state_dict(state)
    >>> list(again) == list(node)
    True
    """

    def __init__(self, sampler: Iterable[Any], initial_epoch: int = 0) -> None:
        if isinstance(sampler, type) or not hasattr(sampler, "__iter__"):
            raise errors.wrong_type("SamplerWrapper", "sampler", sampler, "a sampler")
        self.sampler = sampler
        self.epoch = initial_epoch - 1
        self._indices: Iterator[Any] = iter(())
        self._count = 0
        self._begin: dict[str, Any] = {}

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        held = held_generators(self.sampler, but_of=getattr(self.sampler, "data_source", None))
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(self.epoch)
        self._count = 0 if initial_state is None else initial_state["count"]
        with ExitStack() as stack:
            if initial_state is None:
                self._begin = states_of(held, draws_plainly(self.sampler))
            else:
                check_states("SamplerWrapper.reset", initial_state["random"], held)
                self._begin = initial_state["random"]
                for generator in (default_generator, random, of_numpy.the_global()):
                    stack.callback(restorer(generator))
                set_states(self._begin, held)
            # A sampler may draw when it is first asked: so it is asked now, and not later, in another thread.
            indices = itertools.islice(self.sampler, self._count, None)
            self._indices = itertools.chain(list(itertools.islice(indices, 1)), indices)

    def next(self) -> Any:
        index = next(self._indices)
        self._count += 1
        return index

    def get_state(self) -> dict[str, Any]:
        return {"count": self._count, "random": self._begin}


class MapStyleWrapper(Mapper[Any]):
    """The samples of a dataset with an index, in a sampler's order; see `Mapper` for their random numbers.

    Args:
        map_dataset: what has ``__getitem__``.
        sampler: the order; that of the indices if None.

    Raises:
        TypeError: a dataset without an index.

    >>> list(MapStyleWrapper(["a", "b", "c"], sampler=[2, 0]))
    ['c', 'a']
    """

    def __init__(self, map_dataset: Any, sampler: Iterable[Any] | None = None, *, seed: int = 0) -> None:
        if isinstance(map_dataset, type) or not hasattr(map_dataset, "__getitem__"):
            raise errors.wrong_type("MapStyleWrapper", "map_dataset", map_dataset, "a dataset with an index")
        order = SequentialSampler(map_dataset) if sampler is None else sampler
        super().__init__(SamplerWrapper(order), map_dataset.__getitem__, seed=seed)
