"""Which random numbers the calls of a captured function get, counted from where its generators stood at first.

So a replay draws what the function would, also where that puts a generator back: to compute again, or as `fork_rng`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph.structure import leaves_of
from ..graph.values import Draw
from ..random.generator import Generator, default_generator, starts


class Draws:
    """The generators of a function that is being captured, with where they stood when they were first met, the default
    one when the capture began.
    """

    def __init__(self) -> None:
        self._count = starts()
        self._begins = {default_generator: default_generator.drawn.advance(0)}
        self._used: dict[Generator, None] = {}

    def follow(self, args: tuple[Any, ...]) -> Callable[[], Draw] | None:
        """Called before a call with *args*, which may draw: what tells afterwards what it drew."""
        for generator in leaves_of(args, Generator):
            place = self._place(generator)
            self._used[generator] = None
            return lambda: place._replace(blocks=(self._place(generator).offset - place.offset) % 2**64)
        return None

    def ends(self) -> list[tuple[Generator, Draw]]:
        """Where the generators that were drawn from stand now."""
        return [(generator, self._place(generator)) for generator in self._used]

    def _place(self, generator: Generator) -> Draw:
        seed, offset = generator.drawn.advance(0)
        first_seed, first = self._begins.setdefault(generator, (seed, offset))
        anew = generator.drawn.started_since(self._count)
        if seed == first_seed and offset >= first and not anew:
            return Draw(offset - first, 0)
        return Draw(offset, 0, seed)
