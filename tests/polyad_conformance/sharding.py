"""Shards: a run cut into parts that need not know of each other, by the names of the tests.

Which shard a test is in follows from its name and the number of shards alone: the same on every machine and in every
process, whatever else is selected. So shards are disjoint, together complete, and about equally large, and their score
cards merge (`polyad_conformance.report`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

MOST = 10_000
"""Shards of a run. A card lists those that are missing."""


@dataclass(frozen=True)
class Shard:
    """Part *number* of *count*, counted from 1.

    >>> Shard.parse("2/3")
    Shard(number=2, count=3)
    >>> [Shard(number, 3).holds("test_ops.py::test_values[abs: 2-d float32]") for number in (1, 2, 3)].count(True)
    1
    """

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that the user calls ``"I/N"``. Raises ValueError for anything else."""
        number, slash, count = text.partition("/")
        if not (slash and number.isascii() and number.isdigit() and count.isascii() and count.isdigit()):
            raise ValueError(f"a shard is I/N, such as 1/4, not {text!r}")
        if len(count) > len(str(MOST)) or not 1 <= int(number) <= int(count) <= MOST:
            raise ValueError(f"shard {text[:40]}: I is from 1 to N, and N is {MOST} at most")
        return cls(int(number), int(count))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, test: str) -> bool:
        """Whether the test called *test*, as score cards call it, is in this shard."""
        if self.count == 1:
            return True
        digest = hashlib.blake2b(test.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.count == self.number - 1
