"""Pipelines: small nodes that read each other, each of which can say where it is and go on from there.

    node = IterableWrapper(names)                   sources.py  what can be iterated, samplers, datasets
    node = Shuffler(node, buffer_size=1000)         items.py    one item after the other, and groups of items
    node = ParallelMapper(node, decode, 4)          ahead.py    in threads
    node = Prefetcher(Batcher(node, 32), 2)
    mixed = MultiNodeWeightedSampler({...}, {...})  mixing.py   several sources
    for batch in Loader(node): ...                  loader.py   epochs

Names and interface are those of ``torchdata.nodes``. To write a node, derive from `BaseNode`.

Invariants: items depend on the sources and on (seed, number of the pass, number of the item) alone, never on threads;
``state_dict`` of the last node is all that an equal pipeline needs to go on with the next item.
"""

from .ahead import ParallelMapper, Prefetcher
from .base import BaseNode
from .items import Batcher, Cycler, Filter, Header, Mapper, Sharder, Shuffler, Unbatcher, Zipper
from .loader import Loader
from .mixing import MultiNodeWeightedSampler, StopCriteria
from .sources import IterableWrapper, MapStyleWrapper, SamplerWrapper

__all__ = [
    "BaseNode",
    "Batcher",
    "Cycler",
    "Filter",
    "Header",
    "IterableWrapper",
    "Loader",
    "MapStyleWrapper",
    "Mapper",
    "MultiNodeWeightedSampler",
    "ParallelMapper",
    "Prefetcher",
    "SamplerWrapper",
    "Sharder",
    "Shuffler",
    "StopCriteria",
    "Unbatcher",
    "Zipper",
]
