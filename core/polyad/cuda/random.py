"""Seeds. One generator serves all devices, and gives the same numbers on each: these are its functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import random
from ..tensor import Tensor
from .devices import device_count, named


def manual_seed(seed: int) -> None:
    """Start the default generator anew from *seed*, for every device.

    >>> import polyad
    >>> polyad.cuda.manual_seed(0)
    """
    random.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """As `manual_seed`.

    >>> import polyad
    >>> polyad.cuda.manual_seed_all(0)
    """
    random.manual_seed(seed)


def seed() -> None:
    """Start the default generator anew from a seed of the operating system's.

    >>> import polyad
    >>> polyad.cuda.seed()
    """
    random.seed()


def seed_all() -> None:
    """As `seed`.

    >>> import polyad
    >>> polyad.cuda.seed_all()
    """
    random.seed()


def initial_seed() -> int:
    """The seed that the default generator last started from. Raises RuntimeError without a cuda device."""
    named(None)
    return random.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The default generator's state. Raises RuntimeError without a cuda device."""
    named(device)
    return random.get_rng_state()


def get_rng_state_all() -> list[Tensor]:
    """The default generator's state, once for each device.

    >>> import polyad
    >>> len(polyad.cuda.get_rng_state_all()) == polyad.cuda.device_count()
    True
    """
    return [random.get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Let the default generator go on from *new_state*. Raises RuntimeError without a cuda device."""
    named(device)
    random.set_rng_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Let the default generator go on from the first of *new_states*.

    >>> import polyad
    >>> polyad.cuda.set_rng_state_all(polyad.cuda.get_rng_state_all())
    """
    for state in list(new_states)[:1]:
        random.set_rng_state(state)


def generators() -> tuple[random.Generator, ...]:
    """The default generator, once for each device."""
    return (random.default_generator,) * device_count()
