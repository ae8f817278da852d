"""Random numbers in captured graphs: each replay draws anew, where the generator then is.

Captured work reads from the device where its draws begin. While it is captured, draws are placed one behind the other;
nothing is computed, so the generator goes back afterwards. A replay reserves as many numbers, and writes to the device
where they begin: it gets what the same work would have drawn if it had been run then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.dtypes import int64
from ..devices.streams import current_stream
from ..dispatch.catalogue import PUBLIC
from ..errors import NotSupported

if TYPE_CHECKING:
    from ..base.device import Device
    from .generator import Generator


_MOST = 16
"""Generators that a graph draws from."""


class _Stretch:
    """What is drawn from a generator, which stood at (*seed*, *offset*) when the capture came to it."""

    def __init__(self, begin: Any, seed: int, offset: int) -> None:
        self.begin, self.seed, self.offset = begin, seed, offset
        self.blocks = 0


class CapturedDraws:
    """What a graph of *device* draws."""

    def __init__(self, device: Device) -> None:
        self.device = device
        # Not the graph's own memory, which its work uses again: a replay writes here before that work begins.
        self._begins = PUBLIC["empty"].call(_MOST, 3, dtype=int64, device=device)
        self._stretches: dict[Generator, _Stretch] = {}

    def reserve(self, generator: Generator, words: int) -> tuple[Any, int]:
        """Reserve *words*: the tensor that says where the graph's draws begin, and how many blocks behind these do.

        Raises NotImplementedError if the generator was started anew, or put back, behind the capture's first draw, and
        for too many generators.
        """
        generator = generator.drawn
        seed, offset = generator.advance(-(-words // 4))
        stretch = self._stretches.get(generator)
        if stretch is None:
            number = len(self._stretches)
            if number == _MOST:
                raise NotSupported(
                    f"random numbers: captured work draws from more than {_MOST} generators",
                    fix="draw from fewer, or capture several graphs",
                )
            stretch = self._stretches[generator] = _Stretch(self._begins[number], seed, offset)
        ahead = (offset - stretch.offset) % 2**64
        if seed != stretch.seed or ahead >= 2**63:
            raise NotSupported(
                "random numbers: the generator was started anew while work was captured, which a replay does not do",
                fix="call manual_seed or set_state before the capture, or before a replay",
            )
        stretch.blocks = max(stretch.blocks, ahead - -words // 4)
        return stretch.begin, ahead

    def end(self) -> None:
        """The capture has ended: put the generators back."""
        for generator, stretch in self._stretches.items():
            generator.retreat(stretch.seed, stretch.offset, stretch.blocks)

    def begin_replay(self) -> None:
        """Reserve what a replay draws, and write to the device where it begins, in the current stream."""
        if self._stretches:
            self._begins.record_stream(current_stream(self.device))
        for generator, stretch in self._stretches.items():
            seed, offset = generator.advance(stretch.blocks)
            signed = offset - 2**64 if offset >= 2**63 else offset
            numbers = [seed & 0xFFFFFFFF, seed >> 32, signed]
            stretch.begin.copy_(PUBLIC["tensor"].call(numbers, dtype=int64, device="cpu"))
