"""Shares of several processes."""

import pytest

from polyad.utils.data import DataLoader, DistributedSampler
from polyad.utils.data.distributed import DistributedSampler as OfPyTorchsPath


@pytest.mark.parametrize("size", [0, 1, 5, 12])
@pytest.mark.parametrize("replicas", [1, 3, 4, 7])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_shares_have_one_length_and_cover_the_dataset(size, replicas, drop_last, shuffle):
    samplers = [
        DistributedSampler(range(size), replicas, rank, shuffle, seed=3, drop_last=drop_last)
        for rank in range(replicas)
    ]
    shares = [list(sampler) for sampler in samplers]
    assert {len(share) for share in shares} == {len(sampler) for sampler in samplers}
    together = [shares[place % replicas][place // replicas] for place in range(samplers[0].total_size)]
    if drop_last:
        assert len(set(together)) == len(together) == size - size % replicas
    else:
        assert sorted(set(together)) == list(range(size))
        assert together == [together[place % size] for place in range(len(together))]
    if not shuffle:
        assert together[:size] == list(range(len(together)))[:size]


def test_the_order_follows_seed_and_epoch():
    def order(epoch, seed=0):
        sampler = DistributedSampler(range(50), 2, 0, seed=seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert order(1) == order(1) != order(2)
    assert order(0, seed=1) == order(1, seed=0)


def test_in_a_loader():
    loader = DataLoader(range(5), batch_size=2, sampler=OfPyTorchsPath(range(5), 2, 1, shuffle=False))
    assert [batch.tolist() for batch in loader] == [[1, 3], [0]]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, RuntimeError),
        ({"num_replicas": 2}, RuntimeError),
        ({"num_replicas": 2, "rank": 2}, ValueError),
        ({"num_replicas": 2, "rank": -1}, ValueError),
        ({"num_replicas": 0, "rank": 0}, ValueError),
        ({"num_replicas": 2, "rank": True}, ValueError),
    ],
)
def test_arguments_are_checked(arguments, error):
    with pytest.raises(error, match="DistributedSampler"):
        DistributedSampler(range(4), **arguments)


def test_an_epoch_is_an_int():
    with pytest.raises(TypeError, match="set_epoch: epoch is str, not an int"):
        DistributedSampler(range(4), 2, 0).set_epoch("3")


def test_a_stream_has_no_shares():
    with pytest.raises(TypeError, match="a dataset with a length"):
        DistributedSampler(iter([1]), 2, 0)
