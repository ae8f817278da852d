"""Calls of a generated kernel that the engine replays without a frame of Python.

What such a kernel does follows from the layouts of its arrays and from its other arguments: it allocates results, and
launches. The first call with a set of these is watched. If it did nothing else, it is kept, and the engine does the
same for the calls that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .engine import engine
from .runtime import Watch, laid_out, runtime

_KEPT = 16
"""How many calls are kept for each kernel of a signature."""

_WATCHED = 64
"""After so many calls were watched, what is kept stays: shapes that are always new are not worth the watching."""

_MOST = 64
"""Arguments and new arrays, together: SLOTS in common/replay.h."""


class Replays:
    """The calls of a signature that are replayed.

    Attributes:
        calls: for the engine.
    """

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self._left = _WATCHED

    def of(self, kernel: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """*kernel*, whose calls are kept."""
        return kernel and (lambda *args, **given: self.call(kernel, args, **given))

    def call(self, kernel: Callable[..., Any], args: tuple[Any, ...], **given: Any) -> Any:
        """The result of ``kernel(*args)``, or with ``out`` *given*, which is kept if it can be."""
        if not self._left:
            return kernel(*args, **given)
        ours = runtime()
        turn = ours.turn  # a forked child has another
        everything = (*args, *given.values())
        key = engine().key(everything, bool(given))
        # Without a key it cannot be kept; what is kept already comes here where its results overlap what it reads.
        if not key or any(call[0] == key for call in self.calls) or not turn.acquire(blocking=False):
            return kernel(*args, **given)
        try:
            self._left -= 1
            watch = ours.watch = Watch()
            launches: list[Any] = []
            engine().watch(launches)
            result = kernel(*args, **given)
        finally:
            engine().watch(None)
            ours.watch = None
            turn.release()
        found = _recorded(key, everything, bool(given), watch.made, launches, result) if watch.alone else None
        if found is not None:
            if len(self.calls) == _KEPT:
                del self.calls[0]
            self.calls.append(found)
        return result


def _recorded(
    key: bytes, args: tuple[Any, ...], out: bool, made: Sequence[Any], launches: Sequence[Any], result: Any
) -> Any:
    """What the engine replays: see common/replay.h; None where a launch takes more than operands and new arrays."""
    places = {id(arg): place for place, arg in enumerate(args) if isinstance(arg, np.ndarray)}
    if out and not isinstance(args[-1], np.ndarray):
        return None
    written = {id(array) for _, arrays, _ in launches for array in arrays}
    new = [array for array in made if id(array) in written]
    places |= {id(array): len(args) + place for place, array in enumerate(new)}
    results = result if isinstance(result, tuple) else (result,)
    if (
        len(args) + len(new) > _MOST
        or not written <= places.keys()
        or not all(places.get(id(array), 0) >= len(args) - out for array in results)
    ):
        return None
    launched = [
        (launch, bytes([places[id(array)] for array in arrays]), tuple(numbers)) for launch, arrays, numbers in launches
    ]
    return (
        key,
        tuple([_made(array) for array in new]),
        tuple(launched),
        bytes([places[id(array)] for array in results]),
        not isinstance(result, tuple),
        bytes([arg.itemsize if isinstance(arg, np.ndarray) else 0 for arg in args]),
        tuple([arg for arg in args if not isinstance(arg, np.ndarray)]),
    )


def _made(array: Any) -> tuple[Callable[[Any, Any], Any], Any, Any]:
    """A function and two arguments that give an array like this one."""
    if array.base is None:  # not laid out by `laid_out`, which gives strides to dimensions of one element too
        return np.empty, array.shape, array.dtype
    return laid_out, (array.shape, array.strides), array.dtype
