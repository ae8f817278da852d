"""Each process its share of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import polyad
from polyad import errors

from .sampler import Sampler, checked_count

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """The share of one of several processes: every ``num_replicas``-th index, beginning with the ``rank``-th.

    All shares have the same length. What is missing for that is taken from the beginning again, or, with *drop_last*,
    what is over is left out. Call ``set_epoch`` before each epoch, or all epochs have one order.

    Args:
        dataset: anything with a length.
        num_replicas: how many processes there are; those of the process group by default.
        rank: which of them this is, from 0 on; by default as the process group says.
        shuffle: take shares of a random order that follows from ``seed + epoch`` and is the same in all processes.
        seed: the same in all processes.
        drop_last: leave out samples at the end, not repeat samples from the beginning.

    Raises:
        RuntimeError: num_replicas or rank is left out, and there is no process group to ask.
        ValueError: a rank that is none of them, or counts that are none.

    >>> sampler = DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
    >>> list(sampler), len(sampler)
    ([1, 3, 0], 3)
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if (num_replicas is None or rank is None) and not polyad.distributed.is_initialized():
            raise errors.SettingError(
                "DistributedSampler: there is no process group to ask for num_replicas and rank",
                fix="call polyad.distributed.init_process_group() before, or pass num_replicas and rank",
            )
        num_replicas = polyad.distributed.get_world_size() if num_replicas is None else num_replicas
        rank = polyad.distributed.get_rank() if rank is None else rank
        checked_count("DistributedSampler", "num_replicas", num_replicas)
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < num_replicas:
            raise errors.ArgumentError(
                f"DistributedSampler: rank is {errors.safe_repr(rank)}, not an int from 0 to {num_replicas - 1}",
                fix="pass the number of this process",
            )
        if not hasattr(dataset, "__len__"):
            raise errors.wrong_type("DistributedSampler", "dataset", dataset, "a dataset with a length")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.seed = seed
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = polyad.Generator().manual_seed(self.seed + self.epoch)
            order = polyad.randperm(size, generator=generator).tolist()
        else:
            order = list(range(size))
        return iter([order[place % size] for place in range(self.rank, self.total_size, self.num_replicas)])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next, in all processes the same.

        Raises:
            TypeError: it is not an int.
        """
        if not isinstance(epoch, int):
            raise errors.wrong_type("DistributedSampler.set_epoch", "epoch", epoch, "an int")
        self.epoch = epoch
