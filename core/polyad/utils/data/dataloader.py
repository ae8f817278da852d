"""The loader: indices from a sampler, samples from a dataset, batches from a collate function.

Without workers, samples are read in the calling process, when the loop asks for them and not before; with workers, in
processes that read ahead.

Invariants: what an epoch yields depends on the dataset, the sampler, collate_fn and the epoch's seed only, not on who
reads it; all arguments are checked when the loader is created, not when the first batch is read.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from polyad import errors
from polyad.devices.accelerators import pinning
from polyad.random.generator import Generator
from polyad.tensor import Tensor
from polyad.utils.data.collate import default_collate, default_convert, like
from polyad.utils.data.dataset import Dataset, IterableDataset
from polyad.utils.data.loading import BatchIterator, Epoch, FromWorkers, InProcess, checked_state
from polyad.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, checked_count
from polyad.utils.data.workers.pool import Pool
from polyad.utils.data.workers.process import Job
from polyad.utils.data.workers.starting import Start, checked_context

__all__ = ["DataLoader"]

T = TypeVar("T")

# What ``iter(loader)`` gives, under PyTorch's names, for programs that ask which it is.
_BaseDataLoaderIter, _SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter = (
    BatchIterator,
    InProcess,
    FromWorkers,
)

_FIXED = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})


class DataLoader(Generic[T]):
    """Batches of a dataset, once for each ``iter()``.

    Args:
        dataset: map-style (``__getitem__``, ``__len__``) or an :class:`IterableDataset`. One that offers
            ``__getitems__`` is asked for a whole batch at once.
        batch_size: samples in a batch; None turns batching off and gives single samples.
        shuffle: a new random order each epoch.
        sampler: which indices, in which order; instead of shuffle.
        batch_sampler: lists of indices; instead of batch_size, shuffle, sampler and drop_last.
        num_workers: how many processes read samples ahead; with 0 this process reads them when they are asked for.
        collate_fn: joins a list of samples; default_collate, or default_convert where there is no batching, if None.
        pin_memory: put the tensors of a batch into memory from which the accelerator (or pin_memory_device) copies
            while the program goes on; see `Tensor.pin_memory`. An object of another class is asked for its
            ``pin_memory`` method.
        drop_last: leave out a last batch that is smaller.
        timeout: seconds to wait for the next batch of workers; 0 waits for ever.
        worker_init_fn: called in each worker with its number, before it reads.
        multiprocessing_context: how workers are started: "fork", "forkserver", "spawn", or what
            ``multiprocessing.get_context`` gives. By default "fork" on Linux, as long as no accelerator is in use, else
            "forkserver", or "spawn" where there is no such thing.
        generator: where shuffle's order and the epochs' seeds come from; the default generator if None.
        prefetch_factor: batches that each worker reads ahead, 2 if None.
        persistent_workers: keep the workers for the next epoch.
        in_order: batches of workers come in the sampler's order; else as they are ready.

    Raises:
        ValueError: arguments that exclude each other or are out of range.
        TypeError: a function that cannot be called, or ``len()`` where the length is unknown; by ``iter()``, a dataset
            or a function that cannot be sent to workers.
        RuntimeError: by the iterator, a worker that died or did not answer in time. What a dataset raises is raised as
            it is, with a note of the sample.

    >>> import polyad
    >>> from polyad.utils.data import TensorDataset
    >>> pairs = TensorDataset(polyad.arange(5), polyad.arange(5) * 10)
    >>> for x, y in DataLoader(pairs, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([ 0, 10])
    tensor([2, 3]) tensor([20, 30])
    tensor([4]) tensor([40])
    """

    def __init__(
        self,
        dataset: Dataset[T],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, multiprocessing_context, prefetch_factor, persistent_workers)
        _check_functions(worker_init_fn, collate_fn)
        if pin_memory and pinning(pin_memory_device or None) is None:
            warnings.warn(
                "DataLoader: pin_memory=True has no effect, no accelerator here pins memory: batches stay in ordinary "
                "memory",
                stacklevel=2,
            )
        if generator is not None and not isinstance(generator, Generator):
            raise errors.wrong_type("DataLoader", "generator", generator, "a polyad.Generator")
        _check_sources(dataset, shuffle, sampler, batch_sampler)
        _check_batching(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if not isinstance(dataset, IterableDataset):
            if sampler is None:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)  # type: ignore[arg-type]
            if batch_sampler is None and batch_size is not None:
                batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        batching = batch_size is not None or batch_sampler is not None

        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.num_workers = num_workers
        self.collate_fn: Callable[[Any], Any] = collate_fn or (default_collate if batching else default_convert)
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers > 0 else prefetch_factor
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._pool: Pool | None = None
        self._epoch: Epoch | None = None
        self._resumed: dict[str, Any] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and name in self.__dict__:
            raise errors.ArgumentError(
                f"DataLoader: {name} cannot be changed once the loader is made",
                fix=f"make a new DataLoader with {name}={errors.safe_repr(value)}",
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        resumed, self._resumed = self._resumed, None
        self._epoch = Epoch(self, resumed)
        loop = (
            InProcess(self, self._epoch) if self.num_workers == 0 else FromWorkers(self, self._epoch, self._workers())
        )
        if not self.pin_memory:
            return loop
        return (pinned(batch, self.pin_memory_device or None) for batch in loop)

    def _workers(self) -> Pool:
        if self._pool is not None and not self._pool.closed and self.persistent_workers:
            return self._pool
        pool = Pool(self._job(), Start(checked_context(self.multiprocessing_context)))
        self._pool = pool if self.persistent_workers else None
        return pool

    def _job(self) -> Job:
        batching = self.batch_size is not None or self.batch_sampler is not None
        return Job(
            self.dataset,
            self.collate_fn,
            batching,
            self.batch_size,
            self.drop_last,
            self.worker_init_fn,
            self.num_workers,
        )

    def state_dict(self) -> dict[str, Any]:
        """Where in an epoch the loop is, for `load_state_dict`; plain data that :func:`polyad.save` takes.

        It counts the batches that the loop was given, not those that were read ahead. Between epochs it says where the
        next one begins, as far as generators decide that.
        """
        if self._resumed is not None:
            return dict(self._resumed)
        epoch = self._epoch
        return Epoch(self, None, probing=True).state() if epoch is None or epoch.ended else epoch.state()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Have the next ``iter()`` go on where `state_dict` was taken, with any number of workers.

        Batches and their random augmentation are those of the interrupted epoch, bit for bit. Of a dataset with an
        index nothing is read again; a stream is read again from its beginning to that place, with as many workers as
        before.

        Raises:
            ValueError: the state is of a loader with another dataset length, another batch size, other generators; or,
                for a stream, another num_workers.
            TypeError: it is no such state.
        """
        self._resumed = checked_state(self, state_dict)
        self._epoch = None

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            samples = len(self.dataset)  # type: ignore[arg-type]  # TypeError where the stream's length is unknown
            if self.batch_size is None:
                return samples
            return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]


