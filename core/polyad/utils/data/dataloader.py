"""The loader: indices from a sampler, samples from a dataset, batches from a collate function.

Samples are read in the calling process, when the loop asks for them and not before.

Invariants: what an epoch yields depends on the dataset, the sampler and collate_fn only; all arguments are checked
when the loader is created, not when the first batch is read.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from polyad import errors
from polyad.backend.accelerators import pinning
from polyad.tensor import Tensor
from polyad.utils.data.collate import default_collate, default_convert
from polyad.utils.data.dataset import Dataset, IterableDataset
from polyad.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, checked_count

if TYPE_CHECKING:
    from polyad import Generator

__all__ = ["DataLoader", "get_worker_info"]

T = TypeVar("T")

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
        num_workers: 0; samples are read in this process.
        collate_fn: joins a list of samples; default_collate, or default_convert where there is no batching, if None.
        pin_memory: put the tensors of a batch into memory from which the accelerator (or pin_memory_device) copies
            while the program goes on; see `Tensor.pin_memory`. An object of another class is asked for its
            ``pin_memory`` method.
        drop_last: leave out a last batch that is smaller.
        generator: where shuffle's order comes from; the default generator if None.

    Raises:
        ValueError: arguments that exclude each other or are out of range.
        TypeError: a collate_fn that cannot be called, or ``len()`` where the length is unknown.
        NotImplementedError: num_workers above 0.

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
        if pin_memory and pinning(pin_memory_device or None) is None:
            warnings.warn(
                "DataLoader: pin_memory=True has no effect, no accelerator here pins memory: batches stay in ordinary "
                "memory",
                stacklevel=2,
            )
        if collate_fn is not None and not callable(collate_fn):
            raise errors.ArgumentTypeError(
                f"DataLoader: collate_fn is {errors.describe(collate_fn)}, which cannot be called",
                fix="pass a function of a list of samples",
            )
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise _exclusive("sampler", "shuffle=True")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise _exclusive("batch_sampler", "batch_size, shuffle, sampler and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise _exclusive("batch_size=None (no batching)", "drop_last=True")
        elif batch_size is not None:
            checked_count("DataLoader", "batch_size", batch_size)
        if not iterable:
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
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self.in_order = in_order

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and name in self.__dict__:
            raise errors.ArgumentError(
                f"DataLoader: {name} cannot be changed once the loader is made",
                fix=f"make a new DataLoader with {name}={errors.safe_repr(value)}",
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        batches = self._batches()
        if not self.pin_memory:
            return batches
        return (pinned(batch, self.pin_memory_device or None) for batch in batches)

    def _batches(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            return self._iterate_stream(self.dataset)
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[index]) for index in self.sampler or ())
        return (self.collate_fn(self._fetch(indices)) for indices in self.batch_sampler)

    def _fetch(self, indices: Sequence[Any]) -> Sequence[T]:
        together = getattr(self.dataset, "__getitems__", None)
        if together is not None:
            samples: Sequence[T] = together(indices)
            return samples
        return [self.dataset[index] for index in indices]

    def _iterate_stream(self, dataset: IterableDataset[T]) -> Iterator[Any]:
        samples = iter(dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, samples)
            return
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            samples = len(self.dataset)  # type: ignore[arg-type]  # TypeError where the stream's length is unknown
            if self.batch_size is None:
                return samples
            return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]


def get_worker_info() -> None:
    """What a dataset asks to learn in which worker process it runs; None in the process of the loop itself.

    >>> get_worker_info() is None
    True
    """
    return None


def pinned(batch: Any, device: Any = None) -> Any:
    """A batch with its tensors in pinned memory: in mappings, named tuples, tuples and lists at any depth."""
    if isinstance(batch, (str, bytes)):
        return batch
    if hasattr(batch, "pin_memory"):
        return batch.pin_memory(device) if isinstance(batch, Tensor) else batch.pin_memory()
    if isinstance(batch, Mapping):
        items = {key: pinned(value, device) for key, value in batch.items()}
        try:
            return type(batch)(items)  # type: ignore[call-arg]
        except TypeError:  # a mapping of a class that is not made from a dict
            return items
    if isinstance(batch, tuple):
        parts = [pinned(part, device) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts)
    if isinstance(batch, Sequence):
        parts = [pinned(part, device) for part in batch]
        try:
            return type(batch)(parts)  # type: ignore[call-arg]
        except TypeError:  # such as a range
            return parts
    return batch


def _exclusive(name: str, other: str) -> errors.ArgumentError:
    return errors.ArgumentError(f"DataLoader: {name} and {other} exclude each other", fix="pass only one of them")


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
            f"DataLoader: num_workers is {errors.safe_repr(num_workers)}, not an int of at least 0", fix="pass 0"
        )
    if timeout < 0:
        raise errors.ArgumentError(
            f"DataLoader: timeout is {errors.safe_repr(timeout)}, which is negative", fix="pass seconds, or 0 for none"
        )
    if num_workers > 0:
        raise errors.NotSupported(
            f"DataLoader: num_workers={num_workers} asks for worker processes; samples are read in this process only",
            fix="pass num_workers=0; a TensorDataset batch is one gather a tensor, so workers would not make it faster",
        )
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
