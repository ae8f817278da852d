"""Several sources in one stream, in random order by weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from polyad import errors
from polyad.utils.data.seeding import mixed

from .base import BaseNode, checked_source

__all__ = ["MultiNodeWeightedSampler", "StopCriteria"]

_BITS = 63


class StopCriteria:
    """When a `MultiNodeWeightedSampler` ends.

    Attributes:
        CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED: when each source has ended once; one that ends sooner begins its next pass.
        ALL_DATASETS_EXHAUSTED: when all sources have ended; one that ends sooner is drawn no more.
        FIRST_DATASET_EXHAUSTED: when a source has ended.
        CYCLE_FOREVER: never; a source that ends begins its next pass.
    """

    CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED = "CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED"
    ALL_DATASETS_EXHAUSTED = "ALL_DATASETS_EXHAUSTED"
    FIRST_DATASET_EXHAUSTED = "FIRST_DATASET_EXHAUSTED"
    CYCLE_FOREVER = "CYCLE_FOREVER"


_CRITERIA = tuple(value for name, value in vars(StopCriteria).items() if name.isupper())


class MultiNodeWeightedSampler(BaseNode[Any]):
    """Items of several sources; each item is of a source that is drawn with a probability proportional to its weight.

    The draws follow from (seed, rank, number of the pass, number of the item).

    Args:
        source_nodes: nodes by name.
        weights: a number above 0 for each name.
        stop_criteria: one of `StopCriteria`.
        rank, world_size: of this process, if several draw from sources of their own.

    Raises:
        TypeError: a source that is no node.
        ValueError: names that differ, weights that are not above 0 and finite, or unknown criteria.

    >>> from polyad.utils.data.nodes import IterableWrapper
    >>> sources = {"few": IterableWrapper("ab"), "many": IterableWrapper(range(20))}
    >>> node = MultiNodeWeightedSampler(sources, {"few": 1, "many": 9}, "ALL_DATASETS_EXHAUSTED")
    >>> items = list(node)
    >>> len(items), [item for item in items if item in range(20)] == list(range(20))
    (22, True)
    """

    def __init__(
        self,
        source_nodes: Mapping[str, BaseNode[Any]],
        weights: Mapping[str, float],
        stop_criteria: str = StopCriteria.CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED,
        rank: int = 0,
        world_size: int = 1,
        seed: int = 0,
    ) -> None:
        owner = "MultiNodeWeightedSampler"
        if not isinstance(source_nodes, Mapping) or not isinstance(weights, Mapping):
            raise errors.ArgumentTypeError(
                f"{owner}: source_nodes and weights are dicts by name",
                operands={"source_nodes": source_nodes, "weights": weights},
                fix='pass {"name": node, ...} and {"name": weight, ...}',
            )
        if not source_nodes or source_nodes.keys() != weights.keys():
            raise errors.ArgumentError(
                f"{owner}: sources are {sorted(source_nodes)}, and weights are of {sorted(weights)}",
                fix="give each source a weight, and at least one source",
            )
        for name, weight in weights.items():
            checked_source(owner, source_nodes[name])
            if not isinstance(weight, int | float) or not math.isfinite(weight) or weight <= 0:
                raise errors.ArgumentError(
                    f"{owner}: the weight of {name!r} is {errors.safe_repr(weight)}, not a finite number above 0",
                    fix="leave out a source that is never to be drawn",
                )
        if stop_criteria not in _CRITERIA:
            raise errors.ArgumentError(
                f"{owner}: stop_criteria is {errors.safe_repr(stop_criteria)}",
                fix="pass one of " + ", ".join(_CRITERIA),
            )
        if not (type(rank) is type(world_size) is int and 0 <= rank < world_size):
            raise errors.ArgumentError(
                f"{owner}: rank is {errors.safe_repr(rank)}, of {errors.safe_repr(world_size)} processes",
                fix="count ranks from 0",
            )
        self.source_nodes = dict(source_nodes)
        self.weights = {name: float(weights[name]) for name in source_nodes}
        self.stop_criteria = stop_criteria
        self.rank, self.world_size, self.seed = rank, world_size, seed
        self._count = 0
        self._exhausted: list[str] = []
        """Sources that have ended once."""
        self._out: list[str] = []
        """Sources that are drawn no more."""

    def reset(self, initial_state: dict[str, Any] | None = None) -> None:
        super().reset(initial_state)
        if initial_state is None:
            self._count, self._exhausted, self._out = 0, [], []
            for source in self.source_nodes.values():
                source.reset()
            return
        if initial_state["sources"].keys() != self.source_nodes.keys():
            raise errors.ArgumentError(
                f"MultiNodeWeightedSampler.reset: the state is of sources {sorted(initial_state['sources'])}, and "
                f"these are {sorted(self.source_nodes)}",
                fix="make the pipeline as it was when the state was taken",
            )
        self._count = initial_state["count"]
        self._exhausted, self._out = list(initial_state["exhausted"]), list(initial_state["out"])
        for name, source in self.source_nodes.items():
            source.reset(initial_state["sources"][name])

    def next(self) -> Any:
        cycling = self.stop_criteria.startswith("CYCLE")
        while len(self._out) < len(self.weights):
            name = self._drawn()
            try:
                return next(self.source_nodes[name])
            except StopIteration:
                if self.stop_criteria == StopCriteria.FIRST_DATASET_EXHAUSTED:
                    raise
            if name not in self._exhausted:
                self._exhausted.append(name)
            if cycling:
                if self.stop_criteria != StopCriteria.CYCLE_FOREVER and len(self._exhausted) == len(self.weights):
                    break
                self.source_nodes[name].reset()
                try:
                    return next(self.source_nodes[name])
                except StopIteration:  # a source without items
                    pass
            self._out.append(name)
        raise StopIteration

    def _drawn(self) -> str:
        left = {name: weight for name, weight in self.weights.items() if name not in self._out}
        number = mixed(self.seed, self.rank, self.epoch, self._count) / 2**_BITS * sum(left.values())
        self._count += 1
        # Rounding may leave the last sum below the number.
        ends = zip(left, itertools.accumulate(left.values()), strict=True)
        return next((name for name, end in ends if number < end), list(left)[-1])

    def get_state(self) -> dict[str, Any]:
        return {
            "count": self._count,
            "exhausted": list(self._exhausted),
            "out": list(self._out),
            "sources": {name: source.state_dict() for name, source in self.source_nodes.items()},
        }
