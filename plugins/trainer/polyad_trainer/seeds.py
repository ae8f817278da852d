"""One seed for every generator that a run draws from, and their states."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy

import polyad

__all__ = ["generators_of", "random_state", "seed_everything", "set_random_state"]


def seed_everything(seed: int = 0, workers: bool = False) -> int:
    """Seed polyad's generators, `random`'s and NumPy's; *workers* changes nothing: a loader's are seeded always.

    >>> import polyad
    >>> from polyad.trainer import seed_everything
    >>> seed_everything(1), polyad.rand(1).item() == (seed_everything(1), polyad.rand(1).item())[1]
    (1, True)
    """
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    polyad.manual_seed(seed)
    return seed


def generators_of(loaders: Iterable[Any]) -> list[Any]:
    """The generators that loaders hold themselves, each once."""
    found: dict[int, Any] = {}
    for loader in loaders:
        for holder in (loader, getattr(loader, "sampler", None)):
            generator = getattr(holder, "generator", None)
            if generator is not None:
                found[id(generator)] = generator
    return list(found.values())


def random_state(loaders: Iterable[Any] = ()) -> dict[str, Any]:
    """Where every generator stands, as data that can be saved."""
    name, keys, *rest = numpy.random.get_state(legacy=True)
    version, numbers, gauss = random.getstate()
    state = {
        "default": polyad.get_rng_state(),
        "python": [version, list(numbers), gauss],
        "numpy": [name, numpy.asarray(keys).tolist(), *rest],
        "loaders": [generator.get_state() for generator in generators_of(loaders)],
    }
    return state


def set_random_state(state: dict[str, Any], loaders: Iterable[Any] = ()) -> None:
    """Put the generators where they stood."""
    polyad.set_rng_state(state["default"])
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    numpy.random.set_state(tuple(state["numpy"]))
    for generator, saved in zip(generators_of(loaders), state["loaders"], strict=False):
        generator.set_state(saved)
