"""What the trainer's bar says of the loader's share of the time."""

import time

import pytest

import polyad
from polyad.utils.data import DataLoader, Dataset

screen = pytest.importorskip("polyad.trainer.screen", reason="the plug-in trainer is not installed")


class Clock:
    """Time that passes only where somebody says so."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)


class Slow(Dataset):
    """Six numbers, for each of which it takes so long to be read."""

    def __init__(self, clock, seconds):
        self.clock, self.seconds = clock, seconds

    def __len__(self):
        return 6

    def __getitem__(self, index):
        self.clock.now += self.seconds
        return polyad.tensor(float(index))


@pytest.mark.parametrize(("reading", "learning", "share"), [(0.5, 0.1, 10 / 11), (0.001, 0.998, 1 / 500), (0, 1.0, 0)])
def test_the_share_is_that_of_the_loader(reading, learning, share, monkeypatch):
    clock = Clock(monkeypatch)
    waiting = screen.Waiting()
    for _ in waiting.over(DataLoader(Slow(clock, reading), batch_size=2)):
        clock.now += learning
    assert waiting.share == pytest.approx(share)


def test_a_loader_that_fails_or_is_left_is_counted_until_then(monkeypatch):
    clock = Clock(monkeypatch)

    def broken():
        clock.now += 3
        yield 1
        clock.now += 1
        raise ValueError("gone")

    waiting = screen.Waiting()
    batches = waiting.over(broken())
    next(batches)
    clock.now += 4
    with pytest.raises(ValueError, match="gone"):
        next(batches)
    assert waiting.share == pytest.approx(0.5)
    left = screen.Waiting()
    for _ in left.over(broken()):
        clock.now += 1
        break
    clock.now += 2
    assert left.share == pytest.approx(0.5)
