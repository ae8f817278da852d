"""An epoch that is resumed in its middle gives the batches that it would have given."""

import io
import random

import numpy as np
import pytest

import polyad
import worker_datasets as data
from polyad.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)


def plain(value):
    if isinstance(value, polyad.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


class ByPython(Sampler):
    """Draws from generators that are not polyad's."""

    def __iter__(self):
        order = list(range(13))
        random.shuffle(order)
        return iter([order[int(place)] for place in np.random.permutation(13)])

    def __len__(self):
        return 13


def loader(workers=0, generator=True, order="shuffle", **arguments):
    arguments.update({} if not workers else {"num_workers": workers})
    given = polyad.Generator().manual_seed(9) if generator else None
    samplers = {
        "shuffle": lambda: {"shuffle": True, "batch_size": 3},
        "subset": lambda: {"sampler": SubsetRandomSampler(range(2, 12), generator=given), "batch_size": 3},
        "weighted": lambda: {"sampler": WeightedRandomSampler([1.0] * 13, 13, generator=given), "batch_size": 3},
        "batches": lambda: {"batch_sampler": BatchSampler(RandomSampler(range(13), generator=given), 3, False)},
        "python": lambda: {"sampler": ByPython(), "batch_size": 3},
        "single": lambda: {"batch_size": None, "shuffle": True},
    }
    return DataLoader(data.Noisy(), generator=given, **samplers[order](), **arguments)


def seed(number):
    polyad.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def through_a_file(state):
    file = io.BytesIO()
    polyad.save(state, file)
    file.seek(0)
    return polyad.load(file)


@pytest.mark.parametrize("order", ["shuffle", "subset", "weighted", "batches", "python", "single"])
@pytest.mark.parametrize("generator", [True, False])
@pytest.mark.parametrize("taken", [0, 1, 4])
def test_the_rest_of_an_epoch_and_the_next(order, generator, taken):
    seed(1)
    whole = loader(generator=generator, order=order)
    first = plain(list(whole))
    if generator and order != "python":
        second = plain(list(whole))
    seed(1)
    interrupted = loader(generator=generator, order=order)
    iterator = iter(interrupted)
    begin = [plain(next(iterator)) for _ in range(taken)]
    state = through_a_file(interrupted.state_dict())
    seed(2)
    before = polyad.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()
    resumed = loader(generator=generator, order=order)
    resumed.load_state_dict(state)
    assert begin + plain(list(resumed)) == first
    assert before == (polyad.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist())
    if generator and order != "python":
        assert plain(list(resumed)) == second


@pytest.mark.parametrize(("workers", "later"), [(2, 0), (0, 3), (3, 1)])
def test_with_another_number_of_workers(workers, later):
    first = plain(list(loader()))
    interrupted = loader(workers)
    iterator = iter(interrupted)
    begin = [plain(next(iterator)) for _ in range(2)]
    resumed = loader(later)
    resumed.load_state_dict(interrupted.state_dict())
    assert begin + plain(list(resumed)) == first


def test_batches_out_of_order_are_not_lost():
    interrupted = loader(2, in_order=False)
    iterator = iter(interrupted)
    begin = [plain(next(iterator)) for _ in range(3)]
    resumed = loader()
    resumed.load_state_dict(interrupted.state_dict())
    seen = begin + plain(list(resumed))
    assert sorted(map(str, seen)) == sorted(map(str, plain(list(loader()))))


@pytest.mark.parametrize("workers", [0, 2])
def test_streams_are_read_again(workers):
    def stream():
        return DataLoader(data.Stream(), batch_size=2, num_workers=workers, generator=polyad.Generator().manual_seed(4))

    first = plain(list(stream()))
    interrupted = stream()
    iterator = iter(interrupted)
    begin = [plain(next(iterator)) for _ in range(2)]
    resumed = stream()
    resumed.load_state_dict(interrupted.state_dict())
    assert begin + plain(list(resumed)) == first


def test_between_epochs():
    reference = loader()
    first, second = plain(list(reference)), plain(list(reference))
    done = loader()
    assert plain(list(done)) == first
    resumed = loader()
    resumed.load_state_dict(done.state_dict())
    assert plain(list(resumed)) == second
    fresh = loader()
    fresh.load_state_dict(loader().state_dict())
    assert plain(list(fresh)) == first


def test_a_state_is_of_the_resumed_epoch_too():
    first = plain(list(loader()))
    one = loader()
    next(iter(one))
    two = loader()
    two.load_state_dict(one.state_dict())
    state = two.state_dict()
    iterator = iter(two)
    next(iterator)
    for taken, given in ((1, state), (2, two.state_dict())):
        three = loader()
        three.load_state_dict(given)
        assert plain(list(three)) == first[taken:]


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        (None, TypeError, "what state_dict"),
        ({}, TypeError, "what state_dict"),
        ({"version": 2}, ValueError, "install a newer polyad"),
        ({"length": 14}, ValueError, "length 14"),
        ({"batch_size": 4}, ValueError, "batch_size 4"),
    ],
)
def test_states_of_other_loaders_are_refused(state, error, words):
    if state:
        state = {**loader().state_dict(), **state}
    with pytest.raises(error, match=words):
        loader().load_state_dict(state)


def test_a_state_with_other_generators_is_refused():
    with pytest.raises(ValueError, match="1 generators"):
        loader(generator=False).load_state_dict(loader().state_dict())


@pytest.mark.parametrize(
    "damage",
    [
        {},
        {"default": [1, 2], "held": [[1]]},
        {"default": [1, 2], "held": [[1, 2.5]]},
        {"default": [1, 2**64], "held": [[1, 2]]},
        {"default": [1, 2], "held": [[1, 2]], "python": (3, (1, 2), None)},
        {"default": [1, 2], "held": [[1, 2]], "numpy": {"bit_generator": "MT19937"}},
        {"default": [1, 2], "held": 3},
    ],
)
def test_generators_that_cannot_be_restored_are_refused(damage):
    state = loader().state_dict()
    with pytest.raises((TypeError, ValueError), match="generators"):
        loader().load_state_dict({**state, "random": damage})


def test_a_stream_goes_on_with_as_many_workers():
    one = DataLoader(data.Stream(), num_workers=2)
    with pytest.raises(ValueError, match="num_workers 2"):
        DataLoader(data.Stream()).load_state_dict(one.state_dict())


def test_a_tensor_dataset():
    def tensors():
        return DataLoader(TensorDataset(polyad.arange(10)), batch_size=3, shuffle=True,
                          generator=polyad.Generator().manual_seed(0))  # fmt: skip

    first = plain(list(tensors()))
    one = tensors()
    next(iter(one))
    two = tensors()
    two.load_state_dict(one.state_dict())
    assert plain(list(two)) == first[1:]
