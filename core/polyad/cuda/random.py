"""Seeds. One generator serves all devices, and gives the same numbers on each: these are its functions.

Without a cuda device they leave it alone, as PyTorch's leave the generator of the cpu.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import random
from ..tensor import Tensor
from .devices import device_count, named


def manual_seed(seed: int) -> None:
    """Start the default generator anew from *seed*, for every device, if there is a cuda device.

    Raises TypeError for what is no int, ValueError for an int outside [-2**63, 2**64).

    >>> import polyad
    >>> polyad.cuda.manual_seed(0)
    """
    random.Generator().manual_seed(seed)  # refuses what is no seed, device or not
    if device_count():
        random.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """As `manual_seed`.

    >>> import polyad
    >>> polyad.cuda.manual_seed_all(0)
    """
    manual_seed(seed)


def seed() -> None:
    """Start the default generator anew from a seed of the operating system's, if there is a cuda device.

    >>> import polyad
    >>> polyad.cuda.seed()
    """
    if device_count():
        random.seed()


def seed_all() -> None:
    """As `seed`.

    >>> import polyad
    >>> polyad.cuda.seed_all()
    """
    seed()


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
    """Let the default generator go on from each of *new_states* in turn, and so from the last.

    >>> import polyad
    >>> polyad.cuda.set_rng_state_all(polyad.cuda.get_rng_state_all())
    """
    for number, state in enumerate(new_states):
        set_rng_state(state, number)


def generators() -> tuple[random.Generator, ...]:
    """The default generator, once for each device."""
    return (random.default_generator,) * device_count()
