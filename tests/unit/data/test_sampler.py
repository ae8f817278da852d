"""Samplers: orders, their randomness, and what they refuse."""

import collections
import itertools
import math

import pytest

import polyad
from polyad.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def generator(seed=0):
    return polyad.Generator().manual_seed(seed)


def test_a_sampler_without_iter_says_what_to_define():
    with pytest.raises(NotImplementedError, match="define __iter__"):
        iter(Sampler())


def test_sequential():
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert len(SequentialSampler("abc")) == 3


def test_random_is_a_permutation_and_follows_its_generator():
    first = list(RandomSampler(range(100), generator=generator(1)))
    assert sorted(first) == list(range(100))
    assert first != list(range(100))
    assert list(RandomSampler(range(100), generator=generator(1))) == first
    assert list(RandomSampler(range(100), generator=generator(2))) != first


def test_random_gives_each_epoch_another_order():
    sampler = RandomSampler(range(100), generator=generator())
    assert list(sampler) != list(sampler)
    without_generator = RandomSampler(range(100))
    assert list(without_generator) != list(without_generator)


def test_random_without_generator_follows_manual_seed_at_the_start_of_the_epoch():
    polyad.manual_seed(7)
    first = list(RandomSampler(range(100)))
    polyad.manual_seed(7)
    epoch = iter(RandomSampler(range(100)))
    start = [next(epoch)]
    polyad.rand(10)  # random numbers drawn meanwhile do not change the order
    assert start + list(epoch) == first


def test_random_num_samples_without_replacement_starts_over():
    drawn = list(RandomSampler(range(3), num_samples=7, generator=generator()))
    assert len(drawn) == 7
    assert sorted(drawn[:3]) == sorted(drawn[3:6]) == [0, 1, 2]
    assert len(list(RandomSampler(range(10), num_samples=4))) == 4


def test_random_with_replacement():
    drawn = list(RandomSampler(range(5), replacement=True, num_samples=200, generator=generator()))
    assert len(drawn) == 200
    assert set(drawn) == set(range(5))


def test_random_with_replacement_draws_as_it_goes():
    endless = RandomSampler(range(5), replacement=True, num_samples=10**12, generator=generator())
    first = list(itertools.islice(endless, 3000))
    again = RandomSampler(range(5), replacement=True, num_samples=3000, generator=generator())
    assert first == list(again)
    batches = DataLoader(range(5), batch_size=4, sampler=endless)
    assert len(next(iter(batches))) == 4


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
def test_random_refuses_num_samples(count):
    with pytest.raises(ValueError, match=r"RandomSampler: num_samples is .*not a positive integer"):
        RandomSampler(range(3), num_samples=count)


def test_random_refuses_empty_data_and_a_replacement_that_is_no_bool():
    with pytest.raises(ValueError, match="num_samples is 0"):
        RandomSampler([])
    with pytest.raises(TypeError, match="replacement is int"):
        RandomSampler(range(3), replacement=1)


def test_subset_random():
    drawn = list(SubsetRandomSampler([5, 7, 9], generator()))
    assert sorted(drawn) == [5, 7, 9]
    assert len(SubsetRandomSampler([5, 7, 9])) == 3


def test_weighted_with_replacement_draws_in_proportion():
    n = 20_000
    counts = collections.Counter(WeightedRandomSampler([1, 0, 3, 6], n, generator=generator()))
    assert counts[1] == 0
    for index, share in ((0, 0.1), (2, 0.3), (3, 0.6)):
        # Five standard deviations of a binomial count: fails by chance less than once in a million seeds.
        assert abs(counts[index] - share * n) < 5 * math.sqrt(n * share * (1 - share))


def test_weighted_without_replacement_draws_each_once_and_heavy_ones_first():
    first_is_heavy = 0
    for seed in range(200):
        drawn = list(WeightedRandomSampler([1.0, 0.0, 9.0], 2, replacement=False, generator=generator(seed)))
        assert sorted(drawn) == [0, 2]
        first_is_heavy += drawn[0] == 2
    assert abs(first_is_heavy - 180) < 5 * math.sqrt(200 * 0.9 * 0.1)


def test_weighted_takes_a_tensor():
    assert list(WeightedRandomSampler(polyad.tensor([0.0, 2.0]), 3)) == [1, 1, 1]


@pytest.mark.parametrize("weights", [[-1.0, 2.0], [0.0, 0.0], [float("nan")], [float("inf"), 1.0], [[1.0]], []])
def test_weighted_refuses_weights(weights):
    with pytest.raises(ValueError, match="WeightedRandomSampler: weights"):
        WeightedRandomSampler(weights, 1)


def test_weighted_refuses_more_samples_than_there_are():
    with pytest.raises(ValueError, match="1 weights above 0"):
        WeightedRandomSampler([0.0, 1.0], 2, replacement=False)


def test_batches():
    assert list(BatchSampler(range(5), 2, drop_last=False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert [len(BatchSampler(range(5), 2, drop)) for drop in (False, True)] == [3, 2]
    assert list(BatchSampler(iter([]), 2, False)) == []


@pytest.mark.parametrize(
    ("size", "drop_last"), [(0, False), (-2, False), (1.5, False), (True, False), (2, 1), (2, None)]
)
def test_batches_refuse(size, drop_last):
    with pytest.raises(ValueError, match="BatchSampler"):
        BatchSampler(range(5), size, drop_last)
