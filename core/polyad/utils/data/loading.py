"""A pass over a loader: which batches it has, how far the loop has come, and where the batches are read.

An `Epoch` draws its seed and knows its batches by number and indices. `InProcess` reads them when the loop asks;
`FromWorkers` has workers read them ahead. What the loop is given is the same.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from polyad import errors
from polyad.interop import generators as of_numpy
from polyad.random.generator import default_generator

from .dataset import IterableDataset
from .fetching import SKIPPED, StreamEnd, reader_of
from .generator_states import check_states, draws_plainly, set_states, states_of
from .seeding import draw_seed, held_generators, restorer

if TYPE_CHECKING:
    from .dataloader import DataLoader
    from .workers.pool import Pool

__all__ = ["Epoch", "FromWorkers", "InProcess", "checked_state"]

VERSION = 1


class Epoch:
    """One pass.

    Attributes:
        seed: what random augmentation follows from.
        tasks: number and indices of each batch, or of each sample where there is no batching; of a stream numbers only.
        ended: whether the loop has been told that there is no further batch.
    """

    def __init__(self, loader: DataLoader[Any], resumed: Mapping[str, Any] | None, probing: bool = False) -> None:
        # No reference to the loader: it holds its epoch, and its workers should end when it is let go of.
        self._about = _about(loader)
        self.ended = False
        self._next = 0
        self._ahead: set[int] = set()
        sampler = _sampler_of(loader)
        self._held = _held_by(loader)
        self._begin = states_of(self._held, draws_plainly(sampler))
        if probing:
            return
        with ExitStack() as stack:
            if resumed is not None:
                self._begin = resumed["random"]
                for generator in (default_generator, random, of_numpy.the_global()):
                    stack.callback(restorer(generator))
                set_states(self._begin, self._held)
                self._next, self._ahead = resumed["batches"], set(resumed["ahead"])
            self.seed = draw_seed(loader.generator)
            # A sampler may draw when it is first asked: so it is asked now, for the first batch.
            tasks = _tasks(loader, sampler, self._next)
            first = list(itertools.islice(tasks, 1))
        ahead = frozenset(self._ahead)
        self.tasks = (task for task in itertools.chain(first, tasks) if task[0] not in ahead)
        self.to_skip = self._next if isinstance(loader.dataset, IterableDataset) else 0

    def delivered(self, number: int) -> None:
        """Count a batch that the loop was given, or that turned out empty."""
        self._ahead.add(number)
        while self._next in self._ahead:
            self._ahead.discard(self._next)
            self._next += 1

    def state(self) -> dict[str, Any]:
        """See ``DataLoader.state_dict``."""
        return {
            "version": VERSION,
            "batches": self._next,
            "ahead": sorted(self._ahead),
            "random": self._begin,
            **self._about,
        }


class BatchIterator:
    """What ``iter(loader)`` gives."""

    def __init__(self, loader: DataLoader[Any], epoch: Epoch) -> None:
        self._loader = loader
        self._epoch = epoch

    def __iter__(self) -> Self:
        return self

    def __len__(self) -> int:
        return len(self._loader)


class InProcess(BatchIterator):
    """Reads each batch when the loop asks for it."""

    def __init__(self, loader: DataLoader[Any], epoch: Epoch) -> None:
        super().__init__(loader, epoch)
        job = loader._job()
        self._reader = reader_of(job.dataset, job.collate, job.batching, job.batch_size, job.drop_last, 0)

    def __next__(self) -> Any:
        epoch, reader = self._epoch, self._reader
        for number, indices in epoch.tasks:
            if number >= epoch.to_skip:
                epoch.delivered(number)
            try:
                with reader.apart():
                    batch = reader.read(epoch.seed, number, indices)
            except StreamEnd:
                break
            if batch is not SKIPPED and number >= epoch.to_skip:
                return batch
        epoch.ended = True
        raise StopIteration


class FromWorkers(BatchIterator):
    """Has workers read ahead, each as many batches as ``prefetch_factor`` says.

    Batches go to workers in turn, and the next batch that a worker gets is sent when the loop takes its oldest: so
    which worker reads what does not depend on how fast they are.
    """

    def __init__(self, loader: DataLoader[Any], epoch: Epoch, pool: Pool) -> None:
        super().__init__(loader, epoch)
        self._pool = pool
        self._asked: deque[tuple[int, int, int]] = deque()
        """(ticket, number of the batch, worker), in the order in which they were asked for."""
        self._arrived: dict[int, Any] = {}
        pool.begin(epoch.seed)
        self._of_pool = pool.epochs
        for _ in range(loader.prefetch_factor or 1):
            for worker in range(loader.num_workers):
                self._ask(worker)

    def _ask(self, worker: int) -> None:
        for number, indices in itertools.islice(self._epoch.tasks, 1):
            self._asked.append((self._pool.ask(worker, number, indices), number, worker))

    def __next__(self) -> Any:
        if self._epoch.ended:
            raise StopIteration
        if self._pool.closed or self._pool.epochs != self._of_pool:
            raise errors.ArgumentError(
                "DataLoader: this pass has ended: "
                + ("its workers failed" if self._pool.closed else "another iter() of the loader took over its workers"),
                fix="begin a new pass; with persistent_workers=True there is one at a time",
            )
        timeout = self._loader.timeout
        until = time.monotonic() + timeout if timeout else None
        epoch = self._epoch
        while self._asked:
            place = self._first_arrived()
            if place is None:
                for answer in self._pool.wait(until, timeout):
                    self._arrived[answer[1]] = answer
                continue
            ticket, number, worker = self._asked[place]
            del self._asked[place]
            answer = self._arrived.pop(ticket)
            if answer[0] == "end":
                continue
            self._ask(worker)
            if number >= epoch.to_skip:
                epoch.delivered(number)
            if answer[0] == "raised":
                raise answer[2]
            if answer[2] is not SKIPPED and number >= epoch.to_skip:
                return answer[2]
        epoch.ended = True
        if not self._loader.persistent_workers:
            self._pool.close()
        raise StopIteration

    def _first_arrived(self) -> int | None:
        """The place in what was asked of the answer that is next, None if it has not come."""
        for place, (ticket, *_) in enumerate(self._asked):
            if ticket in self._arrived:
                return place
            if self._loader.in_order:
                return None
        return None


def _tasks(loader: DataLoader[Any], sampler: Any, begin: int) -> Iterator[tuple[int, Any]]:
    if isinstance(loader.dataset, IterableDataset):
        return ((number, None) for number in itertools.count())
    return itertools.islice(enumerate(sampler), begin, None)


def _sampler_of(loader: DataLoader[Any]) -> Any:
    return loader.sampler if loader.batch_sampler is None else loader.batch_sampler


def _held_by(loader: DataLoader[Any]) -> list[Any]:
    return held_generators(loader.generator, _sampler_of(loader), but_of=loader.dataset)


def checked_state(loader: DataLoader[Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """*state*, if the loader can go on from it."""
    wanted = {"version": int, "batches": int, "ahead": list, "random": dict}
    if not isinstance(state, Mapping) or not all(isinstance(state.get(name), cls) for name, cls in wanted.items()):
        raise errors.wrong_type("DataLoader.load_state_dict", "state_dict", state, "what state_dict() gave")
    if not (0 <= state["batches"] < 2**62 and all(type(number) is int for number in state["ahead"])):
        raise errors.wrong_type("DataLoader.load_state_dict", "state_dict", state, "what state_dict() gave")
    if state["version"] != VERSION:
        raise errors.ArgumentError(
            f"DataLoader.load_state_dict: the state has version {state['version']}, and this polyad reads {VERSION}",
            fix="install a newer polyad: pip install --upgrade polyad",
        )
    now = _about(loader)
    for name, value in now.items():
        if state.get(name) != value:
            raise errors.ArgumentError(
                f"DataLoader.load_state_dict: the state is of a loader with {name} "
                f"{errors.safe_repr(state.get(name))}, and this loader has {name} {value!r}",
                fix="make the loader as it was, or leave the state out and begin a new epoch",
            )
    check_states("DataLoader.load_state_dict", state["random"], _held_by(loader))
    return dict(state)


def _about(loader: DataLoader[Any]) -> dict[str, Any]:
    """What has to be the same for batches to be the same."""
    return {
        "batch_size": loader.batch_size,
        "length": _length(loader.dataset),
        "num_workers": loader.num_workers if isinstance(loader.dataset, IterableDataset) else None,
    }


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except TypeError:
        return None
