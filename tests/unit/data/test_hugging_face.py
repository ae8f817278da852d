"""Datasets of the package ``datasets``."""

import numpy as np
import pytest

import polyad
from polyad.datasets import HuggingFaceDataset
from polyad.utils.data import DataLoader
from polyad.utils.data.nodes import IterableWrapper, Loader

datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")


@pytest.fixture
def table():
    return datasets.Dataset.from_dict({
        "x": [[i, i + 1.0] for i in range(10)], "label": list(range(10)), "text": [f"t{i}" for i in range(10)]
    })  # fmt: skip


def test_samples_and_batches(table):
    dataset = HuggingFaceDataset(table)
    assert len(dataset) == 10
    sample = dataset[3]
    assert (sample["x"].tolist(), int(sample["label"]), str(sample["text"])) == ([3, 4], 3, "t3")
    batches = list(DataLoader(dataset, batch_size=4))
    assert [batch["x"].shape for batch in batches] == [(4, 2), (4, 2), (2, 2)]
    assert batches[2]["label"].tolist() == [8, 9]
    assert batches[2]["label"].dtype is polyad.int64
    assert list(map(str, batches[2]["text"])) == ["t8", "t9"]
    [batch] = DataLoader(HuggingFaceDataset(table, columns=["label"]), batch_size=10, num_workers=1)
    assert batch.keys() == {"label"}


def test_a_batch_is_one_query(table, monkeypatch):
    asked = []
    dataset = HuggingFaceDataset(table)
    query = type(dataset.dataset).__getitem__
    monkeypatch.setattr(type(dataset.dataset), "__getitem__", lambda self, key: asked.append(key) or query(self, key))
    list(DataLoader(dataset, batch_size=5))
    assert asked == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_pictures():
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pictures = [np.full((4, 6, 3), i, np.uint8) for i in range(3)]
    table = datasets.Dataset.from_dict({"image": pictures}, features=datasets.Features({"image": datasets.Image()}))
    assert HuggingFaceDataset(table)[2]["image"].unique().tolist() == [2]


def test_streams_go_on_where_their_state_was_taken(table):
    def loader():
        return Loader(IterableWrapper(table.to_iterable_dataset(num_shards=2).shuffle(seed=1, buffer_size=1)))

    whole = loader()
    epochs = [[sample["label"] for sample in whole] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(10))
    half = loader()
    list(half)
    iterator = iter(half)
    begin = [next(iterator)["label"] for _ in range(4)]
    again = loader()
    again.load_state_dict(half.state_dict())
    assert begin + [sample["label"] for sample in again] == epochs[1]


def test_what_is_no_dataset():
    with pytest.raises(TypeError, match="HuggingFaceDataset"):
        HuggingFaceDataset([1, 2])
