"""Datasets for tests of worker processes, which import them by name."""

import os
import random
import signal
import threading
import time

import numpy as np

import polyad
from polyad.utils.data import Dataset, IterableDataset, SkipSample, get_worker_info


class Squares(Dataset):
    def __init__(self, n=13):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return index, float(index**2)


class Noisy(Squares):
    """Samples with numbers of every generator there is, two of them its own."""

    def __init__(self, n=13):
        super().__init__(n)
        self.own = np.random.default_rng(3)
        self.transform = Jitter()

    def __getitem__(self, index):
        return {
            "index": index,
            "random": random.random(),
            "numpy": np.random.rand(2),
            "polyad": polyad.rand(3),
            "own": self.own.random(),
            "held": self.transform(1.0),
        }


class Jitter:
    def __init__(self):
        self.generators = [polyad.Generator().manual_seed(1), random.Random(2), np.random.RandomState(3)]

    def __call__(self, x):
        torch_like, python, old = self.generators
        return x + polyad.rand((), generator=torch_like).item() + python.random() + old.rand()


class Views(Squares):
    """Samples that take what a thread of the loop's process may have had at the moment of a fork."""

    def __getitem__(self, index):
        x = polyad.ones(2, 2, requires_grad=True)
        (x[0].view(2)[1:] * index * 2).sum().backward()
        return x.grad.sum().item()


GENERATOR = np.random.default_rng(4)


class OfModule(Squares):
    """Samples with numbers of a generator that nobody holds but the module."""

    def __getitem__(self, index):
        return drawn()


def drawn():
    return max(GENERATOR.random() for _ in range(2))


class Pictures(Squares):
    """Batches too large to go through a connection."""

    def __getitem__(self, index):
        return polyad.full((3, 64, 64), float(index)), np.full(5, index), f"name {index}"


class Failing(Squares):
    def __getitem__(self, index):
        if index == 5:
            try:
                {}["key"]
            except KeyError as cause:
                raise ValueError("a corrupt picture") from cause
        return index


class OwnError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


class FailingOddly(Squares):
    def __getitem__(self, index):
        raise OwnError(1, 2)


class Stopping(Squares):
    def __getitem__(self, index):
        raise StopIteration


class Skipping(Squares):
    def __getitem__(self, index):
        if index in (0, 1, 4):
            raise SkipSample
        return index


class Killed(Squares):
    def __init__(self, n=13, by=signal.SIGKILL):
        super().__init__(n)
        self.by = by

    def __getitem__(self, index):
        if index == 4:
            os.kill(os.getpid(), self.by)
        return index


class Leaving(Squares):
    def __getitem__(self, index):
        if index == 4:
            os._exit(3)
        return index


class Hanging(Squares):
    def __getitem__(self, index):
        if index == 4:
            self.waits_here()
        return index

    def waits_here(self):
        time.sleep(600)


class Slow(Squares):
    def __getitem__(self, index):
        time.sleep(600)


class Whoami(Squares):
    def __getitem__(self, index):
        info = get_worker_info()
        return [info.id, info.num_workers, len(info.dataset), os.getpid(), getattr(info.dataset, "mark", -1)]


class Stream(IterableDataset):
    def __init__(self, n=11):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for value in range(first, self.n, step):
            yield value, random.random()


class Unpicklable(Squares):
    def __init__(self):
        super().__init__()
        self.parts = {"good": 1, "bad": threading.Lock()}


def mark(worker):
    get_worker_info().dataset.mark = 10 + worker


def little_memory(_):
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


def fail(worker):
    raise RuntimeError(f"no worker {worker}")


def history(samples):
    return polyad.ones(2, requires_grad=True) * 2


class OwnOrder:
    """A sampler that draws from ``random``."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __iter__(self):
        order = list(range(self.n))
        random.shuffle(order)
        return iter(order)


class OwnNoise(IterableDataset):
    """A stream that draws from a generator of its own."""

    def __init__(self, n):
        self.n = n
        self.random = random.Random(1)

    def __iter__(self):
        for _ in range(self.n):
            yield self.random.random()


def noisy(x):
    """*x* and a random number."""
    return x, round(polyad.rand(()).item(), 6)
