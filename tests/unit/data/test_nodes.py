"""Pipelines: what nodes give, and that they go on exactly where their state was taken."""

import copy
import gc
import io
import random
import threading
import time

import pytest

import polyad
import worker_datasets as data
from polyad.utils.data import DataLoader, Dataset, DistributedSampler, RandomSampler, SkipSample, default_collate
from polyad.utils.data.nodes import (
    BaseNode,
    Batcher,
    Cycler,
    Filter,
    Header,
    IterableWrapper,
    Loader,
    Mapper,
    MapStyleWrapper,
    MultiNodeWeightedSampler,
    ParallelMapper,
    Prefetcher,
    SamplerWrapper,
    Sharder,
    Shuffler,
    StopCriteria,
    Unbatcher,
    Zipper,
)


def numbers(n=23):
    return IterableWrapper(range(n))


def failing(x):
    if x == 3:
        raise ValueError("not three")
    return x


def skipping(x):
    if x % 3 == 0:
        raise SkipSample
    return x


def shuffled_sampler():
    return SamplerWrapper(RandomSampler(range(17), generator=polyad.Generator().manual_seed(4)))


def mixed_sources(criteria):
    return MultiNodeWeightedSampler(
        {"a": numbers(5), "b": Shuffler(IterableWrapper(range(100, 111)), 4)}, {"a": 1, "b": 2}, criteria, seed=1
    )


PIPELINES = {
    "iterable": numbers,
    "sampler": shuffled_sampler,
    "sampler that draws from Python": lambda: SamplerWrapper(data.OwnOrder(12)),
    "default generator": lambda: SamplerWrapper(RandomSampler(range(17))),
    "distributed": lambda: SamplerWrapper(DistributedSampler(range(17), 2, 1)),
    "map style": lambda: MapStyleWrapper([str(i) for i in range(17)], RandomSampler(range(17))),
    "loader of loaders": lambda: IterableWrapper(DataLoader(range(17), batch_size=3, shuffle=True)),
    "mapper": lambda: Mapper(numbers(), data.noisy),
    "skipping": lambda: Mapper(numbers(), skipping),
    "filter": lambda: Filter(numbers(), lambda x: x % 3 != 1),
    "batcher": lambda: Batcher(numbers(), 4, drop_last=False),
    "batcher that drops": lambda: Batcher(numbers(), 4),
    "unbatcher": lambda: Unbatcher(Mapper(Batcher(numbers(), 3, drop_last=False), lambda items: items * 2)),
    "header": lambda: Header(numbers(), 7),
    "cycler": lambda: Cycler(Shuffler(numbers(5), 3), 4),
    "sharder": lambda: Sharder(numbers(), 3, 1),
    "zipper": lambda: Zipper(numbers(), Shuffler(numbers(9), 4)),
    "shuffler": lambda: Shuffler(numbers(), 6, seed=3),
    "large shuffler": lambda: Shuffler(numbers(), 60),
    "prefetcher": lambda: Prefetcher(Shuffler(numbers(), 6), 3),
    "rare snapshots": lambda: Prefetcher(Mapper(Shuffler(numbers(), 6), data.noisy), 2, snapshot_frequency=5),
    "prefetchers": lambda: Prefetcher(Prefetcher(numbers(), 3, 2), 4, 3),
    "parallel": lambda: ParallelMapper(numbers(), data.noisy, 3),
    "parallel, rare snapshots": lambda: ParallelMapper(Shuffler(numbers(), 5), data.noisy, 2, snapshot_frequency=4),
    "parallel that skips": lambda: ParallelMapper(numbers(), skipping, 3, snapshot_frequency=2),
    "all": lambda: Prefetcher(
        Mapper(
            Batcher(ParallelMapper(Shuffler(Cycler(shuffled_sampler(), 2), 8), data.noisy, 2), 5), default_collate
        ),
        2,
    ),
    **{criteria: lambda criteria=criteria: mixed_sources(criteria) for criteria in (
        StopCriteria.CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED, StopCriteria.ALL_DATASETS_EXHAUSTED,
        StopCriteria.FIRST_DATASET_EXHAUSTED)},
    "forever": lambda: Header(mixed_sources(StopCriteria.CYCLE_FOREVER), 40),
}  # fmt: skip


def plain(value):
    if isinstance(value, polyad.Tensor):
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def through_a_file(state):
    file = io.BytesIO()
    polyad.save(state, file)
    file.seek(0)
    return polyad.load(file)


