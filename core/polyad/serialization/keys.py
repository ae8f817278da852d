"""Keys of dicts whose hashes a file can choose.

Strings and bytes are hashed with a secret of the process. Numbers, and tuples and devices made of them, are not: the
hash of every multiple of 2**61 - 1 is 0, and a dict of n keys with one hash takes n * n / 2 comparisons, half a minute
for half a megabyte. Keys with different hashes can be chosen so that each meets many others on its way to a free place,
too; but as these must be found for a table of a certain size, it is enough that there are not too many.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Keys"]

MOST_ALIKE = 16
"""Keys of a dict with the same hash."""
FEW = 256
"""Keys of a dict that are too few to matter."""
MOST_CHOSEN = 1 << 16
"""Keys of the larger dicts of a file, all together."""


class Keys:
    """Looks at the dicts of a file, one after the other."""

    def __init__(self) -> None:
        self._chosen = 0

    def excess(self, keys: Iterable[Any]) -> str | None:
        """What is too much about a dict's *keys*, in words; None if nothing is.

        Keys that count 0, 1, 2, ... as in the state of an optimizer or a vocabulary, are never too many.
        """
        chosen = [key for key in keys if type(key) not in (str, bytes)]
        if len(chosen) <= MOST_ALIKE or all(type(key) is int and key == n for n, key in enumerate(chosen)):
            return None
        hashes = sorted(map(hash, chosen))
        if any(one == other for one, other in zip(hashes, hashes[MOST_ALIKE:], strict=False)):
            return f"more than {MOST_ALIKE} keys of a dict have the same hash"
        if len(chosen) > FEW:
            self._chosen += len(chosen)
        if self._chosen > MOST_CHOSEN:
            return f"more than {MOST_CHOSEN:,} keys of dicts are neither text nor count 0, 1, 2, ..."
        return None
