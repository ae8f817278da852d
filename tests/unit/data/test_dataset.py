"""Datasets: what indexing gives, how they are joined and split."""

import pytest

import polyad
from polyad.utils.data import (
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Counting(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


class Letters(Dataset):
    def __getitem__(self, index):
        return "abcdef"[index]

    def __len__(self):
        return 6


def generator(seed=0):
    return polyad.Generator().manual_seed(seed)


def test_a_dataset_without_getitem_says_what_to_define():
    class Nothing(Dataset):
        pass

    with pytest.raises(NotImplementedError, match=r"Nothing\.__getitem__.*\n.*fix +define __getitem__"):
        Nothing()[0]
    with pytest.raises(TypeError):
        len(Nothing())


def test_an_iterable_dataset_without_iter_says_what_to_define():
    with pytest.raises(NotImplementedError, match="define __iter__"):
        iter(IterableDataset())


def test_tensor_dataset_indexes_all_tensors():
    data = TensorDataset(polyad.arange(6).reshape(3, 2), polyad.tensor([10, 20, 30]))
    row, label = data[-1]
    assert (row.tolist(), label.item(), len(data)) == ([4, 5], 30, 3)
    rows, labels = data[1:]
    assert (rows.tolist(), labels.tolist()) == ([[2, 3], [4, 5]], [20, 30])
    assert len(TensorDataset()) == 0


@pytest.mark.parametrize("shapes", [((3,), (4,)), ((3,), ()), ((),)])
def test_tensor_dataset_refuses_tensors_of_different_length(shapes):
    tensors = [polyad.zeros(shape) for shape in shapes]
    with pytest.raises(ValueError, match="same number of samples") as caught:
        TensorDataset(*tensors)
    assert all(str(shape) in str(caught.value) for shape in shapes)


def test_tensor_dataset_refuses_what_is_no_tensor():
    with pytest.raises(TypeError, match="argument 1 is list"):
        TensorDataset(polyad.zeros(2), [1, 2])


def test_gathered_samples_read_as_a_list_of_samples():
    data = TensorDataset(polyad.arange(6).reshape(3, 2), polyad.tensor([10, 20, 30]))
    samples = data.__getitems__([2, 0])
    assert len(samples) == 2
    assert [(row.tolist(), label.item()) for row, label in samples] == [([4, 5], 30), ([0, 1], 10)]
    assert samples[-1][1].item() == 10
    assert [label.item() for _, label in samples[:1]] == [30]
    with pytest.raises(IndexError, match="index 2 is out of range for a batch of 2"):
        samples[2]


def test_gathering_refuses_indices_outside():
    with pytest.raises(IndexError):
        TensorDataset(polyad.arange(3)).__getitems__([0, 3])


def test_subset_maps_indices():
    few = Subset(Letters(), [4, 0, 2])
    assert [few[i] for i in range(3)] == ["e", "a", "c"]
    assert few.__getitems__([2, 0]) == ["c", "e"]
    assert len(few) == 3


def test_subset_of_a_tensor_dataset_gathers():
    few = Subset(TensorDataset(polyad.arange(10) * 10), [7, 3, 5])
    [batch] = DataLoader(few, batch_size=3)
    assert batch[0].tolist() == [70, 30, 50]
    assert few[[0, 2]][0].tolist() == [70, 50]


def test_concat_dataset():
    both = Letters() + Letters()
    assert isinstance(both, ConcatDataset)
    assert (len(both), both[7], both[-1], both[-12]) == (12, "b", "f", "a")
    with pytest.raises(IndexError, match=r"index 12 is not in \[-12, 12\)"):
        both[12]
    with pytest.raises(ValueError, match="index -13"):
        both[-13]


def test_concat_dataset_skips_empty_parts():
    joined = ConcatDataset([[], [1], [], [2, 3]])
    assert [joined[i] for i in range(3)] == [1, 2, 3]


def test_concat_dataset_refuses_nothing_and_streams():
    with pytest.raises(ValueError, match="no dataset to join"):
        ConcatDataset([])
    with pytest.raises(TypeError, match="ChainDataset"):
        ConcatDataset([[1], Counting(2)])


def test_chain_dataset():
    both = Counting(2) + Counting(3)
    assert isinstance(both, ChainDataset)
    assert list(both) == [0, 1, 0, 1, 2]
    with pytest.raises(TypeError, match="list is not an IterableDataset"):
        list(ChainDataset([[1]]))


def test_random_split_by_counts_covers_everything_once():
    parts = random_split(range(10), [7, 0, 3], generator())
    assert [len(part) for part in parts] == [7, 0, 3]
    assert sorted(x for part in parts for x in part.indices) == list(range(10))


@pytest.mark.parametrize(
    ("fractions", "sizes"),
    [
        ([0.3, 0.3, 0.4], [3, 3, 4]),
        ([0.75, 0.25], [8, 2]),  # 7.5 and 2.5: the leftover goes to the first
        ([0.1] * 10, [1] * 10),
        ([0.7, 0.2, 0.1], [7, 2, 1]),  # adds up to 0.9999999999999999
        ([1.0], [10]),
    ],
)
def test_random_split_by_fractions(fractions, sizes):
    assert [len(part) for part in random_split(range(10), fractions, generator())] == sizes


def test_random_split_follows_its_generator_only():
    polyad.manual_seed(1)
    first = random_split(range(50), [0.5, 0.5], generator(3))[0].indices
    polyad.manual_seed(2)
    assert random_split(range(50), [0.5, 0.5], generator(3))[0].indices == first
    assert random_split(range(50), [0.5, 0.5], generator(4))[0].indices != first


def test_random_split_without_generator_follows_manual_seed():
    polyad.manual_seed(5)
    first = random_split(range(50), [25, 25])[0].indices
    polyad.manual_seed(5)
    assert random_split(range(50), [25, 25])[0].indices == first


@pytest.mark.parametrize("lengths", [[3, 3], [11, -1], [0.5, 0.7], [9.5, 0.5], []])
def test_random_split_refuses_lengths_that_do_not_fit(lengths):
    with pytest.raises(ValueError, match="do not divide a dataset of 10 samples"):
        random_split(range(10), lengths)


def test_random_split_refuses_negative_fractions():
    with pytest.raises(ValueError, match=r"lengths\[1\] = -0.5"):
        random_split(range(10), [0.5, -0.5, 1.0])


def test_random_split_warns_of_empty_parts():
    with pytest.warns(UserWarning, match="part 1 .* is empty"):
        parts = random_split(range(1), [0.5, 0.5])
    assert [len(part) for part in parts] == [1, 0]


class Ten(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return index * 10


def test_stacked_datasets():
    pairs = StackDataset(Ten(), TensorDataset(polyad.arange(10)))
    assert len(pairs) == 10
    assert pairs[3] == (30, (polyad.tensor(3),))
    named = StackDataset(a=Ten(), b=TensorDataset(polyad.arange(10)))
    assert named[3]["a"] == 30
    assert [sample["a"] for sample in named.__getitems__([1, 4])] == [10, 40]
    batch = next(iter(DataLoader(named, batch_size=2)))
    assert (batch["a"].tolist(), batch["b"][0].tolist()) == ([0, 10], [0, 1])


def test_stacked_datasets_that_do_not_fit():
    with pytest.raises(ValueError, match=r"different lengths: \[10, 3\]"):
        StackDataset(Ten(), range(3))
    with pytest.raises(ValueError, match="no dataset"):
        StackDataset()
    with pytest.raises(ValueError, match="with and without"):
        StackDataset(Ten(), a=Ten())
    with pytest.raises(TypeError, match="a is"):
        StackDataset(a=iter([1]))

    class Short(Ten):
        def __getitems__(self, indices):
            return []

    with pytest.raises(ValueError, match="dataset 0 gave 0 samples for 2 indices"):
        StackDataset(Short()).__getitems__([1, 2])