@pytest.fixture(autouse=True)
def seeds():
    polyad.manual_seed(1)
    random.seed(1)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_goes_on_where_its_state_was_taken(name):
    """At every place of two epochs: the rest of the epoch, and the epoch after it."""
    loader = Loader(PIPELINES[name]())
    states, seen = [], []
    for _ in range(2):
        epoch = []
        for item in loader:
            epoch.append(plain(item))
            states.append((len(seen), len(epoch), loader.state_dict()))
        seen.append(epoch)
    assert all(seen)
    seen.append(plain(list(loader)))
    for epoch, place, state in states[:: max(1, len(states) // 7)] + states[-2:]:
        again = Loader(PIPELINES[name](), restart_on_stop_iteration=False)
        again.load_state_dict(through_a_file(state))
        polyad.manual_seed(99)
        random.seed(99)
        assert plain(list(again)) == seen[epoch][place:]
        if "default" not in name and "map style" not in name and "Python" not in name and "loader" not in name:
            assert plain(list(again)) == seen[epoch + 1]


@pytest.mark.parametrize("name", PIPELINES)
def test_taking_states_changes_nothing(name):
    watched, left_alone = PIPELINES[name](), PIPELINES[name]()
    items = []
    for item in watched:
        items.append(plain(item))
        watched.state_dict()
    polyad.manual_seed(1)
    random.seed(1)
    assert items == plain(list(left_alone))


@pytest.mark.parametrize("name", PIPELINES)
def test_the_end_is_an_end_and_the_next_epoch_has_a_state_too(name):
    node = PIPELINES[name]()
    first = plain(list(node))
    assert list(node) == []
    ended = node.state_dict()
    again = PIPELINES[name]()
    again.load_state_dict(ended)
    assert list(again) == []
    node.reset()
    assert len(plain(list(node))) > 0
    assert first


def test_epochs_differ_and_follow_from_the_seed():
    def epochs(seed):
        loader = Loader(Shuffler(numbers(), 10, seed=seed))
        return [list(loader) for _ in range(3)]

    one = epochs(1)
    assert one == epochs(1)
    assert len({tuple(epoch) for epoch in one + epochs(2)}) == 6
    assert all(sorted(epoch) == list(range(23)) for epoch in one)


def test_random_numbers_follow_the_position_in_threads_too():
    alone = list(Mapper(numbers(), data.noisy))
    assert len({number for _, number in alone}) == 23
    before = polyad.get_rng_state().tolist()
    for _ in range(3):
        assert list(ParallelMapper(numbers(), data.noisy, 5)) == alone
        assert list(Prefetcher(Mapper(numbers(), data.noisy), 4)) == alone
        assert sorted(ParallelMapper(numbers(), data.noisy, 5, in_order=False)) == alone
    assert polyad.get_rng_state().tolist() == before


def test_order_of_readiness_and_its_state():
    gate = threading.Event()

    def slow(x):
        if x == 0:
            gate.wait(30)
        return x

    node = ParallelMapper(numbers(6), slow, 3, in_order=False)
    first = [next(node) for _ in range(3)]
    assert 0 not in first
    state = node.state_dict()
    gate.set()
    again = ParallelMapper(numbers(6), slow, 3, in_order=False)
    again.load_state_dict(state)
    assert sorted(first + list(again)) == sorted(first + list(node)) == list(range(6))


def test_a_state_keeps_items_as_they_were():
    """What is done to an item after it left the buffer does not reach a state that was taken before."""
    source = [[i] for i in range(6)]

    def spoil(item):
        item.append("spoiled")
        return item

    node = Mapper(Shuffler(IterableWrapper(source), 6), spoil)
    first = next(node)
    state = node.state_dict()
    rest = list(node)
    again = Mapper(Shuffler(IterableWrapper(copy.deepcopy(source)), 6), spoil)
    again.load_state_dict(state)
    assert list(again) == rest
    assert all(len(item) == 2 for item in [first, *rest])


def test_weights_and_criteria():
    sources = {"a": Cycler(IterableWrapper("a")), "b": Cycler(IterableWrapper("b"))}
    items = list(Header(MultiNodeWeightedSampler(sources, {"a": 1, "b": 3}), 4000))
    assert 900 < items.count("a") < 1100
    counts = {}
    for criteria in (name for name in vars(StopCriteria) if name.isupper() and name != StopCriteria.CYCLE_FOREVER):
        items = list(mixed_sources(criteria))
        counts[criteria] = sum(item < 100 for item in items), sum(item >= 100 for item in items)
    assert counts[StopCriteria.ALL_DATASETS_EXHAUSTED] == (5, 11)
    few, many = counts[StopCriteria.FIRST_DATASET_EXHAUSTED]
    assert (few == 5) != (many == 11)
    few, many = counts[StopCriteria.CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED]
    assert few >= 5
    assert many >= 11
    ranks = [
        list(Header(MultiNodeWeightedSampler(sources, {"a": 1, "b": 1}, rank=rank, world_size=2), 30))
        for rank in (0, 1)
    ]
    assert ranks[0] != ranks[1]


def test_sources_without_items_end():
    empty = IterableWrapper([])
    assert list(Cycler(empty)) == []
    for criteria in (name for name in vars(StopCriteria) if name.isupper()):
        assert list(MultiNodeWeightedSampler({"a": empty, "b": IterableWrapper([])}, {"a": 1, "b": 1}, criteria)) == []
    node = MultiNodeWeightedSampler({"a": empty, "b": numbers(3)}, {"a": 9, "b": 1}, StopCriteria.CYCLE_FOREVER)
    assert list(Header(node, 5)) == [0, 1, 2, 0, 1]


@pytest.mark.parametrize(
    "node", [lambda: Mapper(numbers(5), failing), lambda: ParallelMapper(numbers(5), failing, 2),
             lambda: Prefetcher(Mapper(numbers(5), failing), 2), lambda: Filter(numbers(5), lambda x: failing(x) >= 0)]
)  # fmt: skip
def test_an_exception_is_raised_at_its_item_and_the_next_can_be_read(node):
    node = node()
    assert [next(node) for _ in range(3)] == [0, 1, 2]
    before = node.state_dict()
    with pytest.raises(ValueError, match="not three") as caught:
        next(node)
    assert any("item 3 of epoch 0" in note for note in caught.value.__notes__)
    after = node.state_dict()
    assert list(node) == [4]
    node.load_state_dict(after)
    assert list(node) == [4]
    node.load_state_dict(before)
    with pytest.raises(ValueError, match="not three"):
        next(node)


@pytest.mark.parametrize("make", [Mapper, lambda source, fn: ParallelMapper(source, fn, 2)])
def test_stop_iteration_of_a_function_ends_nothing(make):
    def stop(x):
        raise StopIteration

    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(make(numbers(), stop))


def node_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("polyad node")]


def test_threads_end_with_their_node():
    for make in (lambda: Prefetcher(numbers(10**9), 3), lambda: ParallelMapper(numbers(10**9), abs, 4)):
        node = make()
        next(node)
        assert node_threads()
        threads = node_threads()
        del node
        gc.collect()
        for thread in threads:
            thread.join(30)
        assert not node_threads()


def test_a_pass_that_was_taken_over_says_so():
    loader = Loader(numbers())
    first = iter(loader)
    next(first)
    assert next(iter(loader)) == 0
    with pytest.raises(ValueError, match="another iter"):
        next(first)


def test_the_end_of_an_epoch_begins_the_next_unless_it_must_not():
    def at_end():
        loader = Loader(numbers(3))
        for _ in range(3):
            item = next(iterator := iter(loader)) if not loader._passes else next(iterator)
        assert item == 2
        return loader.state_dict()

    again = Loader(numbers(3))
    again.load_state_dict(at_end())
    assert list(again) == [0, 1, 2]
    exact = Loader(numbers(3), restart_on_stop_iteration=False)
    exact.load_state_dict(at_end())
    assert list(exact) == []
    assert list(exact) == [0, 1, 2]


def test_a_state_before_the_first_item():
    loader = Loader(Shuffler(numbers(), 5))
    state = loader.state_dict()
    again = Loader(Shuffler(numbers(), 5))
    again.load_state_dict(state)
    assert again.state_dict() == state
    assert list(again) == list(loader)
    assert list(again) == list(loader)


class Recorded(Dataset):
    def __len__(self):
        return 9

    def __getitem__(self, index):
        return {"x": polyad.full((2,), float(index)), "noise": polyad.rand(())}


def test_samples_of_a_dataset_as_batches():
    node = Mapper(Batcher(MapStyleWrapper(Recorded(), RandomSampler(range(9))), 3), default_collate)
    batches = list(Loader(node))
    assert [batch["x"].shape for batch in batches] == [(3, 2)] * 3
    assert sorted(x for batch in batches for x in batch["x"][:, 0].tolist()) == list(range(9))


# ------------------------------------------------------------------------------------------------ under a DataLoader


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_pipeline_in_workers(workers, persistent):
    def loader():
        node = Mapper(Sharder(Shuffler(numbers(), 8)), data.noisy)
        return DataLoader(
            Loader(node), batch_size=None, num_workers=workers, generator=polyad.Generator().manual_seed(3),
            persistent_workers=persistent and workers > 0,
        )  # fmt: skip

    first = loader()
    epochs = [list(first), list(first)]
    assert [sorted(x for x, _ in epoch) for epoch in epochs] == [list(range(23))] * 2
    assert epochs[0] != epochs[1]
    second = loader()
    list(second)
    iterator = iter(second)
    begin = [next(iterator) for _ in range(5)]
    third = loader()
    third.load_state_dict(second.state_dict())
    assert begin + list(third) == epochs[1]


def test_a_stream_goes_on_drawing_from_a_generator_of_its_own():
    """Batches after the first began anew, each with the same numbers."""
    for workers in (0, 1):
        loader = DataLoader(data.OwnNoise(9), batch_size=2, num_workers=workers)
        drawn = [x for batch in loader for x in batch.tolist()]
        assert len(set(drawn)) == 9


# ------------------------------------------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Mapper(range(3), abs), TypeError, "IterableWrapper"),
        (lambda: Mapper(numbers(), 3), TypeError, "map_fn"),
        (lambda: Filter(numbers(), None), TypeError, "filter_fn"),
        (lambda: Batcher(numbers(), 0), ValueError, "batch_size"),
        (lambda: Header(numbers(), -1), ValueError, "n is -1"),
        (lambda: Shuffler(numbers(), 2.5), ValueError, "buffer_size"),
        (lambda: Cycler(numbers(), 0), ValueError, "max_cycles"),
        (lambda: Sharder(numbers(), 2), ValueError, "go together"),
        (lambda: Sharder(numbers(), 2, 2), ValueError, "index is 2"),
        (lambda: Zipper(), ValueError, "no source"),
        (lambda: Zipper(3), TypeError, "not a node"),
        (lambda: Prefetcher(numbers(), 0), ValueError, "prefetch_factor"),
        (lambda: ParallelMapper(numbers(), abs, 0), ValueError, "num_workers"),
        (lambda: ParallelMapper(numbers(), abs, 1, method="process"), ValueError, "DataLoader"),
        (lambda: MultiNodeWeightedSampler({"a": numbers()}, {"b": 1}), ValueError, "weights are of"),
        (lambda: MultiNodeWeightedSampler({"a": numbers()}, {"a": 0}), ValueError, "weight of 'a'"),
        (lambda: MultiNodeWeightedSampler({"a": numbers()}, {"a": 1}, "SOON"), ValueError, "stop_criteria"),
        (lambda: MultiNodeWeightedSampler([numbers()], [1]), TypeError, "dicts by name"),
        (lambda: MultiNodeWeightedSampler({"a": numbers()}, {"a": 1}, rank=2), ValueError, "rank"),
        (lambda: IterableWrapper(3), TypeError, "iterable"),
        (lambda: SamplerWrapper(3), TypeError, "sampler"),
        (lambda: MapStyleWrapper(3), TypeError, "map_dataset"),
        (lambda: Loader(range(3)), TypeError, "not a node"),
        (lambda: next(Unbatcher(numbers())), TypeError, "list of items"),
        (lambda: next(BaseNode()), NotImplementedError, "define next"),
        (lambda: numbers().load_state_dict(None), TypeError, "state_dict"),
        (lambda: numbers().load_state_dict({"epoch": -1}), TypeError, "initial_state"),
        (lambda: numbers().load_state_dict(Mapper(numbers(), abs).state_dict()), ValueError, "is of a Mapper"),
        (lambda: Sharder(numbers(), 2, 0).reset(Sharder(numbers(), 2, 1).state_dict()), ValueError, "share 1 of 2"),
        (lambda: Zipper(numbers()).reset(Zipper(numbers(), numbers()).state_dict()), ValueError, "2 sources"),
        (lambda: Loader(numbers()).load_state_dict([]), TypeError, "state_dict"),
        (lambda: Loader(numbers()).load_state_dict({"root": {}, "version": 2}), ValueError, "version 2"),
    ],
)
def test_what_is_wrong_is_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_source_that_is_shorter_than_it_was():
    node = IterableWrapper(iter(range(5)))
    list(zip(range(3), node))
    again = IterableWrapper(iter([]))
    with pytest.raises(ValueError, match="there are only 0"):
        again.load_state_dict(node.state_dict())


def test_prefetching_waits_for_nobody():
    """What is read ahead is read while the program does something else."""
    node = Prefetcher(numbers(), 4)
    next(node)
    until = time.monotonic() + 30
    while not all(future.done() for future in node._ahead) and time.monotonic() < until:
        time.sleep(0.001)
    assert len(node._ahead) == 4
