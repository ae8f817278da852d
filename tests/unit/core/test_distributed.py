"""What a program hears that asks after other processes."""

from __future__ import annotations

import pytest

import polyad
from polyad import distributed, nn


def test_questions(monkeypatch) -> None:
    for question in ("available", "initialized", "nccl_available", "gloo_available", "mpi_available"):
        assert getattr(distributed, f"is_{question}")() is False
    assert distributed.group.WORLD is None
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert not distributed.is_torchelastic_launched()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "7")
    assert distributed.is_torchelastic_launched()


@pytest.mark.parametrize("name", ["get_rank", "get_world_size", "barrier", "all_reduce", "destroy_process_group"])
def test_what_needs_a_group_says_so(name) -> None:
    with pytest.raises(ValueError, match=f"^{name}: this process belongs to no group\n.*is_initialized"):
        getattr(distributed, name)(polyad.ones(1))


@pytest.mark.parametrize(
    "action",
    [
        lambda: distributed.init_process_group("gloo"),
        lambda: nn.parallel.DistributedDataParallel(nn.Linear(1, 1)),
        distributed.ProcessGroup,
    ],
)
def test_what_is_not_there_says_what_to_do(action) -> None:
    with pytest.raises(NotImplementedError, match=r"DataParallel"):
        action()
    assert not isinstance(nn.Linear(1, 1), nn.parallel.DistributedDataParallel)
