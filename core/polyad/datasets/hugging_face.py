"""Datasets of Hugging Face's package ``datasets``, with numbers and pictures as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import wrong_type
from ..utils.data import Dataset, default_convert

__all__ = ["HuggingFaceDataset"]


class HuggingFaceDataset(Dataset[dict[str, Any]]):
    """A ``datasets.Dataset`` for a `DataLoader`: samples are dicts, their arrays and pictures tensors, a batch is read
    by a single query.

    A stream (``datasets.IterableDataset``) needs no class of its own: ``IterableWrapper(stream)`` of
    `polyad.utils.data.nodes` asks it for its state and tells it the number of the pass.

    Args:
        dataset: what ``datasets.load_dataset`` gives for a split.
        columns: which to give; all if None.

    Raises:
        TypeError: what is no such dataset.

    >>> HuggingFaceDataset([1, 2])
    Traceback (most recent call last):
        ...
    polyad.errors.ArgumentTypeError: HuggingFaceDataset: dataset is list, not a datasets.Dataset
        dataset  list [1, 2]
        fix      pass a datasets.Dataset as dataset
    """

    def __init__(self, dataset: Any, columns: Sequence[str] | None = None) -> None:
        if not all(hasattr(dataset, name) for name in ("with_format", "column_names", "__getitem__", "__len__")):
            raise wrong_type("HuggingFaceDataset", "dataset", dataset, "a datasets.Dataset")
        self.dataset = dataset.with_format("numpy", columns=None if columns is None else list(columns))

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: default_convert(value) for name, value in self.dataset[index].items()}

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        columns = self.dataset[[int(index) for index in indices]]
        return [
            {name: default_convert(column[place]) for name, column in columns.items()} for place in range(len(indices))
        ]

    def __len__(self) -> int:
        return len(self.dataset)
