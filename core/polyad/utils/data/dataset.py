"""What a loader can read: datasets that are indexed, and datasets that are iterated.

Two protocols, as in PyTorch. A *map-style* dataset has ``__getitem__`` and usually ``__len__``; an *iterable-style*
dataset derives from :class:`IterableDataset` and has ``__iter__``. A map-style dataset may also offer
``__getitems__(indices)``, which returns all samples of a batch at once: :class:`TensorDataset` uses it to gather a
batch by an indexing op for each tensor.

To add a dataset, derive from :class:`Dataset` or :class:`IterableDataset`; nothing has to be registered.
"""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import polyad
from polyad import errors
from polyad.dispatch.arguments import explaining

if TYPE_CHECKING:
    from polyad import Generator, Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "GatheredSamples",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "gathers",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """A collection of samples that are reached by index: override ``__getitem__``, and ``__len__`` where it is known.

    Raises:
        NotImplementedError: by ``__getitem__``, until a subclass overrides it.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index ** 2
    >>> Squares()[3]
    9
    >>> (Squares() + Squares())[5]
    1
    """

    def __getitem__(self, index: Any) -> T_co:
        raise errors.NotSupported(
            f"{type(self).__name__}.__getitem__: a map-style dataset must say what its samples are",
            fix=f"define __getitem__(self, index) in {type(self).__name__}, or derive from IterableDataset",
        )

    # No __len__ here: len() of a dataset without a length is then a TypeError, as for any other object.

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """A stream of samples: override ``__iter__``. For data that has no index or no known length.

    Raises:
        NotImplementedError: by ``__iter__``, until a subclass overrides it.

    >>> class Countdown(IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    >>> list(Countdown() + Countdown())
    [3, 2, 1, 3, 2, 1]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise errors.NotSupported(
            f"{type(self).__name__}.__iter__: an iterable-style dataset must say what its samples are",
            fix=f"define __iter__(self) in {type(self).__name__}",
        )

    def __add__(self, other: Dataset[T_co]) -> ChainDataset[T_co]:  # type: ignore[override]
        return ChainDataset([self, other])


class GatheredSamples(Sequence[tuple["Tensor", ...]]):
    """The samples of a batch, still together: ``tensors`` has an entry for each column, each of shape (batch, ...).

    Reads as the list of samples that a ``collate_fn`` expects; :func:`polyad.utils.data.default_collate` takes
    ``tensors`` as they are, so that a batch costs a gather for each column.
    """

    def __init__(self, tensors: tuple[Tensor, ...], length: int) -> None:
        self.tensors = tensors
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> tuple[Tensor, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Tensor, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[Tensor, ...] | list[tuple[Tensor, ...]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(f"GatheredSamples: index {index} is out of range for a batch of {self._length}")
        return tuple(tensor[index] for tensor in self.tensors)


class TensorDataset(Dataset[tuple["Tensor", ...]]):
    """Samples that are rows of tensors: sample i is ``(tensors[0][i], tensors[1][i], ...)``.

    Args:
        tensors: any shapes (n, ...), dtypes and devices; the first dimension must be the same.

    Raises:
        TypeError: something that is not a tensor.
        ValueError: first dimensions that differ, or a tensor without dimensions.

    >>> import polyad
    >>> pairs = TensorDataset(polyad.arange(6).reshape(3, 2), polyad.tensor([10, 20, 30]))
    >>> len(pairs)
    3
    >>> pairs[1]
    (tensor([2, 3]), tensor(20))
    """

    tensors: tuple[Tensor, ...]

    @explaining
    def __init__(self, *tensors: Tensor) -> None:
        for position, tensor in enumerate(tensors):
            if not isinstance(tensor, polyad.Tensor):
                raise errors.ArgumentTypeError(
                    f"TensorDataset: argument {position} is {type(tensor).__name__}, not a tensor",
                    fix="convert it first: polyad.as_tensor(...)",
                )
        if any(tensor.dim() == 0 or tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            sizes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors)
            raise errors.ArgumentError(
                f"TensorDataset: the tensors do not have the same number of samples: shapes {sizes}",
                fix="make the first dimension, which counts samples, the same in all of them",
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __getitems__(self, indices: Sequence[int]) -> GatheredSamples:
        rows = [int(index) for index in indices]
        on_device: dict[Any, Tensor] = {}
        gathered = []
        for tensor in self.tensors:
            if tensor.device not in on_device:
                on_device[tensor.device] = polyad.tensor(rows, dtype=polyad.int64, device=tensor.device)
            gathered.append(tensor[on_device[tensor.device]])
        return GatheredSamples(tuple(gathered), len(rows))

    def __len__(self) -> int:
        return self.tensors[0].size(0) if self.tensors else 0


class ConcatDataset(Dataset[T_co]):
    """Several map-style datasets one after another, as a single dataset.

    Raises:
        ValueError: no dataset, or an index below ``-len``.
        TypeError: an :class:`IterableDataset` among them; it has no index.

    >>> both = ConcatDataset([range(3), range(10, 12)])
    >>> len(both), both[3], both[-1]
    (5, 10, 11)
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    @explaining
    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise errors.ArgumentError(
                "ConcatDataset: there is no dataset to join", fix="pass a list of at least one dataset"
            )
        for position, dataset in enumerate(self.datasets):
            if not (isinstance(dataset, IterableDataset) or hasattr(dataset, "__len__")):
                raise errors.wrong_type("ConcatDataset", f"datasets[{position}]", dataset, "a dataset with a length")
            if isinstance(dataset, IterableDataset):
                raise errors.ArgumentTypeError(
                    f"ConcatDataset: dataset {position} ({type(dataset).__name__}) is iterable-style and has no index",
                    fix="join iterable-style datasets with ChainDataset",
                )
        self.cumulative_sizes = list(itertools.accumulate(len(cast(Any, dataset)) for dataset in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if not -len(self) <= index < len(self):
            error = errors.ArgumentError if index < 0 else errors.IndexOutOfRange
            raise error(
                f"ConcatDataset: index {index} is not in [{-len(self)}, {len(self)})",
                fix=f"the {len(self.datasets)} datasets hold {len(self)} samples together",
            )
        index %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]


class StackDataset(Dataset[Any]):
    """Several map-style datasets side by side: sample i is the tuple of their samples i, or a dict of them.

    Args:
        args: datasets of one length; samples are tuples.
        kwargs: the same by name, instead of args; samples are dicts.

    Raises:
        ValueError: no dataset, datasets with and without names, or lengths that differ.
        TypeError: something that is no dataset with a length.

    >>> StackDataset([1, 2], "ab")[1]
    (2, 'b')
    >>> StackDataset(image=[1, 2], text="ab")[0]
    {'image': 1, 'text': 'a'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise errors.ArgumentError(
                "StackDataset: there are datasets with and without a name", fix="name all of them or none"
            )
        if not args and not kwargs:
            raise errors.ArgumentError("StackDataset: there is no dataset", fix="pass at least one dataset")
        self.datasets = args or kwargs
        lengths = []
        for name, dataset in _name_datasets(self.datasets):
            if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
                raise errors.wrong_type("StackDataset", name, dataset, "a dataset with an index and a length")
            lengths.append(len(dataset))
        if len(set(lengths)) > 1:
            raise errors.ArgumentError(
                f"StackDataset: the datasets have different lengths: {lengths}", fix="stack datasets of one length"
            )
        self._length = lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        columns = []
        for name, dataset in _name_datasets(self.datasets):
            together = getattr(dataset, "__getitems__", None)
            column = [dataset[index] for index in indices] if together is None else together(indices)
            if len(column) != len(indices):
                raise errors.ArgumentError(
                    f"StackDataset: {name} gave {len(column)} samples for {len(indices)} indices",
                    fix="return a sample for each index from its __getitems__",
                )
            columns.append(column)
        rows = zip(*columns, strict=True)
        if isinstance(self.datasets, dict):
            return [dict(zip(self.datasets, row, strict=True)) for row in rows]
        return list(rows)

    def __len__(self) -> int:
        return self._length


def _name_datasets(datasets: tuple[Any, ...] | dict[str, Any]) -> list[tuple[str, Any]]:
    if isinstance(datasets, dict):
        return list(datasets.items())
    return [(f"dataset {position}", dataset) for position, dataset in enumerate(datasets)]


def gathers(dataset: Any) -> bool:
    """Whether the dataset reads a batch at once, not only because what it is made of is asked sample by sample."""
    if type(dataset) is Subset:
        return gathers(dataset.dataset)
    if type(dataset) is StackDataset:
        return all(gathers(part) for _, part in _name_datasets(dataset.datasets))
    return getattr(dataset, "__getitems__", None) is not None


class ChainDataset(IterableDataset[T_co]):
    """Several iterable-style datasets one after another, as a single dataset. Nothing is read before its turn.

    Raises:
        TypeError: on iteration, for a dataset that is not iterable-style.
    """

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise errors.ArgumentTypeError(
                    f"ChainDataset: {type(dataset).__name__} is not an IterableDataset",
                    fix="join datasets that have an index with ConcatDataset",
                )
            yield from dataset

    def __len__(self) -> int:
        return sum(len(cast(Any, dataset)) for dataset in self.datasets)


class Subset(Dataset[T_co]):
    """The samples of ``dataset`` at ``indices``, in that order.

    >>> few = Subset("abcdef", [4, 0])
    >>> len(few), few[0]
    (2, 'e')
    """

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> Sequence[T_co]:
        rows = [self.indices[i] for i in indices]
        together = getattr(self.dataset, "__getitems__", None)
        if together is not None:
            return cast("Sequence[T_co]", together(rows))
        return [self.dataset[row] for row in rows]

    def __len__(self) -> int:
        return len(self.indices)


@explaining
def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[T]]:
    """Split a dataset at random into parts that do not overlap.

    Args:
        lengths: how many samples each part gets; or fractions that add up to 1, in which case what rounding leaves over
            goes to the parts in turn, the first part first.
        generator: where the order comes from; the default generator (:func:`polyad.manual_seed`) if None.

    Raises:
        ValueError: lengths that do not add up to ``len(dataset)``, or a fraction outside [0, 1].

    >>> import polyad
    >>> train, held_out = random_split(range(10), [0.75, 0.25], polyad.Generator().manual_seed(0))
    >>> len(train), len(held_out)
    (8, 2)
    >>> sorted(list(train) + list(held_out)) == list(range(10))
    True
    """
    if isinstance(dataset, type) or not hasattr(dataset, "__len__"):
        raise errors.wrong_type("random_split", "dataset", dataset, "a dataset with a length")
    if isinstance(lengths, type) or not isinstance(lengths, Iterable):
        raise errors.wrong_type("random_split", "lengths", lengths, "a list of numbers")
    lengths = list(lengths)
    for position, length in enumerate(lengths):
        if not isinstance(length, (int, float)):
            raise errors.wrong_type("random_split", f"lengths[{position}]", length, "a number")
    total = len(cast(Any, dataset))
    counts = _counts_of_fractions(lengths, total) if math.isclose(sum(lengths), 1.0) else list(lengths)
    if sum(counts) != total or any(count < 0 or count != int(count) for count in counts):
        raise errors.ArgumentError(
            f"random_split: lengths {list(lengths)} do not divide a dataset of {total} samples",
            fix=f"give lengths that are not negative and add up to {total}, or fractions that add up to 1",
        )
    order = polyad.randperm(total, generator=generator).tolist()
    sizes = [int(count) for count in counts]
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, sizes, strict=True)]


def _counts_of_fractions(fractions: Sequence[float], total: int) -> list[int]:
    """How many of ``total`` samples each fraction gets; rounding leftovers go to the parts in turn."""
    for position, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise errors.ArgumentError(
                f"random_split: lengths[{position}] = {fraction} is not a fraction between 0 and 1",
                fix="fractions must be in [0, 1] and add up to 1",
            )
    counts = [math.floor(total * fraction) for fraction in fractions]
    for position in range(total - sum(counts)):
        counts[position % len(counts)] += 1
    for position, count in enumerate(counts):
        if count == 0:
            warnings.warn(
                f"random_split: part {position} ({fractions[position]} of {total} samples) is empty", stacklevel=3
            )
    return counts
