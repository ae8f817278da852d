"""In which order samples are drawn, and how they are grouped into batches.

A sampler is an iterable of indices; a batch sampler is an iterable of lists of indices. Each ``iter()`` is an epoch.
Random samplers draw from their ``generator``; without it, each epoch takes a seed from the default generator, so
that :func:`polyad.manual_seed` decides the order and the epoch cannot be disturbed by other random numbers drawn
meanwhile.

To add a sampler, derive from :class:`Sampler` and define ``__iter__`` (and ``__len__`` where it is known).
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import polyad
from polyad import errors
from polyad.dispatch.arguments import explaining

if TYPE_CHECKING:
    from polyad import Generator

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)

AT_ONCE = 1024
"""Indices that `RandomSampler` draws in one call."""


class Sampler(Generic[T_co]):
    """Base of all samplers: an iterable of indices, once for each epoch.

    Raises:
        NotImplementedError: by ``__iter__``, until a subclass overrides it.

    >>> class Backwards(Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(Backwards())
    [2, 1, 0]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise errors.NotSupported(
            f"{type(self).__name__}.__iter__: a sampler must say which indices it draws",
            fix=f"define __iter__(self) in {type(self).__name__}",
        )


class SequentialSampler(Sampler[int]):
    """Every index once, in order.

    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Every index once, in random order; or ``num_samples`` of them, with or without replacement.

    Args:
        replacement: draw each index independently of the others.
        num_samples: how many to draw; ``len(data_source)`` if None. Without replacement, more than that many start over
            with a new order.
        generator: where the order comes from; a seed from the default generator if None.

    Raises:
        TypeError: a replacement that is not a bool.
        ValueError: a num_samples that is not a positive integer, or data without samples.

    >>> import polyad
    >>> sorted(RandomSampler("abcd", generator=polyad.Generator().manual_seed(0)))
    [0, 1, 2, 3]
    """

    @explaining
    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = _checked_bool("RandomSampler", "replacement", replacement)
        self._num_samples = num_samples
        self.generator = generator
        checked_count("RandomSampler", "num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices an epoch has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size = len(self.data_source)
        generator = self.generator or _fresh_generator()
        if self.replacement:
            # A few at a time: a run that is as long as somebody waits has a num_samples that no memory holds.
            for begin in range(0, self.num_samples, AT_ONCE):
                count = min(AT_ONCE, self.num_samples - begin)
                yield from polyad.randint(0, size, (count,), generator=generator).tolist()
            return
        left = self.num_samples
        while left > 0:
            yield from itertools.islice(polyad.randperm(size, generator=generator).tolist(), left)
            left -= size

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices, each once, in random order.

    >>> import polyad
    >>> sorted(SubsetRandomSampler([5, 7, 9], generator=polyad.Generator().manual_seed(0)))
    [5, 7, 9]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in polyad.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` indices, index i with a probability proportional to ``weights[i]``.

    Args:
        weights: n numbers >= 0, a sequence or a 1-d tensor; they need not add up to 1.
        replacement: draw each index independently of the others.
        generator: where the draws come from; the default generator if None.

    Raises:
        TypeError: a replacement that is not a bool.
        ValueError: weights that are negative, not finite, all zero or not 1-d; or, without replacement, fewer weights
            above zero than num_samples.

    With replacement: inversion of the cumulated weights. Without: the largest log(u) / w (P. Efraimidis, P. Spirakis,
    "Weighted random sampling with a reservoir", 2006).

    >>> list(WeightedRandomSampler([0.0, 3.0, 0.0], num_samples=2))
    [1, 1]
    """

    @explaining
    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        self.weights = _checked_weights(weights)
        self.num_samples = checked_count("WeightedRandomSampler", "num_samples", num_samples)
        self.replacement = _checked_bool("WeightedRandomSampler", "replacement", replacement)
        self.generator = generator
        above_zero = sum(weight > 0 for weight in self.weights)
        if not self.replacement and above_zero < num_samples:
            raise errors.ArgumentError(
                f"WeightedRandomSampler: {num_samples} different indices wanted, and {above_zero} weights above 0",
                fix="draw fewer samples, or draw with replacement=True",
            )

    def __iter__(self) -> Iterator[int]:
        count = self.num_samples if self.replacement else len(self.weights)
        uniform = polyad.rand(count, dtype=polyad.float64, generator=self.generator).tolist()
        if self.replacement:
            cumulated = list(itertools.accumulate(self.weights))
            last = max(index for index, weight in enumerate(self.weights) if weight > 0)
            for u in uniform:
                yield min(bisect.bisect_right(cumulated, u * cumulated[-1]), last)
        else:
            keys = {i: math.log(1 - u) / w for i, (u, w) in enumerate(zip(uniform, self.weights, strict=True)) if w > 0}
            yield from heapq.nlargest(self.num_samples, keys, key=lambda index: keys[index])

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Groups the indices of another sampler into lists of ``batch_size``.

    Args:
        drop_last: leave out a last batch that is smaller.

    Raises:
        ValueError: a batch_size that is not a positive integer, or a drop_last that is not a bool.

    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    @explaining
    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(drop_last, bool):
            raise errors.ArgumentError(
                f"BatchSampler: drop_last is {errors.safe_repr(drop_last)}, not a bool", fix="write True or False"
            )
        self.sampler = sampler
        self.batch_size = checked_count("BatchSampler", "batch_size", batch_size)
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        length = len(self.sampler)  # type: ignore[arg-type]  # TypeError for a sampler of unknown length, as for any object
        return length // self.batch_size if self.drop_last else math.ceil(length / self.batch_size)


def _fresh_generator() -> Generator:
    """A generator seeded from the default generator."""
    generator = polyad.Generator()
    generator.manual_seed(int(polyad.randint(0, 2**62, ()).item()))
    return generator


def checked_count(owner: str, name: str, value: Any) -> int:
    """The value, if it is an int of at least 1; ``owner`` and ``name`` say in the error whose argument it is."""
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise errors.ArgumentError(
            f"{owner}: {name} is {errors.safe_repr(value)}, which is not a positive integer",
            fix=f"pass an int of at least 1 as {name}",
        )
    return value


def _checked_bool(owner: str, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise errors.wrong_type(owner, name, value, "a bool")
    return value


def _checked_weights(weights: Any) -> list[float]:
    values = weights.tolist() if hasattr(weights, "tolist") else list(weights)
    if not isinstance(values, list) or any(isinstance(value, list | tuple) for value in values):
        raise errors.ArgumentError("WeightedRandomSampler: weights are not 1-d", fix="pass one number for each sample")
    floats = [float(value) for value in values]
    if any(not math.isfinite(value) or value < 0 for value in floats) or sum(floats) <= 0:
        raise errors.ArgumentError(
            "WeightedRandomSampler: weights must be finite, not negative, and not all zero",
            fix="they need not add up to 1, but none may be negative, infinite or nan",
        )
    return floats
