"""From indices to a batch: the part of loading that is the same in the loop's process and in a worker.

A `Reader` is for datasets with an index, a `StreamReader` for those without. Both seed the generators before they call
anything of the user's (see `polyad.utils.data.seeding`), and note on every exception which sample it was about.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from polyad import errors

from .collate import default_collate, default_convert
from .dataset import IterableDataset, Subset, TensorDataset, gathers
from .seeding import Randomness, mixed, restorer

__all__ = ["SKIPPED", "Reader", "SkipSample", "StreamReader", "reader_of"]


class SkipSample(Exception):
    """What a dataset raises for a sample that is to be left out: its batch is smaller by that sample.

    >>> from polyad.utils.data import DataLoader, Dataset, SkipSample
    >>> class WithGap(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         if index == 2:
    ...             raise SkipSample
    ...         return index
    >>> list(DataLoader(WithGap(), batch_size=4))
    [tensor([0, 1, 3])]
    """


class _Skipped:
    def __reduce__(self) -> str:
        return "SKIPPED"


SKIPPED = _Skipped()
"""Instead of a batch of which no sample is left."""


class Reader:
    """Reads batches, or single samples, of a dataset with an index."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], batching: bool) -> None:
        self._dataset = dataset
        self._collate = collate
        self._batching = batching
        self._together = dataset.__getitems__ if batching and gathers(dataset) else None
        drawn = not (_is_plain(dataset) and collate in (default_collate, default_convert))
        self._randomness = Randomness(dataset, collate) if drawn else None

    def apart(self) -> AbstractContextManager[None]:
        """Inside, `read` may be called; the generators of this process are as before afterwards."""
        return nullcontext() if self._randomness is None else self._randomness.apart()

    def read(self, seed: int, number: int, indices: Any) -> Any:
        """The batch of that *number*, or the sample of that index where there is no batching; or SKIPPED."""
        randomness = self._randomness
        if not self._batching:
            try:
                if randomness is not None:
                    randomness.seed(mixed(seed, indices))
                return self._collate(self._dataset[indices])
            except SkipSample:
                return SKIPPED
            except Exception as error:
                note(error, f"reading sample {errors.safe_repr(indices)}")
                raise
        if self._together is not None:
            try:
                if randomness is not None:
                    randomness.seed(mixed(seed, "batch", number))
                samples: Sequence[Any] = self._together(indices)
            except Exception as error:
                note(error, f"reading batch {number}, indices {errors.safe_repr(indices)}")
                raise
        else:
            samples = self._one_by_one(seed, number, indices)
        if not len(samples) and len(indices):
            return SKIPPED
        try:
            if randomness is not None:
                randomness.seed(mixed(seed, "collate", number))
            return self._collate(samples)
        except Exception as error:
            note(error, f"collating batch {number}, indices {errors.safe_repr(indices)}")
            raise

    def _one_by_one(self, seed: int, number: int, indices: Any) -> list[Any]:
        dataset, randomness, samples = self._dataset, self._randomness, []
        for index in indices:
            try:
                if randomness is not None:
                    randomness.seed(mixed(seed, index))
                samples.append(dataset[index])
            except SkipSample:
                continue
            except Exception as error:
                note(error, f"reading sample {errors.safe_repr(index)} of batch {number}")
                raise
        return samples


class StreamReader:
    """Reads batches, or single samples, of a dataset without an index, from one process.

    Generators that the dataset holds start from the epoch's seed, alike in all workers, so that workers that share
    out a stream by an order that they draw agree on it. The global generators differ between workers.
    """

    def __init__(
        self, dataset: Any, collate: Callable[[Any], Any], batch_size: int | None, drop_last: bool, worker: int = 0
    ) -> None:
        self._dataset = dataset
        self._collate = collate
        self._batch_size = batch_size
        self._drop_last = drop_last
        self._worker = worker
        self._randomness = Randomness(dataset, collate)
        self._go_on: list[Callable[[], None]] = []
        self._samples: Iterator[Any] | None = None
        self._ended = False

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Inside, `read` may be called; the generators of this process are as before afterwards. Those that the dataset
        holds go on, at the next call, where the stream left them.
        """
        with self._randomness.apart():
            for go_on in self._go_on:
                go_on()
            try:
                yield
            finally:
                self._go_on = [restorer(generator) for generator in self._randomness.held]

    def read(self, seed: int, number: int, _: Any) -> Any:
        """The next batch or sample, or SKIPPED; raises StreamEnd when there is none."""
        if self._ended:
            raise StreamEnd
        self._randomness.seed_global(mixed(seed, "stream", self._worker, number))
        try:
            if self._samples is None:
                self._randomness.seed_held(seed)
                self._samples = iter(self._dataset)
            batch = list(itertools.islice(self._samples, 1 if self._batch_size is None else self._batch_size))
        except Exception as error:
            self._ended = True
            note(error, f"reading batch {number} of the stream")
            raise
        if len(batch) < (self._batch_size or 1):
            self._ended = True
            if not batch or self._drop_last:
                raise StreamEnd
        try:
            return self._collate(batch[0] if self._batch_size is None else batch)
        except Exception as error:
            note(error, f"collating batch {number} of the stream")
            raise


class StreamEnd(Exception):
    """There are no further samples."""


def reader_of(
    dataset: Any, collate: Callable[[Any], Any], batching: bool, batch_size: int | None, drop_last: bool, worker: int
) -> Reader | StreamReader:
    """The reader for that dataset."""
    if isinstance(dataset, IterableDataset):
        return StreamReader(dataset, collate, batch_size, drop_last, worker)
    return Reader(dataset, collate, batching)


def note(error: Exception, what: str, owner: str = "DataLoader") -> None:
    """Note on *error* what it happened to; raises in its place if it is StopIteration, which would end the loop."""
    if isinstance(error, StopIteration):
        raise StoppedEarly(
            f"{owner}: {what} raised StopIteration, which would end the loop",
            fix="raise another exception in the dataset, IndexError for an index that is not there",
        ) from error
    error.add_note(f"{owner}: {what}")


class StoppedEarly(errors.PolyadError, RuntimeError):
    """A dataset raised StopIteration."""


def _is_plain(dataset: Any) -> bool:
    """Whether reading it draws no random numbers, for certain."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return isinstance(dataset, TensorDataset) and all(
        getattr(type(dataset), name) is getattr(TensorDataset, name) for name in ("__getitem__", "__getitems__")
    )
