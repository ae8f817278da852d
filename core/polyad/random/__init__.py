"""Random numbers: generators, seeds and states. The functions that draw are ops (`polyad.ops.random.sampling`).

philox.py      which bits a draw gets: the definition that every backend reproduces
generator.py   `Generator`, and the default generator
captured.py    what captured graphs draw
"""

from __future__ import annotations

from .generator import (
    Generator,
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]
