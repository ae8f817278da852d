"""Several metrics that see the same batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polyad.arguments import Explained
from polyad.base.kinds import State
from polyad.errors import ArgumentError

from .metric import Metric


class MetricCollection(Explained):
    """Metrics by name: `update`, `compute`, `reset` and calls go to each, and values come as a dict.

    Args:
        metrics: a metric, a list of metrics, which are named after their classes, or a dict.
        prefix, postfix: go around the names of values.

    Raises ValueError for two metrics of one name.

    >>> import polyad
    >>> from polyad.metrics import Accuracy, F1Score, MetricCollection
    >>> both = MetricCollection([Accuracy(task="binary"), F1Score(task="binary")], prefix="val_")
    >>> both(polyad.tensor([1, 1, 0]), polyad.tensor([1, 0, 0]))
    {'val_Accuracy': tensor(0.6667), 'val_F1Score': tensor(0.6667)}
    """

    def __init__(
        self, metrics: Metric | Sequence[Metric] | Mapping[str, Metric], prefix: str = "", postfix: str = ""
    ) -> None:
        if isinstance(metrics, Metric):
            metrics = [metrics]
        pairs = list(
            metrics.items() if isinstance(metrics, Mapping) else [(type(one).__name__, one) for one in metrics]
        )
        self._metrics: dict[str, Metric] = dict(pairs)
        if len(self._metrics) < len(pairs):
            raise ArgumentError(
                "MetricCollection: two metrics have the same name", fix="pass a dict with a name for each"
            )
        self.prefix, self.postfix = prefix, postfix

    def __getitem__(self, name: str) -> Metric:
        return self._metrics[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Count a batch in each."""
        for metric in self._metrics.values():
            metric.update(*args, **kwargs)

    def compute(self) -> dict[str, Any]:
        """Each metric's value."""
        return {self._named(name): metric.compute() for name, metric in self._metrics.items()}

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return {self._named(name): metric(*args, **kwargs) for name, metric in self._metrics.items()}

    def reset(self) -> None:
        """Forget all batches."""
        for metric in self._metrics.values():
            metric.reset()

    def merge(self, other: MetricCollection) -> MetricCollection:
        """Take in what *other*, with metrics of the same names, has counted. Raises ValueError, TypeError."""
        if set(other) != set(self):
            raise ArgumentError(
                f"merge: the metrics are {', '.join(self)} and {', '.join(other)}", fix="merge equal collections"
            )
        for name, metric in self._metrics.items():
            metric.merge(other[name])
        return self

    def state_dict(self) -> dict[str, Any]:
        """Each metric's state."""
        return {name: metric.state_dict() for name, metric in self._metrics.items()}

    def load_state_dict(self, state_dict: State) -> None:
        """Go on where *state_dict* was taken. Raises ValueError for the state of another collection."""
        if set(state_dict) != set(self):
            raise ArgumentError(
                f"load_state_dict: the metrics are {', '.join(self)}, the dict has {', '.join(map(str, state_dict))}",
                fix="load the state of a collection with these names",
            )
        for name, metric in self._metrics.items():
            metric.load_state_dict(state_dict[name])

    def _named(self, name: str) -> str:
        return f"{self.prefix}{name}{self.postfix}"
