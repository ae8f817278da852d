"""Which random numbers the calls of a captured function get, counted from where its generators stood at first.

So a replay draws what the function would, also where that puts a generator back: to compute again, or as `fork_rng`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..base.state import user_line
from ..errors import NotSupported
from ..graph.graph import Graph, drawn_within
from ..graph.structure import leaves_of
from ..graph.values import Draw
from ..random.generator import Generator, default_generator, starts


class Draws:
    """The generators of a function that is being captured, with where they stood when they were first met, the default
    one when the capture began.

    How many numbers the functions of control flow draw follows from data: places leave out what these have drawn since
    the generator was last started.
    """

    def __init__(self) -> None:
        self._count = starts()
        self._begins = {default_generator: default_generator.drawn.advance(0)}
        self._used: dict[Generator, None] = {}
        self._within: dict[Generator, Draw] = {}

    def follow(self, args: tuple[Any, ...]) -> Callable[[], Draw] | None:
        """Called before a call with *args*, which may draw: what tells afterwards what it drew."""
        for generator in leaves_of(args, Generator):
            place = self._place(generator)
            self._used[generator] = None
            return lambda: replace(place, blocks=(self._place(generator).offset - place.offset) % 2**64)
        return None

    def follow_bodies(self, bodies: Iterable[Graph]) -> Callable[[], None]:
        """Called before control flow whose functions are *bodies*: what notes afterwards what they drew."""
        before = {generator: self._place(generator) for generator in drawn_within(bodies)}
        self._used.update(dict.fromkeys(before))

        def note() -> None:
            for generator, place in before.items():
                within = self._within.get(generator)
                drawn = 0 if within is None or within.seed != place.seed else within.blocks
                drawn += self._place(generator).offset - place.offset
                self._within[generator] = Draw(place.offset, drawn, place.seed)

        return note

    def ends(self) -> list[tuple[Generator, Draw]]:
        """Where the generators that were drawn from stand now."""
        return [(generator, self._place(generator)) for generator in self._used]

    def _place(self, generator: Generator) -> Draw:
        seed, offset = generator.drawn.advance(0)
        first_seed, first = self._begins.setdefault(generator, (seed, offset))
        anew = generator.drawn.started_since(self._count)
        if seed == first_seed and offset >= first and not anew:
            place = Draw(offset - first, 0)
        else:
            place = Draw(offset, 0, seed)
        within = self._within.get(generator)
        if within is None or within.seed != place.seed:
            return place
        if place.offset < within.offset + within.blocks:
            raise NotSupported(
                "capture: a generator is put back to before control flow that drew from it",
                notes={"line": user_line()},
                fix="how much control flow draws follows from data: seed the generator there, or draw in another order",
            )
        return replace(place, offset=place.offset - within.blocks)
