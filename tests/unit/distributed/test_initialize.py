"""How processes meet, and what is said when they cannot."""

from __future__ import annotations

import socket
from datetime import timedelta

import pytest

import polyad
import polyad.distributed as dist
from polyad.distributed.engine import Engine

SHORT = timedelta(seconds=0.3)


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)


def test_what_is_missing_is_named(monkeypatch):
    with pytest.raises(ValueError, match="RANK expected"):
        dist.init_process_group("mpi")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "two")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "1")
    with pytest.raises(ValueError, match="must be numbers"):
        dist.init_process_group("mpi")


@pytest.mark.parametrize(("rank", "size"), [(2, 2), (-1, 2), (0, 0)])
def test_ranks_that_do_not_fit(rank, size):
    with pytest.raises(ValueError, match="none of a world"):
        dist.init_process_group("mpi", "tcp://127.0.0.1:1", rank=rank, world_size=size)


def test_a_master_that_does_not_answer():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(dist.DistNetworkError, match="nothing answers"):
        dist.init_process_group("mpi", f"tcp://127.0.0.1:{port}", SHORT, 2, 1)


def test_engines_that_nobody_brings():
    with pytest.raises(ValueError, match="no installed package brings"):
        dist.init_process_group("carrier pigeons", store=dist.HashStore(), rank=0, world_size=1)
    assert not dist.is_backend_available("carrier pigeons")


def test_questions(monkeypatch):
    assert dist.group.WORLD is None
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert not dist.is_torchelastic_launched()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "7")
    assert dist.is_torchelastic_launched()
    with pytest.raises(RuntimeError, match="LOCAL_RANK"):
        dist.get_node_local_rank()
    assert dist.get_node_local_rank(3) == 3
    assert dist.is_mpi_available() == dist.is_gloo_available()
    assert not dist.is_nccl_available()


def test_without_a_group():
    assert dist.is_available()
    assert not dist.is_initialized()
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, dist.destroy_process_group):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()
    with pytest.raises(ValueError, match="has not been initialized"):
        polyad.nn.parallel.DistributedDataParallel(polyad.nn.Linear(1, 1))


def test_an_engine_of_somebody_else(tmp_path):
    """A registered engine is asked for what core does not do itself; world and groups are core's."""

    class Alone(Engine):
        name = "alone"
        devices = frozenset({"cpu"})

        def __init__(self, world):
            self.rank, self.size, self.closed = world.rank, world.size, []

        class Done:
            source = 0

            def test(self):
                return True

        def all_reduce(self, tensor, op):
            return self.Done()

        def close(self, healthy):
            self.closed.append(healthy)

        split = broadcast = reduce = all_gather = gather = scatter = reduce_scatter = all_to_all = None
        send = recv = barrier = None

    dist.Backend.register_backend("alone", Alone)
    with pytest.raises(AssertionError):
        dist.Backend.register_backend("alone", Alone)
    dist.init_process_group("alone", f"file://{tmp_path}/meeting", world_size=1, rank=0)
    try:
        assert dist.get_backend() == "alone"
        assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
        x = polyad.ones(2)
        dist.all_reduce(x)
        assert x._version == 1
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("alone")
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_sampler_asks_the_group():
    with pytest.raises(RuntimeError, match="init_process_group"):
        polyad.utils.data.DistributedSampler(range(4))
