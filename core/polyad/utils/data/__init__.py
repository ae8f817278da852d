"""Datasets, samplers and the loader that turns them into batches.

========================  ==========================================================================
:mod:`.dataset`           what can be indexed or iterated: Dataset, TensorDataset, Subset, random_split
:mod:`.sampler`           in which order samples are drawn, and how they are grouped
:mod:`.distributed`       the share of one process of several
:mod:`.collate`           how a list of samples becomes a batch
:mod:`.dataloader`        DataLoader, which joins them
:mod:`.loading`           a pass over a loader, in its own process or in workers; where it can be resumed
:mod:`.fetching`          from indices to a batch, wherever that happens
:mod:`.seeding`           the random numbers of samples
:mod:`.generator_states`  where generators are, as plain data
:mod:`.workers`           processes that read samples
:mod:`.nodes`             pipelines of small parts, each of which can be resumed
:mod:`._utils`            names at PyTorch's paths
========================  ==========================================================================

The names and their meaning are PyTorch's. The random order of a loader depends on its generator (or on
:func:`polyad.manual_seed`) alone, never on the device.
"""

from polyad.utils.data import _utils  # noqa: F401  (what it shows is defined above)
from polyad.utils.data.collate import default_collate, default_convert
from polyad.utils.data.dataloader import DataLoader
from polyad.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from polyad.utils.data.distributed import DistributedSampler
from polyad.utils.data.fetching import SkipSample
from polyad.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from polyad.utils.data.workers.info import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SkipSample",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