def pinned(batch: Any, device: Any = None) -> Any:
    """A batch with its tensors in pinned memory: in mappings, dataclasses, tuples and lists at any depth."""
    if isinstance(batch, Tensor):
        return batch.pin_memory(device)
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, (str, bytes)):
        return batch
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        fields = [field.name for field in dataclasses.fields(batch) if field.init]
        return dataclasses.replace(batch, **{name: pinned(getattr(batch, name), device) for name in fields})
    if isinstance(batch, Mapping):
        return like(batch, {key: pinned(value, device) for key, value in batch.items()})
    if isinstance(batch, Sequence):
        return like(batch, [pinned(part, device) for part in batch])
    return batch


def _exclusive(name: str, other: str) -> errors.ArgumentError:
    return errors.ArgumentError(f"DataLoader: {name} and {other} exclude each other", fix="pass only one of them")


def _check_functions(worker_init_fn: Any, collate_fn: Any) -> None:
    if worker_init_fn is not None and not callable(worker_init_fn):
        raise errors.wrong_type("DataLoader", "worker_init_fn", worker_init_fn, "a function of a worker's number")
    if collate_fn is not None and not callable(collate_fn):
        raise errors.ArgumentTypeError(
            f"DataLoader: collate_fn is {errors.describe(collate_fn)}, which cannot be called",
            fix="pass a function of a list of samples",
        )


def _check_sources(dataset: Any, shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    """Raise unless indices can be drawn, and the dataset has samples by index or is iterated without any."""
    for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given is not None and not (hasattr(given, "__iter__") or hasattr(given, "__getitem__")):
            raise errors.wrong_type("DataLoader", name, given, "an iterable of indices")
    if isinstance(dataset, IterableDataset):
        _check_iterable(shuffle, sampler, batch_sampler)
    elif not (hasattr(dataset, "__getitem__") or hasattr(dataset, "__getitems__")):
        raise errors.wrong_type("DataLoader", "dataset", dataset, "a dataset with an index, or an IterableDataset")


def _check_batching(
    batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """Raise where two arguments say in which batches, or in which order, samples come."""
    if sampler is not None and shuffle:
        raise _exclusive("sampler", "shuffle=True")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise _exclusive("batch_sampler", "batch_size, shuffle, sampler and drop_last")
    elif batch_size is None and drop_last:
        raise _exclusive("batch_size=None (no batching)", "drop_last=True")
    elif batch_size is not None:
        checked_count("DataLoader", "batch_size", batch_size)


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    for name, value in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None and value is not False:
            raise errors.ArgumentError(
                f"DataLoader: {name}={errors.safe_repr(value)} does not go with an IterableDataset, "
                "which decides its order itself",
                fix=f"leave {name} out, and put the order into the dataset's __iter__",
            )


def _check_workers(
    num_workers: Any, timeout: float, multiprocessing_context: Any, prefetch_factor: Any, persistent_workers: bool
) -> None:
    if isinstance(num_workers, bool) or not isinstance(num_workers, int) or num_workers < 0:
        raise errors.ArgumentError(
            f"DataLoader: num_workers is {errors.safe_repr(num_workers)}, not an int of at least 0",
            fix="pass 0 to read in this process",
        )
    if not isinstance(timeout, int | float):
        raise errors.wrong_type("DataLoader", "timeout", timeout, "a number of seconds")
    if timeout < 0:
        raise errors.ArgumentError(
            f"DataLoader: timeout is {errors.safe_repr(timeout)}, which is negative", fix="pass seconds, or 0 for none"
        )
    if num_workers > 0:
        if multiprocessing_context is not None:
            checked_context(multiprocessing_context)
        if prefetch_factor is not None:
            checked_count("DataLoader", "prefetch_factor", prefetch_factor)
        return
    given = {
        "multiprocessing_context": multiprocessing_context is not None,
        "prefetch_factor": prefetch_factor is not None,
        "persistent_workers": bool(persistent_workers),
    }
    for name, is_given in given.items():
        if is_given:
            raise errors.ArgumentError(
                f"DataLoader: {name} concerns worker processes, and num_workers is 0", fix=f"leave {name} out"
            )
