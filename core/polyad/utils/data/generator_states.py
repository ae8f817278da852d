"""Where generators are, as plain data: so that the order that a sampler drew can be drawn again."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from typing import Any

from polyad import errors
from polyad.interop import generators as of_numpy
from polyad.random.generator import Generator, default_generator

from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = ["check_states", "draws_plainly", "set_states", "states_of"]

_PLAIN_SAMPLERS = (
    BatchSampler, DistributedSampler, RandomSampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler,
    range, list, tuple,
)  # fmt: skip
"""Samplers that draw from polyad's generators alone."""


def draws_plainly(sampler: Any) -> bool:
    """Whether a sampler draws from polyad's generators alone."""
    while type(sampler) is BatchSampler:  # a subclass may hold its own otherwise, and draw
        sampler = sampler.sampler
    return sampler is None or type(sampler) in _PLAIN_SAMPLERS


def states_of(held: list[Any], plain: bool) -> dict[str, Any]:
    """Where generators are, as plain data: those that the sampler holds, and those that it may draw from."""
    states: dict[str, Any] = {"default": _state(default_generator), "held": [_state(each) for each in held]}
    if not plain:
        states["python"], states["numpy"] = random.getstate(), of_numpy.state_of(of_numpy.the_global())
    return states


def check_states(owner: str, states: Mapping[str, Any], held: list[Any]) -> None:
    """Raise unless *states* can be given to these generators; they stay where they are."""
    found = states.get("held")
    if isinstance(found, list) and len(found) != len(held):
        raise errors.ArgumentError(
            f"{owner}: the state is of a loader with {len(found)} generators, and this one has {len(held)}",
            fix="make it as it was, with generator= if it had one",
        )
    try:
        spare = {"default": Generator(), "python": random.Random(), "numpy": copy.deepcopy(of_numpy.the_global())}
        for name in spare.keys() & states.keys():
            _set_state(spare[name], states[name])
        for generator, state in zip(copy.deepcopy(held), states["held"], strict=True):
            _set_state(generator, state)
        if "default" not in states or ("python" in states) != ("numpy" in states):
            raise ValueError("some are missing")
    except Exception as error:
        raise errors.ArgumentTypeError(
            f"{owner}: the state has generators that cannot be restored: {error}",
            fix="pass what state_dict() gave",
        ) from error


def set_states(states: Mapping[str, Any], held: list[Any]) -> None:
    """Put the default generator and those that are held where `states_of` found them."""
    for generator, state in zip((default_generator, *held), (states["default"], *states["held"]), strict=True):
        _set_state(generator, state)
    if "python" in states:
        random.setstate(states["python"])
        of_numpy.set_state(of_numpy.the_global(), states["numpy"])


def _state(generator: Any) -> Any:
    if isinstance(generator, Generator):
        return [generator._seed, generator._offset]
    return generator.getstate() if isinstance(generator, random.Random) else of_numpy.state_of(generator)


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, Generator):
        seed, offset = state
        if not all(type(part) is int and 0 <= part < 2**64 for part in (seed, offset)):
            raise TypeError(f"{errors.safe_repr(state)} is no seed and offset")
        with generator._lock:
            generator._seed, generator._offset = seed, offset
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        of_numpy.set_state(generator, state)
