"""The loader: batching, order, lengths, and the arguments that exclude each other."""

import itertools

import pytest

import polyad
from polyad import errors
from polyad.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    TensorDataset,
    get_worker_info,
)


class Squares(Dataset):
    def __init__(self, n=7):
        self.n = n

    def __getitem__(self, index):
        return index, float(index**2)

    def __len__(self):
        return self.n


class Stream(IterableDataset):
    def __init__(self, n=5):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


class SizedStream(Stream):
    def __len__(self):
        return self.n


def columns(loader):
    return [[part.tolist() for part in batch] for batch in loader]


@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_in_order(drop_last):
    loader = DataLoader(Squares(), batch_size=3, drop_last=drop_last)
    full = [[[0, 1, 2], [0.0, 1.0, 4.0]], [[3, 4, 5], [9.0, 16.0, 25.0]]]
    assert columns(loader) == (full if drop_last else [*full, [[6], [36.0]]])
    assert len(loader) == len(list(loader)) == (2 if drop_last else 3)


def test_every_iter_is_an_epoch():
    loader = DataLoader(Squares(), batch_size=4)
    assert columns(loader) == columns(loader)
    first, second = iter(loader), iter(loader)
    next(first)
    assert next(second)[0].tolist() == [0, 1, 2, 3]


def test_the_default_batch_size_is_one():
    assert [x.tolist() for x, _ in DataLoader(Squares(2))] == [[0], [1]]


