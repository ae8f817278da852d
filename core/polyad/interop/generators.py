"""NumPy's random numbers, seeded for a sample and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = [
    "Numbers", "is_generator", "restorer", "seed_generator", "seed_numpy", "set_state", "state_of", "the_global",
]  # fmt: skip

_random: Any = np.random
"""With the functions that its stub leaves out."""


class Numbers:
    """A source of its own for the functions of ``numpy.random``."""

    def __init__(self) -> None:
        self._source = np.random.MT19937()

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Inside, ``numpy.random`` draws from this source."""
        before = the_global()
        _random.set_bit_generator(self._source)
        try:
            yield
        finally:
            _random.set_bit_generator(before)

    def seed(self, number: int) -> None:
        """Start the source anew."""
        self._source._legacy_seeding(number % 2**32)


def is_generator(value: Any) -> bool:
    """Whether it is an object of NumPy's that draws random numbers."""
    return isinstance(value, np.random.Generator | np.random.RandomState)


def seed_numpy(number: int) -> None:
    """Start ``numpy.random`` anew from *number*."""
    np.random.seed(number % 2**32)


def seed_generator(generator: Any, number: int) -> None:
    """Start *generator* anew from *number*."""
    if isinstance(generator, np.random.RandomState):
        generator.seed(number % 2**32)
    else:
        source = generator.bit_generator
        source.state = type(source)(number).state


def the_global() -> Any:
    """The generator behind ``numpy.random``'s functions."""
    return _random.get_bit_generator()


def restorer(generator: Any) -> Callable[[], None]:
    """A function that puts *generator* where it is now."""
    source = _source(generator)
    state = source.state

    def restore() -> None:
        source.state = state

    return restore


def state_of(generator: Any) -> dict[str, Any]:
    """Where *generator* is, as plain data."""
    found: dict[str, Any] = _plain(_source(generator).state)
    return found


def set_state(generator: Any, state: dict[str, Any]) -> None:
    """Put *generator* where `state_of` found it."""
    _source(generator).state = state


def _source(generator: Any) -> Any:
    if isinstance(generator, np.random.RandomState):
        return generator._bit_generator
    return generator.bit_generator if isinstance(generator, np.random.Generator) else generator


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
