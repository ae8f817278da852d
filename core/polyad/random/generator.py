"""Generators: a seed, and how far it has been drawn from.

A generator holds two numbers and no device memory, so one generator serves tensors on every device, and gives the same
numbers on each. What a draw gets from (seed, offset) is settled in `polyad.random.philox`. Generators are safe to share
between threads: each draw takes a stretch of the sequence that no other draw gets.
"""

from __future__ import annotations

import itertools
import operator
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..base.device import Device
from ..base.locks import Lock
from ..base.state import state
from ..dispatch.catalogue import PUBLIC
from ..errors import ArgumentError, ArgumentTypeError, NotSupported, safe_repr

if TYPE_CHECKING:
    from ..tensor import Tensor

DEFAULT_SEED = 67280421310721
"""The seed of a generator that was given none; PyTorch's, so that programs print the same ``initial_seed()``."""

_STATE_BYTES = 16


_starts = itertools.count(1)
"""Counts when generators are started from a seed, so that who looks can tell whether one was since."""


class Generator:
    """A source of random numbers, created with the default seed.

    *device* is kept for programs that read it; numbers can be drawn for any device, and do not depend on it.

    >>> import polyad
    >>> g = polyad.Generator().manual_seed(7)
    >>> first = polyad.rand(2, generator=g)
    >>> bool((polyad.rand(2, generator=g.manual_seed(7)) == first).all())
    True
    """

    __slots__ = ("__weakref__", "_device", "_lock", "_offset", "_seed", "_started")

    def __init__(self, device: Device | str = "cpu") -> None:
        self._device = Device(device)
        self._lock = Lock()
        self._seed = DEFAULT_SEED
        self._offset = 0
        self._started = 0

    @property
    def device(self) -> Device:
        """The device that it was created for."""
        return self._device

    def __repr__(self) -> str:
        return f"<polyad.Generator seed={self._seed} offset={self._offset}>"

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            return _restored, (str(self._device), self._seed, self._offset)

    def manual_seed(self, seed: int) -> Generator:
        """Start anew from *seed*, an int in [-2**63, 2**64), negative ones modulo 2**64; returns the generator.

        Raises TypeError for what is no int, ValueError for an int out of range.
        """
        try:
            number = operator.index(seed)
        except TypeError:
            raise ArgumentTypeError(f"manual_seed: seed is {safe_repr(seed)}, not an int", fix="pass an int") from None
        if not -(2**63) <= number < 2**64:
            raise ArgumentError(f"manual_seed: seed {number} is outside [-2**63, 2**64)", fix="pass a smaller number")
        with self._lock:
            self._seed, self._offset, self._started = number % 2**64, 0, next(_starts)
        return self

    def seed(self) -> int:
        """Start anew from a seed of the operating system's, and return it."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that it last started from."""
        return self._seed

    def take(self, words: int) -> tuple[int, int]:
        """Reserve *words* 32-bit words: their (seed, offset). The next draw begins behind them."""
        if state.capturing is not None:
            raise NotSupported(
                f"random numbers: work on {state.capturing.device} is captured into a graph, and numbers for another "
                "device would be drawn now, not in every replay",
                fix="draw them before the capture, or on the captured device",
            )
        return self.advance(-(-words // 4))

    def advance(self, blocks: int) -> tuple[int, int]:
        """Reserve *blocks* of four words: their (seed, offset)."""
        with self._lock:
            offset = self._offset
            self._offset = (offset + blocks) % 2**64
            return self._seed, offset

    def retreat(self, seed: int, offset: int, blocks: int) -> None:
        """Take back *blocks* that were reserved from (*seed*, *offset*) on, if nothing was drawn behind them."""
        with self._lock:
            if (self._seed, self._offset) == (seed, (offset + blocks) % 2**64):
                self._offset = offset

    def started_since(self, count: int) -> bool:
        """Whether it was started from a seed since *count*, which `starts` gave."""
        return self._started > count

    def move(self, seed: int, offset: int) -> None:
        """Go to a place that `advance` told of: the next draw begins there."""
        with self._lock:
            self._seed, self._offset = seed, offset % 2**64

    @property
    def drawn(self) -> Generator:
        """The generator that this thread draws from where it is given this one."""
        return self

    def get_state(self) -> Tensor:
        """Seed and offset as a uint8 tensor of 16 bytes, little end first."""
        from ..base.dtypes import uint8

        with self._lock:
            state = self._seed.to_bytes(8, "little") + self._offset.to_bytes(8, "little")
        made: Tensor = PUBLIC["tensor"].call(list(state), dtype=uint8, device="cpu")
        return made

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state that `get_state` gave. Raises TypeError for anything else, and changes nothing then."""
        from ..base.dtypes import uint8
        from ..tensor import Tensor

        if (
            not isinstance(new_state, Tensor)
            or new_state.dtype is not uint8
            or tuple(new_state.shape) != (_STATE_BYTES,)
        ):
            raise ArgumentTypeError(
                f"set_state: the state must be a uint8 tensor of {_STATE_BYTES} bytes",
                operands={"new_state": new_state},
                fix="pass what get_state returned",
            )
        state = bytes(new_state.tolist())
        with self._lock:
            self._seed, self._offset = int.from_bytes(state[:8], "little"), int.from_bytes(state[8:], "little")
        return self


def starts() -> int:
    """How often generators were started from seeds so far, roughly: each look counts, too."""
    return next(_starts)


class _OfThread(threading.local):
    generator: Generator | None = None


_of_thread = _OfThread()


_take = Generator.take


class _Default(Generator):
    __slots__ = ()

    def take(self, words: int) -> tuple[int, int]:
        own = _of_thread.generator
        return _take(self, words) if own is None else own.take(words)

    @property
    def drawn(self) -> Generator:
        own = _of_thread.generator
        return self if own is None else own


default_generator: Generator = _Default()
"""What random functions draw from unless they are given a generator; the process has a single one."""


@contextmanager
def drawing_from(generator: Generator) -> Iterator[None]:
    """Inside, what this thread draws from the default generator comes from *generator*; other threads see nothing."""
    before, _of_thread.generator = _of_thread.generator, generator
    try:
        yield
    finally:
        _of_thread.generator = before


def _restored(device: str, seed: int, offset: int) -> Generator:
    generator = Generator(device)
    generator._seed, generator._offset = seed, offset
    return generator


def generator_or_default(op: str, generator: Any) -> Generator:
    """*generator*, or the default generator for None; raises TypeError for anything else."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise ArgumentTypeError(f"{op}: generator is {type(generator).__name__}", fix="pass a polyad.Generator or None")
    return generator


def manual_seed(seed: int) -> Generator:
    """Start the default generator anew from *seed* and return it: all later numbers, on every device, follow from it.

    Raises TypeError for what is no int, ValueError outside [-2**63, 2**64).

    >>> import polyad
    >>> _ = polyad.manual_seed(0)
    >>> first = polyad.rand(3)
    >>> _ = polyad.manual_seed(0)
    >>> bool((polyad.rand(3) == first).all())
    True
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default generator anew from a seed of the operating system's, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the default generator last started from.

    >>> import polyad
    >>> _ = polyad.manual_seed(5)
    >>> polyad.initial_seed()
    5
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The default generator's state: a uint8 tensor of 16 bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put the default generator into a state that `get_rng_state` gave. Raises TypeError for anything else."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Draw inside, and go on afterwards as if nothing had been drawn.

    *devices* changes nothing: the same generator serves all.

    >>> import polyad
    >>> _ = polyad.manual_seed(0)
    >>> with polyad.random.fork_rng():
    ...     inside = polyad.rand(3)
    >>> bool((polyad.rand(3) == inside).all())
    True
    """
    if not enabled:
        yield
        return
    place = default_generator.advance(0)
    try:
        yield
    finally:
        default_generator.move(*place)