def test_shuffle_follows_the_generator_and_changes_each_epoch():
    def make():
        return DataLoader(Squares(50), batch_size=50, shuffle=True, generator=polyad.Generator().manual_seed(3))

    loader = make()
    epochs = [next(iter(loader))[0].tolist() for _ in range(3)]
    assert all(sorted(epoch) == list(range(50)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    again = make()
    assert [next(iter(again))[0].tolist() for _ in range(3)] == epochs


def test_shuffle_follows_manual_seed_without_a_generator():
    orders = []
    for _ in range(2):
        polyad.manual_seed(11)
        orders.append(next(iter(DataLoader(Squares(50), batch_size=50, shuffle=True)))[0].tolist())
    assert orders[0] == orders[1] != list(range(50))


def test_a_tensor_dataset_is_gathered_not_stacked(monkeypatch):
    data = TensorDataset(polyad.arange(7), polyad.arange(7.0) ** 2)
    monkeypatch.setattr(TensorDataset, "__getitem__", None)  # a sample read one by one would fail
    assert columns(DataLoader(data, batch_size=3)) == columns(DataLoader(Squares(), batch_size=3))


def test_a_collate_function_sees_gathered_samples_as_a_list():
    data = TensorDataset(polyad.arange(4), polyad.arange(4) * 10)
    loader = DataLoader(data, batch_size=2, collate_fn=lambda samples: [int(x) + int(y) for x, y in samples])
    assert list(loader) == [[0, 11], [22, 33]]


def test_getitems_of_any_dataset_is_used():
    class Together(Squares):
        def __getitems__(self, indices):
            return [(index, -1.0) for index in indices]

    assert columns(DataLoader(Together(2), batch_size=2)) == [[[0, 1], [-1.0, -1.0]]]


def test_batch_sampler_and_sampler():
    assert columns(DataLoader(Squares(), batch_sampler=[[6, 0], [3]])) == [[[6, 0], [36.0, 0.0]], [[3], [9.0]]]
    sampled = DataLoader(Squares(), batch_size=2, sampler=[5, 1, 1])
    assert [x.tolist() for x, _ in sampled] == [[5, 1], [1]]
    assert len(sampled) == 2
    assert len(DataLoader(Squares(), batch_sampler=BatchSampler(SequentialSampler(Squares()), 2, True))) == 3


def test_a_batch_sampler_that_holds_another():
    class Skipping(BatchSampler):  # as accelerate's does, without what its base holds
        def __init__(self, batch_sampler):
            self.batch_sampler = batch_sampler

        def __iter__(self):
            return itertools.islice(self.batch_sampler, 1, None)

    loader = DataLoader(Squares(6), batch_sampler=Skipping(BatchSampler(range(6), 2, False)))
    assert [batch[-1].tolist() for batch in loader] == [[4, 9], [16, 25]]


def test_without_batching_samples_come_one_by_one():
    loader = DataLoader(Squares(2), batch_size=None)
    assert list(loader) == [[0, 0.0], [1, 1.0]]
    assert len(loader) == 2


def test_streams():
    assert [x.tolist() for x in DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [x.tolist() for x in DataLoader(Stream(), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(), batch_size=None)) == [0, 1, 2, 3, 4]
    assert [len(DataLoader(SizedStream(), batch_size=2, drop_last=drop)) for drop in (False, True)] == [3, 2]
    assert len(DataLoader(SizedStream(), batch_size=None)) == 5
    with pytest.raises(TypeError):
        len(DataLoader(Stream()))


def test_an_empty_dataset_gives_no_batch():
    assert list(DataLoader(TensorDataset(polyad.zeros(0, 2)))) == []


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_batch_size_is_checked(size):
    with pytest.raises(ValueError, match="DataLoader: batch_size is"):
        DataLoader(Squares(), batch_size=size)
    with pytest.raises(ValueError, match="DataLoader: batch_size is"):
        DataLoader(Stream(), batch_size=size)


@pytest.mark.parametrize(
    "arguments",
    [
        {"shuffle": True, "sampler": [0]},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"batch_sampler": [[0]], "shuffle": True},
        {"batch_sampler": [[0]], "sampler": [0]},
        {"batch_sampler": [[0]], "drop_last": True},
        {"batch_size": None, "drop_last": True},
    ],
)
def test_arguments_that_exclude_each_other(arguments):
    with pytest.raises(ValueError, match="exclude each other"):
        DataLoader(Squares(), **arguments)


@pytest.mark.parametrize("arguments", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}])
def test_a_stream_decides_its_order_itself(arguments):
    with pytest.raises(ValueError, match="does not go with an IterableDataset"):
        DataLoader(Stream(), **arguments)
    DataLoader(Stream(), shuffle=False)


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_workers": -1},
        {"num_workers": True},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
        {"multiprocessing_context": "fork"},
    ],
)
def test_worker_options_are_checked(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        DataLoader(Squares(), **arguments)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"timeout": "3"}, "timeout is str, not a number of seconds"),
        ({"timeout": None}, "timeout is NoneType"),
        ({"generator": 5}, "generator is int, not a polyad.Generator"),
        ({"sampler": 5}, "sampler is int, not an iterable of indices"),
        ({"batch_sampler": 5}, "batch_sampler is int, not an iterable of indices"),
        ({"dataset": 5}, "dataset is int, not a dataset with an index"),
        ({"dataset": None}, "dataset is NoneType"),
    ],
)
def test_arguments_of_another_type_are_named(arguments, what):
    with pytest.raises(errors.ArgumentTypeError, match=f"DataLoader: {what}"):
        DataLoader(**{"dataset": Squares(), **arguments})


def test_collate_fn_must_be_callable():
    with pytest.raises(TypeError, match="collate_fn is int 3"):
        DataLoader(Squares(), collate_fn=3)


def test_shuffling_nothing_is_refused():
    with pytest.raises(ValueError, match="num_samples is 0"):
        DataLoader(Squares(0), shuffle=True)


def test_pin_memory_is_said_to_have_no_effect_where_nothing_pins():
    with pytest.warns(UserWarning, match="pin_memory=True has no effect"):
        loader = DataLoader(Squares(), pin_memory=True, pin_memory_device="cpu")
    assert list(loader) == list(DataLoader(Squares()))


@pytest.mark.parametrize("name", ["batch_size", "sampler", "batch_sampler", "drop_last", "dataset"])
def test_what_was_decided_cannot_be_changed(name):
    loader = DataLoader(Squares())
    with pytest.raises(ValueError, match=f"{name} cannot be changed"):
        setattr(loader, name, None)
    loader.collate_fn = list
    assert next(iter(loader)) == [(0, 0.0)]


def test_there_is_no_worker():
    assert get_worker_info() is None
